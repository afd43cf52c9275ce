"""Dates and timestamps as text in patterns of year, month, day, hour, minute and second.

Each field has its full width, so that two texts of a pattern are compared field by field. Let the
first n of these six fields be equal at both edges of a container, and so in all of its moments. If
the pattern without these n fields is empty, or consists of the fields that follow, in this order,
each once, then an earlier moment has no greater text: the texts agree in the n fields and in all
separators, and the other fields are compared in the order in which they count. So yyyy-MM-dd is
known of every container, MM/dd/yyyy where all moments are of one year, dd.MM.yyyy of one month.

Only the years 1900 to 9999 are known: later years have more digits, and for
old dates the calendars of Spark's two parsers (`spark.sql.legacy.timeParserPolicy`) differ. Where
clocks change, date_format and from_unixtime are known up to 2036
(evaluation.functions.temporal.zones, Zone.legacy).
"""

from __future__ import annotations

import itertools
import re
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.domain.interval import Interval, Numbers, interval
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.strings.text import text_result
from tamis.evaluation.functions.temporal.zones import DAY, SECOND, Zone, zone_of
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ

__all__ = ["ENTRIES", "date_format", "from_unix_time", "moment_text"]

#: Microseconds of 1900-01-01 and 9999-12-31 23:59:59.999999.
_FIRST: Final = -25_567 * DAY
_LAST: Final = 2_932_897 * DAY - 1
#: Letters of a pattern -> their position in a text such as 2024-11-03 06:07:08.
_FIELDS: Final = {
    "yyyy": (0, 4),
    "MM": (5, 7),
    "dd": (8, 10),
    "HH": (11, 13),
    "mm": (14, 16),
    "ss": (17, 19),
}
_TOKEN: Final = re.compile(r"yyyy|MM|dd|HH|mm|ss|[-/:._ ,]")


def _tokens(pattern: str) -> list[str] | None:
    """Return the tokens of a pattern; None if it has others than these fields and separators.

    >>> _tokens("dd.MM.yyyy"), _tokens("yyyy'a'"), _tokens("MMMM")
    (['dd', '.', 'MM', '.', 'yyyy'], None, None)
    """
    tokens = _TOKEN.findall(pattern)
    if "".join(tokens) != pattern or not any(token in _FIELDS for token in tokens):
        return None
    # MMMM is the name of a month
    is_longer = any(a == b and a in _FIELDS for a, b in itertools.pairwise(tokens))
    return None if is_longer else tokens


def _sorts(tokens: list[str]) -> list[bool]:
    """Return for n = 0 to 6 whether the text sorts chronologically if the first n fields are equal.

    >>> _sorts(["MM", "/", "dd", "/", "yyyy"])
    [False, True, True, True, True, True, True]
    """
    fields = list(_FIELDS)
    result = []
    for n in range(len(fields) + 1):
        others = [token for token in tokens if token in fields[n:]]
        result.append(others == fields[n : n + len(others)])
    return result


def _equal_fields(low: Numbers, high: Numbers, inside: Flags) -> npt.NDArray[np.int64]:
    """Return how many of the fields, from the year on, are equal in two local times."""
    texts = [_written(each, inside, _TIME_TOKENS) for each in (low, high)]
    equal = np.zeros(len(texts[0]), np.int64)
    for _, end in _FIELDS.values():
        same = pc.equal(*(pc.binary_slice(text, 0, end) for text in texts))
        equal += pc.fill_null(same, False).to_numpy(zero_copy_only=False)
    return equal


def _written(moment: Numbers, inside: Flags, tokens: list[str], end: str = "") -> pa.Array:
    """Return local times in microseconds as text; null where `inside` is False.

    Args:
        moment: The local times.
        inside: Where the year has four digits and is not before 1900.
        tokens: The tokens of the pattern.
        end: If not empty, six digits of the fraction of the second are appended, after a point.
    """
    safe = pa.array(np.where(inside, moment, 0)).cast(pa.timestamp("us"))
    whole = safe.cast(pa.large_string()).cast(pa.large_binary())  # 2024-11-03 06:07:08.123456
    parts = [
        pc.binary_slice(whole, *_FIELDS[token])
        if token in _FIELDS
        else pa.scalar(token.encode(), pa.large_binary())
        for token in tokens
    ]
    if end:
        parts.append(pc.binary_slice(whole, 19, 26))  # .123456
    separator = pa.scalar(b"", pa.large_binary())
    joined = pc.binary_join_element_wise(*parts, separator)
    mask = np.broadcast_to(inside, (len(joined),))
    return pc.if_else(pa.array(mask), joined, pa.scalar(None, joined.type))


