"""Functions of timestamps: parts of the local time, truncation, time zone shifts, and Unix time.

A timestamp is a moment in microseconds. Its local time depends on the session time zone, which is
part of the call; see evaluation.functions.temporal.zones. A timestamp_ntz is a local time.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.interval import Interval, Numbers, interval, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.temporal import dates
from tamis.evaluation.functions.temporal.parsing import text_to_unix
from tamis.evaluation.functions.temporal.piecewise import piecewise
from tamis.evaluation.functions.temporal.zones import DAY, HOUR, SECOND, Zone, zone, zone_of
from tamis.evaluation.interpreter import ValueRule, value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import DATE, INTEGER, LONG, TIMESTAMP, TIMESTAMP_NTZ

__all__ = [
    "ENTRIES",
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
#: Timestamps further out than this (some 290,000 years) may overflow when they are shifted.
SAFE = (1 << 63) - 800 * DAY


def moment(call: Call, statistics: Statistics, ordinal: int = 0) -> Interval | None:
    """Return the interval of an argument that is a timestamp of either kind; else None."""
    if len(call.arguments) <= ordinal:
        return None
    x = interval(value(call.arguments[ordinal], statistics))
    return x if x is not None and x.type in (TIMESTAMP, TIMESTAMP_NTZ) else None


def is_safe(x: Interval) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return (x.lower > -SAFE) & (x.upper < SAFE)


def local(x: Interval, call: Call) -> tuple[Numbers, Numbers]:
    """Return the bounds of the local times of the moments."""
    if x.type == TIMESTAMP_NTZ:
        return x.lower, x.upper
    return zone_of(call).local(x.lower, x.upper)


def clock_part(unit: int, within: int) -> ValueRule:
    """Return the rule of hour, minute or second.

    It counts the whole units of length `unit` since the current period of length `within` began.
    Both are in microseconds.
    """

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
    """extract(SECOND …): a decimal(8,6). Its unscaled value is the microseconds of the minute."""
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
    """date_trunc: round the local time down to the unit and convert it back to a moment.

    Each of the three steps maps bounds to bounds.
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
        # Spark truncates the moment itself to these units. This is monotone and needs no offset.
        step = _TRUNCATED_TIMES[name]
        return result(
            TIMESTAMP, x.lower // step * step, x.upper // step * step, x, proven=is_safe(x)
        )
    if name in ("MINUTE", "HOUR"):
        # The result is never later than the moment. Where a single offset is in force, it is
        # computed exactly. Elsewhere it is earlier by at most a unit plus the greatest clock
        # change, which is a day.
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


def _zone_argument(call: Call) -> Zone | None:
    """Return the zone that is the second argument, if it is a constant and exists.

    Any other zone may be NULL, and then the result is NULL, or invalid, and then Spark raises.
    """
    match call.arguments:
        case (_, Literal(value=str() as name)):
            clock = zone_of(call) if call.option("timeZoneId") == name else zone(name)
            return clock if clock.is_known else None
    return None


def from_utc(call: Call, statistics: Statistics) -> Bounds | None:
    """from_utc_timestamp: the local time of the zone, taken as UTC."""
    x, clock = moment(call, statistics), _zone_argument(call)
    if x is None or clock is None or x.type != TIMESTAMP or call.type != TIMESTAMP:
        return None
    return result(TIMESTAMP, *clock.local(x.lower, x.upper), x, proven=is_safe(x))


def to_utc(call: Call, statistics: Statistics) -> Bounds | None:
    """to_utc_timestamp: the moment whose local time in the zone is the UTC time of the argument."""
    x, clock = moment(call, statistics), _zone_argument(call)
    if x is None or clock is None or x.type != TIMESTAMP or call.type != TIMESTAMP:
        return None
    return result(TIMESTAMP, *clock.utc(x.lower, x.upper), x, proven=is_safe(x))


