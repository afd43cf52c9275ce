"""The bodies of Airport's actions and answers.

Servers pack binary data as msgpack strings or as msgpack binary. So every text is read as bytes,
and decoded where it is known to be text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pyarrow as pa

__all__ = [
    "MalformedAnswer",
    "Message",
    "binaries",
    "decompressed",
    "packed",
    "unpacked",
    "verified",
]

#: An answer above this size is refused. A catalog with 100,000 wide tables stays below it.
_MOST_BYTES = 1 << 31


class MalformedAnswer(ValueError):
    """An answer does not have the form of the protocol."""


class Message:
    """A msgpack map of an answer. Reading a field of another type raises MalformedAnswer."""

    def __init__(self, fields: object, what: str) -> None:
        if not isinstance(fields, dict):
            raise MalformedAnswer(f"{what} is not a map")
        self._fields: Mapping[Any, Any] = fields
        self._what = what

    def text(self, name: str) -> str:
        """Return a text; an absent one is empty."""
        value = self.binary(name)
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise MalformedAnswer(f"{self._what}.{name} is not UTF-8") from error

    def binary(self, name: str) -> bytes:
        """Return bytes; absent ones are empty."""
        value = self._fields.get(name.encode())
        if value is None:
            return b""
        if not isinstance(value, bytes):
            raise MalformedAnswer(f"{self._what}.{name} is not a string")
        return value

    def message(self, name: str) -> Message:
        return Message(self._fields.get(name.encode()), f"{self._what}.{name}")

    def messages(self, name: str) -> list[Message]:
        values = self._fields.get(name.encode())
        if not isinstance(values, list):
            raise MalformedAnswer(f"{self._what}.{name} is not an array")
        return [Message(each, f"{self._what}.{name}[{i}]") for i, each in enumerate(values)]


def packed(fields: Mapping[str, object]) -> bytes:
    """Return the body of a request."""
    body: bytes = msgpack.packb(fields)
    return body


def unpacked(body: bytes, what: str) -> Any:
    """Return the content of an answer, with texts as bytes.

    Raises:
        MalformedAnswer: The body is not msgpack.
    """
    try:
        return msgpack.unpackb(body, raw=True, strict_map_key=False)
    except (ValueError, msgpack.UnpackException) as error:
        raise MalformedAnswer(f"{what} is not msgpack ({error})") from error


def decompressed(body: bytes, what: str) -> bytes:
    """Return the content of `[length, zstd bytes]` in msgpack.

    Raises:
        MalformedAnswer: The body does not have this form.
    """
    parts = unpacked(body, what)
    match parts:
        case [int(length), bytes(content)] if 0 <= length <= _MOST_BYTES:
            pass
        case _:
            raise MalformedAnswer(f"{what} is not compressed content")
    try:
        raw: bytes = pa.decompress(content, decompressed_size=length, codec="zstd", asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise MalformedAnswer(f"{what} cannot be decompressed ({error})") from error
    return raw


def verified(content: bytes, sha256: str, what: str) -> bytes:
    """Return the content if it has this SHA-256 digest, in hexadecimal.

    Raises:
        MalformedAnswer: It has another one.
    """
    if hashlib.sha256(content).hexdigest() != sha256:
        raise MalformedAnswer(f"{what} does not have its SHA-256 digest")
    return content


def binaries(values: object, what: str) -> Sequence[bytes]:
    """Return an array of byte strings.

    Raises:
        MalformedAnswer: It is something else.
    """
    if not isinstance(values, list) or not all(isinstance(each, bytes) for each in values):
        raise MalformedAnswer(f"{what} is not an array of strings")
    return values
