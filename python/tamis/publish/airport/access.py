"""The token and the TLS files of a server, and the headers of a call."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow.flight as flight

__all__ = ["HEADERS", "Access", "Headers", "HeadersFactory"]

#: The name under which a call has its headers.
HEADERS: Final = "headers"
_LONGEST: Final = 200  # characters of an identifier


@dataclass(frozen=True, slots=True)
class Access:
    """What clients need to connect. Messages never contain any of it.

    - `token`: a bearer token that calls need; None: none.
    - `certificate`, `key`: PEM for TLS; None: no TLS.
    """

    token: str | None = field(default=None, repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)


class Headers(flight.ServerMiddleware):  # type: ignore[misc]
    """The headers of a call that the server uses."""

    def __init__(self, headers: Mapping[str, Sequence[object]]) -> None:
        self._headers = headers

    @property
    def identifiers(self) -> list[str]:
        """The identifiers of the transaction and of the scan."""
        names = ("airport-transaction-id", "airport-trace-id")
        return [f"{name} {value}" for name in names if (value := self._text(name))]

    @property
    def is_duckdb(self) -> bool:
        """Whether the client is DuckDB's extension."""
        return self._text("airport-user-agent").startswith("airport/")

    @property
    def is_tamis(self) -> bool:
        """Whether the client is tamis, which reads columns by name."""
        return self._text("airport-user-agent").startswith("tamis/")

    def _text(self, name: str) -> str:
        value = next(iter(self._headers.get(name, ())), "")
        return value[:_LONGEST] if isinstance(value, str) else ""


class HeadersFactory(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Keeps the headers of calls, and refuses calls without the token."""

    def __init__(self, token: str | None) -> None:
        self._expected = None if token is None else f"Bearer {token}".encode()

    def start_call(self, info: Any, headers: Mapping[str, Sequence[object]]) -> Headers:
        if self._expected is not None:
            given = [
                str(each).encode(errors="replace") for each in headers.get("authorization", ())
            ]
            if not any(hmac.compare_digest(each, self._expected) for each in given):
                raise flight.FlightUnauthenticatedError("the bearer token is missing or wrong")
        return Headers(headers)
