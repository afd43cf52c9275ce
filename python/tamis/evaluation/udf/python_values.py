"""Conversion between values in Bounds and the arguments and results of users' Python functions.

boolean, whole numbers, floats      bool, int, float
decimal                             decimal.Decimal with the scale of the type
string, binary                      str, bytes
date                                datetime.date
timestamp_ntz                       datetime.datetime without a time zone
timestamp                           the same, in the local time of the Python worker, which is
                                    not known here: see MARGIN
"""

from __future__ import annotations

import datetime
import decimal
from typing import Any, Final

from tamis.evaluation.domain.edge_values import edge_of
from tamis.expr.decimals import from_unscaled, unscaled
from tamis.expr.types import DataType

__all__ = ["MARGIN", "NotAValue", "from_python", "to_python"]

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)

#: Local time differs from UTC by less than a day, in every zone and at every moment. So timestamp
#: bounds are widened by a day in each direction, both as arguments of a function and as its result.
MARGIN: Final = datetime.timedelta(days=1)

_DIGITS: Final = decimal.Context(prec=80)


class NotAValue(ValueError):
    """The value is not a value of the type, or Python cannot represent it."""


def to_python(value: Any, data_type: DataType) -> Any:
    """Return a value of Bounds or of a literal in the form that Python functions get.

    Raises:
        NotAValue: Python cannot represent the value.

    >>> from tamis.expr.types import DATE
    >>> to_python(-1, DATE)
    datetime.date(1969, 12, 31)
    """
    try:
        match data_type.name:
            case "boolean":
                return bool(value)
            case "string":
                return value.decode() if isinstance(value, bytes) else value
            case "binary":
                return bytes(value)
            case "float" | "double":
                return float(value)
            case "decimal":
                scale = data_type.scale or 0
                whole = unscaled(value, scale) if isinstance(value, decimal.Decimal) else int(value)
                return from_unscaled(whole, scale)
            case "date":
                return (_EPOCH + datetime.timedelta(days=int(value))).date()
            case "timestamp" | "timestamp_ntz":
                return _EPOCH + int(value) * _MICROSECOND
            case _:
                return int(value)
    except (ValueError, OverflowError, TypeError, decimal.DecimalException) as error:
        raise NotAValue from error


def from_python(value: Any, data_type: DataType, widen: int = 0) -> Any:
    """Return the result of a Python function as a single edge of Bounds.

    Args:
        value: The result of the function.
        data_type: The type of the edge.
        widen: -1 for a lower edge, 1 for an upper edge: a timestamp moves by MARGIN in that
            direction. 0 moves nothing.

    Raises:
        NotAValue: The result is not a value of the type, or is NaN.

    >>> from tamis.expr.types import decimal as decimal_type
    >>> from_python(decimal.Decimal("1.005"), decimal_type(10, 2))
    101
    """
    if type(value) is int and data_type.is_integral:  # the most common case: return it directly
        least, greatest = data_type.domain
        if least <= value <= greatest:
            return value
        raise NotAValue
    try:
        edge: list[Any] = edge_of([_internal(value, data_type, widen)], data_type).tolist()
        return edge[0]
    except (ValueError, OverflowError, TypeError, ArithmeticError) as error:
        raise NotAValue from error


def _internal(value: Any, data_type: DataType, widen: int) -> Any:
    if value != value:
        raise NotAValue  # NaN cannot be an edge
    match data_type.name, value:
        case "float" | "double", int() if not isinstance(value, bool):
            return float(value)
        case "decimal", int() | decimal.Decimal() if not isinstance(value, bool):
            # Spark rounds to the scale of the type, halves away from zero. This is monotone.
            unit = decimal.Decimal(1).scaleb(-(data_type.scale or 0))
            rounded = decimal.Decimal(value).quantize(
                unit, rounding=decimal.ROUND_HALF_UP, context=_DIGITS
            )
            digits = (data_type.precision or 0) - (data_type.scale or 0)
            if rounded != 0 and rounded.adjusted() >= digits:
                raise NotAValue
            return rounded
        case "binary", bytearray() | bytes():
            return bytes(value)
        case "date", datetime.date():
            day = value.date() if isinstance(value, datetime.datetime) else value
            return (day - _EPOCH.date()).days
        case "timestamp", datetime.datetime():
            naive = value
            if value.tzinfo is not None:
                naive = value.astimezone(datetime.UTC).replace(tzinfo=None)
            return (naive - _EPOCH) // _MICROSECOND + widen * (MARGIN // _MICROSECOND)
        case "timestamp_ntz", datetime.datetime():
            return (value - _EPOCH) // _MICROSECOND
        case "date" | "timestamp" | "timestamp_ntz", _:
            raise NotAValue
    return value
