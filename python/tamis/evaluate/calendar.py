"""The proleptic Gregorian calendar over arrays of days since 1970-01-01, for all 64-bit days
that Spark's dates and timestamps reach. Algorithms: Howard Hinnant, "chrono-compatible low-level
date algorithms" (days_from_civil, civil_from_days), which count years from March.
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
    "year_start",
]

#: Days from 0000-03-01 to 1970-01-01, and in 400 years.
_SHIFT, _ERA = 719_468, 146_097


def civil(day: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Year, month (1 to 12) and day of the month (1 to 31).

    >>> [int(part[0]) for part in civil(np.array([-1]))]
    [1969, 12, 31]
    """
    era, of_era = np.divmod(day + _SHIFT, _ERA)
    of_year_400 = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * of_year_400 + of_year_400 // 4 - of_year_400 // 100)
    march_month = (5 * of_year + 2) // 153
    month = np.where(march_month < 10, march_month + 3, march_month - 9)
    return (
        of_year_400 + era * 400 + (month <= 2),
        month,
        of_year - (153 * march_month + 2) // 5 + 1,
    )


def days(year: Numbers, month: Numbers, day: Numbers) -> Numbers:
    """Days since 1970-01-01 of a date.

    >>> days(np.array([1969]), np.array([12]), np.array([31]))
    array([-1])
    """
    march_year = year - (month <= 2)
    era, of_year_400 = np.divmod(march_year, 400)
    of_year = (153 * np.where(month > 2, month - 3, month + 9) + 2) // 5 + day - 1
    of_era = of_year_400 * 365 + of_year_400 // 4 - of_year_400 // 100 + of_year
    ordinal: Numbers = era * _ERA + of_era - _SHIFT
    return ordinal


def month_index(day: Numbers) -> Numbers:
    """Months since January of the year 0."""
    year, month, _ = civil(day)
    return year * 12 + month - 1


def month_start(index: Numbers) -> Numbers:
    """The first day of the month at that index."""
    year, month = np.divmod(index, 12)
    return days(year, month + 1, np.ones_like(month))


def first_of_month(day: Numbers) -> Numbers:
    """The first day of the month that the day is in."""
    return month_start(month_index(day))


def year_start(day: Numbers) -> Numbers:
    """The first day of the year that the day is in."""
    return month_start(month_index(day) // 12 * 12)


def month_length(index: Numbers) -> Numbers:
    """How many days the month at that index has."""
    return month_start(index + 1) - month_start(index)


def day_of_year(day: Numbers) -> Numbers:
    """1 to 366."""
    year, _, _ = civil(day)
    one = np.ones_like(year)
    ordinal: Numbers = day - days(year, one, one) + 1
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
    year, _, _ = civil(thursday)
    return year, (day_of_year(thursday) - 1) // 7 + 1
