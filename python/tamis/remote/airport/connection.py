"""Calls of an Airport server, with errors that name it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa
import pyarrow.flight as flight

from tamis._version import __version__
from tamis.remote.airport.flight_task import first_line, flight_client
from tamis.remote.airport.messages import MalformedAnswer, packed
from tamis.remote.contract import RemoteError

__all__ = ["Connection"]

_Answer = TypeVar("_Answer")
_SECONDS = 60.0  # for an action; reading a table has no limit


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a server.

    `token` and `roots` (PEM certificates to trust instead of those of the system) do not appear in
    texts.
    """

    uri: str
    catalog: str
    token: str | None = field(default=None, repr=False)
    roots: bytes | None = field(default=None, repr=False)

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of every call."""
        headers = [
            (b"airport-user-agent", f"tamis/{__version__}".encode()),
            (b"airport-catalog", self.catalog.encode()),
        ]
        if self.token:
            headers.append((b"authorization", f"Bearer {self.token}".encode()))
        return headers

    def ask(
        self,
        action: str,
        fields: Mapping[str, object],
        table: str,
        read: Callable[[bytes], _Answer],
    ) -> _Answer:
        """Call an action that has one result, and return what `read` makes of it.

        Raises:
            RemoteError: The server cannot be reached, refuses the token, reports an error, or
                answers with something else.
        """
        options = flight.FlightCallOptions(timeout=_SECONDS, headers=self.headers())
        try:
            with closing(flight_client(self.uri, self.roots)) as client:
                results = list(client.do_action(flight.Action(action, packed(fields)), options))
            if len(results) != 1:
                raise MalformedAnswer(f"the answer has {len(results)} parts instead of one")
            return read(results[0].body.to_pybytes())
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self.error(action, first_line(error), table, _fix(error)) from error

    def error(self, step: str, problem: str, table: str, fix: str = "") -> RemoteError:
        """Return the error that a step has failed."""
        return RemoteError(f"the Airport server {self.uri}", table, step, problem, fix)


def _fix(error: BaseException) -> str:
    match error:
        case flight.FlightUnauthenticatedError() | flight.FlightUnauthorizedError():
            return "Check the option token"
        case flight.FlightUnavailableError() | flight.FlightTimedOutError():
            return "Check the option uri, and that the server runs"
        case MalformedAnswer():
            return "Check that the option uri names an Airport server"
    return ""
