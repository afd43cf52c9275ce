"""Files that bounds of passing rows rule out hold no row of the scan, and prove no conjunct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.statistics import Passing, Recorded, Statistics
from tamis.expr.condition_keys import condition_key
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Evaluated,
    Expr,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
)
from tamis.expr.outcomes import Outcome, Outcomes
from tamis.expr.types import BOOLEAN, DOUBLE, INTEGER
from tamis.files.bounds import column_bounds
from tamis.files.segments import Segment
from tamis.plan.goals.file_keys import key_of_files, matching_files
from tamis.plan.goals.sort_keys import KeyOfFiles, SortKey
from tamis.plan.goals.ties import first_by_all
from tamis.plan.goals.topk import boundary, first_files
from tamis.plan.joins.key_ranges import key_ranges
from tamis.plan.passing_rows import passing_segments
from tamis.plan.scan_decision import decide

A, B, D = Column(("a",), INTEGER), Column(("b",), INTEGER), Column(("d",), DOUBLE)
Row = dict[str, Any]
#: Conditions that statistics of columns say nothing about; the value of each is in the row.
FIRST = Call("Contains", (), (), BOOLEAN, key="first")
SECOND = Opaque("second", key="second")
#: A comparison: its key is computed from its form.
NOT_FIVE = Compare(Comparison.NOT_EQUAL, A, Literal(5, INTEGER))
OF_KEY: dict[str, Expr] = {"first": FIRST, "second": SECOND, str(condition_key(NOT_FIVE)): NOT_FIVE}


def of_row(expr: Expr, row: Row) -> bool | None:
    match expr:
        case Call(key=str(key)) | Opaque(key=str(key)):
            value: bool | None = row[key]
            return value
        case And(parts=parts) | Or(parts=parts):
            absorbing = isinstance(expr, Or)
            values = [of_row(part, row) for part in parts]
            if absorbing in values:
                return absorbing
            return None if None in values else not absorbing
        case Not(child=child):
            value = of_row(child, row)
            return None if value is None else not value
        case IsNull(child=Column(path=(name,))):
            return row[name] is None
        case Compare(op=op, left=Column(path=(name,)), right=Literal(value=other)):
            cell = row[name]
            assert isinstance(other, int | float)
            if cell is None:
                return None
            # NaN equals itself and is the greatest value
            left, right = ((each != each, 0.0 if each != each else each) for each in (cell, other))
            of: dict[Comparison, Callable[[Any, Any], bool]] = {
                Comparison.EQUAL: lambda x, y: x == y,
                Comparison.NOT_EQUAL: lambda x, y: x != y,
                Comparison.LESS: lambda x, y: x < y,
                Comparison.GREATER_EQUAL: lambda x, y: x >= y,
            }
            return of[op](left, right)
    raise AssertionError(expr)


def bounds_of(column: Column, files: list[list[Row]], passes: Callable[[Row], bool]) -> Bounds:
    """Return the bounds of IF(condition, column, NULL)."""
    (name,) = column.path
    cells = [[row[name] if passes(row) else None for row in rows] for rows in files]
    ordinary = [[each for each in cell if each is not None and each == each] for cell in cells]
    kind = pa.float64() if column.type == DOUBLE else pa.int32()
    nans = [sum(each is not None and each != each for each in cell) for cell in cells]
    return column_bounds(
        column.type,
        pa.array([min(each, default=None) for each in ordinary], kind),
        pa.array([max(each, default=None) for each in ordinary], kind),
        pa.array([cell.count(None) for cell in cells], pa.int64()),
        pa.array(nans, pa.int64()) if column.type == DOUBLE else None,
        pa.array([len(rows) for rows in files], pa.int64()),
    )


@dataclass(frozen=True, eq=False)
class Files(Statistics):
    files: list[list[Row]]
    recorded: frozenset[tuple[str, str]]

    @property
    def num_containers(self) -> int:
        return len(self.files)

    def bounds(self, column: Column) -> Bounds:
        return bounds_of(column, self.files, lambda row: True)

    def expression(self, key: Recorded) -> Bounds | None:
        if not isinstance(key, Passing) or (key.condition, key.column.path[0]) not in self.recorded:
            return None
        condition = OF_KEY[key.condition]
        return bounds_of(key.column, self.files, lambda row: of_row(condition, row) is True)

    def attained(self, passing: Passing) -> Flags:
        return NO if self.expression(passing) is None else YES


def numbers() -> st.SearchStrategy[int | None]:
    return st.one_of(st.integers(0, 9), st.none())


def rows() -> st.SearchStrategy[Row]:
    truths = st.sampled_from([True, False, None])
    doubles = st.sampled_from([None, float("nan"), -0.0, 0.0, 1.5, 7.0, float("inf")])
    return st.fixed_dictionaries(
        {"a": numbers(), "b": numbers(), "d": doubles, "first": truths, "second": truths}
    )


@st.composite
def conjuncts(draw: st.DrawFn) -> Expr:
    if draw(st.integers(0, 2)) == 0:
        condition: Expr = draw(st.sampled_from([FIRST, SECOND, NOT_FIVE]))
        return Not(condition) if draw(st.integers(0, 4)) == 0 else condition
    column = draw(st.sampled_from([A, A, B, D]))
    value = draw(st.sampled_from([0.0, 1.5, float("nan")]) if column is D else st.integers(-1, 10))
    ops = [Comparison.EQUAL, Comparison.LESS, Comparison.GREATER_EQUAL]
    expr: Expr = Compare(draw(st.sampled_from(ops)), column, Literal(value, column.type))
    wrap = draw(st.integers(0, 6))
    if wrap == 0:
        return IsNull(column)
    if wrap == 1:
        return Not(expr)
    if wrap in (2, 3):
        return (Or, And)[wrap - 2]((expr, draw(conjuncts())))
    return expr


@st.composite
def questions(draw: st.DrawFn) -> tuple[Files, list[Expr]]:
    files = draw(st.lists(st.lists(rows(), max_size=5), min_size=1, max_size=5))
    pairs = st.tuples(st.sampled_from([*OF_KEY]), st.sampled_from(["a", "a", "b", "d"]))
    predicates = draw(st.lists(conjuncts(), min_size=1, max_size=4))
    return Files(files, draw(st.frozensets(pairs))), predicates


def passing(rows: list[Row], predicates: list[Expr]) -> list[Row]:
    return [row for row in rows if all(of_row(each, row) is True for each in predicates)]


@settings(max_examples=800, deadline=None)
@given(questions())
def test_decision_holds_for_every_row(question: tuple[Files, list[Expr]]) -> None:
    files, predicates = question
    count = len(files.files)
    decision = decide(predicates, [Segment(slice(0, count), files)], count)
    for kept, file in zip(decision.kept.tolist(), files.files, strict=True):
        assert kept or not passing(file, predicates), (file, predicates)
        for predicate, outcome in zip(predicates, decision.conjuncts, strict=True):
            if kept and str(outcome.pushdown) == "exact":
                assert all(of_row(predicate, row) is True for row in file), (file, predicate)


def assert_key_ranges_hold(
    files: Files, predicates: list[Expr], statistics: Sequence[Segment]
) -> None:
    """Assert that key ranges hold the key of each row that passes.

    Args:
        files: The files.
        predicates: The filter.
        statistics: What is known of the rows that pass.
    """
    ranges = key_ranges(A, predicates, statistics, np.ones(len(files.files), np.bool_))
    if ranges is None:
        return
    for rows in files.files:
        for key in (each["a"] for each in passing(rows, predicates)):
            assert key is None or any(
                (each.lower is None or each.lower <= key)  # type: ignore[operator]
                and (each.upper is None or key <= each.upper)  # type: ignore[operator]
                for each in ranges
            ), (rows, predicates, ranges)


@settings(max_examples=400, deadline=None)
@given(questions())
def test_key_ranges_hold_the_keys_of_passing_rows(question: tuple[Files, list[Expr]]) -> None:
    files, predicates = question
    segments = [Segment(slice(0, len(files.files)), files)]
    assert_key_ranges_hold(files, predicates, passing_segments(predicates, segments))


def sort_keys() -> st.SearchStrategy[SortKey]:
    return st.builds(SortKey, st.just(A), st.booleans(), st.booleans(), st.booleans())


def assert_first_rows_are_chosen(
    limit: int,
    key: SortKey,
    files: Files,
    predicates: list[Expr],
    segments: Sequence[Segment],
    statistics: Sequence[Segment],
) -> None:
    """Assert that the files that are chosen for ORDER BY a LIMIT n hold the first rows.

    Args:
        limit: The number of rows.
        key: The sort key.
        files: The files.
        predicates: The filter.
        segments: What is known of all rows.
        statistics: What is known of the rows that pass.
    """
    kept = np.ones(len(files.files), np.bool_)
    of_files = key_of_files(key, predicates, statistics, kept)
    if of_files is None:
        return
    matching = matching_files(key, of_files, predicates, segments, kept)
    records = np.array([len(rows) for rows in files.files], np.int64)
    position = boundary(limit, key, of_files, matching, records)
    if position is None:
        return

    def place(row: Row) -> tuple[bool, int]:
        value = row["a"]
        if value is None:
            return (not key.nulls_first, 0)
        return (key.nulls_first, -value if key.descending else value)

    chosen = first_files(key, of_files, position, kept)
    found = [[place(each) for each in passing(rows, predicates)] for rows in files.files]
    of_all = sorted(each for places in found for each in places)
    of_chosen = sorted(
        each for places, one in zip(found, chosen, strict=True) if one for each in places
    )
    assert len(of_all) >= limit
    assert of_chosen[:limit] == of_all[:limit], (files, predicates, statistics)
    if not key.only:  # another key may choose any of the rows with equal keys
        last = of_all[limit - 1]
        assert [p for p in of_chosen if p <= last] == [p for p in of_all if p <= last]


@settings(max_examples=500, deadline=None)
@given(questions(), st.integers(1, 3), sort_keys())
def test_first_rows_are_in_the_chosen_files(
    question: tuple[Files, list[Expr]], limit: int, key: SortKey
) -> None:
    files, predicates = question
    segments = [Segment(slice(0, len(files.files)), files)]
    limited = passing_segments(predicates, segments)
    assert_first_rows_are_chosen(limit, key, files, predicates, segments, limited)


#: The first key of the rows of each file, which pass `first` unless it is negative, and the files
#: that are needed for ORDER BY a LIMIT 2 under `first` and other conjuncts.
SPREAD = [[1, 8, -3], [2, 9, -1], [5, 7, -2], [-0, 6]]
OTHERS: list[tuple[list[Expr], list[int] | None]] = [
    ([], [0, 1]),
    ([Not(IsNull(A))], [0, 1]),
    ([NOT_FIVE], [0, 1]),
    # the rows at 1 and 2 do not pass
    ([Compare(Comparison.GREATER_EQUAL, A, Literal(3, INTEGER))], [0, 1, 2, 3]),
    # nothing is known of other columns of the rows at 1 and 2
    ([SECOND], None),
    ([Compare(Comparison.EQUAL, B, Literal(0, INTEGER))], [0, 1]),
    ([Compare(Comparison.EQUAL, D, Literal(0.0, DOUBLE))], None),
]


def spread(**more: Any) -> Files:
    """Return the files of SPREAD."""
    data = [[row(value > 0, abs(value)) for value in values] for values in SPREAD]
    return Files(data, **more)


def chosen_of_spread(
    predicates: list[Expr], statistics: Sequence[Segment], descending: bool = False
) -> list[int] | None:
    """Return the files of SPREAD that are chosen for ORDER BY a LIMIT 2, given what is known of the
    rows that pass; None: all of them may be needed.
    """
    kept, key = np.ones(len(SPREAD), np.bool_), SortKey(A, descending, not descending, False)
    of_files = key_of_files(key, predicates, statistics, kept)
    assert of_files is not None
    matching, records = np.zeros(len(SPREAD), np.bool_), np.array([len(each) for each in SPREAD])
    position = boundary(2, key, of_files, matching, records)
    if position is None:
        return None
    found: list[int] = np.flatnonzero(first_files(key, of_files, position, kept)).tolist()
    return found


@pytest.mark.parametrize(("others", "expected"), OTHERS)
def test_one_row_of_a_file_passes(others: list[Expr], expected: list[int] | None) -> None:
    predicates = [FIRST, *others]
    segments = [Segment(slice(0, len(SPREAD)), spread(recorded=frozenset({("first", "a")})))]
    found = chosen_of_spread(predicates, passing_segments(predicates, segments))
    assert found == expected


def test_row_at_the_near_edge_of_a_later_key_may_not_be_among_the_ties() -> None:
    """ORDER BY b, a LIMIT 2: the rows with a = 1 pass, but have b = 1."""
    ties = [row(True, 9), row(True, 9)]
    others = [row(True, 10), row(True, 1) | {"b": 1}, row(False, 0)]
    files = Files([ties, others, others], frozenset({("first", "a")}))
    segments, kept = [Segment(slice(0, 3), files)], np.ones(3, np.bool_)
    passing = passing_segments([FIRST], segments)

    def key_of(key: SortKey, some: Flags) -> KeyOfFiles | None:
        return key_of_files(key, [FIRST], passing, some)

    keys = [SortKey(B, False, True, False), SortKey(A, False, True, True)]
    first = key_of(keys[0], kept)
    assert first is not None
    matching, records = np.array([True, False, False]), np.array([2, 3, 3])
    found = first_by_all(2, keys, key_of, first, matching, records, kept)
    assert found is None or found.files[0]


def row(first: bool | None, a: int | None, **more: Any) -> Row:
    return {"first": first, "second": None, "a": a, "b": 0, "d": None, **more}


def below(value: int) -> Expr:
    return Compare(Comparison.LESS, A, Literal(value, INTEGER))


#: Of no value is it known what the condition is.
EVALUATED = Evaluated(
    FIRST,
    B,
    Outcomes(INTEGER, np.array([], np.int64), np.array([], np.uint8), Outcome.NOT_EVALUATED),
)
#: In this file, rows that pass `first` have a = 5 and 6, the others 0, 9 and NULL.
ONE = [row(True, 5), row(True, 6), row(False, 0), row(False, 9), row(None, 1), row(False, None)]
CASES: list[tuple[list[Expr], bool]] = [
    ([FIRST, below(5)], False),
    ([FIRST, below(6)], True),
    ([below(5)], True),
    ([And((FIRST, below(5)))], False),
    ([Or((FIRST, IsNull(B))), below(5)], True),
    ([Not(FIRST), below(5)], True),
    ([SECOND, below(5)], True),
    ([FIRST, Not(below(7))], False),
    ([FIRST, SECOND, below(5)], False),
    # Spark has evaluated a condition for some values of a column
    ([EVALUATED, below(5)], False),
    ([EVALUATED, below(6)], True),
    ([Not(EVALUATED), below(5)], True),
]


def test_bounds_of_passing_rows_rule_out_files() -> None:
    known, unknown = frozenset({("first", "a")}), frozenset({("first", "b")})
    for predicates, kept in CASES:
        for recorded, expected in ((known, kept), (unknown, True)):
            files = Files([ONE], recorded)
            found = decide(predicates, [Segment(slice(0, 1), files)], 1)
            assert found.kept.tolist() == [expected], (predicates, recorded)


def test_no_conjunct_is_proven_by_passing_rows() -> None:
    """All rows that pass have a < 7, and others do not."""
    found = decide(
        [FIRST, below(7)], [Segment(slice(0, 1), Files([ONE], frozenset({("first", "a")})))], 1
    )
    assert [str(each.pushdown) for each in found.conjuncts] != ["exact", "exact"]
    assert str(found.conjuncts[1].pushdown) == "inexact"
