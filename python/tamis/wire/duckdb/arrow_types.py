"""Convert the types of an Arrow schema to DuckDB's types."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tamis.wire.duckdb.types import LogicalType

__all__ = ["arrow_logical_type", "schema_types"]

_NAMES: Final = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.date64(): "DATE",
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.string_view(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.large_binary(): "BLOB",
    pa.binary_view(): "BLOB",
    pa.timestamp("s"): "TIMESTAMP_S",
    pa.timestamp("ms"): "TIMESTAMP_MS",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("ns"): "TIMESTAMP_NS",
}


def schema_types(schema: pa.Schema) -> dict[str, LogicalType]:
    """Return the type of each column. A name that occurs twice gets a type that is not understood.

    >>> schema_types(pa.schema({"n": pa.decimal128(9, 2)}))
    {'n': LogicalType(id='DECIMAL', width=9, scale=2, fields=())}
    """
    types: dict[str, LogicalType] = {}
    for field in schema:
        twice = field.name in types
        types[field.name] = LogicalType("ambiguous") if twice else arrow_logical_type(field.type)
    return types


def arrow_logical_type(data_type: Any) -> LogicalType:
    """Return the type of an Arrow type. A type that is not understood has no line."""
    if data_type in _NAMES:
        return LogicalType(_NAMES[data_type])
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        return arrow_logical_type(data_type.value_type)
    if pa.types.is_decimal(data_type) and 0 <= data_type.scale <= data_type.precision <= 38:
        return LogicalType("DECIMAL", data_type.precision, data_type.scale)
    if pa.types.is_fixed_size_binary(data_type):
        return LogicalType("BLOB", data_type.byte_width)
    if pa.types.is_timestamp(data_type) and data_type.tz is not None and data_type.unit != "ns":
        return LogicalType("TIMESTAMP WITH TIME ZONE")
    if pa.types.is_struct(data_type):
        return LogicalType(
            "STRUCT", fields=tuple((each.name, arrow_logical_type(each.type)) for each in data_type)
        )
    if getattr(data_type, "extension_name", None) == "arrow.uuid":
        return LogicalType("UUID")
    return LogicalType(str(data_type))
