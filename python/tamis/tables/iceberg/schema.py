"""The schema and the partition specs of an Iceberg table, from Iceberg's JSON.

Source: Iceberg table specification, "Appendix C: JSON serialization".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode

__all__ = ["SchemaColumn", "Spec", "SpecField", "arrow_type", "columns_of_schema", "parse_specs"]

_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
#: Iceberg's types whose statistics are used, with Spark's types for them.
_SPARK: Final[Mapping[str, DataType]] = {
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": LONG,
    "float": FLOAT,
    "double": DOUBLE,
    "date": DATE,
    "timestamp": TIMESTAMP_NTZ,
    "timestamptz": TIMESTAMP,
    "string": STRING,
    "binary": BINARY,
}
_ARROW: Final[Mapping[DataType, pa.DataType]] = {
    BOOLEAN: pa.bool_(),
    INTEGER: pa.int32(),
    LONG: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    DATE: pa.date32(),
    TIMESTAMP_NTZ: pa.timestamp("us"),
    TIMESTAMP: pa.timestamp("us", "UTC"),
    STRING: pa.string(),
    BINARY: pa.binary(),
}


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column of a primitive type, or such a field of a struct, at any depth.

    Attributes:
        id: The field id.
        path: The names of the column and of the fields inside it.
        type: Spark's type; None if the statistics of the type are not used.
    """

    id: int
    path: tuple[str, ...]
    type: DataType | None

    @property
    def is_nested(self) -> bool:
        return len(self.path) > 1


@dataclass(frozen=True, slots=True)
class SpecField:
    """A field of a partition spec.

    Attributes:
        id: The field id of the partition value.
        source: The field id of the source column; None if it has several.
        transform: The transform as Iceberg writes it.
    """

    id: int
    source: int | None
    transform: str


@dataclass(frozen=True, slots=True)
class Spec:
    """A partition spec."""

    id: int
    fields: tuple[SpecField, ...]

    @property
    def is_unpartitioned(self) -> bool:
        return all(each.transform == "void" for each in self.fields)


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of the values of a Spark type.

    >>> from tamis.expr.types import TIMESTAMP
    >>> arrow_type(TIMESTAMP)
    TimestampType(timestamp[us, tz=UTC])
    """
    if data_type.is_decimal:
        return pa.decimal128(data_type.precision, data_type.scale)
    return _ARROW[data_type]


def columns_of_schema(text: str) -> tuple[SchemaColumn, ...]:
    """Return the columns of a schema that are reachable through structs alone.

    Elements of lists and maps are left out: their statistics count elements, not rows.

    Raises:
        SnapshotUnreadable: The JSON has another form.

    >>> columns_of_schema('''{"type": "struct", "fields": [
    ...     {"id": 1, "name": "s", "required": true, "type": {"type": "struct", "fields": [
    ...         {"id": 2, "name": "x", "required": false, "type": "decimal(9, 2)"}]}}]}''')
    (SchemaColumn(id=2, path=('s', 'x'), type=DataType(name='decimal', precision=9, scale=2)),)
    """
    try:
        return tuple(_columns(json.loads(text), ()))
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise _malformed("schema", problem) from problem


def _columns(struct: Any, path: tuple[str, ...]) -> Iterator[SchemaColumn]:
    for each in struct["fields"]:
        inner = (*path, str(each["name"]))
        if isinstance(each["type"], str):
            yield SchemaColumn(int(each["id"]), inner, _spark_type(each["type"]))
        elif each["type"]["type"] == "struct":
            yield from _columns(each["type"], inner)


def _spark_type(text: str) -> DataType | None:
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return _SPARK.get(text)
    precision, scale = int(match[1]), int(match[2])
    return decimal(precision, scale) if 1 <= precision <= 38 and 0 <= scale <= precision else None


def parse_specs(texts: Sequence[str]) -> dict[int, Spec]:
    """Return the partition specs of a table by their id.

    Raises:
        SnapshotUnreadable: The JSON has another form.
    """
    try:
        specs = [_spec(json.loads(text)) for text in texts]
    except (ValueError, KeyError, TypeError) as problem:
        raise _malformed("partition spec", problem) from problem
    return {each.id: each for each in specs}


def _spec(document: Any) -> Spec:
    fields = tuple(
        SpecField(int(each["field-id"]), _source(each), str(each["transform"]))
        for each in document["fields"]
    )
    return Spec(int(document["spec-id"]), fields)


def _source(field: Any) -> int | None:
    if "source-id" in field:
        return int(field["source-id"])
    sources = field["source-ids"]
    return int(sources[0]) if len(sources) == 1 else None


def _malformed(what: str, problem: Exception) -> SnapshotUnreadable:
    return SnapshotUnreadable(
        UnreadableCode.METADATA, f"the JSON of a {what} has an unexpected form ({problem!r:.200})"
    )
