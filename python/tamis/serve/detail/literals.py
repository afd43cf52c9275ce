"""Statistics as literals of Spark SQL, which can be evaluated again."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tamis.expr.sql import value_sql
from tamis.expr.types import DataType

__all__ = ["literals"]


def literals(values: pa.Array, data_type: DataType | None) -> pa.Array:
    """Return the SQL literal of each value; null for null.

    Args:
        values: The values.
        data_type: Their type. None: the type follows from the array, and all others are numbers.

    >>> import datetime
    >>> from tamis.expr.types import DATE, STRING
    >>> literals(pa.array([datetime.date(1995, 1, 1), None]), DATE).to_pylist()
    ["DATE '1995-01-01'", None]
    >>> literals(pa.array([b"it's", b"\\xff"]), STRING).to_pylist()
    ["'it\\\\'s'", "X'FF'"]
    >>> literals(pa.array([7]), None).to_pylist()
    ['7']
    """
    if data_type is None:
        data_type = _own(values.type)
    if data_type is None:
        return pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
    # the same value occurs in many files if they are not clustered by the column
    known: dict[Any, str] = {}
    texts: list[str | None] = []
    for value in _plain(values, data_type).to_pylist():
        text = None if value is None or data_type.is_floating else known.get(value)
        if text is None and value is not None:
            text = known[value] = _text(value, data_type)  # floats are not looked up: -0.0 == 0.0
        texts.append(text)
    return pa.array(texts, pa.string())


def _own(arrow: pa.DataType) -> DataType | None:
    """Return the type of the statistics of a column whose type is not given; None for numbers."""
    if pa.types.is_date(arrow):
        return DataType("date")
    if pa.types.is_timestamp(arrow):
        return DataType("timestamp_ntz" if arrow.tz is None else "timestamp")
    if pa.types.is_boolean(arrow):
        return DataType("boolean")
    if pa.types.is_binary(arrow) or pa.types.is_string(arrow):
        return DataType("string")
    return None


def _plain(values: pa.Array, data_type: DataType) -> pa.Array:
    """Convert dates to days and timestamps to microseconds, as in constants of expressions."""
    if data_type.name == "date":
        return values.cast(pa.int32())
    if data_type.name in ("timestamp", "timestamp_ntz"):
        return values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    return values


def _text(value: Any, data_type: DataType) -> str:
    if isinstance(value, bytes) and data_type.name == "string":
        try:
            return value_sql(value.decode(), data_type)
        except UnicodeDecodeError:  # truncated inside a character
            return f"X'{value.hex().upper()}'"
    if data_type.is_floating:
        return value_sql(float(value), data_type)
    return value_sql(value, data_type)
