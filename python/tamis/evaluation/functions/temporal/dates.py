"""Functions of dates: parts, truncation, and arithmetic in days and months.

A date is a number of days, so every part of it is a function of integers. `Hour` and similar parts,
and functions of timestamps, are in evaluation.functions.temporal.timestamps. Dates reach 5.8
million years before and after 1970. Spark raises or wraps around for results beyond that, which are
unknown here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import YES, Bounds, Flags
from tamis.evaluation.domain.interval import Interval, Numbers, interval, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.temporal import calendar
from tamis.evaluation.functions.temporal.piecewise import piecewise
from tamis.evaluation.interpreter import ValueRule, value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import DATE, INTEGER

__all__ = [
    "ENTRIES",
    "add_days",
    "add_months",
    "date_diff",
    "date_part",
    "identity_days",
    "last_day",
    "make_date",
    "next_day",
    "subtract_days",
    "trunc_date",
]

_LEAST, _GREATEST = DATE.domain
#: Days. Functions that move a date by up to a year may overflow this close to the ends of the type.
_MARGIN = 400

Part = Callable[[Numbers], Numbers]


def _date(call: Call, statistics: Statistics, ordinal: int = 0) -> Interval | None:
    """Return the interval of an argument; None if it is missing or not a date."""
    if len(call.arguments) <= ordinal:
        return None
    x = interval(value(call.arguments[ordinal], statistics))
    return x if x is not None and x.type == DATE else None


def date_part(of_day: Part, piece_of_day: Part | None, least: int, greatest: int) -> ValueRule:
    """Return the rule of a date part that is monotone within each piece.

    Args:
        of_day: The part of a day.
        piece_of_day: The piece that a day lies in, such as its year; None if the part is monotone
            over all dates.
        least: The least value of the part, used for dates in several pieces.
        greatest: The greatest value of the part, used for dates in several pieces.
    """

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = _date(call, statistics)
        if x is None or call.type != INTEGER:
            return None
        values = of_day(x.lower), of_day(x.upper)
        if piece_of_day is not None:
            pieces = piece_of_day(x.lower), piece_of_day(x.upper)
            values = piecewise(pieces, values, least, greatest)
        return result(INTEGER, *values, x)

    return rule


def month(day: Numbers) -> Numbers:
    """Return the month, 1 to 12."""
    return calendar.month_index(day) % 12 + 1


def quarter(day: Numbers) -> Numbers:
    return (month(day) - 1) // 3 + 1


def day_of_month(day: Numbers) -> Numbers:
    """Return the day of the month, 1 to 31."""
    return day - calendar.first_of_month(day) + 1


def day_of_week(day: Numbers) -> Numbers:
    """Return the day of the week, 1 (Sunday) to 7. 1970-01-01 was a Thursday."""
    return (day + 4) % 7 + 1


def sunday(day: Numbers) -> Numbers:
    """Return the number of the week, where weeks begin on Sunday."""
    return (day + 4) // 7


def weekday(day: Numbers) -> Numbers:
    """Return the day of the week, 0 (Monday) to 6."""
    return (day + 3) % 7


def week(day: Numbers) -> Numbers:
    return (day + 3) // 7


def week_of_year(day: Numbers) -> Numbers:
    return calendar.iso_week_year(day)[1]


def year_of_week(day: Numbers) -> Numbers:
    return calendar.iso_week_year(day)[0]


def identity_days(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of unix_date or date_from_unix_date: the same number, of another type."""
    x = interval(value(call.arguments[0], statistics)) if len(call.arguments) == 1 else None
    if x is None or {x.type, call.type} != {DATE, INTEGER}:
        return None
    return result(call.type, x.lower, x.upper, x)


