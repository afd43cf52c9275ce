"""A worker behind HTTP. Runs on executors too, so it uses the standard library and pyarrow only.

    POST {prefix}/{protocol}/{method}         a call
    POST {prefix}/{protocol}/init/init        the header of a scan and its first turn
    POST {prefix}/{protocol}/init/exchange    every further turn, with the cursor of the one before

Paths of workers of version 1 lack the part {protocol}.
A turn has at most one batch of rows, and a cursor unless it is the last one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

import pyarrow as pa

from tamis.remote.vgi.protocol.framing import (
    CALL_STATE,
    CANCEL,
    CURSOR,
    EMPTY,
    Kind,
    MalformedMessage,
    Stream,
    kind_of,
    stream_bytes,
)
from tamis.remote.vgi.transports.connection import (
    CALL_SECONDS,
    FAILURES,
    Connection,
    ConnectionFailed,
    check_header,
    next_part,
    one_line,
    result_of,
)

__all__ = ["HttpConnection"]

_MEDIA_TYPE: Final = "application/vnd.apache.arrow.stream"
_MOST_BYTES: Final = 1 << 28  # of a decoded answer
_FAILURES: Final = (*FAILURES, HTTPException)
#: A server may close a connection that was idle for longer.
_IDLE_SECONDS: Final = 2.0


class HttpConnection(Connection):
    """A server. The token goes to the host of `uri` only: redirections are not followed.

    Args:
        uri: `http://host:port/prefix` or `https://…`.
        token: A bearer token.

    Raises:
        ConnectionFailed: The location or the token is malformed.
    """

    def __init__(self, uri: str, token: str | None = None) -> None:
        if token and not (token.isascii() and token.isprintable()):
            raise ConnectionFailed("the option token has characters that a token cannot have")
        try:
            parts = urlsplit(uri)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ConnectionFailed("the option uri is malformed") from error
        if not host or parts.username or parts.password or parts.query or parts.fragment:
            raise ConnectionFailed("the option uri is not http(s)://host:port/prefix")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._http = kind(host, port, timeout=CALL_SECONDS)
        self._prefix = parts.path.rstrip("/")
        self._headers = {
            "Content-Type": _MEDIA_TYPE,
            "Accept-Encoding": "zstd",
            "X-VGI-Accept-Encoding": "zstd",
            "VGI-Accept-Max-Response-Bytes": str(_MOST_BYTES),
            "User-Agent": "tamis",
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._last_use = 0.0

    def _answer(self, protocol: str, method: str, request: bytes) -> bytes | None:
        with _described():
            return result_of(Stream(self._post(_path(protocol, method), request)))

    def _scan(self, protocol: str, request: bytes) -> Generator[pa.RecordBatch, None, None]:
        with _described():
            # A worker may compute for a long time before it answers.
            body = self._post(_path(protocol, "init/init"), request, has_deadline=False)
            check_header(Stream(body))
        return self._turns(protocol, body)

    def _turns(self, protocol: str, body: pa.BufferReader) -> Generator[pa.RecordBatch, None, None]:
        states: dict[bytes, bytes] = {}
        while True:
            with _described():
                batch, cursor = _turn(Stream(body))
            states |= cursor
            if batch is not None:
                try:
                    yield batch
                except GeneratorExit:
                    if cursor:
                        self._cancel(protocol, states)
                    raise
            if not cursor:
                return
            with _described():
                body = self._post(
                    _path(protocol, "init/exchange"),
                    stream_bytes(EMPTY, states),
                    has_deadline=False,
                )

    def _cancel(self, protocol: str, states: Mapping[bytes, bytes]) -> None:
        with suppress(*_FAILURES, ConnectionFailed):
            request = stream_bytes(EMPTY, {**states, CANCEL: b"1"})
            self._post(_path(protocol, "init/exchange"), request)

    def _post(self, path: str, body: bytes, *, has_deadline: bool = True) -> pa.BufferReader:
        """Return the body of an answer, a message of VGI that may report an error."""
        if time.monotonic() - self._last_use > _IDLE_SECONDS:
            self._http.close()
        if self._http.sock is None:
            self._http.connect()
        self._http.sock.settimeout(CALL_SECONDS if has_deadline else None)
        self._http.request("POST", f"{self._prefix}/{path}", body, self._headers)
        response = self._http.getresponse()
        content = response.read(_MOST_BYTES + 1)
        self._last_use = time.monotonic()
        if len(content) > _MOST_BYTES:
            raise MalformedMessage(f"the answer is too large: more than {_MOST_BYTES >> 20} MiB")
        if response.length:
            raise MalformedMessage(f"the answer lacks its last {response.length} bytes")
        if response.headers.get_content_type() != _MEDIA_TYPE:
            raise _refusal(response, content)
        return pa.BufferReader(_decoded(response, content))

    def close(self) -> None:
        with suppress(*_FAILURES):
            self._http.close()


def _path(protocol: str, rest: str) -> str:
    return f"{protocol}/{rest}" if protocol else rest


def _turn(parts: Stream) -> tuple[pa.RecordBatch | None, dict[bytes, bytes]]:
    """Return the rows of a turn, and the metadata that the next request needs; empty at the end."""
    batch = None
    while (part := next_part(parts)) is not None:
        if kind_of(part) is Kind.CURSOR:
            keys = (CURSOR, CALL_STATE)
            cursor = {key: part.metadata[key] for key in keys if key in part.metadata}
            if next_part(parts) is not None:
                raise MalformedMessage("a batch follows the cursor")
            return batch, cursor
        if batch is not None:
            raise MalformedMessage("a turn has several batches")
        batch = part.batch
    return batch, {}


def _decoded(response: HTTPResponse, content: bytes) -> bytes:
    encodings = (response.headers.get(f"{each}Content-Encoding") for each in ("X-VGI-", ""))
    encoding = next((each.strip().lower() for each in encodings if each), "identity")
    if encoding == "identity":
        return content
    if encoding not in ("zstd", "gzip"):
        raise MalformedMessage(
            f"the answer has the encoding {one_line(encoding)}, and not zstd or gzip"
        )
    with pa.CompressedInputStream(pa.BufferReader(content), encoding) as source:
        decoded: bytes = source.read(_MOST_BYTES + 1)
    if len(decoded) > _MOST_BYTES:
        raise MalformedMessage(f"the answer is too large: more than {_MOST_BYTES >> 20} MiB")
    return decoded


def _refusal(response: HTTPResponse, content: bytes) -> ConnectionFailed:
    """Return the error for an answer that is not a message of VGI."""
    if response.status in (401, 403):
        return ConnectionFailed(
            f"the worker refuses access{_detail(content)}", "Check the option token"
        )
    return ConnectionFailed(
        f"the answer has the status {response.status} {one_line(response.reason)} and is not a "
        "message of VGI",
        "Check that the option uri names a VGI worker and its prefix",
        is_absent=response.status == 404,
    )


def _detail(content: bytes) -> str:
    with suppress(ValueError, RecursionError):
        answer = json.loads(content)
        if isinstance(answer, dict) and isinstance(answer.get("reason"), str):
            return f" ({one_line(answer['reason'])})"
    return ""


@contextmanager
def _described() -> Iterator[None]:
    """Raise ConnectionFailed for a failure of the connection."""
    try:
        yield
    except MalformedMessage as error:
        raise ConnectionFailed(one_line(error)) from error
    except _FAILURES as error:
        problem = one_line(error) or type(error).__name__
        raise ConnectionFailed(problem, "Check the option uri, and that the worker runs") from error
