"""Spark's types as Arrow types: those of `arrow_form.readable_type`."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tamis.expr.types import DataType

__all__ = ["arrow_type"]

_ARROW: Final = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(data_type: DataType) -> Any:
    """Return the Arrow type of a simple type.

    Raises:
        KeyError: The type is nested, or an interval.

    >>> from tamis.expr.types import DATE
    >>> pa.array([0, -1], arrow_type(DATE)).to_pylist()
    [datetime.date(1970, 1, 1), datetime.date(1969, 12, 31)]
    """
    if data_type.is_decimal:
        return pa.decimal128(data_type.precision, data_type.scale)
    return _ARROW[data_type.name]
