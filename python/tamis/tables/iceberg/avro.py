"""Reading the Avro files of Iceberg's metadata as Arrow tables.

polars decodes the records; it is the fastest reader of Avro in Python. It does not return the
metadata in the header, such as the field ids, so `avro_container` parses that. Manifests with many
records are decoded by `avro_lanes` instead, which is faster.

Source: Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from tamis.tables.iceberg.avro_container import Container, parse_container
from tamis.tables.iceberg.avro_lanes import NotInLanes, Pairs, PairsOfAll, decode_lanes
from tamis.tables.iceberg.avro_schema import plain_schema
from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode

__all__ = ["AvroFile", "Lanes", "read_avro"]

#: With fewer records, polars is as fast as `decode_lanes`.
_MANY: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class AvroFile:
    """The content of an Avro file.

    Attributes:
        table: The records.
        schema: The Avro schema of the records, as JSON.
        metadata: The metadata in the header.
        pairs: Fields of an inner record that are lists of pairs, which the table does not have.
    """

    table: pa.Table
    schema: Mapping[str, Any]
    metadata: Mapping[str, bytes]
    pairs: Mapping[str, Pairs | PairsOfAll] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lanes:
    """What `avro_lanes` needs to know, as field ids: see `decode_lanes`."""

    record: int
    key: int
    used: frozenset[int]


def read_avro(data: bytes, location: str, lanes: Lanes | None = None) -> AvroFile:
    """Return the content of an Avro file.

    Args:
        data: The bytes of the file.
        location: The location of the file, for errors.
        lanes: How records can be decoded together; None: they cannot.

    Returns:
        The content. A file without records has a table without columns.

    Raises:
        SnapshotUnreadable: polars is not installed, or the file is damaged.
    """
    try:
        container = parse_container(data)
        schema = json.loads(container.metadata["avro.schema"])
        if not isinstance(schema, dict) or not isinstance(schema.get("fields"), list):
            raise ValueError("its records are not structs")
        if lanes is not None and container.num_records >= _MANY:
            with suppress(NotInLanes):
                return _in_lanes(container, schema, lanes)
        table = _records(container, json.dumps(plain_schema(schema)).encode(), location)
        if table.num_rows != container.num_records:
            raise ValueError(f"it has {table.num_rows} instead of {container.num_records} records")
    except (ValueError, LookupError, TypeError, OSError, zlib.error) as problem:
        raise _damaged(location, problem) from problem
    return AvroFile(table, schema, container.metadata)


def _in_lanes(container: Container, schema: Mapping[str, Any], lanes: Lanes) -> AvroFile:
    record = next(each for each in schema["fields"] if each.get("field-id") == lanes.record)
    fields = record["type"]["fields"]
    (key,) = (each["name"] for each in fields if each.get("field-id") == lanes.key)
    table, pairs = decode_lanes(
        container.records(),
        container.num_records,
        plain_schema(schema),
        record["name"],
        key,
        {each["name"] for each in fields if each.get("field-id") not in lanes.used},
    )
    return AvroFile(table, schema, container.metadata, pairs)


def _records(container: Container, schema: bytes, location: str) -> pa.Table:
    try:
        import polars
    except ImportError as problem:
        raise SnapshotUnreadable(
            UnreadableCode.NO_POLARS,
            f"the manifests of Iceberg tables are read with the package polars ({problem}): "
            "pip install 'tamis[iceberg]'",
        ) from problem
    if not container.num_records:
        return pa.table({})  # polars refuses a file without blocks
    data = container.for_polars(schema)
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
