"""Ranges implied by a predicate, over all values of a small type and at the limits of constants."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
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
    Or,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BYTE,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.file_keys import key_of_files
from tamis.plan.goals.sort_keys import Group, SortKey
from tamis.plan.joins.key_ranges import key_ranges
from tamis.plan.ranges import interval_search, prefix_search
from tamis.plan.ranges.implied_ranges import implied_ranges
from tamis.plan.ranges.interval_search import possible_runs
from tests.differential.rows import row_value
from tests.evaluation.test_exact_bounds import call

b = Column(("b",), BYTE)
DAY = 86_400_000_000
WIDE = decimal(30, 2)


def compare(op: str, left: Expr, value: Any, data_type: DataType = BYTE) -> Expr:
    return Compare(Comparison(op), left, Literal(value, data_type))


minus, size, sign = (
    Call(name, (b,), (("evalMode", "LEGACY"),), BYTE)
    for name in ("UnaryMinus", "Abs", "UnaryMinus")
)
half = call("IntegralDivide", LONG, b, Literal(2, BYTE))

#: Predicates whose evaluation over a range of bytes is exact.
EXACT: tuple[Expr, ...] = (
    *(compare(op, b, value) for op in ("=", "<", "<=", ">", ">=") for value in (-128, -100, 0, 1, 50, 127)),
    *(compare(op, minus, value) for op in ("=", "<", "<=", ">", ">=") for value in (-100, 0, 7, 100)),
    *(compare(op, half, value, LONG) for op in ("=", "<", "<=", ">", ">=") for value in (-30, 0, 1, 40)),
    *(compare(op, size, value) for op in ("=", "<", "<=") for value in (0, 5, 90)),
    In(b, (3, 5, 9)),
    In(b, (-120, 0, 120)),
    Or((compare("<", b, -100), compare(">", b, 100))),
    Or((compare("=", half, -40, LONG), compare("=", half, 40, LONG))),
    And((compare(">", half, 3, LONG), compare("<", minus, -20))),
    Not(compare("<", half, 20, LONG)),
)  # fmt: skip


@pytest.mark.parametrize("predicate", EXACT, ids=to_sql)
def test_runs_start_and_end_with_passing_values(predicate: Expr) -> None:
    passing = [each for each in range(-128, 128) if row_value(predicate, {("b",): each}) is True]
    runs = possible_runs(predicate, b)
    if runs is None:
        # No value passes, or no gap is worth a range.
        gaps = np.diff([-129, *passing, 128])
        assert not passing or gaps.max() < 120, (passing, gaps)
        return
    for each in passing:
        assert any(low <= each <= high for low, high in runs), each
    for low, high in runs:
        # An overflow at the end of the type may raise, so it stays possible.
        assert low in passing or low == -128, runs
        assert high in passing or high in (127, -128), runs
    assert list(runs) == sorted(runs)
    assert all(high < low for (_, high), (low, _) in pairwise(runs))


@pytest.mark.parametrize(
    "predicate",
    [
        compare(">=", b, -128),
        compare("<=", half, 100, LONG),
        Not(compare("=", b, 5)),
        Or((compare("<", b, 5), compare(">", b, 9))),
    ],
    ids=to_sql,
)
def test_no_runs_if_no_wide_gap_is_left_out(predicate: Expr) -> None:
    assert possible_runs(predicate, b) is None


@pytest.mark.parametrize("rounds", range(5))
@pytest.mark.parametrize("predicate", EXACT, ids=to_sql)
def test_search_that_stops_early_is_sound(
    predicate: Expr, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interval_search, "_ROUNDS", rounds)
    monkeypatch.setattr(interval_search, "_PER_CUT", 2)
    runs = possible_runs(predicate, b)
    for each in range(-128, 128):
        if runs is not None and row_value(predicate, {("b",): each}) is True:
            assert any(low <= each <= high for low, high in runs), each


TEXTS = ["", " ", "a", "ab", "abc", "abcd", "abd", "b", "z", "\x7f", "é", "ê", "\U00100000"]


@pytest.mark.parametrize("rounds", range(8))
def test_search_of_texts_that_stops_early_is_sound(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefix_search, "_ROUNDS", rounds)
    s = Column(("s",), STRING)
    first, third = (
        Call("Substring", (s, Literal(1, INTEGER), Literal(n, INTEGER)), (), STRING) for n in (1, 3)
    )
    known = 0
    for left, text in ((first, "a"), (third, "abc"), (third, "ab"), (first, "é"), (s, "abc")):
        for op in ("=", "<", "<=", ">", ">="):
            predicate = compare(op, left, text, STRING)
            texts = prefix_search.possible_texts(predicate, s)
            if texts is None:
                continue
            known += 1
            for each in TEXTS:
                if row_value(predicate, {("s",): each}) is True:
                    assert texts.lower is None or each >= texts.lower
                    assert (
                        texts.upper is None
                        or each < texts.upper
                        or (each == texts.upper and not texts.upper_open)
                    )
    assert known == {0: 12, 1: 20, 2: 23}.get(rounds, 25)
    never = And((compare("=", first, "a", STRING), compare("=", third, "bcd", STRING)))
    assert (prefix_search.possible_texts(never, s) is None) == (rounds > 0)


@pytest.mark.parametrize(
    "predicate",
    [
        IsNull(b),
        Or((IsNull(b), compare("=", half, 3, LONG))),
        Not(compare("<=>", b, 5)),
        compare("=", Call("Unknown", (b,), (), BYTE), 5),
    ],
    ids=to_sql,
)
def test_no_runs_if_null_may_pass_or_the_function_is_unknown(predicate: Expr) -> None:
    assert possible_runs(predicate, b) is None


_FIRST, _LAST = -25_567, 2_932_896  # 1900-01-01 and 9999-12-31

#: A function that preserves the number, its types, and the limits of numbers in filters.
RANGES_OF_FILTERS: list[tuple[str, DataType, DataType, int, int]] = [
    ("UnixDate", DATE, INTEGER, _FIRST, _LAST),
    ("UnixMicros", TIMESTAMP, LONG, _FIRST * DAY, (_LAST + 1) * DAY - 1),
]


@pytest.mark.parametrize(("name", "data_type", "result", "least", "greatest"), RANGES_OF_FILTERS)
@pytest.mark.parametrize("side", [">=", "<="])
def test_bounds_outside_the_supported_years_are_left_out(
    side: str, name: str, data_type: DataType, result: DataType, least: int, greatest: int
) -> None:
    call_on_column = Call(name, (Column(("c",), data_type),), (), result)
    for value in (least + 1, least + 50, greatest - 50, greatest - 1, least, greatest):
        implied = implied_ranges([compare(side, call_on_column, value, result)])
        edge = None if value == (least if side == ">=" else greatest) else value
        intervals = [(each.lower, each.upper) for each in implied[0].intervals] if implied else []
        if edge is None:
            assert intervals == []
        elif intervals:
            assert intervals == [(edge, None) if side == ">=" else (None, edge)], value


@pytest.mark.parametrize("moved", [-(10**6), 10**6])
def test_bound_outside_the_supported_years_is_moved_outward(moved: int) -> None:
    day = Column(("d",), DATE)
    call_on_column = Call("UnixDate", (day,), (), INTEGER)
    value = _FIRST + moved if moved < 0 else _LAST + moved
    for op in ("<=", ">="):
        implied = implied_ranges([compare(op, call_on_column, value, INTEGER)])
        inside = (op == "<=") == (moved < 0)
        if inside and implied:  # all passing values are outside the supported years
            (interval,) = implied[0].intervals
            assert (interval.lower, interval.upper) == (
                (None, _FIRST) if moved < 0 else (_LAST, None)
            )
        else:
            assert not implied


def test_overflowing_decimals_stay_possible() -> None:
    number = Column(("n",), decimal(4, 1))
    absolute = Call("Abs", (number,), (), decimal(4, 1))
    implied = implied_ranges([compare("<=", absolute, Decimal("2.5"), decimal(4, 1))])
    inside = (Decimal("-2.5"), Decimal("2.5"))
    # Files can have more digits than the type, so overflowing values stay possible.
    assert [(each.lower, each.upper) for each in implied[0].intervals] == [
        (None, Decimal("-999.9")),
        inside,
    ]


TYPES = {
    LONG: (pa.int64(), LONG.domain),
    DATE: (pa.date32(), DATE.domain),
    DOUBLE: (pa.float64(), (-np.inf, np.inf)),
    STRING: (pa.string(), (None, None)),
    WIDE: (pa.decimal128(30, 2), (None, None)),
}


def as_list(edge: Any) -> list[Any]:
    return edge.tolist() if isinstance(edge, np.ndarray) else edge.to_pylist()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("missing", ["min", "max", None])
@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_unknown_edges_of_sort_keys_are_ends_of_the_type(
    data_type: DataType, missing: str | None, descending: bool
) -> None:
    arrow, (least, greatest) = TYPES[data_type]
    values = ["a", "b"] if data_type == STRING else [1, 2]
    cells = {
        "num_records": [5, 5],
        "min.c": pa.array(values, arrow),
        "max.c": pa.array(values, arrow),
    }
    cells.pop(f"{missing}.c", None)
    statistics = ArrowStatistics(pa.table(cells))
    column = Column(("c",), data_type)
    segments = [Segment(slice(0, 2), statistics)]
    keys = key_of_files(
        SortKey(column, descending, True, False), [], segments, np.ones(2, np.bool_)
    )
    assert keys is not None
    edges: list[Any] = [b"a", b"b"] if data_type == STRING else values
    low = [least] * 2 if missing == "min" else edges
    high = [greatest] * 2 if missing == "max" else edges
    near, far = (high, low) if descending else (low, high)
    assert (as_list(keys.near), as_list(keys.far)) == (near, far)
    if data_type == WIDE:
        assert keys.near.type == keys.far.type == pa.decimal128(38, 2)


#: A filter, and whether a row passes it whose key is NULL, a value, and NaN.
GROUPS: list[tuple[str | None, tuple[bool, bool, bool]]] = [
    (None, (True, True, True)),
    (">", (False, True, True)),
    ("<", (False, True, False)),
    ("=", (False, True, False)),
    ("IS NULL", (True, True, False)),
    ("IS NOT NULL", (False, True, True)),
]


@pytest.mark.parametrize(("filter_", "expected"), GROUPS)
@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_filter_rules_out_groups_of_sort_keys(
    data_type: DataType, filter_: str | None, expected: tuple[bool, bool, bool]
) -> None:
    arrow, _ = TYPES[data_type]
    low, high = ("a", "z") if data_type == STRING else (1, 9)
    cells = {"num_records": [9], "min.c": pa.array([low], arrow), "max.c": pa.array([high], arrow)}
    column = Column(("c",), data_type)
    middle: Any = {STRING: "m", WIDE: Decimal(5), DOUBLE: 5.0}.get(data_type, 5)
    conjuncts: list[Expr] = []
    if filter_ == "IS NULL":
        conjuncts = [IsNull(column)]
    elif filter_ == "IS NOT NULL":
        conjuncts = [Not(IsNull(column))]
    elif filter_ is not None:
        conjuncts = [compare(filter_, column, middle, data_type)]
    segments = [Segment(slice(0, 1), ArrowStatistics(pa.table(cells)))]
    keys = key_of_files(
        SortKey(column, False, True, False), conjuncts, segments, np.ones(1, np.bool_)
    )
    assert keys is not None
    flags = tuple(bool(keys.may_be[group][0]) for group in (Group.NULL, Group.VALUE, Group.NAN))
    assert flags == (*expected[:2], expected[2] and data_type == DOUBLE)


@pytest.mark.parametrize("count", [3, 15, 16, 17, 40])
def test_key_ranges_are_cut_by_the_filter(count: int) -> None:
    """Files of 100 values each, ten apart. The filter cuts the first and the last file."""
    column = Column(("c",), LONG)
    lows = [110 * each for each in range(count)]
    cells = {"min.c": lows, "max.c": [low + 99 for low in lows]}
    segments = [Segment(slice(0, count), ArrowStatistics(pa.table(cells)))]
    conjuncts = [compare(">=", column, 50, LONG), compare("<=", column, lows[-1] + 20, LONG)]
    intervals = key_ranges(column, conjuncts, segments, np.ones(count, np.bool_))
    assert intervals is not None
    assert len(intervals) == min(count, 16)
    assert (intervals[0].lower, intervals[-1].upper) == (50, lows[-1] + 20)
    for low in lows:
        for value in (max(low, 50), min(low + 99, lows[-1] + 20)):
            assert any(each.lower <= value <= each.upper for each in intervals)  # type: ignore[operator]
    assert all(one.upper < following.lower for one, following in pairwise(intervals))  # type: ignore[operator]


def test_ranges_of_timestamps_without_a_zone() -> None:
    column = Column(("c",), TIMESTAMP_NTZ)
    year = call("Year", INTEGER, call("Cast", DATE, column))
    (implied,) = implied_ranges([compare("=", year, 1995, INTEGER)])
    begin = int(np.datetime64("1995-01-01", "D").astype(int)) * DAY
    assert [(each.lower, each.upper) for each in implied.intervals] == [
        (begin, begin + 365 * DAY - 1)
    ]
