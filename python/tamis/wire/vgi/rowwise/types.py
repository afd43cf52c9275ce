"""The types of values of rows, and the type in which DuckDB compares two of them.

BOOLEAN and integers         as numbers
integers and DECIMAL         as a DECIMAL that holds both, of at most 38 digits
FLOAT and another number     as FLOAT; as DOUBLE if the other one is a DOUBLE
DOUBLE and another number    as DOUBLE
DATE and TIMESTAMP, _S, …    as the finer type
LIST, ARRAY, STRUCT          if their elements, or fields of the same names, are comparable
others                       only with the same type: DuckDB does not compare text with numbers
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tamis.wire.duckdb.arrow_types import arrow_logical_type
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import Line, LogicalType, keeps_value

__all__ = [
    "BOOLEAN",
    "INTEGERS",
    "MOST_DIGITS",
    "common_type",
    "digits_of",
    "is_decimal",
    "is_exact_number",
    "is_known",
    "row_type",
]

BOOLEAN: Final = LogicalType("BOOLEAN")
#: The least and the greatest value of each integer type, and the digits of the DECIMAL that DuckDB
#: takes it for.
INTEGERS: Final = {
    "TINYINT": (-(1 << 7), (1 << 7) - 1, 3),
    "SMALLINT": (-(1 << 15), (1 << 15) - 1, 5),
    "INTEGER": (-(1 << 31), (1 << 31) - 1, 10),
    "BIGINT": (-(1 << 63), (1 << 63) - 1, 19),
    "HUGEINT": (-(1 << 127), (1 << 127) - 1, 38),
    "UTINYINT": (0, (1 << 8) - 1, 3),
    "USMALLINT": (0, (1 << 16) - 1, 5),
    "UINTEGER": (0, (1 << 32) - 1, 10),
    "UBIGINT": (0, (1 << 64) - 1, 20),
}
MOST_DIGITS: Final = 38
_SCALARS: Final = ("TIME", "INTERVAL")
_NESTED: Final = ("LIST", "ARRAY", "STRUCT")


def row_type(arrow: Any) -> LogicalType:
    """Return the type of an Arrow type.

    >>> row_type(pa.list_(pa.int32())).fields[0][1].id
    'INTEGER'
    """
    types = pa.types
    if types.is_dictionary(arrow) or types.is_run_end_encoded(arrow):
        return row_type(arrow.value_type)
    if types.is_time(arrow) and arrow.unit != "ns":
        return LogicalType("TIME")
    if types.is_duration(arrow) or types.is_interval(arrow):
        return LogicalType("INTERVAL")
    if types.is_list(arrow) or types.is_large_list(arrow):
        return LogicalType("LIST", fields=(("", row_type(arrow.value_type)),))
    if types.is_fixed_size_list(arrow):
        return LogicalType("ARRAY", arrow.list_size, fields=(("", row_type(arrow.value_type)),))
    if types.is_struct(arrow):
        return LogicalType("STRUCT", fields=tuple((f.name, row_type(f.type)) for f in arrow))
    return arrow_logical_type(arrow)


def is_known(data_type: LogicalType) -> bool:
    """Return whether values of a type are understood."""
    if data_type.id in _NESTED:
        return all(is_known(each) for _, each in data_type.fields)
    return data_type.id in _SCALARS or data_type.line is not None


def is_decimal(data_type: LogicalType) -> bool:
    return data_type.id == "DECIMAL"


def is_exact_number(data_type: LogicalType) -> bool:
    return data_type.id in INTEGERS or is_decimal(data_type)


def digits_of(exact: LogicalType) -> tuple[int, int]:
    """Return the digits of an exact type, and how many of them are after the point."""
    if is_decimal(exact):
        assert exact.width is not None
        assert exact.scale is not None
        return exact.width, exact.scale
    return INTEGERS[exact.id][2], 0


def common_type(left: LogicalType, right: LogicalType) -> LogicalType:
    """Return the type in which DuckDB compares two values.

    Raises:
        NotUnderstood: It does not compare them, or not without settings of a session.
    """
    if left == right and is_known(left):
        return left
    if left.id == right.id and left.id in _NESTED and left.width == right.width:
        return _common_nested(left, right)
    for one, other in ((left, right), (right, left)):
        if one == BOOLEAN and other.id in INTEGERS:
            return other
    if left.line is Line.NUMBER is right.line:
        return _common_number(left, right)
    for narrow, wide in ((left, right), (right, left)):
        if left.line is Line.CALENDAR and keeps_value(narrow, wide):
            return wide
    raise NotUnderstood(f"{left.id} and {right.id} are not compared without a cast")


def _common_nested(left: LogicalType, right: LogicalType) -> LogicalType:
    names = [[name.lower() for name, _ in each.fields] for each in (left, right)]
    if names[0] != names[1]:
        raise NotUnderstood("structs with different fields are not compared")
    fields = tuple(
        (name, common_type(one, other))
        for (name, one), (_, other) in zip(left.fields, right.fields, strict=True)
    )
    return LogicalType(left.id, left.width, fields=fields)


def _common_number(left: LogicalType, right: LogicalType) -> LogicalType:
    if left.is_floating or right.is_floating:
        return LogicalType("DOUBLE" if "DOUBLE" in (left.id, right.id) else "FLOAT")
    if not (is_decimal(left) or is_decimal(right)):
        return LogicalType("HUGEINT")  # integers are compared exactly in any type
    sides = [digits_of(each) for each in (left, right)]
    scale = max(each for _, each in sides)
    width = max(width - own for width, own in sides) + scale
    return LogicalType("DECIMAL", min(width, MOST_DIGITS), scale)
