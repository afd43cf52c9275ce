"""Parsing text with full-width fields, such as 2024-11-03 06:07:08, as local times."""

from __future__ import annotations

import numpy as np

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.domain.interval import Numbers
from tamis.evaluation.functions.strings.byte_rows import Rows
from tamis.evaluation.functions.temporal import calendar
from tamis.evaluation.functions.temporal.zones import DAY, SECOND

__all__ = ["parsed_moments"]


def parsed_moments(rows: Rows, lengths: Numbers, pattern: str) -> tuple[Numbers, Flags]:
    """Parse text that matches a pattern of full-width fields.

    Fields that are not in the pattern have their first value: month 1, day 1, hour 0.

    Args:
        rows: The bytes of each text, at least as many as the pattern has.
        lengths: The length of each text in bytes. Only texts as long as the pattern match.
        pattern: Letters for the digits of fields (y, M, d, H, m, s, S). Any other character must
            match itself.

    Returns:
        The local times in microseconds, 0 where the text does not match; and where it matches.

    >>> rows = np.array([list(b"1970-01-02"), list(b"1970-13-02")], np.uint8)
    >>> moments, valid = parsed_moments(rows, np.array([10, 10]), "yyyy-MM-dd")
    >>> int(moments[0]) == DAY, valid.tolist()
    (True, [True, False])
    """
    valid = lengths == len(pattern)
    fields = {"y": np.zeros(len(rows), np.int64)}
    for place, letter in enumerate(pattern):
        cell = rows[:, place].astype(np.int64)
        if letter.isalpha():
            valid = valid & (cell >= ord("0")) & (cell <= ord("9"))
            fields[letter] = fields.get(letter, 0) * 10 + cell - ord("0")
        else:
            valid = valid & (cell == ord(letter))
    one = np.ones(len(rows), np.int64)
    year, month, day = fields["y"], fields.get("M", one), fields.get("d", one)
    hour, minute, second = (fields.get(each, 0 * one) for each in "Hms")
    valid = valid & (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    month = np.where(valid, month, 1)
    longest = calendar.month_length(year * 12 + month - 1)
    valid = valid & (day <= longest) & (hour < 24) & (minute < 60) & (second < 60)
    days = calendar.days(year, month, np.where(valid, day, 1))
    clock = ((hour * 60 + minute) * 60 + second) * SECOND
    fraction = fields.get("S", 0 * one) * 10 ** (6 - pattern.count("S"))
    return np.where(valid, days * DAY + clock + fraction, 0), valid
