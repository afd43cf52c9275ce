"""to_timestamp, to_date and unix_timestamp of strings with a format.

The result is known where all strings of a file are the same string and it matches the format. The
format consists of full-width fields in any order and includes a year. For years from 1900 on, all
of Spark's parsers (`spark.sql.legacy.timeParserPolicy`) then read the same moment; where clocks
change, only up to 2036 (evaluation.functions.temporal.zones, Zone.legacy).

Where a file may hold different strings, nothing is known: "2024-01-1x" lies between "2024-01-15"
and "2024-01-20", and it raises.
"""

from __future__ import annotations

import re
from typing import Final

from tamis.evaluation.domain.bounds import NO, Bounds
from tamis.evaluation.domain.interval import Interval, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.strings.byte_rows import lengths_of, rows_of
from tamis.evaluation.functions.strings.text import one_text
from tamis.evaluation.functions.temporal.written_moments import parsed_moments
from tamis.evaluation.functions.temporal.zones import DAY, SECOND, zone_of
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ

__all__ = ["ENTRIES", "get_timestamp", "text_to_unix"]

_TOKEN: Final = re.compile(r"yyyy|MM|dd|HH|mm|ss|[-/:._ ,]")
#: Microseconds of 1900-01-01.
_FIRST: Final = -25_567 * DAY


def _is_plain(pattern: str) -> bool:
    """Return whether a format has only full-width fields, each at most once, and has a year.

    >>> _is_plain("dd.MM.yyyy"), _is_plain("MM-dd"), _is_plain("yyyy-M-d")
    (True, False, False)
    """
    tokens = _TOKEN.findall(pattern)
    fields = [token for token in tokens if token.isalpha()]
    return "".join(tokens) == pattern and "yyyy" in fields and len(set(fields)) == len(fields)


def _moments(call: Call, statistics: Statistics) -> Interval | None:
    """Return the moments that the strings denote."""
    match call.arguments:
        case (argument, Literal(value=str(pattern))) if _is_plain(pattern):
            x = value(argument, statistics)
        case _:
            return None
    if x is None or x.type != STRING or x.lower is None or x.upper is None:
        return None
    rows = rows_of(x.lower, len(pattern))
    local, valid = parsed_moments(rows, lengths_of(x.lower), pattern)
    known = valid & one_text(x.lower, x.upper) & (local >= _FIRST)
    is_clock = call.type == TIMESTAMP_NTZ
    clock = zone_of(call)
    if not is_clock:
        first, last = clock.legacy
        known = known & (local >= first) & (local <= last)
    low, high = (local, local) if is_clock else clock.utc(local, local)
    of_type = TIMESTAMP_NTZ if is_clock else TIMESTAMP
    return Interval(of_type, low, high, known, x.can_be_null, NO, x.can_be_value)


def get_timestamp(call: Call, statistics: Statistics) -> Bounds | None:
    """to_timestamp(text, format). to_date(text, format) is the date of this."""
    x = _moments(call, statistics)
    if x is None or call.type != x.type:
        return None
    return result(call.type, x.lower, x.upper, x)


def text_to_unix(call: Call, statistics: Statistics) -> Bounds | None:
    """unix_timestamp(text, format), in seconds."""
    x = _moments(call, statistics)
    if x is None or call.type != LONG:
        return None
    return result(
        LONG,
        int64_overflow.toward_zero(x.lower, SECOND),
        int64_overflow.toward_zero(x.upper, SECOND),
        x,
    )


ENTRIES: Final = (
    FunctionEntry(
        "GetTimestamp", "to_timestamp(x, f), to_date(x, f)", Knowledge.POINT, get_timestamp
    ),
)
