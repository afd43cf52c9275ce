"""CAST of strings to numbers, booleans, dates and timestamps.

None of these casts is monotone ("10" < "9"), and invalid text gives NULL or raises. The result is
known

- where all strings of a file are the same one, written in a plain form: digits with at most one
  decimal point; or yyyy-MM-dd, optionally followed by HH:mm:ss and up to six digits of a fraction.
  All modes agree on these.
- for dates and timestamps, where all strings of a file begin with the same year and a dash. Every
  valid date among them lies in that year, because Spark reads the year as the four to seven digits
  before the first dash. Any other string gives NULL. This does not apply to ANSI mode, which raises
  for such a string.

Month and day may be written with one digit, so "2024-1" lies between "2024-05" and "2024-12": see
_between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.domain.interval import Interval, Numbers, decimal_parts, result
from tamis.evaluation.functions.casts.conversion import Conversion
from tamis.evaluation.functions.casts.numeric_casts import (
    decimal_to_decimal,
    floating_to_floating,
    whole_to_whole,
)
from tamis.evaluation.functions.strings.byte_rows import lengths_of, rows_of, shared_length
from tamis.evaluation.functions.strings.text import one_text
from tamis.evaluation.functions.temporal import calendar
from tamis.evaluation.functions.temporal.written_moments import parsed_moments
from tamis.evaluation.functions.temporal.zones import DAY, HOUR
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, LONG, TIMESTAMP, decimal

__all__ = ["text_to_value"]

_WHOLE = r"^-?[0-9]{1,18}\z"
_FRACTION = r"^-?[0-9]{1,9}(?:\.[0-9]{1,9})?\z"
_TRUE = pa.array([b"t", b"true", b"y", b"yes", b"1"], pa.large_binary())
_FALSE = pa.array([b"f", b"false", b"n", b"no", b"0"], pa.large_binary())
#: The greatest offset from UTC of a time zone that a string may end with.
_OFFSET = 18 * HOUR


def text_to_value(x: Bounds, conversion: Conversion) -> Bounds | None:
    """Return bounds of the CAST of a string; None for target types without a rule."""
    if x.lower is None or x.upper is None:
        return None
    rule = _RULES.get(_family(conversion))
    return None if rule is None else rule(x, x.lower, x.upper, conversion)


def _family(conversion: Conversion) -> str:
    to = conversion.to
    if to.is_integral:
        return "whole"
    return "floating" if to.is_floating else to.name


Rule = Callable[[Bounds, pa.Array, pa.Array, Conversion], Bounds | None]


def _matching(x: Bounds, lower: pa.Array, upper: pa.Array, pattern: str) -> Flags:
    """Return where there is a single string and it matches the pattern."""
    written = pc.match_substring_regex(lower, pattern)
    flags: Flags = pc.fill_null(written, False).to_numpy(zero_copy_only=False)
    return flags & one_text(lower, upper)


def _texts(lower: pa.Array, known: Flags) -> pa.Array:
    return pc.if_else(pa.array(known), lower, pa.scalar(b"0", lower.type)).cast(pa.large_string())


def _point(x: Bounds, like: Interval, known: Flags) -> Interval:
    return replace(like, known=known, can_be_null=x.can_be_null, can_be_value=x.can_be_value)


def _to_whole(x: Bounds, lower: pa.Array, upper: pa.Array, conversion: Conversion) -> Bounds:
    known = _matching(x, lower, upper, _WHOLE)
    values = _texts(lower, known).cast(pa.int64()).to_numpy(zero_copy_only=False)
    read = _point(x, Interval(LONG, values, values, known, NO, NO, NO), known)
    # In LEGACY mode a number that the type cannot hold gives NULL: it does not wrap around.
    mode = "TRY" if conversion.mode == "LEGACY" else conversion.mode
    return whole_to_whole(read, replace(conversion, mode=mode))


def _to_floating(x: Bounds, lower: pa.Array, upper: pa.Array, conversion: Conversion) -> Bounds:
    known = _matching(x, lower, upper, _FRACTION)
    values = _texts(lower, known).cast(pa.float64()).to_numpy(zero_copy_only=False)
    read = _point(x, Interval(DOUBLE, values, values, known, NO, NO, NO), known)
    bounds = floating_to_floating(read, conversion)
    if conversion.to == DOUBLE:
        return bounds
    # Here the text is rounded to a double and then to a float. The result is at most one float away
    # from rounding once.
    edges = bounds.lower, bounds.upper
    low, high = (
        np.nextafter(each.astype(np.float32), np.float32(end)).astype(np.float64)  # type: ignore[union-attr]
        for each, end in zip(edges, (-np.inf, np.inf), strict=True)
    )
    return replace(bounds, lower=low, upper=high)


def _to_decimal(
    x: Bounds, lower: pa.Array, upper: pa.Array, conversion: Conversion
) -> Bounds | None:
    known = _matching(x, lower, upper, _FRACTION)
    unscaled, _ = decimal_parts(_texts(lower, known).cast(pa.decimal128(38, 9)))
    read = Interval(decimal(18, 9), unscaled, unscaled, known, NO, NO, NO)
    return decimal_to_decimal(_point(x, read, known), conversion)


def _to_boolean(x: Bounds, lower: pa.Array, upper: pa.Array, conversion: Conversion) -> Bounds:
    small = pc.ascii_lower(_texts(lower, one_text(lower, upper) & _is_ascii(lower)))
    small = small.cast(pa.large_binary())
    true, false = (
        pc.is_in(small, value_set=each).to_numpy(zero_copy_only=False) for each in (_TRUE, _FALSE)
    )
    known = (true | false) & one_text(lower, upper) & _is_ascii(lower)
    edge = true.astype(np.int64)
    return result(
        BOOLEAN, edge, edge, _point(x, Interval(BOOLEAN, edge, edge, known, NO, NO, NO), known)
    )


def _is_ascii(edge: pa.Array) -> Flags:
    plain = pc.match_substring_regex(edge, r"^[0-9A-Za-z]{1,5}\z")
    flags: Flags = pc.fill_null(plain, False).to_numpy(zero_copy_only=False)
    return flags


#: The longest plain form. A letter stands for a digit of a field, other characters for themselves.
_FULL = "yyyy-MM-dd HH:mm:ss.SSSSSS"


def _one_moment(x: Bounds, lower: pa.Array, upper: pa.Array) -> tuple[Numbers, Flags]:
    """Return the local moment of the single string, and where there is one in a plain form."""
    rows, lengths = rows_of(lower, len(_FULL)), lengths_of(lower)
    single = one_text(lower, upper)
    moments, known = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
    for length in (10, 19, *range(21, 27)):
        if not (single & (lengths == length)).any():
            continue
        parsed, valid = parsed_moments(rows, lengths, _FULL[:length])
        moments = np.where(valid, parsed, moments)
        known |= valid & single
    return moments, known


def _days_of_prefix(lower: pa.Array, upper: pa.Array) -> tuple[Numbers, Numbers, Flags]:
    """Return the first and last day of the dates written between two strings.

    The third result is where that is known: where both strings begin with the same year and a dash.
    """
    width = len("yyyy-MM-dd")
    low, high = rows_of(lower, width), rows_of(upper, width)
    shortest = np.minimum(lengths_of(lower), lengths_of(upper))
    shared = shared_length(low, high, np.minimum(shortest, width))
    digits = (low >= ord("0")) & (low <= ord("9")) & (high >= ord("0")) & (high <= ord("9"))
    ends = [each.astype(np.int64) - ord("0") for each in (low, high)]
    year = ends[0][:, :4] @ np.array([1000, 100, 10, 1])
    known = (shared >= 5) & digits[:, :4].all(axis=1) & (low[:, 4] == ord("-")) & (year >= 1)
    first, last = _between(ends, 5, known & digits[:, 5:7].all(axis=1), shared, 1, 12)
    # The day is bounded where the month is the same in both and a dash follows.
    same_month = known & (shared >= 8) & digits[:, 5:7].all(axis=1) & (low[:, 7] == ord("-"))
    year = np.where(known, year, 1)
    longest = calendar.month_length(year * 12 + last - 1)
    both_digits = same_month & digits[:, 8:10].all(axis=1)
    begin, end = _between(ends, 8, both_digits, shared, 1, longest)
    return calendar.days(year, first, begin), calendar.days(year, last, end), known


def _between(
    ends: list[Numbers],
    place: int,
    both_digits: Flags,
    shared: Numbers,
    least: int,
    most: Numbers | int,
) -> tuple[Numbers, Numbers]:
    """Return bounds of a month or day written at `place`, where the text before it is the same.

    `both_digits`: where both edges have two digits there. Elsewhere the bounds are `least` and
    `most`.

    If the edges have the same first digit, every string between them has it too, and its next
    character lies between the second digits of the edges, so it is a digit. (A number of one digit
    is followed by a dash or a space, which sort before all digits, or by a T, which sorts after
    them.) Otherwise the number is at least the first digit of the lower edge, which may stand alone
    ("1T" > "15"), and at most the number of the upper edge: "3" and "29" are both less than "30".
    """
    low, high = (each[:, place] * 10 + each[:, place + 1] for each in ends)
    same_digit = shared > place
    low = np.where(same_digit, low, ends[0][:, place])
    lower = np.where(both_digits, np.clip(low, least, most), least)
    upper = np.where(both_digits, np.clip(high, least, most), most)
    return lower, upper


def _to_moment(x: Bounds, lower: pa.Array, upper: pa.Array, conversion: Conversion) -> Bounds:
    if len(lower) != len(upper):
        return Bounds.unknown(conversion.to)
    moments, single = _one_moment(x, lower, upper)
    first, last, within = _days_of_prefix(lower, upper)
    if conversion.to == DATE:
        low, high = moments // DAY, moments // DAY
        least, greatest = first, last
    else:
        least, greatest = first * DAY, last * DAY + DAY - 1
        low, high = moments, moments
        if conversion.to == TIMESTAMP:
            low, high = conversion.clock.utc(moments, moments)
            # The zone is the session's, or one that is written after the time.
            least, greatest = least - _OFFSET, greatest + _OFFSET
    many = ~single & within & conversion.gives_null
    read = Interval(conversion.to, low, high, single | many, x.can_be_null, NO, x.can_be_value)
    return result(
        conversion.to,
        np.where(single, low, least),
        np.where(single, high, greatest),
        read,
        can_be_null=many,
    )


_RULES: dict[str, Rule] = {
    "whole": _to_whole,
    "floating": _to_floating,
    "decimal": _to_decimal,
    "boolean": _to_boolean,
    "date": _to_moment,
    "timestamp": _to_moment,
    "timestamp_ntz": _to_moment,
}
