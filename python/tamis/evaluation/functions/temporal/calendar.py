"""The proleptic Gregorian calendar over arrays of days since 1970-01-01.

This is the calendar of numpy's datetime64. It covers all days of Spark's dates and timestamps.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluation.domain.interval import Numbers

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

#: Months from January of the year 0 to January 1970.
_EPOCH_MONTH = 1970 * 12


def civil(day: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the year, month (1 to 12) and day of the month (1 to 31).

    >>> [int(part[0]) for part in civil(np.array([-1]))]
    [1969, 12, 31]
    """
    index = month_index(day)
    year, month = np.divmod(index, 12)
    return year, month + 1, day - month_start(index) + 1


def days(year: Numbers, month: Numbers, day: Numbers) -> Numbers:
    """Return the days from 1970-01-01 to a date.

    >>> days(np.array([1969]), np.array([12]), np.array([31]))
    array([-1])
    """
    return month_start(year * 12 + month - 1) + day - 1


def month_index(day: Numbers) -> Numbers:
    """Return the months from January of the year 0 to the month of the day."""
    return _as(day, "D", "M") + _EPOCH_MONTH


def month_start(index: Numbers) -> Numbers:
    """Return the first day of the month with this index (see `month_index`)."""
    return _as(index - _EPOCH_MONTH, "M", "D")


def year_of(day: Numbers) -> Numbers:
    """Return the year of the day."""
    return _as(day, "D", "Y") + 1970


def _as(ordinal: Numbers, unit: str, to: str) -> Numbers:
    converted: Numbers = ordinal.astype(f"M8[{unit}]").astype(f"M8[{to}]").astype(np.int64)
    return converted


def first_of_month(day: Numbers) -> Numbers:
    """Return the first day of the month of the day."""
    return month_start(month_index(day))


def year_start(day: Numbers) -> Numbers:
    """Return the first day of the year of the day."""
    return _as(_as(day, "D", "Y"), "Y", "D")


def month_length(index: Numbers) -> Numbers:
    """Return the number of days of the month with this index (see `month_index`)."""
    return month_start(index + 1) - month_start(index)


def day_of_year(day: Numbers) -> Numbers:
    """Return the day of the year, 1 to 366."""
    ordinal: Numbers = day - year_start(day) + 1
    return ordinal


def monday(day: Numbers) -> Numbers:
    """Return the Monday of the week of the day. 1970-01-01 was a Thursday."""
    first: Numbers = day - (day + 3) % 7
    return first


def iso_week_year(day: Numbers) -> tuple[Numbers, Numbers]:
    """Return the ISO 8601 year, which is the year of the week's Thursday, and its week (1 to 53).

    >>> [int(part[0]) for part in iso_week_year(np.array([-3]))]
    [1970, 1]
    """
    thursday = monday(day) + 3
    return year_of(thursday), (day_of_year(thursday) - 1) // 7 + 1
