"""Calls of a worker, independent of the transport. Runs on executors too.

A connection does one call at a time. After an error it can only be closed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Final

import pyarrow as pa

from tamis.remote.vgi.protocol.framing import (
    APPLICATION,
    READ_FAILURES,
    CallFailed,
    Kind,
    MalformedMessage,
    Part,
    Stream,
    failure_of,
    kind_of,
    protocol_of,
    request_metadata,
    stream_bytes,
)

__all__ = [
    "CALL_SECONDS",
    "FAILURES",
    "Connection",
    "ConnectionFailed",
    "check_header",
    "next_part",
    "one_line",
    "result_of",
]

#: For a call. A scan has no limit.
CALL_SECONDS: Final = 60.0
#: What the transports turn into ConnectionFailed.
FAILURES: Final = (*READ_FAILURES, EOFError)
_SHOWN: Final = 400  # characters of a text of the worker


class ConnectionFailed(Exception):
    """The worker cannot be reached, ends too early, or sends something that is not the protocol.

    Attributes:
        fix: What to do, if it is known.
        is_absent: Whether there is nothing at the location that the request addresses.
    """

    def __init__(self, problem: str, fix: str = "", *, is_absent: bool = False) -> None:
        super().__init__(problem)
        self.fix = fix
        self.is_absent = is_absent


class Connection(ABC):
    """A worker that answers one call after the other.

    Every method raises CallFailed if the worker reports an error, and ConnectionFailed for all
    other problems.
    """

    def call(
        self,
        method: str,
        parameters: pa.RecordBatch,
        version: str | None,
        protocol: str = APPLICATION,
    ) -> bytes | None:
        """Return the result of a method; None if it is NULL or the method has none."""
        metadata = request_metadata(method, version, protocol)
        return self._answer(protocol, method, stream_bytes(parameters, metadata))

    def scan(self, request: bytes, version: str) -> Generator[pa.RecordBatch, None, None]:
        """Begin a scan, and return its batches. Each is requested from the worker when it is due.

        Close the iterator to end the scan early.

        Args:
            request: The record of the request.
            version: The version of the protocol.
        """
        parameters = pa.record_batch(
            [pa.array([request], pa.binary())],
            schema=pa.schema([pa.field("request", pa.binary(), nullable=False)]),
        )
        protocol = protocol_of(version)
        metadata = request_metadata("init", version, protocol)
        return self._scan(protocol, stream_bytes(parameters, metadata))

    @abstractmethod
    def _answer(self, protocol: str, method: str, request: bytes) -> bytes | None: ...

    @abstractmethod
    def _scan(self, protocol: str, request: bytes) -> Generator[pa.RecordBatch, None, None]: ...

    @abstractmethod
    def close(self) -> None:
        """End the connection. Never raises."""


def next_part(parts: Stream) -> Part | None:
    """Return the next batch that is not a log; None at the end.

    Raises:
        CallFailed: The worker reports an error.
        MalformedMessage: The stream is malformed, or refers to rows elsewhere.
    """
    while (part := parts.next()) is not None:
        match kind_of(part):
            case Kind.LOG:
                continue
            case Kind.ERROR:
                raise failure_of(part)
            case Kind.ELSEWHERE:
                raise MalformedMessage(
                    "the worker refers to rows at another location, from which tamis does not read"
                )
        return part
    return None


def result_of(parts: Stream) -> bytes | None:
    """Return the result of a method.

    Raises:
        CallFailed: The worker reports an error.
        MalformedMessage: The answer is malformed.
    """
    try:
        part = next_part(parts)
    except CallFailed:
        while parts.next() is not None:  # the next answer begins after the end of this one
            pass
        raise
    if part is None:
        raise MalformedMessage("the answer has no batch")
    if parts.schema.names == []:
        return None
    if parts.schema.names != ["result"] or part.batch.num_rows != 1:
        raise MalformedMessage("the answer is not one result")
    value = part.batch.column(0)[0].as_py()
    if not isinstance(value, bytes | None):
        raise MalformedMessage(f"the result is {part.batch.schema.field(0).type} instead of binary")
    while next_part(parts) is not None:
        raise MalformedMessage("the answer has more than one result")
    return value


def check_header(parts: Stream) -> None:
    """Read the header of a scan.

    Raises:
        CallFailed: The worker reports an error instead of the header.
        MalformedMessage: The header is malformed.
    """
    part = next_part(parts)
    if part is None or part.batch.num_rows != 1:
        raise MalformedMessage("the header of the scan is not one row")
    while next_part(parts) is not None:
        raise MalformedMessage("the header of the scan has several rows")


def one_line(text: object) -> str:
    """Return a text of a worker for an error: one line, of limited length.

    >>> one_line("ValueError: no\\n  at line 3")
    'ValueError: no at line 3'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
