"""CAST between numbers, dates and timestamps; to and from strings only what is one value.

Every rule is a pair of types. Each of these casts is monotone, save those through a clock that is
set back (evaluate.zones). evalMode says what becomes of a value that the target cannot hold: it
wraps around or saturates (LEGACY), raises (ANSI) or is NULL (TRY). Where the bounds leave room for
such a value nothing is known; elsewhere the mode does not matter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.evaluate import exact
from tamis.evaluate.arithmetic import fits
from tamis.evaluate.bounds import Bounds
from tamis.evaluate.formats import moment_text
from tamis.evaluate.interpreter import value
from tamis.evaluate.interval import Interval, interval, result
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.text import as_text
from tamis.evaluate.zones import DAY, SECOND, Zone, zone_of
from tamis.expr.nodes import Call
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, TIMESTAMP, TIMESTAMP_NTZ, DataType

__all__ = ["cast"]

Rule = Callable[[Interval, DataType, Zone], Bounds | None]

_LONG_END = 2.0**63
#: Dates further out than this (290,000 years) are no timestamps.
_LAST_DAY = (1 << 63) // DAY - 800


def cast(call: Call, statistics: Statistics) -> Bounds | None:
    source = value(call.arguments[0], statistics) if len(call.arguments) == 1 else None
    if source is None:
        return None
    if source.type == call.type:
        return source
    x = interval(source)
    if x is None:
        return None
    if call.type.name == "string":
        return moment_text(x, zone_of(call)) or as_text(x)
    rule = _RULES.get((_family(x.type), _family(call.type)))
    return None if rule is None else rule(x, call.type, zone_of(call))


def _family(data_type: DataType) -> str:
    if data_type.is_integral:
        return "whole"
    return "floating" if data_type.is_floating else data_type.name


def _whole_to_whole(x: Interval, to: DataType, clock: Zone) -> Bounds:
    return result(to, x.lower, x.upper, x, proven=fits(to, x.lower, x.upper))


def _whole_to_floating(x: Interval, to: DataType, clock: Zone) -> Bounds:
    """Rounded to the nearest, as numpy does it."""
    dtype = np.float32 if to.name == "float" else np.float64
    return result(to, x.lower.astype(dtype), x.upper.astype(dtype), x)


def _whole_to_decimal(x: Interval, to: DataType, clock: Zone) -> Bounds | None:
    return _rescaled(x, 0, to)


def _whole_to_boolean(x: Interval, to: DataType, clock: Zone) -> Bounds:
    """0 is false, everything else true."""
    has_zero = (x.lower <= 0) & (x.upper >= 0)
    only_zero = (x.lower == 0) & (x.upper == 0)
    return result(BOOLEAN, np.where(has_zero, 0, 1), np.where(only_zero, 0, 1), x)


def _boolean_to_number(x: Interval, to: DataType, clock: Zone) -> Bounds:
    return result(to, x.lower, x.upper, x)


def _floating_to_whole(x: Interval, to: DataType, clock: Zone) -> Bounds:
    """Toward zero. NaN becomes 0 or raises."""
    least, greatest = to.domain
    inside = (x.lower > max(float(least), -_LONG_END)) & (x.upper < float(greatest))
    edges = [np.trunc(np.where(inside, each, 0.0)).astype(np.int64) for each in (x.lower, x.upper)]
    return result(to, edges[0], edges[1], x, proven=inside & ~x.can_be_nan)


def _floating_to_floating(x: Interval, to: DataType, clock: Zone) -> Bounds:
    """A float is a double; a double is rounded to the nearest float, or to infinity."""
    with np.errstate(over="ignore"):
        dtype = np.float32 if to.name == "float" else np.float64
        return result(to, x.lower.astype(dtype), x.upper.astype(dtype), x)


def _floating_to_decimal(x: Interval, to: DataType, clock: Zone) -> Bounds | None:
    """Through the shortest decimal text of the double, rounded half up: within one unit."""
    if x.type != DOUBLE:
        return None
    factor = 10.0 ** (to.scale or 0)
    with np.errstate(all="ignore"):
        low, high = x.lower * factor, x.upper * factor
        inside = (np.abs(low) < 2.0**52) & (np.abs(high) < 2.0**52)
    low, high = (np.where(inside, each, 0.0) for each in (low, high))
    lower, upper = np.floor(low).astype(np.int64) - 1, np.ceil(high).astype(np.int64) + 1
    proven = inside & fits(to, lower, upper) & ~x.can_be_nan
    return result(to, lower, upper, x, proven=proven)


def _decimal_to_whole(x: Interval, to: DataType, clock: Zone) -> Bounds | None:
    """Toward zero."""
    unit = exact.power_of_ten(x.type.scale or 0)
    if unit is None:
        return None
    edges = [np.sign(each) * (np.abs(each) // unit) for each in (x.lower, x.upper)]
    inside = fits(to, edges[0], edges[1]) & (x.lower > np.iinfo(np.int64).min)
    return result(to, edges[0], edges[1], x, proven=inside)


def _decimal_to_floating(x: Interval, to: DataType, clock: Zone) -> Bounds:
    """Within one part in 10 ** 15 for doubles, in 10 ** 6 for floats; a whole number exactly."""
    part = 1e-15 if to.name == "double" else 1e-6
    low, high = (
        each.astype(np.float64) / 10.0 ** (x.type.scale or 0) for each in (x.lower, x.upper)
    )
    return result(to, low - np.abs(low) * part, high + np.abs(high) * part, x)


def _decimal_to_decimal(x: Interval, to: DataType, clock: Zone) -> Bounds | None:
    return _rescaled(x, x.type.scale or 0, to)


def _rescaled(x: Interval, scale: int, to: DataType) -> Bounds | None:
    """More digits behind the point: multiplied out. Fewer: rounded half up, which is monotone."""
    shift = (to.scale or 0) - scale
    unit = exact.power_of_ten(abs(shift))
    if unit is None:
        return None
    if shift < 0:
        edges = [exact.divide_half_up(each, unit) for each in (x.lower, x.upper)]
        return result(to, edges[0], edges[1], x, proven=fits(to, edges[0], edges[1]))
    (low, low_exact), (high, high_exact) = (
        exact.multiply(each, np.array([unit])) for each in (x.lower, x.upper)
    )
    return result(to, low, high, x, proven=low_exact & high_exact & fits(to, low, high))


def _date_to_timestamp(x: Interval, to: DataType, clock: Zone) -> Bounds:
    """The day's first moment on the local clock."""
    inside = (x.lower > -_LAST_DAY) & (x.upper < _LAST_DAY)
    edges = [np.where(inside, each, 0) * DAY for each in (x.lower, x.upper)]
    low, high = clock.utc(edges[0], edges[1])
    return result(TIMESTAMP, low, high, x, proven=inside)


