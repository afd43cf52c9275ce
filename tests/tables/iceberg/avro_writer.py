"""Write Avro files whose schemas have field ids, as Iceberg does. Every detail can be wrong."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import zstandard


def avro_file(
    schema: Mapping[str, Any],
    records: Sequence[Any],
    *,
    codec: str = "deflate",
    records_per_block: int = 1000,
    **metadata: str,
) -> bytes:
    """Return an Avro file."""
    header = {"avro.schema": json.dumps(schema), "avro.codec": codec, **metadata}
    sync = bytes(range(16))
    parts = [b"Obj\x01", _long(len(header))]
    for key, value in header.items():
        parts += [_sized(key.encode()), _sized(value.encode())]
    parts += [_long(0), sync]
    for start in range(0, len(records), records_per_block):
        block = records[start : start + records_per_block]
        data = b"".join(_value(schema, each) for each in block)
        if codec == "deflate":
            data = zlib.compress(data)[2:-4]
        elif codec == "zstandard":
            data = zstandard.compress(data)
        parts += [_long(len(block)), _sized(data), sync]
    return b"".join(parts)


def _value(schema: Any, value: Any) -> bytes:
    if isinstance(schema, list):  # null or one other type
        if value is None:
            return _long(schema.index("null"))
        place = next(n for n, each in enumerate(schema) if each != "null")
        return _long(place) + _value(schema[place], value)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind in ("record", "array", "fixed"):
        return _complex(schema, value)
    if isinstance(kind, dict | list):
        return _value(kind, value)
    return {
        "boolean": lambda: bytes([value]),
        "int": lambda: _long(value),
        "long": lambda: _long(value),
        "float": lambda: struct.pack("<f", value),
        "double": lambda: struct.pack("<d", value),
        "bytes": lambda: _sized(value),
        "string": lambda: _sized(value.encode()),
    }.get(kind, lambda: bytes(value))()  # the name of a fixed type


def _complex(schema: Mapping[str, Any], value: Any) -> bytes:
    if schema["type"] == "fixed":
        return bytes(value)
    if schema["type"] == "record":
        return b"".join(_value(each["type"], value[each["name"]]) for each in schema["fields"])
    items = b"".join(_value(schema["items"], each) for each in value)
    return (_long(len(value)) + items if value else b"") + _long(0)


def _sized(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