def _formatted(
    x: Interval,
    low: Numbers,
    high: Numbers,
    tokens: list[str],
    within: tuple[int, int] = (_FIRST, _LAST),
) -> Bounds:
    first, last = max(within[0], _FIRST), min(within[1], _LAST)
    inside = np.atleast_1d((low >= first) & (high <= last) & x.can_be_value)
    low, high = (np.broadcast_to(each, inside.shape) for each in (low, high))
    sorts = _sorts(tokens)
    if not sorts[0]:
        inside = inside & np.array(sorts)[_equal_fields(low, high, inside)]
    return text_result(STRING, _written(low, inside, tokens), _written(high, inside, tokens), x)


def _local(x: Interval, clock: Zone) -> tuple[Numbers, Numbers] | None:
    if x.type == TIMESTAMP:
        return clock.local(x.lower, x.upper)
    if x.type == TIMESTAMP_NTZ:
        return x.lower, x.upper
    return None


def date_format(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of date_format with a constant pattern."""
    match call.arguments:
        case (argument, Literal(value=str(pattern))):
            tokens = _tokens(pattern)
            x = interval(value(argument, statistics))
        case _:
            return None
    if x is None or tokens is None:
        return None
    clock = zone_of(call)
    moments = _local(x, clock)
    if moments is None:
        return None
    within = clock.legacy if x.type == TIMESTAMP else (_FIRST, _LAST)
    return _formatted(x, *moments, tokens, within)


def from_unix_time(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of from_unixtime with a constant pattern."""
    match call.arguments:
        case (argument, Literal(value=str(pattern))):
            tokens = _tokens(pattern)
            x = interval(value(argument, statistics))
        case _:
            return None
    if x is None or tokens is None or not x.type.is_integral:
        return None
    second = np.array([SECOND])
    (low, low_exact), (high, high_exact) = (
        int64_overflow.multiply(each, second) for each in (x.lower, x.upper)
    )
    low = np.where(low_exact, low, _FIRST - 1)
    high = np.where(high_exact, high, _LAST + 1)
    clock = zone_of(call)
    low, high = clock.local(low, high)
    inside = low_exact & high_exact
    return _formatted(x, np.where(inside, low, _FIRST - 1), high, tokens, clock.legacy)


_DATE_TOKENS: Final = ["yyyy", "-", "MM", "-", "dd"]
_TIME_TOKENS: Final = [*_DATE_TOKENS, " ", "HH", ":", "mm", ":", "ss"]


def moment_text(x: Interval, clock: Zone) -> Bounds | None:
    """Return the bounds of CAST(x AS STRING) for a date or timestamp; None for other types."""
    if x.type == DATE:
        inside = (x.lower * 1.0 > -1e8) & (x.upper * 1.0 < 1e8)
        low, high = (np.where(inside, each, 100_000_000) * DAY for each in (x.lower, x.upper))
        return _formatted(x, low, high, _DATE_TOKENS)
    moments = _local(x, clock)
    if moments is None:
        return None
    low, high = moments
    inside = np.atleast_1d((low >= _FIRST) & (high <= _LAST) & x.can_be_value)
    low, high = (np.broadcast_to(each, inside.shape) for each in (low, high))
    # Spark writes the fraction of a second without trailing zeros. Such a text is at least the text
    # without the fraction, and at most the text with all six digits.
    return text_result(
        STRING, _written(low, inside, _TIME_TOKENS), _written(high, inside, _TIME_TOKENS, "."), x
    )


_PATTERNS: Final = (
    "fields of full width, such as yyyy-MM-dd; MM/dd/yyyy only for files within one year, "
    "dd.MM.yyyy only for files within one month"
)

ENTRIES: Final = (
    FunctionEntry(
        "DateFormatClass", "date_format", Knowledge.MONOTONE, date_format, note=_PATTERNS
    ),
    FunctionEntry(
        "FromUnixTime", "from_unixtime", Knowledge.MONOTONE, from_unix_time, note=_PATTERNS
    ),
)
