"""The proleptic Gregorian calendar over arrays of days since 1970-01-01, which is the calendar of
numpy's datetime64: for all days that Spark's dates and timestamps reach.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluate.interval import Numbers

__all__ = [
    "civil",
    "day_of_year",
    "days",
    "first_of_month",
    "iso_week_year",
    "monday",
    "month_index",
    "month_length",
    "month_start",
    "year_of",
    "year_start",
]

#: Months from January of the year 0 to 1970-01.
_EPOCH_MONTH = 1970 * 12


def civil(day: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Year, month (1 to 12) and day of the month (1 to 31).

    >>> [int(part[0]) for part in civil(np.array([-1]))]
    [1969, 12, 31]
    """
    index = month_index(day)
    year, month = np.divmod(index, 12)
    return year, month + 1, day - month_start(index) + 1


def days(year: Numbers, month: Numbers, day: Numbers) -> Numbers:
    """Days since 1970-01-01 of a date.

    >>> days(np.array([1969]), np.array([12]), np.array([31]))
    array([-1])
    """
    return month_start(year * 12 + month - 1) + day - 1


def month_index(day: Numbers) -> Numbers:
    """Months since January of the year 0."""
    return _as(day, "D", "M") + _EPOCH_MONTH


def month_start(index: Numbers) -> Numbers:
    """The first day of the month at that index."""
    return _as(index - _EPOCH_MONTH, "M", "D")


def year_of(day: Numbers) -> Numbers:
    """The year that the day is in."""
    return _as(day, "D", "Y") + 1970


def _as(ordinal: Numbers, unit: str, to: str) -> Numbers:
    found: Numbers = ordinal.astype(f"M8[{unit}]").astype(f"M8[{to}]").astype(np.int64)
    return found


def first_of_month(day: Numbers) -> Numbers:
    """The first day of the month that the day is in."""
    return month_start(month_index(day))


def year_start(day: Numbers) -> Numbers:
    """The first day of the year that the day is in."""
    return _as(_as(day, "D", "Y"), "Y", "D")


def month_length(index: Numbers) -> Numbers:
    """How many days the month at that index has."""
    return month_start(index + 1) - month_start(index)


def day_of_year(day: Numbers) -> Numbers:
    """1 to 366."""
    ordinal: Numbers = day - year_start(day) + 1
    return ordinal


def monday(day: Numbers) -> Numbers:
    """The Monday of the day's week. 1970-01-01 was a Thursday."""
    first: Numbers = day - (day + 3) % 7
    return first


def iso_week_year(day: Numbers) -> tuple[Numbers, Numbers]:
    """The ISO 8601 year, which that of the week's Thursday is, and the week in it (1 to 53).

    >>> [int(part[0]) for part in iso_week_year(np.array([-3]))]
    [1970, 1]
    """
    thursday = monday(day) + 3
    return year_of(thursday), (day_of_year(thursday) - 1) // 7 + 1
