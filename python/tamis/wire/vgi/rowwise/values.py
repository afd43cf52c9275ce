"""Arrow values as Python values, and the order of values.

integers, DECIMAL            int: the stored number
FLOAT, DOUBLE                float
BOOLEAN, VARCHAR, BLOB       bool, str, bytes
DATE, TIMESTAMP, TIME        int: days, units of the type, microseconds
INTERVAL                     (months, days, microseconds)
LIST, ARRAY, STRUCT          tuples, with None for NULL
"""

from __future__ import annotations

from decimal import Context
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import LogicalType
from tamis.wire.vgi.payloads import plain_array

__all__ = ["FAILED", "order_key", "python_values"]


class _Failed:
    def __repr__(self) -> str:
        return "FAILED"


#: Stands for the value of a row for which an expression raises an error.
FAILED: Final = _Failed()

_WIDE: Final = Context(prec=80)
_MICROSECONDS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAYS_OF_MONTH: Final = 30
_DAY: Final = 86_400_000_000


def python_values(array: pa.Array, data_type: LogicalType) -> list[Any]:
    """Return the values of an array; None is NULL.

    Raises:
        NotUnderstood: A text is not UTF-8.
    """
    array = plain_array(array)
    types = pa.types
    if data_type.id in ("LIST", "ARRAY"):
        return _lists(array, data_type)
    if data_type.id == "STRUCT":
        fields = [
            python_values(array.field(place), each)
            for place, (_, each) in enumerate(data_type.fields)
        ]
        rows = zip(*fields, strict=True) if fields else [()] * len(array)
        return [row if ok else None for row, ok in zip(rows, _validity(array), strict=True)]
    if types.is_decimal(array.type):
        scale = array.type.scale
        return [None if v is None else int(v.scaleb(scale, _WIDE)) for v in array.to_pylist()]
    if types.is_timestamp(array.type):
        return list(array.cast(pa.int64()).to_pylist())
    if types.is_date(array.type):
        return list(array.cast(pa.date32(), safe=False).cast(pa.int32()).to_pylist())
    if types.is_time(array.type):
        factor = _MICROSECONDS[array.type.unit]
        wide = pa.int32() if types.is_time32(array.type) else pa.int64()
        return [None if v is None else v * factor for v in array.cast(wide).to_pylist()]
    if types.is_duration(array.type):
        return [None if v is None else (0, 0, v) for v in _durations(array)]
    if types.is_interval(array.type):
        return [None if v is None else (v[0], v[1], _whole(v[2], 1000)) for v in array.to_pylist()]
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    try:
        return list(storage.to_pylist())
    except UnicodeDecodeError as error:
        raise NotUnderstood("a value is not UTF-8") from error


def _validity(array: pa.Array) -> list[bool]:
    return list(array.is_valid().to_pylist())


def _lists(array: pa.Array, data_type: LogicalType) -> list[Any]:
    elements = python_values(array.flatten(), data_type.fields[0][1])
    rows: list[Any] = []
    at = 0
    for length in pc.list_value_length(array).to_pylist():
        rows.append(None if length is None else tuple(elements[at : at + length]))
        at += length or 0
    return rows


def _durations(array: pa.Array) -> list[int | None]:
    numbers = array.cast(pa.int64()).to_pylist()
    if array.type.unit == "ns":
        return [None if each is None else _whole(each, 1000) for each in numbers]
    factor = _MICROSECONDS[array.type.unit]
    return [None if each is None else each * factor for each in numbers]


def _whole(number: int, by: int) -> int:
    """Return a quotient rounded towards zero, as C does."""
    quotient = abs(number) // by
    return quotient if number >= 0 else -quotient


def order_key(value: Any, data_type: LogicalType) -> Any:
    """Return what has the order of the value in DuckDB, for values of one type.

    NULL within a list or a struct is above all values, and equals itself.

    >>> order_key((1, 31, 0), LogicalType("INTERVAL")) == order_key(
    ...     (2, 1, 0), LogicalType("INTERVAL")
    ... )
    True
    """
    if data_type.is_floating:
        return (1, 0.0) if value != value else (0, value)
    match data_type.id:
        case "VARCHAR":
            return value.encode()
        case "INTERVAL":
            return _normalized(*value)
        case "LIST" | "ARRAY":
            element = data_type.fields[0][1]
            return tuple(_nested_key(each, element) for each in value)
        case "STRUCT":
            pairs = zip(value, data_type.fields, strict=True)
            return tuple(_nested_key(each, field) for each, (_, field) in pairs)
    return value


def _nested_key(value: Any, data_type: LogicalType) -> Any:
    return (1,) if value is None else (0, order_key(value, data_type))


def _normalized(months: int, days: int, microseconds: int) -> tuple[int, int, int]:
    """Return an interval in months of 30 days, days of 24 hours, and the rest."""
    whole_days = _whole(microseconds, _DAY)
    days += whole_days
    whole_months = _whole(days, _DAYS_OF_MONTH)
    return (
        months + whole_months,
        days - whole_months * _DAYS_OF_MONTH,
        microseconds - whole_days * _DAY,
    )
