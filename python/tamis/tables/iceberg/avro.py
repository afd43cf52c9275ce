"""Reading the Avro files of Iceberg's metadata as Arrow tables.

polars decodes the records; it is the fastest reader of Avro in Python. It does not return the
metadata in the header, such as the field ids, so `avro_container` parses that.

Source: Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tamis.tables.iceberg.avro_container import Container, parse_container
from tamis.tables.iceberg.avro_schema import plain_schema
from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode

__all__ = ["AvroFile", "read_avro"]


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
        table = _records(container, json.dumps(plain_schema(schema)).encode(), location)
        if table.num_rows != container.num_records:
            raise ValueError(f"it has {table.num_rows} instead of {container.num_records} records")
    except (ValueError, LookupError, TypeError, OSError, zlib.error) as problem:
        raise _damaged(location, problem) from problem
    return AvroFile(table, schema, container.metadata)


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
