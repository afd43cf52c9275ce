"""Predicates over one column are decided as exactly as the values between the bounds allow."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation import subdivision, verdicts
from tamis.evaluation.interpreter import truth
from tamis.evaluation.subdivision import subdivided, subdivided_conjuncts
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
    Subdivided,
)
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, TIMESTAMP, DataType
from tamis.files.table import ArrowStatistics

D = Column(("d",), DATE)
I = Column(("i",), INTEGER)  # noqa: E741 - a column of that name
L = Column(("l",), LONG)
T = Column(("t",), TIMESTAMP)
UTC = (("timeZoneId", "UTC"),)
HOUR = 3_600_000_000


def call(name: str, *arguments: Expr, type: DataType = INTEGER, options: Any = ()) -> Call:
    return Call(name, arguments, options, type)


def is_(left: Expr, value: int) -> Compare:
    return Compare(Comparison.EQUAL, left, Literal(value, INTEGER))


def remainder(column: Column, divisor: int) -> Call:
    options = (("evalMode", "LEGACY"),)
    return call(
        "Remainder", column, Literal(divisor, column.type), type=column.type, options=options
    )


def modulo(column: Column, divisor: int, value: int) -> Compare:
    return Compare(Comparison.EQUAL, remainder(column, divisor), Literal(value, column.type))


SUNDAY, WEEK_5, MARCH = (
    is_(call("DayOfWeek", D), 1),
    is_(call("WeekOfYear", D), 5),
    is_(call("Month", D), 3),
)
FIRST_OF_MONTH = is_(call("DayOfMonth", D), 1)
HIDDEN = Opaque("f(x)", (("x",),))


def ordinal(text: str) -> int:
    return (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days


def files(
    column: Column, *bounds: tuple[int, int] | None, nulls: int | None = 0, rows: int = 10
) -> ArrowStatistics:
    """Return the statistics of one file per pair of bounds; None: not known."""
    arrow = {DATE: pa.date32(), TIMESTAMP: pa.timestamp("us", "UTC"), BOOLEAN: pa.bool_()}
    plain = {DATE: pa.int32(), INTEGER: pa.int32()}.get(column.type, pa.int64())

    def edges(at: int) -> pa.Array:
        values = pa.array([None if each is None else each[at] for each in bounds], plain)
        return values.cast(arrow.get(column.type, plain))

    (name,) = column.path
    return ArrowStatistics(
        pa.table(
            {
                f"min.{name}": edges(0),
                f"max.{name}": edges(1),
                f"null_count.{name}": pa.array([nulls] * len(bounds), pa.int64()),
                "num_records": pa.array([rows] * len(bounds), pa.int64()),
            }
        )
    )


def words(predicate: Expr, statistics: ArrowStatistics) -> list[str]:
    return [("none", "some", "all")[code] for code in verdicts(predicate, statistics)]


def days(first: str, last: str) -> tuple[int, int]:
    return ordinal(first), ordinal(last)


# predicate | days | verdict. 2024-02-04 is the Sunday of week 5, and 2024-02-01 a Thursday.
TABLE = [
    (And((SUNDAY, WEEK_5)), days("2024-01-26", "2024-02-01"), "none"),
    (And((SUNDAY, WEEK_5)), days("2024-02-02", "2024-02-08"), "some"),
    (And((SUNDAY, WEEK_5)), days("2024-02-04", "2024-02-04"), "all"),
    (Or((SUNDAY, Not(SUNDAY))), days("2024-01-01", "2024-12-31"), "all"),
    (And((SUNDAY, Not(SUNDAY))), days("2024-01-01", "2024-12-31"), "none"),
    (And((SUNDAY, FIRST_OF_MONTH)), days("2024-02-01", "2024-08-31"), "none"),
    (And((SUNDAY, FIRST_OF_MONTH)), days("2024-02-01", "2024-09-01"), "some"),
    (And((SUNDAY, FIRST_OF_MONTH)), days("1969-05-02", "1969-05-31"), "none"),
    (And((MARCH, is_(call("Year", D), 1995))), days("1995-12-26", "1996-10-31"), "none"),
    (And((MARCH, is_(call("Year", D), 1995))), days("1995-03-31", "1995-04-30"), "some"),
    # before the year 1 and beyond 9999, which Python's dates do not have
    (And((SUNDAY, FIRST_OF_MONTH)), (-1_000_000, -999_995), "none"),
    (And((SUNDAY, Not(SUNDAY))), (5_000_000, 5_000_100), "none"),
    # an opaque part may be true, false or NULL in each cell
    (Or((And((SUNDAY, HIDDEN)), WEEK_5)), days("2024-01-22", "2024-01-27"), "none"),
    (Or((And((SUNDAY, HIDDEN)), WEEK_5)), days("2024-01-22", "2024-01-28"), "some"),
    (Or((And((SUNDAY, HIDDEN)), WEEK_5)), days("2024-01-29", "2024-02-04"), "all"),
    (Or((And((SUNDAY, HIDDEN)), Not(SUNDAY))), days("2024-01-29", "2024-02-03"), "all"),
    (Or((And((SUNDAY, HIDDEN)), Not(SUNDAY))), days("2024-01-29", "2024-02-04"), "some"),
    (And((Or((SUNDAY, HIDDEN)), WEEK_5)), days("2024-01-29", "2024-02-04"), "some"),
]


@pytest.mark.parametrize(("predicate", "bounds", "verdict"), TABLE)
def test_days_are_decided_one_by_one(
    predicate: Expr, bounds: tuple[int, int], verdict: str
) -> None:
    assert words(predicate, files(D, bounds)) == [verdict]


def test_nulls_are_neither_true_nor_false() -> None:
    both = And((SUNDAY, WEEK_5))
    sunday = days("2024-02-04", "2024-02-04")
    assert words(both, files(D, sunday, nulls=1)) == ["some"]
    assert words(Or((both, IsNull(D))), files(D, sunday, nulls=1)) == ["all"]
    assert words(Or((both, IsNull(D))), files(D, None, nulls=10)) == ["all"]
    assert words(both, files(D, None, nulls=10)) == ["none"]
    assert words(And((SUNDAY, IsNull(D))), files(D, sunday, nulls=None)) == ["none"]
    assert words(both, files(D, sunday, nulls=None)) == ["some"]


def test_unknown_and_contradictory_bounds_prove_nothing() -> None:
    never = And((SUNDAY, Not(SUNDAY)))
    statistics = files(D, None, days("2024-02-08", "2024-02-02"), days("2024-02-02", "2024-02-08"))
    assert words(never, statistics) == ["some", "some", "none"]


def test_wide_files_are_decided_by_their_bounds() -> None:
    never = And((modulo(L, 7, 3), modulo(L, 7, 4)))
    wide, least = (0, 10**6), -(2**63)
    narrow, ends = (2**40, 2**40 + 9), (least + 5000, least + 5009)
    statistics = files(L, wide, (least, 2**63 - 1), narrow, ends, (2**63 - 9, 2**63 - 1))
    assert words(never, statistics) == ["some", "some", "none", "none", "none"]


def test_many_scattered_files_are_decided_by_their_bounds() -> None:
    never = And((modulo(L, 7, 3), modulo(L, 7, 4)))
    apart = [(k * 10**6, k * 10**6 + 5) for k in range(17)]
    assert words(never, files(L, *apart[:16])) == ["none"] * 16
    assert words(never, files(L, *apart)) == ["some"] * 17


@pytest.mark.parametrize("first", [-1025, -1024, -1, 0, 1022, 1023, 1024, 2047])
def test_windows_meet_without_a_gap(first: int) -> None:
    third = modulo(I, 3, 1)
    for last in (first, first + 1, first + 2, first + 2050):
        rows = range(first, last + 1)
        # In Spark, the remainder of a negative number is not positive.
        hits = [int(np.fmod(value, 3)) == 1 for value in rows]
        expected = "all" if all(hits) else "some" if any(hits) else "none"
        assert words(third, files(I, (first, last))) == [expected], (first, last)


def test_hours_are_decided_one_by_one() -> None:
    at_five = is_(call("Hour", T, options=UTC), 5)
    sunday = is_(call("DayOfWeek", call("Cast", T, type=DATE, options=UTC)), 1)
    begin = ordinal("2024-02-04") * 24 * HOUR  # a Sunday
    statistics = files(
        T,
        (begin + 6 * HOUR, begin + 28 * HOUR),
        (begin + 6 * HOUR, begin + 29 * HOUR),
        (begin + 5 * HOUR, begin + 6 * HOUR - 1),
        (begin - 30 * 24 * HOUR, begin + 4 * HOUR),
    )
    assert words(And((at_five, sunday)), statistics) == ["none", "none", "all", "some"]
    years = files(T, (begin, begin + 24 * HOUR - 1), (begin - 4000 * 24 * HOUR, begin))
    assert words(And((sunday, Not(sunday))), years) == ["none", "none"]


def test_an_hour_has_all_of_its_minutes() -> None:
    at_five = is_(call("Hour", T, options=UTC), 5)
    morning = files(T, (4 * HOUR, 8 * HOUR), (6 * HOUR, 8 * HOUR))
    for minute in (0, 30, 59):
        both = And((at_five, is_(call("Minute", T, options=UTC), minute)))
        assert words(both, morning) == ["some", "none"]


def test_files_of_few_hours_are_not_evaluated_by_days(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Noted(subdivision._Cells):
        def __init__(self, column: Column, first: int, size: int) -> None:
            sizes.append(size)
            super().__init__(column, first, size)

    monkeypatch.setattr(subdivision, "_Cells", Noted)
    at_five = subdivided(is_(call("Hour", T, options=UTC), 5))
    assert truth(at_five, files(T, (4 * HOUR, 8 * HOUR))).can_be_true.tolist() == [True]
    assert sizes == [HOUR]


@pytest.mark.parametrize(
    "predicate",
    [
        IsNull(D),
        Compare(Comparison.LESS, D, Literal(5, DATE)),
        is_(call("Year", D), 1995),  # rises, so its bounds are exact
        Opaque("f(d)", (("d",),)),
        And((SUNDAY, Opaque("f(d)", (("d",),)))).parts[1],
        is_(call("Unheard", D), 1),
        Compare(
            Comparison.LESS, call("Sqrt", Column(("x",), DOUBLE), type=DOUBLE), Literal(1.0, DOUBLE)
        ),
        is_(call("Add", I, Column(("j",), INTEGER)), 1),
        Compare(
            Comparison.LESS,
            call("Sin", Column(("x",), DOUBLE), type=DOUBLE),
            Literal(0.5, DOUBLE),
        ),
    ],
)
def test_predicates_that_gain_nothing_stay_as_they_are(predicate: Expr) -> None:
    assert subdivided(predicate) is predicate


def test_parts_are_grouped_by_column() -> None:
    odd = modulo(I, 2, 1)
    above = Compare(Comparison.GREATER, D, Literal(0, DATE))
    parts = subdivided_conjuncts((SUNDAY, odd, above, WEEK_5))
    assert parts == (
        above,
        Subdivided(And((SUNDAY, above, WEEK_5)), D),
        Subdivided(odd, I),
    )
    assert subdivided(Or((SUNDAY, odd, above))) == Or(
        (Subdivided(Or((SUNDAY, above)), D), Subdivided(odd, I))
    )
    assert subdivided(Not(And((SUNDAY, odd)))) == Not(
        And((Subdivided(SUNDAY, D), Subdivided(odd, I)))
    )


def test_long_predicates_are_decided_by_their_bounds() -> None:
    pairs = [And((SUNDAY, is_(call("DayOfMonth", D), k))) for k in range(1, 60)]
    short, long = Or(tuple(pairs[:10])), Or(tuple(pairs))
    assert isinstance(subdivided(short), Subdivided)
    assert subdivided(long) == long


def test_windows_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[int] = []

    class Noted(subdivision._Cells):
        def __init__(self, column: Column, first: int, size: int) -> None:
            evaluated.append(first)
            super().__init__(column, first, size)

    monkeypatch.setattr(subdivision, "_Cells", Noted)
    node = subdivided(And((SUNDAY, WEEK_5)))
    for _ in range(3):
        truths = truth(node, files(D, (20_000, 20_006), (20_480, 20_481)))
        assert truths.can_be_true.tolist() == [False, False]
        assert truths.can_be_false.tolist() == [True, True]
    assert evaluated == [19_456, 20_480]


PARTS = st.sampled_from(
    [
        *(modulo(I, divisor, value) for divisor in (2, 3, 5) for value in (-1, 0, 1, 4)),
        In(remainder(I, 4), (1, 3)),
        In(remainder(I, 4), (0,), has_null=True),
        IsNull(I),
        Compare(Comparison.GREATER, I, Literal(5, INTEGER)),
        Compare(Comparison.LESS, remainder(I, 6), remainder(I, 5)),
    ]
)
PREDICATES = st.recursive(
    PARTS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=6,
)


@given(PREDICATES, st.integers(-1100, 1100), st.integers(0, 40), st.sampled_from([0, 3]))
def test_verdict_is_that_of_all_rows(predicate: Expr, low: int, span: int, nulls: int) -> None:
    """Every value between the bounds occurs, so the verdict can be compared with their verdicts."""
    values = range(low, low + span + 1)
    each = verdicts(predicate, files(I, *((value, value) for value in values)))
    of_null = verdicts(predicate, files(I, None, nulls=10))
    codes = {*each.tolist(), *(of_null.tolist() if nulls else ())}
    assert codes <= {0, 2}  # of a single value, everything is known
    expected = codes.pop() if len(codes) == 1 else 1
    together = subdivided(predicate)
    truths = truth(together, files(I, (low, low + span), nulls=nulls))
    is_all = not (truths.can_be_false | truths.can_be_null).any()
    found = 0 if not truths.can_be_true.any() else 2 if is_all else 1
    assert found == expected or not isinstance(together, Subdivided)
    assert (found == 0) <= (expected == 0)
    assert (found == 2) <= (expected == 2)
