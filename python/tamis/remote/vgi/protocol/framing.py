"""The framing of VGI: Arrow IPC streams, one after the other, on one byte stream.

    request   one stream with one batch of parameters; the metadata of the batch names the method
    answer    one stream: any number of log batches, then one result or one error
    scan      a header stream, then a stream of batches

Metadata is that of batches, never that of schemas. What a peer sends is validated before it is
used. The module imports only pyarrow, because it also runs on executors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, Final

import pyarrow as pa

__all__ = [
    "APPLICATION",
    "CALL_STATE",
    "CANCEL",
    "CURSOR",
    "EMPTY",
    "METHOD",
    "PROTOCOL",
    "PROTOCOL_VERSION",
    "READ_FAILURES",
    "REFLECTION",
    "REQUEST_ID",
    "REQUEST_VERSION",
    "UNNAMED",
    "CallFailed",
    "Kind",
    "MalformedMessage",
    "Part",
    "Stream",
    "batch_of",
    "error_metadata",
    "failure_of",
    "kind_of",
    "log_metadata",
    "protocol_of",
    "request_metadata",
    "schema_of",
    "stream_bytes",
]

#: The protocols that a request can address. Workers of version 1 have a single one without a name.
APPLICATION: Final = "vgi.v2"
UNNAMED: Final = ""
REFLECTION: Final = "vgi_rpc.Reflection.v1"

# Metadata of requests
METHOD: Final = b"vgi_rpc.method"
PROTOCOL: Final = b"vgi_rpc.protocol"
REQUEST_VERSION: Final = b"vgi_rpc.request_version"
PROTOCOL_VERSION: Final = b"vgi_rpc.protocol_version"
REQUEST_ID: Final = b"vgi_rpc.request_id"
CANCEL: Final = b"vgi_rpc.cancel"

# Metadata of answers
CURSOR: Final = b"vgi_rpc.stream_state#b64"
CALL_STATE: Final = b"vgi_rpc.call_state#b64"
_LEVEL: Final = b"vgi_rpc.log_level"
_MESSAGE: Final = b"vgi_rpc.log_message"
_ERROR_KIND: Final = b"vgi_rpc.error_kind"
_ERROR_CODE: Final = b"vgi_rpc.error_code"
_EXTRA: Final = b"vgi_rpc.log_extra"
_LOCATION: Final = b"vgi_rpc.location"
_SHARED: Final = b"vgi_rpc.shm_offset"

#: The version of the framing.
_FRAMING: Final = b"1"
_EXCEPTION: Final = b"EXCEPTION"

#: A batch without columns and rows: the input of a producer, and the parameters of some methods.
EMPTY: Final = pa.RecordBatch.from_arrays([], schema=pa.schema([]))

#: What reading a malformed or broken stream may raise. Sizes are those that the peer claims.
READ_FAILURES: Final = (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError)


class MalformedMessage(ValueError):
    """A message does not have the form of the protocol."""


class CallFailed(Exception):
    """The peer reports that a call has failed.

    Attributes:
        message: The type and the text of the error, as the peer reports them.
        code: The code of the error, such as `INVALID_ARGUMENT`; empty if there is none.
        kind: The kind of a protocol error, such as `method_not_implemented`; empty for others.
    """

    def __init__(self, message: str, code: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.message, self.code, self.kind = message, code, kind


class Kind(StrEnum):
    """What a batch of an answer is."""

    DATA = "data"
    LOG = "log"
    ERROR = "error"
    CURSOR = "cursor"  # over HTTP: the scan continues with another request
    ELSEWHERE = "elsewhere"  # the rows are at a URL, or in shared memory


@dataclass(frozen=True, slots=True)
class Part:
    """A batch of a stream with its metadata."""

    batch: pa.RecordBatch
    metadata: Mapping[bytes, bytes] = field(default_factory=dict)


class _Source:
    """A byte stream that remembers whether it has ended.

    Arrow takes the end of the bytes for the end of the stream. A peer that ends early would then
    return too few rows.
    """

    closed = False

    def __init__(self, source: BinaryIO | pa.NativeFile) -> None:
        self._read = source.read
        self.is_cut = False

    def read(self, size: int) -> bytes:
        content: bytes = self._read(size)
        self.is_cut = len(content) < size
        return content


class Stream:
    """One stream, read to its end and not beyond.

    Args:
        source: Where the stream begins. The next stream follows where this one ends.

    Raises:
        MalformedMessage: There is no stream, or it breaks off or is malformed.
    """

    def __init__(self, source: BinaryIO | pa.NativeFile) -> None:
        self._source = _Source(source)
        try:
            self._reader = pa.ipc.open_stream(pa.PythonFile(self._source, "r"))
        except READ_FAILURES as error:
            raise MalformedMessage(f"no Arrow stream begins here ({error})") from error
        self.schema: pa.Schema = self._reader.schema

    def __iter__(self) -> Iterator[Part]:
        while (part := self.next()) is not None:
            yield part

    def next(self) -> Part | None:
        """Return the next batch; None at the end of the stream.

        Raises:
            MalformedMessage: The stream breaks off, or the batch is malformed.
        """
        try:
            read = self._reader.read_next_batch_with_custom_metadata()
            read.batch.validate(full=True)
        except StopIteration:
            if self._source.is_cut:
                raise MalformedMessage("the Arrow stream breaks off") from None
            return None
        except READ_FAILURES as error:
            raise MalformedMessage(f"the Arrow stream is malformed ({error})") from error
        metadata = {} if read.custom_metadata is None else dict(read.custom_metadata)
        return Part(read.batch, metadata)


def stream_bytes(batch: pa.RecordBatch, metadata: Mapping[bytes, bytes] | None = None) -> bytes:
    """Return a complete stream of one batch.

    >>> batch_of(stream_bytes(pa.record_batch({"n": [1]})), "the example").to_pylist()
    [{'n': 1}]
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch, custom_metadata=dict(metadata) if metadata else None)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def batch_of(body: bytes, what: str) -> pa.RecordBatch:
    """Return the only batch of a complete stream.

    Raises:
        MalformedMessage: The bytes are something else.
    """
    try:
        parts = list(Stream(pa.BufferReader(body)))
    except MalformedMessage as error:
        raise MalformedMessage(f"{what}: {error}") from error
    if len(parts) != 1:
        raise MalformedMessage(f"{what} has {len(parts)} batches instead of one")
    return parts[0].batch


