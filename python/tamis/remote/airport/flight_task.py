"""Reading endpoints of a table, on an executor.

Imports only pyarrow, `executor` and `masking`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.flight as flight

from tamis.remote.executor import Task
from tamis.remote.masking import masked, without_secrets

__all__ = ["FlightTask", "first_line", "flight_client"]


@dataclass
class FlightTask(Task):
    """The rows behind tickets of one location, which are read one after the other.

    `headers` may contain the token, and `location` a password. They do not appear in texts.
    """

    where: str
    location: str = field(repr=False)
    tickets: Sequence[bytes] = field(repr=False)
    headers: list[tuple[bytes, bytes]] = field(repr=False)
    roots: bytes | None = field(default=None, repr=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the streams of the tickets over one connection.

        Raises:
            RuntimeError: The server cannot be reached, or ends the stream with an error. Spark
                then fails the task, so no part of the streams is returned as a result.
        """
        options = flight.FlightCallOptions(headers=self.headers)
        try:
            with closing(flight_client(self.location, self.roots)) as client:
                for ticket in self.tickets:
                    for chunk in client.do_get(flight.Ticket(ticket), options):
                        if chunk.data is not None:
                            yield chunk.data
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = without_secrets(first_line(error), self.location, self._token)
            # not `from error`: its message may contain what this one hides
            raise RuntimeError(
                f"{self.where}: reading from {masked(self.location)} failed: {problem}"
            ) from None

    @property
    def _token(self) -> str | None:
        values = [value.decode() for name, value in self.headers if name == b"authorization"]
        return values[0].removeprefix("Bearer ") if values else None


def flight_client(location: str, roots: bytes | None) -> flight.FlightClient:
    """Return a client of a server. It trusts only these certificates; None: those of the system."""
    more = {} if roots is None else {"tls_root_certs": roots}
    return flight.FlightClient(location, **more)


def first_line(error: BaseException) -> str:
    """Return the first line of a message; the rest of it describes the connection."""
    return next(iter(str(error).splitlines()), type(error).__name__)
