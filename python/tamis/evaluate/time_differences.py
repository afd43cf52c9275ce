"""How far two dates or moments are apart: monotone in the later one, falling in the earlier one.

Spark takes the difference of what the clocks show, so that an hour that is skipped counts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tamis.evaluate import calendar, exact
from tamis.evaluate.bounds import Bounds
from tamis.evaluate.interpreter import value
from tamis.evaluate.interval import Interval, Numbers, interval, result
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.timestamps import is_safe, local, moment
from tamis.evaluate.zones import DAY, HOUR, SECOND
from tamis.expr.nodes import Call
from tamis.expr.types import DATE, DAY_TIME_INTERVAL, DOUBLE, INTEGER, LONG

__all__ = [
    "months_between",
    "subtract_dates",
    "subtract_timestamps",
    "timestamp_diff",
    "whole_days",
]


def subtract_dates(call: Call, statistics: Statistics) -> Bounds | None:
    """date - date as an interval of days, which is held in microseconds."""
    if len(call.arguments) != 2 or call.type != DAY_TIME_INTERVAL:
        return None
    end, start = (interval(value(argument, statistics)) for argument in call.arguments)
    if end is None or start is None or not end.type == start.type == DATE:
        return None
    day = np.array([DAY])
    (low, low_exact), (high, high_exact) = (
        exact.multiply(days, day)
        for days in (end.lower - start.upper, end.upper - start.lower)  # of 32 bits each
    )
    return result(call.type, low, high, end, start, proven=low_exact & high_exact)


def subtract_timestamps(call: Call, statistics: Statistics) -> Bounds | None:
    """timestamp - timestamp as an interval of microseconds between the local times."""
    found = _two_moments(call, statistics)
    if found is None or call.type != DAY_TIME_INTERVAL:
        return None
    end, start = found
    lows, highs, proven = _apart(end, start, call)
    return result(call.type, lows, highs, end, start, proven=proven)


def _two_moments(call: Call, statistics: Statistics) -> tuple[Interval, Interval] | None:
    found = [moment(call, statistics, ordinal) for ordinal in (0, 1)]
    if found[0] is None or found[1] is None or found[0].type != found[1].type:
        return None
    return found[0], found[1]


def _apart(end: Interval, start: Interval, call: Call) -> tuple[Numbers, Numbers, Numbers]:
    """Between how many microseconds the local times are apart, and where that is known."""
    (end_low, end_high), (start_low, start_high) = local(end, call), local(start, call)
    low, low_exact = exact.subtract(end_low, start_high)
    high, high_exact = exact.subtract(end_high, start_low)
    return low, high, low_exact & high_exact & is_safe(end) & is_safe(start)


def whole_days(call: Call, statistics: Statistics) -> Bounds | None:
    """extract(DAY FROM interval): toward zero."""
    x = interval(value(call.arguments[0], statistics)) if len(call.arguments) == 1 else None
    if x is None or x.type != DAY_TIME_INTERVAL or call.type != INTEGER:
        return None
    # Edges that are not known are the ends of the type, on the way to which it may have overflowed.
    least, greatest = x.type.domain
    low = np.where(x.lower > least, exact.toward_zero(x.lower, DAY), INTEGER.domain[0])
    high = np.where(x.upper < greatest, exact.toward_zero(x.upper, DAY), INTEGER.domain[1])
    return result(INTEGER, low, high, x)


#: Units of timestampdiff of a fixed length.
_LENGTHS: Final = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND,
    "MINUTE": 60 * SECOND,
    "HOUR": HOUR,
    "DAY": DAY,
    "DAYOFYEAR": DAY,
    "WEEK": 7 * DAY,
}
_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def timestamp_diff(call: Call, statistics: Statistics) -> Bounds | None:
    """timestampdiff(unit, start, end): whole units, toward zero."""
    found = _two_moments(call, statistics)
    unit = call.option("unit")
    if found is None or not isinstance(unit, str) or call.type != LONG:
        return None
    start, end = found
    low, high, proven = _apart(end, start, call)
    name = unit.upper()
    if name in _LENGTHS:
        low, high = (exact.toward_zero(each, _LENGTHS[name]) for each in (low, high))
        return result(LONG, low, high, start, end, proven=proven)
    if name not in _MONTHS:
        return None
    (end_low, end_high), (start_low, start_high) = local(end, call), local(start, call)
    # Of one start the months rise with the end. Of a later start on a later day, but earlier in the
    # day, they may be more: by no more than two (see _whole_months).
    slack = np.where(start_low == start_high, 0, 2)
    months = (
        _whole_months(end_low, start_high) - slack,
        _whole_months(end_high, start_low) + slack,
    )
    low, high = (exact.toward_zero(each, _MONTHS[name]) for each in months)
    return result(LONG, low, high, start, end, proven=proven)


def _whole_months(end: Numbers, start: Numbers) -> Numbers:
    """As Java counts them (LocalDateTime.until): up to the day before, or from the day after, where
    the time of day is not reached; then months of 32 days, toward zero. At most two less than the
    months on the calendar: from 09-30 12:00 up to 03-01 00:00, which counts as 02-28, are four.
    """
    (day, time), (first, begin) = np.divmod(end, DAY), np.divmod(start, DAY)
    day = day - ((day > first) & (time < begin)) + ((day < first) & (time > begin))
    apart: Numbers = exact.toward_zero(_months_of_32_days(day) - _months_of_32_days(first), 32)
    return apart


def _months_of_32_days(day: Numbers) -> Numbers:
    month = calendar.month_index(day)
    days: Numbers = month * 32 + day - calendar.month_start(month)
    return days


#: Of a time: months and, for a day and its part, 1 / 31 a day.
_MONTH_OF_31_DAYS: Final = 31.0 * DAY
#: Where both days are the last of their months, or of one number, Spark tells whole months: off by
#: up to three days and a part of a day from what the days make. And eight digits are rounded to.
_WHOLE_MONTHS: Final = 4 / 31 + 1e-6


def months_between(call: Call, statistics: Statistics) -> Bounds | None:
    """months_between(end, start): the months between, and the days between by 31."""
    if len(call.arguments) != 3 or call.type != DOUBLE:
        return None
    found = _two_moments(call, statistics)
    round_off = interval(value(call.arguments[2], statistics))
    if found is None or round_off is None:
        return None
    end, start = found
    (end_low, end_high), (start_low, start_high) = local(end, call), local(start, call)
    # Months and days by 31 rise with the time: no month has more than 31 days.
    low = _fractional_month(end_low) - _fractional_month(start_high) - _WHOLE_MONTHS
    high = _fractional_month(end_high) - _fractional_month(start_low) + _WHOLE_MONTHS
    return result(DOUBLE, low, high, end, start, round_off, proven=is_safe(end) & is_safe(start))


def _fractional_month(moment: Numbers) -> Numbers:
    day, time = np.divmod(moment, DAY)
    months = calendar.month_index(day)
    days = day - calendar.month_start(months)
    fraction: Numbers = months + (days * DAY + time) / _MONTH_OF_31_DAYS
    return fraction
