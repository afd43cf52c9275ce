"""Constants of filters in the Arrow type of the column that they are compared with.

    BOOLEAN                       bool
    TINYINT, SMALLINT, INT        int8; int16, uint8; int32, uint16
    BIGINT, DECIMAL(20, 0)        int64, uint32; uint64
    FLOAT, DOUBLE                 float32, float64
    DECIMAL(p, s)                 decimal128(p, s)
    STRING, BINARY                string, large_string; binary, large_binary
    DATE                          date32
    TIMESTAMP, TIMESTAMP_NTZ      timestamps in s, ms or us, with and without a zone

A constant that the type of the column cannot hold exactly, such as -1 for uint8, is not sent. Nor
are dates and timestamps outside of the years 1 to 9999, on which workers fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import pyarrow as pa

from tamis.expr.nodes import Value
from tamis.expr.types import DataType
from tamis.remote.arrow_form import readable_type
from tamis.remote.vgi.protocol.framing import READ_FAILURES

__all__ = ["constants", "is_compared"]

_TYPES: Final[dict[str, tuple[Any, ...]]] = {
    "boolean": (pa.bool_(),),
    "byte": (pa.int8(),),
    "short": (pa.int16(), pa.uint8()),
    "integer": (pa.int32(), pa.uint16()),
    "long": (pa.int64(), pa.uint32()),
    "float": (pa.float32(),),
    "double": (pa.float64(),),
    "string": (pa.string(), pa.large_string()),
    "binary": (pa.binary(), pa.large_binary()),
    "date": (pa.date32(),),
}
_EPOCH: Final = date(1970, 1, 1)
_DAYS: Final = ((date.min - _EPOCH).days, (date.max - _EPOCH).days)
_DAY: Final = 86_400_000_000
_MICROSECONDS: Final = (_DAYS[0] * _DAY, (_DAYS[1] + 1) * _DAY - 1)


def is_compared(data_type: DataType, arrow: Any) -> bool:
    """Return whether filters may use a column that Spark reads as `data_type`.

    >>> from tamis.expr.types import LONG, TIMESTAMP
    >>> is_compared(LONG, pa.uint32()), is_compared(LONG, pa.int32())
    (True, False)
    >>> (
    ...     is_compared(TIMESTAMP, pa.timestamp("ms", "UTC")),
    ...     is_compared(TIMESTAMP, pa.timestamp("ms")),
    ... )
    (True, False)
    """
    if data_type.is_decimal:
        own = pa.decimal128(data_type.precision, data_type.scale)
        is_unsigned = arrow == pa.uint64() and own == readable_type(arrow)
        return bool(arrow == own or is_unsigned)
    if data_type.name in ("timestamp", "timestamp_ntz"):
        is_moment = pa.types.is_timestamp(arrow) and arrow.unit != "ns"
        return is_moment and (arrow.tz is not None) is (data_type.name == "timestamp")
    return arrow in _TYPES.get(data_type.name, ())


def constants(values: Sequence[Value], data_type: DataType, arrow: Any) -> pa.Array | None:
    """Return the values in the type of the column; None if it cannot hold one of them exactly.

    >>> from tamis.expr.types import SHORT
    >>> constants([1, None], SHORT, pa.uint8()).type, constants([-1], SHORT, pa.uint8())
    (DataType(uint8), None)
    """
    if not is_compared(data_type, arrow):
        return None
    try:
        return _cast(values, data_type, arrow)
    except (*READ_FAILURES, TypeError):
        return None


def _cast(values: Sequence[Value], data_type: DataType, arrow: Any) -> pa.Array | None:
    if data_type.name == "date":
        if not _are_between(values, _DAYS):
            return None
        return pa.array(values, pa.int32()).cast(arrow)
    if data_type.name in ("timestamp", "timestamp_ntz"):
        if not _are_between(values, _MICROSECONDS):
            return None
        moments = pa.array(values, pa.int64()).cast(pa.timestamp("us", arrow.tz))
        return moments.cast(arrow)  # fails if it would lose digits
    if data_type.is_decimal and arrow == pa.uint64():
        return pa.array(values, pa.decimal128(20, 0)).cast(arrow)
    return pa.array(values, arrow)


def _are_between(values: Sequence[Value], limits: tuple[int, int]) -> bool:
    known = [each for each in values if each is not None]
    return all(isinstance(each, int) and limits[0] <= each <= limits[1] for each in known)
