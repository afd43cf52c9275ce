"""The bodies of HTTP requests: their length, and their compression."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

__all__ = ["BodyRefused", "Limits", "decoded"]

_CHUNK = 1 << 20
_CODECS = {"zstd": "zstd", "gzip": "gzip"}


class BodyRefused(Exception):
    """A body is not read. `status`: the status of the answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes that a body may have: as it is sent, and after decompression."""

    sent: int = 64 << 20
    decoded: int = 256 << 20

    def length(self, header: str | None) -> int:
        """Return the length of a body.

        Raises:
            BodyRefused: It is not known, or too long.
        """
        if header is None or not (header.isascii() and header.isdecimal()):
            raise BodyRefused(411, "the request has no Content-Length")
        if len(header) > 18 or int(header) > self.sent:
            raise BodyRefused(413, f"the request has more than {self.sent} bytes")
        return int(header)


def decoded(body: bytes, encoding: str | None, limits: Limits) -> bytes:
    """Return a body without its compression.

    Raises:
        BodyRefused: It cannot be decompressed, or is too long.

    >>> decoded(pa.compress(b"abc", "gzip", asbytes=True), "gzip", Limits())
    b'abc'
    """
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return body
    if name not in _CODECS:
        raise BodyRefused(415, "the encoding is neither zstd nor gzip")
    content = bytearray()
    try:
        with pa.CompressedInputStream(pa.BufferReader(body), _CODECS[name]) as stream:
            while chunk := stream.read(_CHUNK):
                content += chunk
                if len(content) > limits.decoded:
                    raise BodyRefused(413, f"the request has more than {limits.decoded} bytes")
    except (OSError, pa.ArrowException) as error:
        raise BodyRefused(400, f"the request cannot be decompressed ({name})") from error
    return bytes(content)
