"""Calls of an Airport server, with errors that name it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.flight as flight

from tamis._version import __version__
from tamis.remote.airport.flight_task import first_line, flight_client
from tamis.remote.airport.messages import MalformedAnswer, packed
from tamis.remote.contract import RemoteError
from tamis.remote.masking import masked, without_secrets

__all__ = ["Connection"]

_Answer = TypeVar("_Answer")
_TLS: Final = "grpc+tls"
_SECONDS = 60.0  # for an action; reading a table has no limit


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a server.

    `token`, `roots` (PEM certificates to trust instead of those of the system) and credentials in
    `uri` do not appear in texts.
    """

    uri: str = field(repr=False)
    catalog: str
    token: str | None = field(default=None, repr=False)
    roots: bytes | None = field(default=None, repr=False)
    _clients: list[flight.FlightClient] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of every call."""
        headers = [
            (b"airport-user-agent", f"tamis/{__version__}".encode()),
            (b"airport-catalog", self.catalog.encode()),
        ]
        if self.token:
            headers.append((b"authorization", f"Bearer {self.token}".encode()))
        return headers

    def headers_to(self, location: str) -> list[tuple[bytes, bytes]]:
        """Return the headers of calls to a location that the server refers to.

        The token is for the host that the user has named, and is not sent in the clear to a host
        that the user has named with TLS.

        >>> connection = Connection("grpc+tls://a:1", "", "secret")
        >>> [len(connection.headers_to(f"{at}:2")) for at in ("grpc+tls://a", "grpc://a")]
        [3, 2]
        """
        named, referred = urlsplit(self.uri), urlsplit(location)
        is_safe = referred.scheme == _TLS or named.scheme != _TLS
        if referred.hostname == named.hostname and is_safe:
            return self.headers()
        return [each for each in self.headers() if each[0] != b"authorization"]

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
            body = packed(fields)
            results = list(self._client().do_action(flight.Action(action, body), options))
            if len(results) != 1:
                raise MalformedAnswer(f"the answer has {len(results)} parts instead of one")
            return read(results[0].body.to_pybytes())
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = without_secrets(first_line(error), self.uri, self.token)
            # not `from error`: its message may contain what this one hides
            raise self.error(action, problem, table, _fix(error, action)) from None

    def _client(self) -> flight.FlightClient:
        """Return the client of all calls, so that they share a channel."""
        if not self._clients:
            self._clients.append(flight_client(self.uri, self.roots))
        return self._clients[0]

    @property
    def label(self) -> str:
        """How messages name the server."""
        return f"the Airport server {masked(self.uri)}"

    def error(self, step: str, problem: str, table: str, fix: str = "") -> RemoteError:
        """Return the error that a step has failed."""
        return RemoteError(self.label, table, f"the request {step}", problem, fix)


def _fix(error: BaseException, action: str) -> str:
    match error:
        case pa.ArrowKeyError() if action == "list_schemas":
            return "Check the option catalog"
        case flight.FlightUnauthenticatedError() | flight.FlightUnauthorizedError():
            return "Check the option token"
        case flight.FlightUnavailableError() | flight.FlightTimedOutError():
            return "Check the option uri, and that the server runs"
        case MalformedAnswer():
            return "Check that the option uri names an Airport server"
    return ""
