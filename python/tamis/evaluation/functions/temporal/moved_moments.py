"""Timestamps and dates shifted by a constant interval.

Spark shifts the local date by months, then by days, and keeps the time of day. Then it shifts the
moment by microseconds. Shifting by months is monotone in days but not in the time of day: 01-30
23:00 and 01-31 01:00 both go to 02-28. So a time that is shifted by months lies between the start
of the day to which the lower edge is shifted and the end of the day to which the upper edge is
shifted. If the clock skips the end of that day, and a shift by days follows, the upper edge may lie
on the next day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.interval import Interval, Numbers, interval, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.temporal import dates
from tamis.evaluation.functions.temporal.timestamps import SAFE, is_safe, local, moment
from tamis.evaluation.functions.temporal.zones import DAY, HOUR, SECOND, zone_of
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import CalendarInterval, Call, Literal
from tamis.expr.types import DATE, TIMESTAMP

__all__ = ["ENTRIES", "add_calendar_interval", "add_interval", "add_months", "timestamp_add"]

#: The longest steps that are evaluated: 10,000 years. A longer one may overflow for any value.
_MOST_MONTHS = 12 * 10_000
_MOST_DAYS = 366 * 10_000


@dataclass(frozen=True, slots=True)
class _Step:
    months: int = 0
    days: int = 0
    micros: int = 0

    @property
    def is_short(self) -> bool:
        most = _MOST_MONTHS, _MOST_DAYS, _MOST_DAYS * DAY
        return all(
            abs(part) <= limit
            for part, limit in zip((self.months, self.days, self.micros), most, strict=True)
        )


def add_interval(call: Call, statistics: Statistics) -> Bounds | None:
    """timestamp + a day-time interval, or + a calendar interval (make_interval)."""
    x = moment(call, statistics)
    match call.arguments:
        case (_, Literal(value=int(micros), type=data_type)) if x is not None:
            if data_type.name != "day_time_interval":
                return None
            # Java's division rounds toward zero.
            days = abs(micros) // DAY * (1 if micros >= 0 else -1)
            return _moved(x, call, _Step(0, days, micros - days * DAY))
        case (_, Literal(value=CalendarInterval(months, days, micros))) if x is not None:
            return _moved(x, call, _Step(months, days, micros))
    return None


def add_months(call: Call, statistics: Statistics) -> Bounds | None:
    """timestamp + a year-month interval."""
    x = moment(call, statistics)
    match call.arguments:
        case (_, Literal(value=int(months), type=data_type)) if x is not None:
            if data_type.name == "year_month_interval":
                return _moved(x, call, _Step(months))
    return None


#: Unit of timestampadd, in upper case -> the step of one unit.
_UNITS = {
    "MICROSECOND": _Step(micros=1),
    "MILLISECOND": _Step(micros=1_000),
    "SECOND": _Step(micros=SECOND),
    "MINUTE": _Step(micros=60 * SECOND),
    "HOUR": _Step(micros=HOUR),
    "DAY": _Step(days=1),
    "DAYOFYEAR": _Step(days=1),
    "WEEK": _Step(days=7),
    "MONTH": _Step(months=1),
    "QUARTER": _Step(months=3),
    "YEAR": _Step(months=12),
}


def timestamp_add(call: Call, statistics: Statistics) -> Bounds | None:
    """timestampadd with a constant number of units."""
    x = moment(call, statistics, 1)
    unit = call.option("unit")
    match call.arguments:
        case (Literal(value=int(count)), _) if isinstance(unit, str) and x is not None:
            one = _UNITS.get(unit.upper())
            if one is not None:
                step = _Step(one.months * count, one.days * count, one.micros * count)
                return _moved(x, call, step)
    return None


def _moved(x: Interval, call: Call, step: _Step) -> Bounds | None:
    if not step.is_short or call.type != x.type:
        return None
    low, high = x.lower, x.upper
    inside = is_safe(x)
    if step.months or step.days:
        low, high = local(x, call)
        if step.months:
            # Require a distance from the ends of the type, so that no calendar date lies beyond it.
            margin = SAFE - _MOST_DAYS * DAY
            inside = inside & (x.lower > -margin) & (x.upper < margin)
            by = np.array([step.months])
            low = dates.moved_by_months(low // DAY, by) * DAY
            high = dates.moved_by_months(high // DAY, by) * DAY + DAY - 1
            if step.days and x.type == TIMESTAMP:
                # If the clock skips the time to which the months lead, Spark adds the days to the
                # time after the gap, which may be on the next day.
                low, high = zone_of(call).local(*zone_of(call).utc(low, high))
        low, high = (_shifted(each, step.days * DAY) for each in (low, high))
        if x.type == TIMESTAMP:
            low, high = zone_of(call).utc(low, high)
    low, high = (_shifted(each, step.micros) for each in (low, high))
    inside = inside & (low > -SAFE) & (high < SAFE)
    return result(x.type, low, high, x, proven=inside)


def _shifted(edge: Numbers, by: int) -> Numbers:
    return int64_overflow.clipped_add(edge, np.array([by]))


def add_calendar_interval(call: Call, statistics: Statistics) -> Bounds | None:
    """date + a calendar interval without a time part: first the months, then the days."""
    x = interval(value(call.arguments[0], statistics)) if len(call.arguments) == 2 else None
    match call.arguments:
        case (_, Literal(value=CalendarInterval(months, days, 0))) if x is not None:
            step = _Step(months, days)
        case _:
            return None  # ANSI mode raises if the interval has a time part
    if x.type != DATE or call.type != DATE or not step.is_short:
        return None
    least, greatest = DATE.domain
    low, high = (
        dates.moved_by_months(each, np.array([months])) + days for each in (x.lower, x.upper)
    )
    return result(DATE, low, high, x, proven=(low >= least) & (high <= greatest))


ENTRIES: Final = (
    FunctionEntry(
        "DateAddInterval",
        "date + make_interval(…)",
        Knowledge.MONOTONE,
        add_calendar_interval,
        note="intervals without a time of day",
    ),
    FunctionEntry("TimestampAddInterval", "timestamp + INTERVAL", Knowledge.MONOTONE, add_interval),
    FunctionEntry(
        "TimeAdd",
        "timestamp + INTERVAL",
        Knowledge.MONOTONE,
        add_interval,
        note="name in Spark 4.0",
    ),
    FunctionEntry(
        "TimestampAddYMInterval",
        "timestamp + INTERVAL",
        Knowledge.MONOTONE,
        add_months,
        note="years and months; bounds are whole days",
    ),
    FunctionEntry("TimestampAdd", "timestampadd", Knowledge.MONOTONE, timestamp_add),
)
