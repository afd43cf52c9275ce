"""Bounds are exactly as wide as the values: every value of small containers, one at a time.

Each line of a table is a call. The name of the table states the precision of its bounds:

    EXACT    the least and the greatest value; NULL and NaN where a row has them; nothing where a
             row overflows
    PIECES   the same, or the whole range of the function beyond one piece (a month, a minute)
    NEAR     the same, except for a few units in the last place
    SINGLE   the same where all rows have one value; elsewhere the width is not checked
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tamis.evaluation.raising import may_raise
from tamis.expr.nodes import CalendarInterval, Call, Column, Expr, Literal
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    YEAR_MONTH_INTERVAL,
    DataType,
    decimal,
)
from tests.differential.claims import Claim
from tests.differential.exact_claims import (
    DAY,
    Expected,
    Rows,
    Table,
    claim_over,
    columns_of,
    edge_of,
    expected,
    table_of,
)
from tests.differential.exact_claims import bound as _as_bound
from tests.differential.keys import order_key
from tests.differential.rows import row_value

_NAMES: dict[DataType, str] = {
    BYTE: "b",
    SHORT: "h",
    INTEGER: "i",
    LONG: "l",
    FLOAT: "f",
    DOUBLE: "d",
    DATE: "day",
    TIMESTAMP: "ts",
    TIMESTAMP_NTZ: "ntz",
    STRING: "s",
    BINARY: "x",
    BOOLEAN: "flag",
}
b, h, i, l, f, d, day, ts, ntz, s, x, flag = (  # noqa: E741
    Column((name,), data_type) for data_type, name in _NAMES.items()
)
SHORT_DECIMAL, MIDDLE, WIDE = decimal(9, 2), decimal(18, 3), decimal(30, 6)
n, m, w = (
    Column((name,), each) for name, each in (("n", SHORT_DECIMAL), ("m", MIDDLE), ("w", WIDE))
)
#: Decimals without a fraction, of 64 bits and of more.
z, v = Column(("z",), decimal(9, 0)), Column(("v",), decimal(30, 0))
_WHOLE = (b, h, i, l)
_PLAIN = {int: INTEGER, float: DOUBLE, str: STRING, bool: BOOLEAN}
LEAP_DAY, MARCH = 19_782, 19_783


def other(column: Column) -> Column:
    return replace(column, path=(f"other_{column.path[0]}",))


def call(
    name: str, result: DataType, *arguments: Any, mode: str = "LEGACY", **options: str
) -> Call:
    settings = {"timeZoneId": "UTC", "evalMode": mode, **options}
    arguments_of_call = tuple(
        Literal(each, _PLAIN[type(each)]) if type(each) in _PLAIN else each for each in arguments
    )
    return Call(name, arguments_of_call, tuple(settings.items()), result)


def same(name: str, *arguments: Any, mode: str = "LEGACY") -> Call:
    """Return a call whose constants and result have the type of its column."""
    data_type = next(each.type for each in arguments if isinstance(each, Column))
    typed = (each if isinstance(each, Column) else Literal(each, data_type) for each in arguments)
    return call(name, data_type, *typed, mode=mode)


def cast(column: Expr, to: DataType, mode: str) -> Call:
    return call("Cast", to, column, mode=mode)


def number(value: str, precision: int, scale: int) -> Literal:
    return Literal(Decimal(value), decimal(precision, scale))


def at(days: int, data_type: DataType = TIMESTAMP) -> Literal:
    return Literal(days * DAY, data_type)


def calendar_interval(months: int, days: int, micros: int) -> Literal:
    return Literal(CalendarInterval(months, days, micros), CALENDAR_INTERVAL)


MODES = ("LEGACY", "TRY", "ANSI")

EXACT: tuple[Call, ...] = (
    # Sums, products and signs of whole numbers.
    *(same(name, c, k, mode=mode) for mode in MODES for c in (b, l) for name, k in (("Add", 7), ("Subtract", -3), ("Multiply", 100), ("Multiply", -2), ("Add", -1))),
    *(same(name, k, c) for c in (h, i) for name, k in (("Subtract", 100), ("Subtract", -1), ("Multiply", 3), ("Add", 2))),
    *(same(name, c, other(c)) for c in (b, i, l) for name in ("Add", "Subtract", "Multiply")),
    *(same(name, c) for c in (*_WHOLE, f, d, n, m, w) for name in ("UnaryMinus", "Abs")),
    *(call("IntegralDivide", LONG, c, Literal(k, c.type)) for c in (b, i, l) for k in (1, 7, -3, 100)),
    *(same(name, c, k) for c in (d,) for name, k in (("Add", 0.5), ("Subtract", 0.25), ("Multiply", -2.0), ("Multiply", 0.5), ("Divide", 4.0), ("Divide", -0.5))),
    *(same(name, c, k) for c in (f,) for name, k in (("Add", 0.5), ("Multiply", -2.0), ("Divide", 4.0))),
    # Decimals: Catalyst determines the type of the result.
    call("Add", decimal(10, 2), n, number("7.00", 9, 2)),
    call("Add", decimal(12, 3), n, number("0.125", 4, 3)),
    call("Subtract", decimal(10, 2), number("1.00", 9, 2), n),
    call("Add", decimal(10, 2), n, other(n)),
    call("Subtract", decimal(10, 2), n, other(n)),
    call("Multiply", decimal(11, 2), n, number("-3", 1, 0)),
    call("Multiply", decimal(13, 3), n, number("1.5", 3, 1)),
    # Without a fraction.
    *(same(name, c) for c in (z, v) for name in ("UnaryMinus", "Abs")),
    *(cast(c, to, mode) for mode in ("TRY", "ANSI") for c in (z, v) for to in (INTEGER, LONG, BYTE, BOOLEAN, decimal(12, 2), decimal(9, 0), decimal(4, 0), decimal(25, 0))),
    *(cast(c, z.type, "TRY") for c in (i, n, m, v)),
    call("Add", decimal(10, 0), z, number("7", 1, 0)),
    call("Add", decimal(11, 2), z, number("0.25", 3, 2)),
    call("Subtract", decimal(10, 0), z, other(z)),
    call("Multiply", decimal(10, 0), z, number("-3", 1, 0)),
    call("Multiply", decimal(12, 1), z, number("1.5", 2, 1)),
    *(call(name, decimal(10, 0), z, k) for name in ("Round", "RoundFloor", "RoundCeil") for k in (0, 2, -1, -2)),
    *(call(name, decimal(9, 0), z) for name in ("Floor", "Ceil")),
    *(call(name, c.type, c, other(c)) for c in (z,) for name in ("Greatest", "Least", "Coalesce")),
    call("IntegralDivide", LONG, z, number("7", 1, 0)),
    call("IntegralDivide", LONG, n, number("0.25", 3, 2)),
    cast(z, TIMESTAMP, "TRY"),
    # Remainders within one multiple. Several multiples give the whole range; PIECES tests these.
    *(same(name, c, k) for c in (b, l) for name, k in (("Remainder", 1), ("Pmod", 1))),
    # Rounding.
    *(call("Round", c.type, c, k) for c in (b, i, l) for k in (0, 2, -1, -2)),
    *(call("BRound", c.type, c, 0) for c in (b, l)),
    *(call(name, decimal(9, 1), n, 1) for name in ("Round", "RoundFloor", "RoundCeil")),
    *(call(name, decimal(8, 0), n, k) for name in ("Round", "RoundFloor", "RoundCeil") for k in (0, -1)),
    *(call(name, SHORT_DECIMAL, n, 2) for name in ("Round", "BRound", "RoundFloor", "RoundCeil")),
    *(call(name, LONG, c) for name in ("Floor", "Ceil") for c in (d, f, l)),
    *(call(name, decimal(8, 0), n) for name in ("Floor", "Ceil")),
    # Casts between numeric types.
    *(cast(c, to, mode) for mode in ("TRY", "ANSI") for c in (b, i, l) for to in (BYTE, SHORT, INTEGER, LONG, BOOLEAN)),
    *(cast(c, to, mode) for mode in MODES for c in (i, l) for to in (decimal(5, 1), decimal(10, 0), decimal(18, 3))),
    *(cast(c, to, "TRY") for c in (i, n, m) for to in (decimal(30, 0), decimal(20, 3))),
    *(cast(c, to, "LEGACY") for c in (b, i, l) for to in (DOUBLE, FLOAT)),
    *(cast(c, to, mode) for mode in ("TRY", "ANSI") for c in (n, m) for to in (BYTE, INTEGER, LONG, BOOLEAN)),
    *(cast(c, to, mode) for mode in MODES for c in (n, m, w) for to in (decimal(8, 1), decimal(12, 4), decimal(6, 0), decimal(3, 2))),
    *(cast(c, to, "ANSI") for c in (f, d) for to in (INTEGER, LONG, BYTE)),
    *(cast(c, BOOLEAN, "LEGACY") for c in (f, d)),
    cast(f, DOUBLE, "LEGACY"),
    cast(d, FLOAT, "LEGACY"),
    *(cast(flag, to, "LEGACY") for to in (BYTE, LONG, DOUBLE, decimal(3, 1), TIMESTAMP, STRING)),
    # Casts of dates and timestamps.
    *(cast(c, to, "LEGACY") for c, to in ((day, TIMESTAMP), (day, TIMESTAMP_NTZ), (ts, DATE), (ntz, DATE), (ts, TIMESTAMP_NTZ), (ntz, TIMESTAMP))),
    *(cast(ts, to, "ANSI") for to in (LONG, INTEGER, SHORT)),
    *(cast(c, TIMESTAMP, "LEGACY") for c in (b, i, n)),
    # Dates.
    *(call(name, INTEGER, day) for name in ("Year", "YearOfWeek", "UnixDate")),
    *(call("TruncDate", DATE, day, unit) for unit in ("YEAR", "yy", "QUARTER", "MM", "mon", "WEEK")),
    *(call("NextDay", DATE, day, name) for name in ("MO", "TH", "su")),
    call("LastDay", DATE, day),
    *(call(name, DATE, day, k) for name in ("DateAdd", "DateSub") for k in (0, 1, -31, 366)),
    *(call(name, DATE, day, other(i)) for name in ("DateAdd", "DateSub")),
    *(call("AddMonths", DATE, day, k) for k in (0, 1, -1, -13, 40)),
    call("AddMonths", DATE, day, other(b)),
    call("DateAddYMInterval", DATE, day, Literal(-13, YEAR_MONTH_INTERVAL)),
    call("DateAddInterval", DATE, day, calendar_interval(1, 3, 0)),
    call("DateAddInterval", DATE, day, calendar_interval(-14, -40, 0)),
    call("DateDiff", INTEGER, day, Literal(MARCH, DATE)),
    call("DateDiff", INTEGER, day, other(day)),
    call("SubtractDates", DAY_TIME_INTERVAL, Literal(MARCH, DATE), day),
    call("SubtractDates", DAY_TIME_INTERVAL, day, other(day)),
    call("DateFromUnixDate", DATE, i),
    # Timestamps in UTC.
    *(call("TruncTimestamp", TIMESTAMP, unit, ts) for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "minute", "HOUR", "DAY", "dd", "MONTH", "QUARTER", "YEAR")),
    *(call(name, LONG, ts) for name in ("UnixSeconds", "UnixMillis", "UnixMicros")),
    *(call(name, TIMESTAMP, c) for c in (i, b) for name in ("SecondsToTimestamp", "MillisToTimestamp", "MicrosToTimestamp")),
    *(call(name, TIMESTAMP, ts, "UTC") for name in ("FromUTCTimestamp", "ToUTCTimestamp")),
    *(call("TimestampAddInterval", c.type, c, Literal(k, DAY_TIME_INTERVAL)) for c in (ts, ntz) for k in (0, 1, -3 * DAY - 7)),
    *(call("TimestampAdd", c.type, k, c, unit=unit) for c in (ts, ntz) for k in (3, -25) for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")),
    *(call("SubtractTimestamps", DAY_TIME_INTERVAL, *pair) for c in (ts, ntz) for pair in ((c, at(1, c.type)), (at(-1, c.type), c), (c, other(c)))),
    *(call("TimestampDiff", LONG, at(19_781), ts, unit=unit) for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")),
    *(call("TimestampDiff", LONG, at(19_781), ts, unit=unit) for unit in ("MONTH", "QUARTER", "YEAR")),
    *(cast(c, to, "LEGACY") for c in (ts,) for to in (DOUBLE, FLOAT, BOOLEAN)),
    *(call("DateFormatClass", STRING, c, text) for c in (ts, ntz) for text in ("yyyy", "yyyy-MM", "yyyyMMdd HH:mm:ss")),
    call("FromUnixTime", STRING, i, "yyyy-MM-dd HH:mm:ss"),
    # Conditional expressions.
    *(call(name, c.type, c, other(c)) for c in (b, l, n, day, ts) for name in ("Coalesce", "Greatest", "Least")),
    *(call("Coalesce", c.type, c, other(c)) for c in (d, s, w)),
    *(call("Coalesce", c.type, c, Literal(k, c.type)) for c, k in ((i, 5), (n, Decimal("0.50")), (s, "m"), (d, 0.5))),
    *(call("If", c.type, flag, c, other(c)) for c in (i, d, n, s)),
    *(call("CaseWhen", c.type, flag, c) for c in (i, d, s, w)),
    *(call("NaNvl", DOUBLE, d, each) for each in (other(d), 0.5)),
    *(call("IsNaN", BOOLEAN, c) for c in (f, d)),
    # Doubles.
    call("Signum", DOUBLE, d),
    *(call("WidthBucket", LONG, d, *edges, Literal(5, LONG)) for edges in ((-1.0, 2.0), (2.0, -1.0), (0.5, 100.0))),
    # Strings with a common prefix.
    *(call("Substring", STRING, s, 1, k) for k in (0, 1, 2, 5)),
    *(call("Substring", STRING, s, 0, k) for k in (1, 3)),
    *(call("StartsWith", BOOLEAN, s, text) for text in ("", "a", "ab", "2024-", "é", "\U0010ffff")),
    *(call("Concat", STRING, *parts) for parts in ((s, ""), ("p", s), ("é", s, ""))),
)  # fmt: skip


#: Calls whose values wrap around at the end of their type: exact where the values rise.
WRAPS: tuple[Call, ...] = (
    *(cast(c, to, "LEGACY") for c in (b, i, l, n, m) for to in (BYTE, SHORT, INTEGER, LONG, BOOLEAN)),
    *(cast(c, to, "LEGACY") for c in (f, d) for to in (INTEGER, LONG)),
)  # fmt: skip

#: Calls that select one of their arguments. For text and long decimals: from least to greatest.
PICKS = tuple(call(name, c.type, c, other(c)) for name in ("Greatest", "Least") for c in (d, s, w))

Piece = Callable[[int], int]


def _month_of(days: int) -> int:
    date = _date(days)
    return date.year * 12 + date.month


def _date(days: int) -> datetime.date:
    return datetime.date.fromordinal(days + datetime.date(1970, 1, 1).toordinal())


def _year_of(days: int) -> int:
    return _date(days).year


#: Calls, the range of all their values, and the piece within which they rise.
PIECES: tuple[tuple[Call, int, int, Piece], ...] = (
    (call("Quarter", INTEGER, day), 1, 4, _year_of),
    (call("Month", INTEGER, day), 1, 12, _year_of),
    (call("DayOfMonth", INTEGER, day), 1, 31, _month_of),
    (call("DayOfYear", INTEGER, day), 1, 366, _year_of),
    (call("DayOfWeek", INTEGER, day), 1, 7, lambda days: (days + 4) // 7),
    (call("WeekDay", INTEGER, day), 0, 6, lambda days: (days + 3) // 7),
    (call("WeekOfYear", INTEGER, day), 1, 53, lambda days: _date(days).isocalendar().year),
    *((call("Hour", INTEGER, each), 0, 23, lambda micros: micros // DAY) for each in (ts, ntz)),
    *((call("Minute", INTEGER, each), 0, 59, lambda micros: micros // (DAY // 24)) for each in (ts, ntz)),
    *((call("Second", INTEGER, each), 0, 59, lambda micros: micros // 60_000_000) for each in (ts, ntz)),
    *((same("Pmod", c, k), 0, k - 1, lambda value, k=k: value // k) for k in (2, 7, 100) for c in (b, i, l)),
    *((call("Pmod", decimal(2, 0), z, number(str(k), 2, 0)), 0, k - 1, lambda value, k=k: value // k) for k in (2, 7)),
)  # fmt: skip

NEAR: tuple[Call, ...] = (
    *(call(name, DOUBLE, d) for name in ("Cbrt", "Exp", "Expm1", "Sinh", "Tanh", "Atan", "ToDegrees", "ToRadians")),
    *(call("Pow", DOUBLE, d, k) for k in (2.0, 3.0, 4.0)),
    *(call("Pow", DOUBLE, k, d) for k in (2.0, 0.5)),
    *(cast(c, DOUBLE, "LEGACY") for c in (n, m, z)),
)  # fmt: skip

SINGLE: tuple[Call, ...] = (
    # A single string is evaluated exactly.
    *(call(name, STRING, s) for name in ("StringTrim", "StringTrimLeft", "StringTrimRight", "Reverse")),
    *(call(name, INTEGER, s) for name in ("Length", "OctetLength", "BitLength")),
    *(call("Substring", STRING, s, start, size) for start in (2, 3, -1, -2) for size in (1, 2, 40)),
    *(call(name, BOOLEAN, s, text) for name in ("EndsWith", "Contains") for text in ("", "a", "b", "é", "-01-")),
    *(call("Like", BOOLEAN, s, text, escapeChar="\\") for text in ("a%", "%a", "_", "_%b%", "a_c", "%b%", "2024-0_-%", "%")),
    *(call("StringInstr", INTEGER, s, text) for text in ("", "a", "b", "é")),
    *(call(name, STRING, s, size, text) for name in ("StringLPad", "StringRPad") for size in (-1, 0, 2, 5) for text in ("", "x", "éz")),
    *(call("StringRepeat", STRING, s, times) for times in (0, 1, 3)),
    *(call("StringReplace", STRING, s, *pair) for pair in (("a", ""), ("", "b"), ("ab", "c"), ("b", "bb"))),
    *(call("Concat", STRING, s, text) for text in ("b", "é", "\U0010ffff")),
    *(cast(c, STRING, "LEGACY") for c in (b, l, n, z, flag)),
    *(same("Remainder", c, k) for c in (b, l) for k in (2, 7, -5, 100)),
)  # fmt: skip

#: Values that cannot be cast become NULL. Bounds are exact where no value does.
NULLS: tuple[Call, ...] = (
    *(cast(s, to, "TRY") for to in (INTEGER, LONG, BYTE, DOUBLE, decimal(5, 1), BOOLEAN, DATE)),
    *(cast(c, to, "TRY") for c in (f, d, ts) for to in (INTEGER, LONG, BYTE, SHORT)),
    *(cast(c, TIMESTAMP, "TRY") for c in (d, f)),
    *(same("Remainder", c, other(c)) for c in (b, l)),
)  # fmt: skip


def _id(value: Any) -> str:
    if not isinstance(value, Call):
        return ""
    types = ",".join(each.type.name for each in columns_of(value))
    return f"{to_sql(value)} {types} {value.option('evalMode')} {value.option('unit') or ''}"


Container = tuple[Claim, int, Rows, Expected]


def _containers(tried: Call) -> Iterator[Container]:
    table = table_of(columns_of(tried))
    claim = claim_over(tried, table)
    for place, rows in enumerate(table.rows):
        yield claim, place, rows, expected(tried, rows)


def _described(claim: Claim, place: int, rows: Rows, reference: Expected) -> str:
    return claim.describe(place, reference, {"rows": (rows[0], rows[-1], len(rows))})


def _edges(claim: Claim, place: int, tried: Call) -> tuple[Any, Any]:
    return edge_of(claim.lower[place], tried), edge_of(claim.upper[place], tried)


def _assert_flags(claim: Claim, place: int, rows: Rows, reference: Expected) -> None:
    flags = claim.can_be_null[place], claim.can_be_nan[place], claim.can_be_value[place]
    assert flags == (reference.null, reference.nan, reference.value), _described(
        claim, place, rows, reference
    )


def _assert_exact(tried: Call, claim: Claim, place: int, rows: Rows, reference: Expected) -> None:
    _assert_flags(claim, place, rows, reference)
    if reference.value:
        edges = _edges(claim, place, tried)
        assert edges == (reference.lower, reference.upper), _described(
            claim, place, rows, reference
        )


def _assert_unknown(claim: Claim, place: int, rows: Rows, reference: Expected) -> None:
    assert not claim.says_anything[place], _described(claim, place, rows, reference)


def assert_sound(tried: Call, claim: Claim, place: int, rows: Rows, reference: Expected) -> None:
    text = _described(claim, place, rows, reference)
    if not claim.says_anything[place]:
        return
    assert not reference.overflow, text
    assert claim.can_be_null[place] or not reference.null, text
    assert claim.can_be_nan[place] or not reference.nan, text
    assert claim.can_be_value[place] or not reference.value, text
    lower, upper = _edges(claim, place, tried)
    if reference.value:
        assert lower is None or lower <= reference.lower, text
        assert upper is None or reference.upper <= upper, text


def _is_far_out(tried: Call, rows: Rows, reference: Expected) -> bool:
    """Return whether values are close to the 64-bit limit, where rules may give no bounds."""
    if tried.type != LONG or tried.name not in (
        "IntegralDivide",
        "Multiply",
        "Remainder",
        "Pmod",
        "Round",
    ):
        return False
    values = [abs(each) for row in (rows[0], rows[-1]) for each in row.values() if each is not None]
    values += [abs(each) for each in (reference.lower, reference.upper) if each is not None]
    return max(values, default=0) >= 1 << 62


@pytest.mark.parametrize("tried", dict.fromkeys(EXACT), ids=_id)
def test_bounds_are_the_least_and_the_greatest_value(tried: Call) -> None:
    for claim, place, rows, reference in _containers(tried):
        if reference.overflow:
            _assert_unknown(claim, place, rows, reference)
        elif claim.says_anything[place] or not _is_far_out(tried, rows, reference):
            _assert_exact(tried, claim, place, rows, reference)


@pytest.mark.parametrize("tried", dict.fromkeys(WRAPS), ids=_id)
def test_bounds_of_wrapping_calls_are_exact_where_they_rise(tried: Call) -> None:
    table = table_of(columns_of(tried))
    claim = claim_over(tried, table)
    for place, rows in enumerate(table.rows):
        values = [row_value(tried, row) for row in rows]
        present = [each for each in values if each is not None]
        reference = Expected(
            min(present, default=None), max(present, default=None), None in values, False, False
        )
        has_nan = any(each != each for row in rows for each in row.values())
        if claim.says_anything[place] and not has_nan:
            _assert_exact(tried, claim, place, rows, reference)
        elif not has_nan:
            assert present != sorted(present) or _turns(tried, rows), _described(
                claim, place, rows, reference
            )
        else:
            assert_sound(tried, claim, place, rows, reference)


def _turns(tried: Call, rows: Rows) -> bool:
    """Return whether the values wrap around while they rise."""
    least, greatest = tried.type.domain
    overflowing = {
        int(each) // (greatest - least + 1)
        for row in rows
        for each in row.values()
        if each is not None
    }
    return len(overflowing) > 1


@pytest.mark.parametrize("tried", PICKS, ids=_id)
def test_selected_value_lies_between_the_arguments(tried: Call) -> None:
    for claim, place, rows, reference in _containers(tried):
        arguments = [each for row in rows for each in row.values()]
        ordinary = [each for each in arguments if each is not None and each == each]
        assert claim.can_be_null[place] == reference.null
        if len(ordinary) < len(arguments):
            assert_sound(tried, claim, place, rows, reference)
            continue
        lower, upper = _edges(claim, place, tried)
        least, greatest = (_as_bound(pick(ordinary, key=order_key)) for pick in (min, max))
        if tried.type == DOUBLE:
            assert (lower, upper) == (reference.lower, reference.upper)
        else:
            assert (lower, upper) == (least, greatest)


@pytest.mark.parametrize(("tried", "least", "greatest", "piece"), PIECES, ids=_id)
def test_bounds_within_a_piece_are_exact(
    tried: Call, least: int, greatest: int, piece: Piece
) -> None:
    for claim, place, rows, reference in _containers(tried):
        values = [each for row in rows for each in row.values() if each is not None]
        if _is_far_out(tried, rows, reference) or (
            values and tried.type == INTEGER and _is_era(tried, values)
        ):
            assert_sound(tried, claim, place, rows, reference)
        elif len({piece(each) for each in values}) > 1:
            _assert_flags(claim, place, rows, reference)
            assert _edges(claim, place, tried) == (least, greatest)
        else:
            _assert_exact(tried, claim, place, rows, reference)


def _is_era(tried: Call, values: list[int]) -> bool:
    """Return whether Python cannot represent such a date."""
    return columns_of(tried)[0].type == DATE and min(values) < -719_162


@pytest.mark.parametrize("tried", NEAR, ids=_id)
def test_bounds_are_within_a_few_units(tried: Call) -> None:
    for claim, place, rows, reference in _containers(tried):
        _assert_flags(claim, place, rows, reference)
        assert_sound(tried, claim, place, rows, reference)
        if reference.value:
            for edge, exact in zip(
                _edges(claim, place, tried), (reference.lower, reference.upper), strict=True
            ):
                exact = float(exact)
                is_last = math.isinf(exact) and abs(edge) > 1.797e308
                near = is_last or math.isclose(edge, exact, rel_tol=1e-14, abs_tol=1e-300)
                assert near, _described(claim, place, rows, reference)


@pytest.mark.parametrize("tried", SINGLE, ids=_id)
def test_single_value_is_computed(tried: Call) -> None:
    for claim, place, rows, reference in _containers(tried):
        if len(rows) == 1 and not reference.overflow and not _is_far_out(tried, rows, reference):
            _assert_exact(tried, claim, place, rows, reference)
        else:
            assert_sound(tried, claim, place, rows, reference)


@pytest.mark.parametrize("tried", NULLS, ids=_id)
def test_bounds_are_exact_where_nothing_becomes_null(tried: Call) -> None:
    for claim, place, rows, reference in _containers(tried):
        given_null = any(each is None for row in rows for each in row.values())
        single = len(rows) == 1 or all(each.type.is_floating for each in columns_of(tried))
        if reference.null or given_null or not single or _is_far_out(tried, rows, reference):
            assert_sound(tried, claim, place, rows, reference)
        else:
            _assert_exact(tried, claim, place, rows, reference)


SHAPES = [
    tried
    for tried in (*EXACT, *WRAPS, *PICKS, *NEAR, *SINGLE, *NULLS)
    if tried.option("evalMode") != "ANSI"
]


@pytest.mark.parametrize("tried", list(dict.fromkeys(SHAPES))[::2], ids=_id)
def test_containers_are_evaluated_independently(tried: Call) -> None:
    table = table_of(columns_of(tried))
    together = claim_over(tried, table)
    count = len(table.rows)
    for place in (0, 1, count // 2, count - 2, count - 1):
        alone = Table([table.rows[place]], table.statistics.slice(place, place + 1))
        claim = claim_over(tried, alone)
        for name in ("lower", "upper", "can_be_null", "can_be_nan", "can_be_value"):
            assert getattr(claim, name)[0] == getattr(together, name)[place], (name, place)


@pytest.mark.parametrize(
    "tried", [each for each in EXACT if each.option("evalMode") == "ANSI"], ids=_id
)
def test_overflowing_row_makes_an_error_possible(tried: Call) -> None:
    table = table_of(columns_of(tried))
    flags = np.broadcast_to(may_raise(tried, table.statistics), len(table.rows)).tolist()
    claim = claim_over(tried, table)
    for place, (rows, flag) in enumerate(zip(table.rows, flags, strict=True)):
        reference = expected(tried, rows)
        if claim.says_anything[place] or reference.overflow:
            assert flag == reference.overflow, _described(claim, place, rows, reference)
    for quiet in ("LEGACY", "TRY"):
        options = tuple((k, quiet if k == "evalMode" else v) for k, v in tried.options)
        assert not np.asarray(may_raise(replace(tried, options=options), table.statistics)).any()
