"""Bounds that are not exact, and how much wider than the values they may be.

Like test_exact_bounds.py, the tests use every value of small containers, one at a time. Each line
has a call and the slack of its bounds: the values themselves, and the slack that the rule's file
documents.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest

from tamis.expr.nodes import Call, Column, Literal
from tamis.expr.types import (
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    YEAR_MONTH_INTERVAL,
    decimal,
)
from tests.differential.exact_claims import (
    DAY,
    Expected,
    Rows,
    claim_over,
    columns_of,
    edge_of,
    expected,
    table_of,
    table_over,
)
from tests.evaluation.test_exact_bounds import (
    at,
    b,
    call,
    cast,
    d,
    day,
    f,
    h,
    i,
    l,
    m,
    n,
    ntz,
    other,
    same,
    ts,
)

Edges = tuple[Any, Any]
#: How far out the edges may lie, given the least value, the greatest value, and the rows.
Slack = Callable[[Any, Any, Rows], Edges]


def by(width: Any) -> Slack:
    return lambda least, greatest, rows: (least - width, greatest + width)


def by_part(part: float) -> Slack:
    """Return a slack that is a fraction of the size of each edge."""

    def slack(least: Any, greatest: Any, rows: Rows) -> Edges:
        low, high = float(least), float(greatest)
        return low - abs(low) * part - 1e-300, high + abs(high) * part + 1e-300

    return slack


def to_days(least: int, greatest: int, rows: Rows) -> Edges:
    """Extend to the start and the end of a day."""
    return least // DAY * DAY, greatest // DAY * DAY + DAY - 1


def to_tens(least: Any, greatest: Any, rows: Rows) -> Edges:
    values = [each for row in rows for each in row.values() if each is not None]
    low, high = min(values) / 10, max(values) / 10
    return 10 * math.floor(low), 10 * math.ceil(high)


def remainder_of(divisor: float) -> Slack:
    """Bound x % divisor: it has the sign of x, and at most the size of x and of the divisor."""

    def slack(least: float, greatest: float, rows: Rows) -> Edges:
        values = [
            each for row in rows for each in row.values() if each is not None and each == each
        ]
        low, high = min(values), max(values)
        size = abs(divisor)
        return max(low, -size) if low < 0 else 0.0, min(high, size) if high > 0 else 0.0

    return slack


def positive_remainder_of(divisor: float) -> Slack:
    def slack(least: float, greatest: float, rows: Rows) -> Edges:
        values = [
            each for row in rows for each in row.values() if each is not None and each == each
        ]
        above = min(values) >= 0
        size = abs(divisor)
        return 0.0 if divisor > 0 or above else -size, min(max(values), size) if above else size

    return slack


def positive_remainder_of_whole(divisor: int) -> Slack:
    def slack(least: int, greatest: int, rows: Rows) -> Edges:
        values = [each for row in rows for each in row.values() if each is not None]
        above = min(values) >= 0
        size = abs(divisor) - 1
        return 0 if above else -size, min(max(values), size) if above else size

    return slack


def sign_kept(divisor: int) -> Slack:
    def slack(least: int, greatest: int, rows: Rows) -> Edges:
        values = [each for row in rows for each in row.values() if each is not None]
        size = abs(divisor) - 1
        return max(min(values), -size) if min(values) < 0 else 0, min(max(values), size) if max(
            values
        ) > 0 else 0

    return slack


def one_wave(least: float, greatest: float, rows: Rows) -> Edges:
    return -1.0, 1.0


#: 4 / 31 of a month at either end, from the days of months and from Spark's rounding.
MONTHS = by(8.1 / 31 + 1e-5)

TABLE: tuple[tuple[Call, Slack], ...] = (
    *((call("MonthsBetween", DOUBLE, c, at(19_781, c.type), whole), MONTHS) for c in (ts, ntz) for whole in (True, False)),
    (call("MonthsBetween", DOUBLE, at(19_781), ts, True), MONTHS),
    *((call("TimestampDiff", LONG, ts, at(19_781), unit=unit), by(size)) for unit, size in (("MONTH", 2), ("QUARTER", 1), ("YEAR", 1))),
    *((call("TimestampAddYMInterval", c.type, c, Literal(months, YEAR_MONTH_INTERVAL)), to_days) for c in (ts, ntz) for months in (1, -13)),
    *((call("TimestampAdd", TIMESTAMP, k, ts, unit=unit), to_days) for unit in ("MONTH", "QUARTER", "YEAR") for k in (1, -2)),
    *((call("BRound", c.type, c, -1), to_tens) for c in (b, i)),
    *((call("Round", DOUBLE, d, scale), by(1.001 * 10.0**-scale)) for scale in (0, 1, -1)),
    *((cast(d, to, "TRY"), by(Decimal(2).scaleb(-(to.scale or 0)))) for to in (decimal(18, 2), decimal(15, 0))),
    *((cast(c, FLOAT, "LEGACY"), by_part(3e-6)) for c in (n, m)),
    *((cast(n, DOUBLE, "LEGACY"), by_part(3e-15)) for _ in (0,)),
    *((call(name, DOUBLE, d), by_part(1e-14)) for name in ("Log", "Log10", "Log2", "Log1p", "Sqrt")),
    *((call("Logarithm", DOUBLE, base, d), by_part(1e-14)) for base in (2.0, 0.5, 10.0)),
    *((same("Remainder", c, k), remainder_of(k)) for c in (d, f) for k in (3.0, -0.75)),
    *((same("Pmod", c, k), positive_remainder_of(k)) for c in (d, f) for k in (3.0, -0.75)),
    *((same("Pmod", c, k), positive_remainder_of_whole(k)) for c in (b, h) for k in (-5, -2)),
    *((same("Remainder", c, k), sign_kept(k)) for c in (b, h) for k in (2, 7, -5, 100)),
    *((call(name, DOUBLE, d), one_wave) for name in ("Sin", "Cos")),
    (call("Divide", decimal(15, 6), n, Literal(Decimal("3.00"), decimal(9, 2))), by(Decimal("0.000002"))),
    (call("Divide", decimal(15, 6), n, Literal(Decimal("-0.75"), decimal(9, 2))), by(Decimal("0.000002"))),
    (call("ExtractANSIIntervalDays", INTEGER, call("SubtractTimestamps", DAY_TIME_INTERVAL, ts, at(1))), by(0)),
)  # fmt: skip


def _id(value: Any) -> str:
    from tamis.expr.sql import to_sql

    return f"{to_sql(value)} {columns_of(value)[0].type}" if isinstance(value, Call) else ""


@pytest.mark.parametrize(("tried", "slack"), TABLE, ids=_id)
def test_bounds_are_no_wider_than_the_rule_says(tried: Call, slack: Slack) -> None:
    table = table_of(columns_of(tried))
    claim = claim_over(tried, table)
    for place, rows in enumerate(table.rows):
        reference = expected(tried, rows)
        text = claim.describe(place, reference, {"rows": (rows[0], rows[-1], len(rows))})
        if reference.overflow:
            assert not claim.says_anything[place], text
            continue
        if not claim.says_anything[place] and _is_infinite(rows):
            continue
        _assert_flags(claim, place, reference, text)
        if not reference.value:
            continue
        lower, upper = edge_of(claim.lower[place], tried), edge_of(claim.upper[place], tried)
        lowest, highest = slack(reference.lower, reference.upper, rows)
        if _has_a_pole(tried) and reference.null:
            lowest, highest = (
                -math.inf,
                math.inf,
            )  # it may be as close to the pole as a value can be
        assert lowest <= lower <= reference.lower or _is_last(lower, reference.lower), (
            text,
            lowest,
            highest,
        )
        assert reference.upper <= upper <= highest or _is_last(upper, reference.upper), (
            text,
            lowest,
            highest,
        )


def _has_a_pole(tried: Call) -> bool:
    return tried.name.startswith("Log")


def _is_infinite(rows: Rows) -> bool:
    return any(
        isinstance(each, float) and abs(each) >= 1e12 for row in rows for each in row.values()
    )


def _is_last(edge: Any, value: Any) -> bool:
    """Return whether the edge is the greatest finite double next to infinity."""
    return isinstance(value, float) and math.isinf(value) and abs(edge) >= 1.797e308


def _assert_flags(claim: Any, place: int, reference: Expected, text: str) -> None:
    assert claim.can_be_null[place] == reference.null or not reference.value, text
    assert claim.can_be_null[place] or not reference.null, text
    assert claim.can_be_nan[place] == reference.nan or not reference.value, text
    assert claim.can_be_nan[place] or not reference.nan, text
    # Where every row is NULL or NaN, a value may be considered possible.
    assert claim.can_be_value[place] or not reference.value, text


#: Exponents. For numbers below zero the power is unknown or NaN.
@pytest.mark.parametrize("exponent", [-1.0, -2.0, -0.5, 0.5, 2.5, 3.0])
def test_power_bounds_of_numbers_above_zero(exponent: float) -> None:
    tried = call("Pow", DOUBLE, d, exponent)
    table = table_of(columns_of(tried))
    claim = claim_over(tried, table)
    for place, rows in enumerate(table.rows):
        values = [row[d.path] for row in rows]
        present = [each for each in values if each is not None and each == each]
        reference = expected(tried, rows)
        text = claim.describe(place, reference, {"rows": (rows[0], rows[-1], len(rows))})
        if _is_infinite(rows):
            continue
        if exponent < 0 and (not present or min(present) <= 0):
            assert not present or not claim.says_anything[place], text
            continue
        _assert_flags(claim, place, reference, text)
        if not reference.value:
            continue
        for edge, exact in (
            (claim.lower[place], reference.lower),
            (claim.upper[place], reference.upper),
        ):
            near = math.isclose(edge, exact, rel_tol=1e-14, abs_tol=1e-300)
            assert near or _is_last(edge, exact) or min(present) < 0, text
        assert claim.lower[place] <= reference.lower, text
        assert claim.upper[place] >= reference.upper, text
        assert exponent == 3.0 or claim.lower[place] >= -1e-300, text


@pytest.mark.parametrize("name", ["Remainder", "Pmod"])
@pytest.mark.parametrize("column", [d, f], ids=["double", "float"])
def test_infinity_has_no_remainder(name: str, column: Any) -> None:
    tried = call(name, column.type, column, other(column))
    table = table_of(columns_of(tried))
    claim = claim_over(tried, table)
    for place, rows in enumerate(table.rows):
        reference = expected(tried, rows)
        text = claim.describe(place, reference, {"rows": (rows[0], rows[-1], len(rows))})
        assert claim.can_be_nan[place] or not reference.nan, text
        assert claim.can_be_null[place] or not reference.null, text
        if reference.value:
            assert claim.lower[place] <= reference.lower, text
            assert reference.upper <= claim.upper[place], text
    finite = [
        not np.isinf([v for r in rows for v in r.values() if v is not None]).any()
        for rows in table.rows
    ]
    no_nan = [not any(v != v for r in rows for v in r.values()) for rows in table.rows]
    cases = list(zip(finite, no_nan, claim.can_be_nan, strict=True))
    assert any(not nan for is_finite, has_none, nan in cases if is_finite and has_none)


#: Days, and whether their text is known: not beyond four digits or where parsers differ.
YEARS = [
    ("1899-12-31", False),
    ("1900-01-01", True),
    ("1999-12-31", True),
    ("9999-12-31", True),
    ("10000-01-01", False),
]


@pytest.mark.parametrize(("text", "is_known"), YEARS)
@pytest.mark.parametrize("column", [day, ts, ntz], ids=["date", "timestamp", "ntz"])
def test_text_of_moments_has_bounds(text: str, is_known: bool, column: Any) -> None:
    first = int(np.datetime64(text, "D").astype(np.int64))
    pair = (first,) if column.type == DATE else (first * DAY, first * DAY + 5)
    ends = ("", "") if column.type == DATE else (" 00:00:00", " 00:00:00.000005")
    for values in (pair, (*pair, None)):
        claim = claim_over(cast(column, STRING, "LEGACY"), table_over((column,), [(values,)]))
        expected_texts = [text.encode() + end.encode() if is_known else None for end in ends]
        assert [claim.lower[0], claim.upper[0]] == expected_texts
        assert (claim.can_be_null[0], claim.can_be_value[0]) == (None in values, True)


@pytest.mark.parametrize(
    ("seconds", "is_known"),
    [
        (-2_208_988_801, False),
        (-2_208_988_800, True),
        (253_402_300_799, True),
        (253_402_300_800, False),
        (1 << 62, False),
    ],
)
def test_text_of_seconds_has_bounds(seconds: int, is_known: bool) -> None:
    tried = call("FromUnixTime", STRING, l, "yyyy-MM-dd HH:mm:ss")
    claim = claim_over(tried, table_over((l,), [((seconds,),)]))
    assert (claim.lower[0] is not None, claim.upper[0] is not None) == (is_known, is_known)


@pytest.mark.parametrize(
    "pattern",
    ["yyyy MMM", "yyyy''", "", "yyyyMMddHHmmssS", "hh", "MMMM", "yyyyMMMM", "-", "d.M.yyyy"],
)
def test_other_patterns_are_unknown(pattern: str) -> None:
    for column in (ts, ntz):
        claim = claim_over(call("DateFormatClass", STRING, column, pattern), table_of((column,)))
        assert not any(claim.says_anything)


def test_make_date_bounds_are_first_and_last_date() -> None:
    """Each part rises with the date: from the first combination to the last one."""
    year, month, day_ = (Column((name,), INTEGER) for name in ("y", "m", "d"))
    tried = call("MakeDate", DATE, year, month, day_)
    years, months, days = [(2023,), (2023, 2024), (1,)], [(2,), (2, 3), (1, 12)], [(1,), (3, 28)]
    chosen = list(product(years, months, days))
    claim = claim_over(tried, table_over((year, month, day_), chosen))
    for place, parts in enumerate(chosen):
        ends = (datetime.date(*map(pick, parts)) for pick in (min, max))
        expected = tuple(each.toordinal() - datetime.date(1970, 1, 1).toordinal() for each in ends)
        assert (claim.lower[place], claim.upper[place]) == expected, parts
        assert not claim.can_be_null[place]
    beyond = [
        ((2024,), (0, 5), (1,)),
        ((2024,), (5, 13), (1,)),
        ((2024,), (5,), (0, 3)),
        ((2024,), (5,), (3, 29)),
        ((1_000_001,), (5,), (3,)),
        ((-1_000_001,), (5,), (3,)),
    ]
    assert not any(claim_over(tried, table_over((year, month, day_), beyond)).says_anything)


DIVIDENDS = [(0,), (7,), (-7,), (-5, -1), (-3, 4), (1, 9), (0, 6), (-8, 0), (120,)]
DIVISORS = [
    (1,),
    (2,),
    (1, 3),
    (4, 9),
    (-2,),
    (-9, -4),
    (-1,),
    (-3, -1),
    (0,),
    (0, 2),
    (-2, 0),
    (-1, 1),
]


@pytest.mark.parametrize("mode", ["LEGACY", "TRY", "ANSI"])
@pytest.mark.parametrize("name", ["IntegralDivide", "Divide", "DivideDecimals"])
def test_quotient_bounds_of_two_columns(name: str, mode: str) -> None:
    """Bounds are the corners if the divisor keeps one sign. It may also be 0, NULL or an error."""
    data_type = {"IntegralDivide": INTEGER, "Divide": DOUBLE}.get(name, decimal(9, 2))
    result = {"IntegralDivide": LONG, "Divide": DOUBLE}.get(name, decimal(18, 6))
    x, y = Column(("x",), data_type), Column(("y",), data_type)
    of_type = {INTEGER: int, DOUBLE: float}.get(data_type, Decimal)
    chosen = list(product(DIVIDENDS, DIVISORS))
    typed = [tuple(tuple(map(of_type, part)) for part in pair) for pair in chosen]
    tried = call(name.removesuffix("Decimals"), result, x, y, mode=mode)
    claim = claim_over(tried, table_over((x, y), typed))  # type: ignore[arg-type]
    for place, (xs, ys) in enumerate(chosen):
        text = (name, xs, ys, claim.lower[place], claim.upper[place])
        has_zero, keeps_sign = min(ys) <= 0 <= max(ys), min(ys) > 0 or max(ys) < 0
        if name == "IntegralDivide":
            keeps_sign = min(ys) > 0 or max(ys) < -1  # the least number / -1 overflows
        if not keeps_sign:
            assert not claim.says_anything[place], text
            assert claim.can_be_null[place] or not has_zero
            continue
        corners = [Decimal(a) / Decimal(b) for a in xs for b in ys]
        lower, upper = edge_of(claim.lower[place], tried), edge_of(claim.upper[place], tried)
        if name == "IntegralDivide":
            assert (lower, upper) == (min(map(int, corners)), max(map(int, corners))), text
        elif name == "Divide":
            assert (lower, upper) == (float(min(corners)), float(max(corners))), text
        else:
            unit = Decimal("0.000001")
            assert min(corners) - unit < lower <= min(corners), text
            assert max(corners) <= upper < max(corners) + unit, text
        assert (claim.can_be_null[place], claim.can_be_value[place]) == (False, True), text


@pytest.mark.parametrize("name", ["Exp", "Cbrt", "Atan", "Tanh", "Log", "Log1p"])
@pytest.mark.parametrize("value", [0.5, 1.5, 7.0])
def test_edges_are_within_four_units(name: str, value: float) -> None:
    """Java and numpy are each within one unit of the true value."""
    function = {
        "Exp": np.exp,
        "Cbrt": np.cbrt,
        "Atan": np.arctan,
        "Tanh": np.tanh,
        "Log": np.log,
        "Log1p": np.log1p,
    }[name]
    claim = claim_over(call(name, DOUBLE, d), table_over((d,), [((value,),)]))
    lower = upper = function(np.float64(value))
    for _ in range(4):
        lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
    assert (claim.lower[0], claim.upper[0]) == (lower, upper)
