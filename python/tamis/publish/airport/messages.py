"""The bodies of requests and answers, in msgpack.

DuckDB packs binary data as strings, so every text of a request is read as bytes, and decoded where
it must be text. Unknown keys are ignored. Requests are not trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pyarrow as pa

__all__ = ["MalformedRequest", "Request", "compressed", "packed", "read_request"]


class MalformedRequest(ValueError):
    """A request does not have the form of the protocol."""


class Request:
    """A msgpack map. Reading a field of another type raises MalformedRequest."""

    def __init__(self, fields: object, what: str) -> None:
        if not isinstance(fields, dict):
            raise MalformedRequest(f"{what} is not a map")
        self._fields: Mapping[Any, Any] = fields
        self._what = what

    def binary(self, name: str) -> bytes:
        """Return bytes. Absent ones are empty."""
        value = self._fields.get(name.encode())
        if value is None:
            return b""
        if not isinstance(value, bytes):
            raise MalformedRequest(f"{self._what}: {name} is not a string")
        return value

    def text(self, name: str) -> str:
        """Return a text. An absent one is empty."""
        try:
            return self.binary(name).decode()
        except UnicodeDecodeError as problem:
            raise MalformedRequest(f"{self._what}: {name} is not UTF-8") from problem

    def numbers(self, name: str) -> Sequence[int] | None:
        """Return an array of integers. None: it is absent."""
        values = self._fields.get(name.encode())
        if values is None:
            return None
        if not isinstance(values, list) or any(type(each) is not int for each in values):
            raise MalformedRequest(f"{self._what}: {name} is not an array of numbers")
        return values

    def request(self, name: str) -> Request:
        return Request(self._fields.get(name.encode()), f"{self._what}: {name}")


def read_request(body: bytes, what: str) -> Request:
    """Return the content of a request.

    Raises:
        MalformedRequest: The body is not a map in msgpack.
    """
    try:
        fields = msgpack.unpackb(body, raw=True, strict_map_key=False)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as problem:
        raise MalformedRequest(f"{what}: the request is not msgpack ({problem})") from problem
    return Request(fields, what)


def packed(content: object) -> bytes:
    """Return an answer. Binary data is packed as strings, as DuckDB does."""
    body: bytes = msgpack.packb(content, use_bin_type=False)
    return body


def compressed(content: bytes) -> bytes:
    """Return content as `[length, zstd bytes]`.

    >>> read_request(packed({"a": [1]}), "example").numbers("a")
    [1]
    """
    return packed([len(content), pa.compress(content, codec="zstd", asbytes=True)])
