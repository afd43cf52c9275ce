"""CAST between dates, timestamps and timestamps without a time zone, and between these and numbers.

A timestamp is a moment. Its date, and the moment at which a day begins, depend on the session time
zone (evaluation.functions.temporal.zones). A cast through a clock that is set back is not monotone;
the zone computes its bounds.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.interval import Interval, Numbers, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.casts.conversion import Conversion, nulled, only_inside
from tamis.evaluation.functions.casts.numeric_casts import double_to_decimal
from tamis.evaluation.functions.temporal.zones import DAY, SECOND
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, TIMESTAMP, TIMESTAMP_NTZ

__all__ = [
    "boolean_to_timestamp",
    "date_to_ntz",
    "date_to_timestamp",
    "decimal_to_timestamp",
    "floating_to_timestamp",
    "ntz_to_date",
    "ntz_to_timestamp",
    "timestamp_to_boolean",
    "timestamp_to_date",
    "timestamp_to_decimal",
    "timestamp_to_floating",
    "timestamp_to_ntz",
    "timestamp_to_whole",
    "whole_to_timestamp",
]

#: Dates further out than this (290,000 years) cannot be timestamps.
_LAST_DAY = (1 << 63) // DAY - 800
#: Timestamps further out than this may have local times beyond 64 bits.
_SAFE = (1 << 63) - 800 * DAY


def date_to_timestamp(x: Interval, conversion: Conversion) -> Bounds:
    """Return bounds of the first moment of the day in local time."""
    low, high, inside = _midnights(x)
    return result(TIMESTAMP, *conversion.clock.utc(low, high), x, proven=inside)


def date_to_ntz(x: Interval, conversion: Conversion) -> Bounds:
    low, high, inside = _midnights(x)
    return result(TIMESTAMP_NTZ, low, high, x, proven=inside)


def _midnights(x: Interval) -> tuple[Numbers, Numbers, Numbers]:
    inside = (x.lower > -_LAST_DAY) & (x.upper < _LAST_DAY)
    low, high = (np.where(inside, each, 0) * DAY for each in (x.lower, x.upper))
    return low, high, inside


def timestamp_to_date(x: Interval, conversion: Conversion) -> Bounds:
    low, high = conversion.clock.local(x.lower, x.upper)
    # Near the ends of 64 bits, which may also stand for unknown edges, allow any date.
    least, greatest = DATE.domain
    low = np.where(x.lower > -_SAFE, low // DAY, least)
    high = np.where(x.upper < _SAFE, high // DAY, greatest)
    return result(DATE, low, high, x)


def ntz_to_date(x: Interval, conversion: Conversion) -> Bounds:
    least, greatest = DATE.domain
    low = np.where(x.lower > -_SAFE, x.lower // DAY, least)
    high = np.where(x.upper < _SAFE, x.upper // DAY, greatest)
    return result(DATE, low, high, x)


def _is_safe(x: Interval) -> Numbers:
    safe: Numbers = (x.lower > -_SAFE) & (x.upper < _SAFE)
    return safe


def timestamp_to_ntz(x: Interval, conversion: Conversion) -> Bounds:
    edges = conversion.clock.local(x.lower, x.upper)
    return result(TIMESTAMP_NTZ, *edges, x, proven=_is_safe(x))


def ntz_to_timestamp(x: Interval, conversion: Conversion) -> Bounds:
    return result(TIMESTAMP, *conversion.clock.utc(x.lower, x.upper), x, proven=_is_safe(x))


def timestamp_to_whole(x: Interval, conversion: Conversion) -> Bounds:
    """Seconds, rounded down. In LEGACY mode, Spark versions differ for values out of range."""
    seconds = x.lower // SECOND, x.upper // SECOND
    if conversion.mode == "LEGACY":
        return only_inside(x, conversion, *seconds)
    return nulled(x, conversion, *seconds)


def timestamp_to_floating(x: Interval, conversion: Conversion) -> Bounds:
    """Microseconds as a double, divided by a million. Each rounding step is monotone."""
    edges = [each.astype(np.float64) / 1e6 for each in (x.lower, x.upper)]
    if conversion.to != DOUBLE:
        edges = [each.astype(np.float32) for each in edges]
    return result(conversion.to, edges[0], edges[1], x)


def timestamp_to_decimal(x: Interval, conversion: Conversion) -> Bounds | None:
    """Spark converts to a double first."""
    seconds = [each.astype(np.float64) / 1e6 for each in (x.lower, x.upper)]
    flags = x.known, x.can_be_null, x.can_be_nan, x.can_be_value
    return double_to_decimal(Interval(DOUBLE, seconds[0], seconds[1], *flags), conversion)


def timestamp_to_boolean(x: Interval, conversion: Conversion) -> Bounds:
    """Only 1970-01-01 00:00:00 UTC is false."""
    has_zero = (x.lower <= 0) & (x.upper >= 0)
    only_zero = (x.lower == 0) & (x.upper == 0)
    return result(BOOLEAN, np.where(has_zero, 0, 1), np.where(only_zero, 0, 1), x)


def whole_to_timestamp(x: Interval, conversion: Conversion) -> Bounds:
    """Seconds, converted to a long that saturates. Nothing is known where it does."""
    (low, low_exact), (high, high_exact) = (
        int64_overflow.multiply(each, np.array([SECOND])) for each in (x.lower, x.upper)
    )
    return result(TIMESTAMP, low, high, x, proven=low_exact & high_exact)


def boolean_to_timestamp(x: Interval, conversion: Conversion) -> Bounds:
    """True becomes one microsecond after the epoch, false the epoch."""
    return result(TIMESTAMP, x.lower, x.upper, x)


def floating_to_timestamp(x: Interval, conversion: Conversion) -> Bounds:
    """Seconds times a million as a double, rounded toward zero. NaN and infinity: NULL or error."""
    with np.errstate(all="ignore"):
        low, high = (each * 1e6 for each in (x.lower, x.upper))
        inside = (np.abs(low) < 2.0**62) & (np.abs(high) < 2.0**62)
    edges = [np.trunc(np.where(inside, each, 0.0)).astype(np.int64) for each in (low, high)]
    return nulled(x, conversion, edges[0], edges[1], proven=inside, can_be_null=x.can_be_nan)


def decimal_to_timestamp(x: Interval, conversion: Conversion) -> Bounds | None:
    """Seconds, rounded toward zero to microseconds."""
    unit = int64_overflow.power_of_ten(x.type.scale or 0)
    if unit is None:
        return None
    (low, low_exact), (high, high_exact) = (
        int64_overflow.multiply(each, np.array([SECOND])) for each in (x.lower, x.upper)
    )
    edges = int64_overflow.toward_zero(low, unit), int64_overflow.toward_zero(high, unit)
    return result(TIMESTAMP, *edges, x, proven=low_exact & high_exact)
