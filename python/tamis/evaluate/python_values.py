"""Values as a Python function of the user gets and gives them, and as Bounds holds them.

boolean, whole numbers, floats      bool, int, float
decimal                             decimal.Decimal of the type's scale
string, binary                      str, bytes
date                                datetime.date
timestamp_ntz                       datetime.datetime without zone
timestamp                           the same, in the local time of the Python worker, which is
                                    not known here: see MARGIN
"""

from __future__ import annotations

import datetime
import decimal
from typing import Any, Final

from tamis.evaluate.storage import edge_of
from tamis.expr.decimals import from_unscaled, unscaled
from tamis.expr.types import DataType

__all__ = ["MARGIN", "NotAValue", "from_python", "to_python"]

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)

#: Local time is less than a day from UTC, in every zone and at every moment. So bounds of a
#: timestamp are widened by a day, each way, where they go to a function and where they come back.
MARGIN: Final = datetime.timedelta(days=1)

_DIGITS: Final = decimal.Context(prec=80)


class NotAValue(ValueError):
    """No value of the type, or none that Python has."""


def to_python(value: Any, data_type: DataType) -> Any:
    """A value as Bounds or a literal holds it, as Python functions get it; NotAValue if none.

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
    """What a Python function gave, as a single edge of Bounds; NotAValue if it is none of the type.

    `widen`: -1 of a lower edge, 1 of an upper one: a timestamp is moved by MARGIN that way.

    >>> from tamis.expr.types import decimal as decimal_type
    >>> from_python(decimal.Decimal("1.005"), decimal_type(10, 2))
    101
    """
    if type(value) is int and data_type.is_integral:  # the most common: without further ado
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
        raise NotAValue  # NaN is no edge
    match data_type.name, value:
        case "float" | "double", int() if not isinstance(value, bool):
            return float(value)
        case "decimal", int() | decimal.Decimal() if not isinstance(value, bool):
            # Spark rounds to the scale of the type, halves away from zero: that never falls.
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