def to_unix(step: int) -> ValueRule:
    """Return the rule of unix_seconds, unix_millis or unix_micros: rounded down, so monotone."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = moment(call, statistics)
        if x is None or x.type != TIMESTAMP or call.type != LONG:
            return None
        return result(LONG, x.lower // step, x.upper // step, x)

    return rule


def unix_timestamp(call: Call, statistics: Statistics) -> Bounds | None:
    """unix_timestamp and to_unix_timestamp.

    Of a timestamp: seconds, rounded toward zero (a timestamp_ntz is taken as UTC). Of a date: the
    seconds of its midnight. Of a string: see the module parsing.
    """
    if not call.arguments or call.type != LONG:
        return None
    x = interval(value(call.arguments[0], statistics))
    if x is None:
        return text_to_unix(call, statistics)
    if x.type == DATE:
        clock = zone_of(call)
        # The ends of DATE are beyond 64 bits of microseconds.
        inside = (x.lower > -SAFE // DAY) & (x.upper < SAFE // DAY)
        days = [np.where(inside, each, 0) * DAY for each in (x.lower, x.upper)]
        low, high = clock.utc(days[0], days[1])
        seconds = int64_overflow.toward_zero(low, SECOND), int64_overflow.toward_zero(high, SECOND)
        return result(LONG, *seconds, x, proven=inside)
    if x.type in (TIMESTAMP, TIMESTAMP_NTZ):
        seconds = (
            int64_overflow.toward_zero(x.lower, SECOND),
            int64_overflow.toward_zero(x.upper, SECOND),
        )
        return result(LONG, *seconds, x)
    return None


def from_unix(step: int) -> ValueRule:
    """Return the rule of timestamp_seconds, _millis or _micros of whole numbers.

    Spark raises if the result exceeds 64 bits.
    """

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = interval(value(call.arguments[0], statistics)) if call.arguments else None
        if x is None or not x.type.is_integral or call.type != TIMESTAMP:
            return None
        factor = np.array([step])
        (low, low_exact), (high, high_exact) = (
            int64_overflow.multiply(each, factor) for each in (x.lower, x.upper)
        )
        return result(TIMESTAMP, low, high, x, proven=low_exact & high_exact)

    return rule


ENTRIES: Final = (
    FunctionEntry("Hour", "hour", Knowledge.PIECEWISE, clock_part(HOUR, DAY), never_raises=True),
    FunctionEntry(
        "Minute", "minute", Knowledge.PIECEWISE, clock_part(60 * SECOND, HOUR), never_raises=True
    ),
    FunctionEntry(
        "Second", "second", Knowledge.PIECEWISE, clock_part(SECOND, 60 * SECOND), never_raises=True
    ),
    FunctionEntry(
        "SecondWithFraction",
        "extract(SECOND)",
        Knowledge.PIECEWISE,
        second_with_fraction,
        never_raises=True,
    ),
    FunctionEntry("TruncTimestamp", "date_trunc", Knowledge.MONOTONE, trunc_timestamp),
    FunctionEntry("FromUTCTimestamp", "from_utc_timestamp", Knowledge.MONOTONE, from_utc),
    FunctionEntry("ToUTCTimestamp", "to_utc_timestamp", Knowledge.MONOTONE, to_utc),
    FunctionEntry("UnixTimestamp", "unix_timestamp", Knowledge.MONOTONE, unix_timestamp),
    FunctionEntry("ToUnixTimestamp", "to_unix_timestamp", Knowledge.MONOTONE, unix_timestamp),
    FunctionEntry("UnixSeconds", "unix_seconds", Knowledge.MONOTONE, to_unix(SECOND)),
    FunctionEntry("UnixMillis", "unix_millis", Knowledge.MONOTONE, to_unix(1_000)),
    FunctionEntry("UnixMicros", "unix_micros", Knowledge.MONOTONE, to_unix(1)),
    FunctionEntry("SecondsToTimestamp", "timestamp_seconds", Knowledge.MONOTONE, from_unix(SECOND)),
    FunctionEntry("MillisToTimestamp", "timestamp_millis", Knowledge.MONOTONE, from_unix(1_000)),
    FunctionEntry("MicrosToTimestamp", "timestamp_micros", Knowledge.MONOTONE, from_unix(1)),
)
