"""Reading the Avro files of Iceberg's metadata as Arrow tables.

polars decodes the blocks; it is the fastest reader of Avro in Python. It does not return the
metadata in the header, such as the field ids, so the header is parsed here.

Source: Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode

__all__ = ["AvroFile", "read_avro"]

_MAGIC: Final = b"Obj\x01"


@dataclass(frozen=True, slots=True, eq=False)
class AvroFile:
    """The content of an Avro file.

    Attributes:
        table: The records.
        schema: The Avro schema of the records, as JSON.
        metadata: The metadata in the header.
    """

    table: pa.Table
    schema: Mapping[str, Any]
    metadata: Mapping[str, bytes]


def read_avro(data: bytes, location: str) -> AvroFile:
    """Return the content of an Avro file.

    Args:
        data: The bytes of the file.
        location: The location of the file, for errors.

    Raises:
        SnapshotUnreadable: polars is not installed, or the file is damaged.
    """
    try:
        metadata = _header(data)
        schema = json.loads(metadata["avro.schema"])
        if not isinstance(schema, dict) or not isinstance(schema.get("fields"), list):
            raise ValueError("its records are not structs")
    except (ValueError, IndexError, KeyError) as problem:
        raise _damaged(location, problem) from problem
    return AvroFile(_records(data, location), schema, metadata)


def _records(data: bytes, location: str) -> pa.Table:
    try:
        import polars
    except ImportError as problem:
        raise SnapshotUnreadable(
            UnreadableCode.NO_POLARS,
            f"the manifests of Iceberg tables are read with the package polars ({problem}): "
            "pip install 'tamis[iceberg]'",
        ) from problem
    try:
        return polars.read_avro(io.BytesIO(data)).to_arrow()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as problem:  # a panic of polars is not an Exception
        raise _damaged(location, problem) from problem


def _damaged(location: str, problem: BaseException) -> SnapshotUnreadable:
    text = " ".join(str(problem).split())[:300]
    return SnapshotUnreadable(
        UnreadableCode.METADATA, f"{location} cannot be read ({type(problem).__name__}: {text})"
    )


def _header(data: bytes) -> dict[str, bytes]:
    """Return the metadata of the header: a map of strings to bytes, in blocks."""
    if data[:4] != _MAGIC:
        raise ValueError("it is not an Avro file")
    place = 4
    metadata: dict[str, bytes] = {}
    while True:
        count, place = _long(data, place)
        if count == 0:
            return metadata
        if count < 0:  # the size of the block follows
            count = -count
            _, place = _long(data, place)
        for _ in range(count):
            key, place = _bytes(data, place)
            value, place = _bytes(data, place)
            metadata[key.decode()] = value


def _long(data: bytes, place: int) -> tuple[int, int]:
    """Return a variable-length zigzag number, and the place after it."""
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), place
        shift += 7
        if shift > 63:
            raise ValueError("a number in its header is too long")


def _bytes(data: bytes, place: int) -> tuple[bytes, int]:
    length, place = _long(data, place)
    if length < 0 or place + length > len(data):
        raise ValueError("its header is cut")
    return data[place : place + length], place + length
