"""Implied ranges by predicate."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
)
from tamis.plan.ranges.implied_ranges import implied, implied_ranges

d = Column(("d",), DATE)
t = Column(("t",), TIMESTAMP)
b = Column(("b",), BYTE)
i = Column(("i",), INTEGER)
n = Column(("n",), LONG)
x = Column(("x",), DOUBLE)
flag = Column(("flag",), BOOLEAN)
s = Column(("s",), STRING)
price = Column(("item", "unit price"), decimal(9, 2))
ANSI, LEGACY = {"evalMode": "ANSI"}, {"evalMode": "LEGACY"}


def call(name: str, data_type: DataType, *arguments: Any, **options: Any) -> Call:
    as_expr = {int: INTEGER, str: STRING}
    operands = tuple(Literal(a, as_expr[type(a)]) if type(a) in as_expr else a for a in arguments)
    return Call(name, operands, tuple(options.items()), data_type)


def eq(left: Expr, value: Any, data_type: DataType = INTEGER, op: str = "=") -> Compare:
    return Compare(Comparison(op), left, Literal(value, data_type))


def zoned(zone: str) -> Expr:
    return call("Cast", DATE, t, timeZoneId=zone, evalMode="ANSI")


def add(column: Column, mode: dict[str, str]) -> Call:
    return call("Add", column.type, column, Literal(1, column.type), **mode)


year, month = call("Year", INTEGER, d), call("Month", INTEGER, d)
MAX = 2**31 - 1

CASES: list[tuple[Expr, list[str]]] = [
    # Dates and times.
    (eq(year, 1995), ["d >= DATE '1995-01-01' AND d <= DATE '1995-12-31'"]),
    (eq(year, 1995, op=">"), ["d >= DATE '1996-01-01'"]),
    (eq(year, 1995, op="<="), ["d <= DATE '1995-12-31'"]),
    (In(year, (1995, 1998)), ["d >= DATE '1995-01-01' AND d <= DATE '1998-12-31'"]),
    (eq(year, 1995, op="<>"), []),
    (eq(year, 1850), ["d <= DATE '1900-01-01'"]),
    (eq(year, 20000), ["d >= DATE '9999-12-31'"]),
    (eq(month, 3), []),
    (
        And((eq(month, 3), eq(year, 1995))),
        ["d >= DATE '1995-03-01' AND d <= DATE '1995-03-31'"],
    ),
    (
        Or((eq(year, 1995), eq(d, 0, DATE))),
        ["d >= DATE '1970-01-01' AND d <= DATE '1995-12-31'"],
    ),
    (Or((eq(year, 1995), eq(n, 0, LONG))), []),
    (
        eq(zoned("UTC"), 0, DATE),
        ["t >= TIMESTAMP '1970-01-01 00:00:00Z' AND t <= TIMESTAMP '1970-01-01 23:59:59.999999Z'"],
    ),
    # Numbers. Values that may raise or wrap around stay possible.
    (eq(add(i, ANSI), 5), [f"i = 4 OR i >= {MAX}"]),
    (eq(add(i, LEGACY), 5), [f"i = 4 OR i >= {MAX}"]),
    (eq(add(b, ANSI), 5, BYTE), ["b = 4Y OR b >= 127Y"]),
    (eq(call("Multiply", DOUBLE, x, Literal(2.0, DOUBLE), **ANSI), 5.0, DOUBLE), []),
    (
        eq(call("Cast", INTEGER, n, **ANSI), 5),
        ["n <= -2147483649L OR n = 5L OR n >= 2147483648L"],
    ),
    # NULL
    (eq(call("Coalesce", LONG, n, Literal(0, LONG)), 0, LONG), []),
    (eq(call("Coalesce", LONG, n, Literal(0, LONG)), 7, LONG), ["n = 7L"]),
    (IsNull(year), []),
    # Strings.
    (eq(call("Substring", STRING, s, 1, 3), "abc", STRING), ["s >= 'abc' AND s < 'abd'"]),
    (eq(call("Substring", STRING, s, 1, 1), "é", STRING), ["s >= 'é' AND s < 'ê'"]),
    (call("Like", BOOLEAN, s, "a_c%", escapeChar="\\"), ["s >= 'a' AND s < 'b'"]),
    (call("StartsWith", BOOLEAN, call("Upper", STRING, s), "AB"), ["s >= 'AB' AND s < 'ac'"]),
    (eq(call("Length", INTEGER, s), 3), []),
    (eq(call("Coalesce", STRING, call("Substring", STRING, s, 1, 1), "a"), "a", STRING), []),
    (eq(call("Substring", STRING, s, 1, 1), " ", STRING), ["s >= ' ' AND s < '!'"]),
    # Sixteen bytes of a bound are enough.
    (
        eq(call("Substring", STRING, s, 1, 20), "abcdefghijklmnopqrst", STRING),
        ["s >= 'abcdefghijklmnop' AND s < 'abcdefghijklmnoq'"],
    ),
    # The last plane and control characters make no bound.
    (eq(call("Substring", STRING, s, 1, 1), "\U00100000", STRING), ["s >= '\U00100000'"]),
    (eq(call("Substring", STRING, s, 1, 2), "a\x7f", STRING), ["s >= 'a\x7f' AND s < 'b'"]),
    (
        And((eq(call("Substring", STRING, s, 1, 1), "a", STRING),
             eq(call("Substring", STRING, s, 1, 2), "bc", STRING))),
        [],
    ),
    # A condition of another column, by which the plain conjunct is one of d as well.
    (
        And((Or((And((flag, eq(d, 9131, DATE, ">="))), eq(d, 9200, DATE, ">="))),
             eq(year, 1990, op=">"))),
        [],
    ),
    # Predicates that sources accept as they are, and unknown functions.
    (eq(d, 5, DATE), []),
    (And((eq(d, 5, DATE), eq(n, 5, LONG, ">"))), []),
    (Or((eq(d, 5, DATE), IsNull(s), In(n, (1, 2))), ), []),
    (Not(IsNull(d)), []),
    (Compare(Comparison.LESS, d, Column(("e",), DATE)), []),
    (call("StartsWith", BOOLEAN, s, "AB"), []),
    (Opaque("f(d)", (("d",),)), []),
    (eq(call("NobodyKnows", INTEGER, d), 5), []),
    (And((Opaque("f(d)"), eq(year, 1995))), ["d >= DATE '1995-01-01' AND d <= DATE '1995-12-31'"]),
    (And((eq(year, 1995), eq(year, 1996))), []),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "expected"), CASES, ids=lambda each: str(each)[:40])
def test_implied_ranges(expr: Expr, expected: list[str]) -> None:
    assert [to_sql(each) for each in implied(expr)] == expected


def test_implied_range_of_a_decimal_struct_field() -> None:
    (implied_range,) = implied_ranges([eq(call("Cast", LONG, price, **LEGACY), 7, LONG)])
    assert implied_range.column.path == ("item", "unit price")
    in_seven = implied_range.intervals[-1]
    assert [str(in_seven.lower), str(in_seven.upper)] == ["7.00", "7.99"]


def test_day_of_a_clock_change_has_its_true_length() -> None:
    day = 9_581  # 1996-03-26. 1996-03-31, five days later, had 23 hours in Berlin.
    (implied_range,) = implied_ranges([eq(zoned("Europe/Berlin"), day + 5, DATE)])
    (interval,) = implied_range.intervals
    hour = 3_600_000_000
    assert isinstance(interval.lower, int)
    assert isinstance(interval.upper, int)
    assert interval.upper - interval.lower + 1 == 23 * hour


def test_conjuncts_imply_more_together() -> None:
    first, second = eq(year, 1995), eq(month, 3)
    assert implied_ranges([first, second]) == implied_ranges([And((first, second))])
    assert implied_ranges([first]) != implied_ranges([first, second])


def test_plain_conjunct_is_not_implied_again() -> None:
    plain = eq(d, 9131, DATE, ">=")
    assert implied_ranges([plain, eq(year, 1990, op=">")]) == ()
    (implied_range,) = implied_ranges([plain, eq(year, 2000, op="<")])
    assert to_sql(implied_range.predicate) == "d >= DATE '1995-01-01' AND d <= DATE '1999-12-31'"


def test_implied_ranges_of_several_columns() -> None:
    implied_by_both = implied_ranges([eq(year, 1995), eq(add(n, LEGACY), 5, LONG)])
    assert [each.column for each in implied_by_both] == [d, n]


def test_long_lists_are_left_out() -> None:
    years = In(year, tuple(range(1990, 3000)))
    assert implied(years) == ()
    assert len(implied(And((years, eq(year, 1995))))) == 1
