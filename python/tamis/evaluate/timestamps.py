"""Functions of timestamps: parts of the local time, truncation, clocks of zones, and Unix time.

A timestamp is a moment in microseconds, and what it shows on a clock depends on the session's time
zone, which the call brings along; evaluate.zones has how. A timestamp_ntz is the clock itself.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluate import dates, exact
from tamis.evaluate.bounds import Bounds
from tamis.evaluate.interpreter import ValueRule, value
from tamis.evaluate.interval import Interval, Numbers, interval, result
from tamis.evaluate.parsing import text_to_unix
from tamis.evaluate.pieces import piecewise
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.zones import DAY, HOUR, SECOND, zone_of
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import DATE, INTEGER, LONG, TIMESTAMP, TIMESTAMP_NTZ

__all__ = [
    "SAFE",
    "clock_part",
    "from_unix",
    "from_utc",
    "is_safe",
    "local",
    "moment",
    "second_with_fraction",
    "to_unix",
    "to_utc",
    "trunc_timestamp",
    "unix_timestamp",
]

MINUTE = 60 * SECOND
#: Timestamps further out than this (some 290,000 years) overflow when they are moved.
SAFE = (1 << 63) - 800 * DAY


def moment(call: Call, statistics: Statistics, ordinal: int = 0) -> Interval | None:
    """The interval of an argument that is a timestamp of either kind."""
    if len(call.arguments) <= ordinal:
        return None
    found = interval(value(call.arguments[ordinal], statistics))
    return found if found is not None and found.type in (TIMESTAMP, TIMESTAMP_NTZ) else None


def is_safe(x: Interval) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return (x.lower > -SAFE) & (x.upper < SAFE)


def local(x: Interval, call: Call) -> tuple[Numbers, Numbers]:
    """Between which local times the moments lie."""
    if x.type == TIMESTAMP_NTZ:
        return x.lower, x.upper
    return zone_of(call).local(x.lower, x.upper)


def clock_part(unit: int, within: int) -> ValueRule:
    """The rule of hour, minute and second: how often `unit` went by since `within` began."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = moment(call, statistics)
        if x is None or call.type != INTEGER:
            return None
        low, high = local(x, call)
        pieces = low // within, high // within
        values = low % within // unit, high % within // unit
        return result(
            INTEGER, *piecewise(pieces, values, 0, within // unit - 1), x, proven=is_safe(x)
        )

    return rule


def second_with_fraction(call: Call, statistics: Statistics) -> Bounds | None:
    """extract(SECOND …): decimal(8,6), microseconds of the minute."""
    x = moment(call, statistics)
    if x is None or call.type.scale != 6:
        return None
    low, high = local(x, call)
    pieces, values = (low // MINUTE, high // MINUTE), (low % MINUTE, high % MINUTE)
    return result(call.type, *piecewise(pieces, values, 0, MINUTE - 1), x, proven=is_safe(x))


_TRUNCATED_TIMES = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND,
    "MINUTE": MINUTE,
    "HOUR": HOUR,
    "DAY": DAY,
    "DD": DAY,
}


def trunc_timestamp(call: Call, statistics: Statistics) -> Bounds | None:
    """date_trunc: down to the unit on the local clock, and back to a moment.

    Both ways through the clock, each step between its own bounds.
    """
    x = moment(call, statistics, 1)
    match call.arguments:
        case (Literal(value=str(unit)), _) if x is not None and call.type == TIMESTAMP:
            name = unit.upper()
        case _:
            return None
    if x.type != TIMESTAMP:
        return None
    clock = zone_of(call)
    if name in ("MICROSECOND", "MILLISECOND", "SECOND"):
        # Spark cuts these off the moment itself: monotone, and no offset is involved.
        step = _TRUNCATED_TIMES[name]
        return result(
            TIMESTAMP, x.lower // step * step, x.upper // step * step, x, proven=is_safe(x)
        )
    if name in ("MINUTE", "HOUR"):
        # Never later than the moment. Where one offset is in force, exactly; else at most a unit
        # and the greatest change of a clock, of a day, earlier.
        step = _TRUNCATED_TIMES[name]
        offset, one = clock.constant(x.lower - step, x.upper)
        low = np.where(one, (x.lower + offset) // step * step - offset, x.lower - step - DAY)
        high = np.where(one, (x.upper + offset) // step * step - offset, x.upper + DAY)
        return result(TIMESTAMP, low, high, x, proven=is_safe(x))
    if name not in dates.TRUNCATED_DAYS and name not in ("DAY", "DD"):
        return None
    low, high = clock.local(x.lower, x.upper)
    low, high = low // DAY, high // DAY
    if name in dates.TRUNCATED_DAYS:
        low, high = dates.TRUNCATED_DAYS[name](low), dates.TRUNCATED_DAYS[name](high)
    return result(TIMESTAMP, *clock.utc(low * DAY, high * DAY), x, proven=is_safe(x))


def from_utc(call: Call, statistics: Statistics) -> Bounds | None:
    """from_utc_timestamp: the clock of the zone, as if it were UTC."""
    x = moment(call, statistics)
    if x is None or x.type != TIMESTAMP or call.type != TIMESTAMP:
        return None
    return result(TIMESTAMP, *zone_of(call).local(x.lower, x.upper), x, proven=is_safe(x))


def to_utc(call: Call, statistics: Statistics) -> Bounds | None:
    """to_utc_timestamp: the moment at which the clock of the zone shows what UTC shows."""
    x = moment(call, statistics)
    if x is None or x.type != TIMESTAMP or call.type != TIMESTAMP:
        return None
    return result(TIMESTAMP, *zone_of(call).utc(x.lower, x.upper), x, proven=is_safe(x))


def to_unix(step: int) -> ValueRule:
    """unix_seconds, unix_millis, unix_micros: rounded down, so monotone."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = moment(call, statistics)
        if x is None or x.type != TIMESTAMP or call.type != LONG:
            return None
        return result(LONG, x.lower // step, x.upper // step, x)

    return rule


def unix_timestamp(call: Call, statistics: Statistics) -> Bounds | None:
    """unix_timestamp, to_unix_timestamp: of a moment cut toward zero; of a date, its midnight; of
    a string by its format.
    """
    if not call.arguments or call.type != LONG:
        return None
    x = interval(value(call.arguments[0], statistics))
    if x is None:
        return text_to_unix(call, statistics)
    if x.type == DATE:
        clock = zone_of(call)
        # The type's ends are beyond what 64 bits of microseconds hold.
        inside = (x.lower > -SAFE // DAY) & (x.upper < SAFE // DAY)
        days = [np.where(inside, each, 0) * DAY for each in (x.lower, x.upper)]
        low, high = clock.utc(days[0], days[1])
        seconds = exact.toward_zero(low, SECOND), exact.toward_zero(high, SECOND)
        return result(LONG, *seconds, x, proven=inside)
    if x.type == TIMESTAMP:
        seconds = exact.toward_zero(x.lower, SECOND), exact.toward_zero(x.upper, SECOND)
        return result(LONG, *seconds, x)
    return None


def from_unix(step: int) -> ValueRule:
    """timestamp_seconds, _millis, _micros of whole numbers; beyond 64 bits it raises."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = interval(value(call.arguments[0], statistics)) if call.arguments else None
        if x is None or not x.type.is_integral or call.type != TIMESTAMP:
            return None
        factor = np.array([step])
        (low, low_exact), (high, high_exact) = (
            exact.multiply(each, factor) for each in (x.lower, x.upper)
        )
        return result(TIMESTAMP, low, high, x, proven=low_exact & high_exact)

    return rule