def _date_to_timestamp_ntz(x: Interval, to: DataType, clock: Zone) -> Bounds:
    inside = (x.lower > -_LAST_DAY) & (x.upper < _LAST_DAY)
    edges = [np.where(inside, each, 0) * DAY for each in (x.lower, x.upper)]
    return result(TIMESTAMP_NTZ, edges[0], edges[1], x, proven=inside)


_SAFE = (1 << 63) - 800 * DAY


def _timestamp_to_date(x: Interval, to: DataType, clock: Zone) -> Bounds:
    low, high = clock.local(x.lower, x.upper)
    # Two days beyond what the clipped ends of 64 bits give.
    low = np.where(x.lower > -_SAFE, low // DAY, low // DAY - 2)
    high = np.where(x.upper < _SAFE, high // DAY, high // DAY + 2)
    return result(DATE, low, high, x)


def _timestamp_ntz_to_date(x: Interval, to: DataType, clock: Zone) -> Bounds:
    return result(DATE, x.lower // DAY, x.upper // DAY, x)


def _timestamp_to_ntz(x: Interval, to: DataType, clock: Zone) -> Bounds:
    inside = (x.lower > -_SAFE) & (x.upper < _SAFE)
    return result(TIMESTAMP_NTZ, *clock.local(x.lower, x.upper), x, proven=inside)


def _ntz_to_timestamp(x: Interval, to: DataType, clock: Zone) -> Bounds:
    inside = (x.lower > -_SAFE) & (x.upper < _SAFE)
    return result(TIMESTAMP, *clock.utc(x.lower, x.upper), x, proven=inside)


def _timestamp_to_whole(x: Interval, to: DataType, clock: Zone) -> Bounds:
    """Seconds, rounded down."""
    low, high = x.lower // SECOND, x.upper // SECOND
    return result(to, low, high, x, proven=fits(to, low, high))


def _timestamp_to_floating(x: Interval, to: DataType, clock: Zone) -> Bounds | None:
    """Microseconds as a double, divided by a million: two roundings, both monotone."""
    if to != DOUBLE:
        return None
    return result(to, x.lower.astype(np.float64) / 1e6, x.upper.astype(np.float64) / 1e6, x)


def _whole_to_timestamp(x: Interval, to: DataType, clock: Zone) -> Bounds:
    """Seconds, as a long that saturates: unknown there."""
    (low, low_exact), (high, high_exact) = (
        exact.multiply(each, np.array([SECOND])) for each in (x.lower, x.upper)
    )
    return result(to, low, high, x, proven=low_exact & high_exact)


_RULES: dict[tuple[str, str], Rule] = {
    ("whole", "whole"): _whole_to_whole,
    ("whole", "floating"): _whole_to_floating,
    ("whole", "decimal"): _whole_to_decimal,
    ("whole", "boolean"): _whole_to_boolean,
    ("whole", "timestamp"): _whole_to_timestamp,
    ("boolean", "whole"): _boolean_to_number,
    ("boolean", "floating"): _boolean_to_number,
    ("floating", "whole"): _floating_to_whole,
    ("floating", "floating"): _floating_to_floating,
    ("floating", "decimal"): _floating_to_decimal,
    ("decimal", "whole"): _decimal_to_whole,
    ("decimal", "floating"): _decimal_to_floating,
    ("decimal", "decimal"): _decimal_to_decimal,
    ("date", "timestamp"): _date_to_timestamp,
    ("date", "timestamp_ntz"): _date_to_timestamp_ntz,
    ("timestamp", "date"): _timestamp_to_date,
    ("timestamp", "timestamp_ntz"): _timestamp_to_ntz,
    ("timestamp", "whole"): _timestamp_to_whole,
    ("timestamp", "floating"): _timestamp_to_floating,
    ("timestamp_ntz", "date"): _timestamp_ntz_to_date,
    ("timestamp_ntz", "timestamp"): _ntz_to_timestamp,
}