def schema_of(body: bytes, what: str) -> pa.Schema:
    """Return a serialized schema.

    Raises:
        MalformedMessage: The bytes are something else.
    """
    try:
        return pa.ipc.read_schema(pa.py_buffer(body))
    except READ_FAILURES as error:
        raise MalformedMessage(f"{what} is not a schema ({error})") from error


def protocol_of(version: str) -> str:
    """Return the protocol that has the methods of VGI in a version.

    >>> protocol_of("2.2.0"), protocol_of("1.4.0")
    ('vgi.v2', '')
    """
    return UNNAMED if version.startswith("1.") else APPLICATION


def request_metadata(
    method: str, version: str | None, protocol: str = APPLICATION
) -> dict[bytes, bytes]:
    """Return the metadata of a request.

    Args:
        method: The name of the method.
        version: The version of the protocol; None for reflection, which has none.
        protocol: The protocol to which the method belongs; empty: the only one.
    """
    metadata = {METHOD: method.encode(), REQUEST_VERSION: _FRAMING}
    if protocol:
        metadata[PROTOCOL] = protocol.encode()
    if version is not None:
        metadata[PROTOCOL_VERSION] = version.encode()
    return metadata


def error_metadata(
    exception: str, text: str, code: str = "UNKNOWN", kind: str = ""
) -> dict[bytes, bytes]:
    """Return the metadata of the batch without rows that reports an error.

    >>> failure_of(Part(EMPTY, error_metadata("ValueError", "no such thing"))).message
    'ValueError: no such thing'
    """
    extra: dict[str, object] = {"exception_type": exception, "exception_message": text}
    extra |= {"error_code": code, "traceback": "", "frames": []}
    metadata = {
        _LEVEL: _EXCEPTION,
        _MESSAGE: f"{exception}: {text}".encode(),
        _ERROR_CODE: code.encode(),
    }
    if kind:
        extra["error_kind"] = kind
        metadata[_ERROR_KIND] = kind.encode()
    return metadata | {_EXTRA: json.dumps(extra).encode()}


def log_metadata(level: str, text: str) -> dict[bytes, bytes]:
    """Return the metadata of the batch without rows that holds a line of a log."""
    return {_LEVEL: level.encode(), _MESSAGE: text.encode()}


def kind_of(part: Part) -> Kind:
    """Return what a batch of an answer is.

    >>> kind_of(Part(EMPTY)), kind_of(Part(EMPTY, log_metadata("INFO", "half done")))
    (<Kind.DATA: 'data'>, <Kind.LOG: 'log'>)
    """
    metadata = part.metadata
    if _SHARED in metadata:
        return Kind.ELSEWHERE
    if part.batch.num_rows > 0 or not metadata:
        return Kind.DATA
    if _LEVEL in metadata and _MESSAGE in metadata:
        return Kind.ERROR if metadata[_LEVEL] == _EXCEPTION else Kind.LOG
    if _LOCATION in metadata:
        return Kind.ELSEWHERE
    return Kind.CURSOR if CURSOR in metadata else Kind.DATA


def failure_of(part: Part) -> CallFailed:
    """Return the error that a batch of kind ERROR reports."""

    def text(key: bytes) -> Any:
        return part.metadata.get(key, b"").decode(errors="replace")

    return CallFailed(text(_MESSAGE), text(_ERROR_CODE), text(_ERROR_KIND))