#: Unit of `trunc` and `date_trunc`, in upper case -> the first day of the unit that contains a day.
#: All of these are monotone: a later day is in the same unit or in a later one.
TRUNCATED_DAYS: dict[str, Part] = {
    "WEEK": calendar.monday,
    **dict.fromkeys(("MONTH", "MON", "MM"), calendar.first_of_month),
    "QUARTER": lambda day: calendar.month_start(calendar.month_index(day) // 3 * 3),
    **dict.fromkeys(("YEAR", "YYYY", "YY"), calendar.year_start),
}


def trunc_date(call: Call, statistics: Statistics) -> Bounds | None:
    x = _date(call, statistics)
    match call.arguments:
        case (_, Literal(value=str(unit))) if unit.upper() in TRUNCATED_DAYS and x is not None:
            truncated = TRUNCATED_DAYS[unit.upper()]
            inside = x.lower > _LEAST + _MARGIN
            return result(DATE, truncated(x.lower), truncated(x.upper), x, proven=inside)
    return None  # any other unit gives NULL


def last_day(call: Call, statistics: Statistics) -> Bounds | None:
    x = _date(call, statistics)
    if x is None:
        return None
    # The day before the first day of the next month: monotone, because the month is.
    edges = [
        calendar.month_start(calendar.month_index(each) + 1) - 1 for each in (x.lower, x.upper)
    ]
    return result(DATE, edges[0], edges[1], x, proven=x.upper < _GREATEST - _MARGIN)


_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def next_day(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of next_day: the first such weekday after the day.

    It is one to seven days later, and monotone in the day.
    """
    x = _date(call, statistics)
    if x is None or call.type != DATE:
        return None
    match call.arguments:
        case (_, Literal(value=str(name))) if name.upper() in _WEEKDAYS:
            wanted = _WEEKDAYS.index(name.upper())
            edges = [each + 7 - (each + 3 - wanted) % 7 for each in (x.lower, x.upper)]
            inside = (x.lower > _LEAST + _MARGIN) & (x.upper < _GREATEST - _MARGIN)
            return result(DATE, edges[0], edges[1], x, proven=inside)
    return None


def add_days(call: Call, statistics: Statistics) -> Bounds | None:
    return _moved(call, statistics, int64_overflow.add)


def subtract_days(call: Call, statistics: Statistics) -> Bounds | None:
    return _moved(call, statistics, int64_overflow.subtract)


def _moved(
    call: Call, statistics: Statistics, move: Callable[[Numbers, Numbers], tuple[Numbers, Flags]]
) -> Bounds | None:
    """Return the bounds of date ± days; unknown where Spark wraps around at the end of the type."""
    x = _date(call, statistics)
    by = _whole(call, statistics, 1)
    if x is None or by is None or call.type != DATE:
        return None
    near, far = (by.lower, by.upper) if move is int64_overflow.add else (by.upper, by.lower)
    # Both operands have at most 32 bits, so their sum fits 64 bits.
    lower, upper = move(x.lower, near)[0], move(x.upper, far)[0]
    return result(DATE, lower, upper, x, by, proven=(lower >= _LEAST) & (upper <= _GREATEST))


def _whole(call: Call, statistics: Statistics, ordinal: int) -> Interval | None:
    """Return the interval of an argument; None unless it is an integer of at most 32 bits."""
    if len(call.arguments) <= ordinal:
        return None
    x = interval(value(call.arguments[ordinal], statistics))
    if x is None or x.type.name not in ("byte", "short", "integer", "year_month_interval"):
        return None
    return x


def date_diff(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of end - start in days; unknown where 32 bits overflow (Spark wraps)."""
    end, start = _date(call, statistics), _date(call, statistics, 1)
    if end is None or start is None or call.type != INTEGER:
        return None
    lower, upper = end.lower - start.upper, end.upper - start.lower
    return result(
        INTEGER, lower, upper, end, start, proven=(lower >= _LEAST) & (upper <= _GREATEST)
    )


def moved_by_months(day: Numbers, months: Numbers) -> Numbers:
    """Return the same day of another month, or its last day if it has fewer days.

    Monotone in `day`: all days of a month are moved to one month and capped at its length, and a
    later month is moved to a later month. Monotone in `months`: more months give a later month.
    """
    month = calendar.month_index(day)
    index = month + months
    ordinal = day - calendar.month_start(month)
    last = calendar.month_length(index) - 1
    moved: Numbers = calendar.month_start(index) + np.minimum(ordinal, last)
    return moved


def add_months(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of add_months(date, n) or date + INTERVAL n MONTH."""
    x = _date(call, statistics)
    by = _whole(call, statistics, 1)
    if x is None or by is None or call.type != DATE:
        return None
    lower, upper = moved_by_months(x.lower, by.lower), moved_by_months(x.upper, by.upper)
    # Spark raises for a result beyond the type.
    return result(DATE, lower, upper, x, by, proven=(lower >= _LEAST) & (upper <= _GREATEST))


def make_date(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of make_date(year, month, day).

    The result is monotone in each of the three, so the edges map to edges. It is unknown unless
    every combination is a date (days up to the 28th): Spark gives NULL or raises for any other.
    """
    parts = [_whole(call, statistics, ordinal) for ordinal in range(3)]
    if len(call.arguments) != 3 or call.type != DATE:
        return None
    y, m, d = parts
    if y is None or m is None or d is None:
        return None
    valid = (m.lower >= 1) & (m.upper <= 12) & (d.lower >= 1) & (d.upper <= 28)
    valid = valid & (y.lower >= -1_000_000) & (y.upper <= 1_000_000)
    lower = calendar.days(y.lower, m.lower, d.lower)
    upper = calendar.days(y.upper, m.upper, d.upper)
    return result(DATE, lower, upper, y, m, d, proven=valid & YES)


ENTRIES: Final = (
    FunctionEntry(
        "Year",
        "year",
        Knowledge.MONOTONE,
        date_part(calendar.year_of, None, 0, 0),
        never_raises=True,
    ),
    FunctionEntry(
        "YearOfWeek",
        "extract(YEAROFWEEK)",
        Knowledge.MONOTONE,
        date_part(year_of_week, None, 0, 0),
        never_raises=True,
    ),
    FunctionEntry(
        "Quarter",
        "quarter",
        Knowledge.PIECEWISE,
        date_part(quarter, calendar.year_of, 1, 4),
        never_raises=True,
    ),
    FunctionEntry(
        "Month",
        "month",
        Knowledge.PIECEWISE,
        date_part(month, calendar.year_of, 1, 12),
        never_raises=True,
    ),
    FunctionEntry(
        "DayOfMonth",
        "day",
        Knowledge.PIECEWISE,
        date_part(day_of_month, calendar.month_index, 1, 31),
        never_raises=True,
    ),
    FunctionEntry(
        "DayOfYear",
        "dayofyear",
        Knowledge.PIECEWISE,
        date_part(calendar.day_of_year, calendar.year_of, 1, 366),
        never_raises=True,
    ),
    FunctionEntry(
        "DayOfWeek",
        "dayofweek",
        Knowledge.PIECEWISE,
        date_part(day_of_week, sunday, 1, 7),
        never_raises=True,
    ),
    FunctionEntry(
        "WeekDay", "weekday", Knowledge.PIECEWISE, date_part(weekday, week, 0, 6), never_raises=True
    ),
    FunctionEntry(
        "WeekOfYear",
        "weekofyear",
        Knowledge.PIECEWISE,
        date_part(week_of_year, year_of_week, 1, 53),
        never_raises=True,
    ),
    FunctionEntry("TruncDate", "trunc", Knowledge.MONOTONE, trunc_date),
    FunctionEntry("LastDay", "last_day", Knowledge.MONOTONE, last_day),
    FunctionEntry(
        "NextDay",
        "next_day",
        Knowledge.MONOTONE,
        next_day,
        note="only two-letter names of days (MO, TU, …)",
    ),
    FunctionEntry("DateAdd", "date_add, date + n", Knowledge.MONOTONE, add_days),
    FunctionEntry("DateSub", "date_sub, date - n", Knowledge.MONOTONE, subtract_days),
    FunctionEntry("DateDiff", "datediff", Knowledge.INTERVAL, date_diff, never_raises=True),
    FunctionEntry("AddMonths", "add_months", Knowledge.MONOTONE, add_months),
    FunctionEntry("DateAddYMInterval", "date + INTERVAL n MONTH", Knowledge.MONOTONE, add_months),
    FunctionEntry("UnixDate", "unix_date", Knowledge.MONOTONE, identity_days, never_raises=True),
    FunctionEntry("DateFromUnixDate", "date_from_unix_date", Knowledge.MONOTONE, identity_days),
    FunctionEntry(
        "MakeDate", "make_date", Knowledge.INTERVAL, make_date, note="days up to the 28th"
    ),
)
