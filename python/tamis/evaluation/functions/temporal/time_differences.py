"""Differences of two dates or moments: increasing in the end, decreasing in the start.

Spark subtracts local times, so an hour that the clock skips counts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.interval import Interval, Numbers, interval, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.temporal import calendar
from tamis.evaluation.functions.temporal.timestamps import is_safe, local, moment
from tamis.evaluation.functions.temporal.zones import DAY, UNIT_LENGTHS
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import DATE, DAY_TIME_INTERVAL, DOUBLE, INTEGER, LONG

__all__ = [
    "ENTRIES",
    "months_between",
    "subtract_dates",
    "subtract_timestamps",
    "timestamp_diff",
    "whole_days",
]


def subtract_dates(call: Call, statistics: Statistics) -> Bounds | None:
    """date - date: an interval of days, stored in microseconds."""
    if len(call.arguments) != 2 or call.type != DAY_TIME_INTERVAL:
        return None
    end, start = (interval(value(argument, statistics)) for argument in call.arguments)
    if end is None or start is None or not end.type == start.type == DATE:
        return None
    day = np.array([DAY])
    (low, low_exact), (high, high_exact) = (
        int64_overflow.multiply(days, day)
        for days in (end.lower - start.upper, end.upper - start.lower)  # dates have 32 bits
    )
    return result(call.type, low, high, end, start, proven=low_exact & high_exact)


def subtract_timestamps(call: Call, statistics: Statistics) -> Bounds | None:
    """timestamp - timestamp: an interval of microseconds between the local times."""
    operands = _two_moments(call, statistics)
    if operands is None or call.type != DAY_TIME_INTERVAL:
        return None
    end, start = operands
    lows, highs, proven = _apart(end, start, call)
    return result(call.type, lows, highs, end, start, proven=proven)


def _two_moments(call: Call, statistics: Statistics) -> tuple[Interval, Interval] | None:
    operands = [moment(call, statistics, ordinal) for ordinal in (0, 1)]
    if operands[0] is None or operands[1] is None or operands[0].type != operands[1].type:
        return None
    return operands[0], operands[1]


def _apart(end: Interval, start: Interval, call: Call) -> tuple[Numbers, Numbers, Numbers]:
    """Return bounds of end - start in local time, in microseconds, and where they are known."""
    (end_low, end_high), (start_low, start_high) = local(end, call), local(start, call)
    low, low_exact = int64_overflow.subtract(end_low, start_high)
    high, high_exact = int64_overflow.subtract(end_high, start_low)
    return low, high, low_exact & high_exact & is_safe(end) & is_safe(start)


def whole_days(call: Call, statistics: Statistics) -> Bounds | None:
    """extract(DAY FROM interval), rounded toward zero."""
    x = interval(value(call.arguments[0], statistics)) if len(call.arguments) == 1 else None
    if x is None or x.type != DAY_TIME_INTERVAL or call.type != INTEGER:
        return None
    # An edge at an end of the type is unknown; the interval may have overflowed. Use the bounds of
    # INTEGER there.
    least, greatest = x.type.domain
    low = np.where(x.lower > least, int64_overflow.toward_zero(x.lower, DAY), INTEGER.domain[0])
    high = np.where(x.upper < greatest, int64_overflow.toward_zero(x.upper, DAY), INTEGER.domain[1])
    return result(INTEGER, low, high, x)


_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def timestamp_diff(call: Call, statistics: Statistics) -> Bounds | None:
    """timestampdiff(unit, start, end): whole units, rounded toward zero."""
    operands = _two_moments(call, statistics)
    unit = call.option("unit")
    if operands is None or not isinstance(unit, str) or call.type != LONG:
        return None
    start, end = operands
    low, high, proven = _apart(end, start, call)
    name = unit.upper()
    if name in UNIT_LENGTHS:
        low, high = (int64_overflow.toward_zero(each, UNIT_LENGTHS[name]) for each in (low, high))
        return result(LONG, low, high, start, end, proven=proven)
    if name not in _MONTHS:
        return None
    (end_low, end_high), (start_low, start_high) = local(end, call), local(start, call)
    # For a fixed start, the months rise with the end. A later start on a later day, but at an
    # earlier time of day, may give more months: at most two more (see _whole_months).
    slack = np.where(start_low == start_high, 0, 2)
    months = (
        _whole_months(end_low, start_high) - slack,
        _whole_months(end_high, start_low) + slack,
    )
    low, high = (int64_overflow.toward_zero(each, _MONTHS[name]) for each in months)
    return result(LONG, low, high, start, end, proven=proven)


def _whole_months(end: Numbers, start: Numbers) -> Numbers:
    """Return the whole months from start to end, as Java counts them (LocalDateTime.until).

    If the end is later but its time of day is earlier, the end moves to the day before; if the end
    is earlier but its time of day is later, it moves to the day after. Then the difference is
    divided by months of 32 days, rounded toward zero. The result is at most two less than the
    difference of the calendar months: from 09-30 12:00 to 03-01 00:00, which counts as 02-28, it is
    four.
    """
    (day, time), (first, begin) = np.divmod(end, DAY), np.divmod(start, DAY)
    day = day - ((day > first) & (time < begin)) + ((day < first) & (time > begin))
    apart: Numbers = int64_overflow.toward_zero(
        _months_of_32_days(day) - _months_of_32_days(first), 32
    )
    return apart


def _months_of_32_days(day: Numbers) -> Numbers:
    month = calendar.month_index(day)
    days: Numbers = month * 32 + day - calendar.month_start(month)
    return days


#: The length of a month in _fractional_month, in microseconds: each day counts as 1 / 31.
_MONTH_OF_31_DAYS: Final = 31.0 * DAY
#: The margin for two roundings. If both days are the last of their months, or have the same day of
#: month, Spark gives whole months. These differ by up to three days and a fraction of a day from
#: the value computed from the days. Spark also rounds the result to eight digits.
_WHOLE_MONTHS: Final = 4 / 31 + 1e-6


def months_between(call: Call, statistics: Statistics) -> Bounds | None:
    """months_between(end, start): the difference in months plus the difference in days / 31."""
    if len(call.arguments) != 3 or call.type != DOUBLE:
        return None
    operands = _two_moments(call, statistics)
    round_off = interval(value(call.arguments[2], statistics))
    if operands is None or round_off is None:
        return None
    end, start = operands
    (end_low, end_high), (start_low, start_high) = local(end, call), local(start, call)
    # Months plus days / 31 rise with the time, because no month has more than 31 days.
    low = _fractional_month(end_low) - _fractional_month(start_high) - _WHOLE_MONTHS
    high = _fractional_month(end_high) - _fractional_month(start_low) + _WHOLE_MONTHS
    return result(DOUBLE, low, high, end, start, round_off, proven=is_safe(end) & is_safe(start))


def _fractional_month(moment: Numbers) -> Numbers:
    day, time = np.divmod(moment, DAY)
    months = calendar.month_index(day)
    days = day - calendar.month_start(months)
    fraction: Numbers = months + (days * DAY + time) / _MONTH_OF_31_DAYS
    return fraction


ENTRIES: Final = (
    FunctionEntry("SubtractDates", "date - date", Knowledge.INTERVAL, subtract_dates),
    FunctionEntry(
        "SubtractTimestamps", "timestamp - timestamp", Knowledge.INTERVAL, subtract_timestamps
    ),
    FunctionEntry(
        "ExtractANSIIntervalDays", "extract(DAY FROM x - y)", Knowledge.MONOTONE, whole_days
    ),
    FunctionEntry("TimestampDiff", "timestampdiff", Knowledge.INTERVAL, timestamp_diff),
    FunctionEntry("MonthsBetween", "months_between", Knowledge.INTERVAL, months_between),
)
