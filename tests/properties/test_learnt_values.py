"""What an earlier scan found of the rows that pass some conjuncts holds for every row of a scan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, IsNull, Literal, Not, Or
from tamis.expr.types import INTEGER, LONG
from tamis.files.segments import Segment
from tamis.plan.goals.aggregate import answer
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tamis.plan.goals.fully_matching import fully_matching
from tamis.plan.goals.sort_keys import SortKey
from tamis.plan.passing_rows import LearntValues, passing_segments
from tamis.plan.scan_decision import kept_files
from tamis.remembered.values import ColumnName, PassingValues
from tests.properties.test_passing_rows import (
    FIRST,
    ONE,
    OTHERS,
    SECOND,
    SPREAD,
    A,
    B,
    Files,
    assert_first_rows_are_chosen,
    assert_key_ranges_hold,
    below,
    chosen_of_spread,
    passing,
    questions,
    sort_keys,
    spread,
)

LEAST, GREATEST = np.iinfo(np.int32).min, np.iinfo(np.int32).max
_LONG = np.iinfo(np.int64)


def learnt(
    files: Files,
    predicates: list[Expr],
    ordinals: set[int],
    columns: list[Column],
    known: list[bool],
) -> LearntValues:
    """Return what a scan with some of the predicates finds in the files that are `known`."""
    some = [each for i, each in enumerate(predicates) if i in ordinals]
    found = {}
    for column in columns:
        (name,) = column.path
        values = [
            [value for each in passing(rows, some) if (value := each[name]) is not None]
            for rows in files.files
        ]
        has_values = np.array([bool(v) or not k for v, k in zip(values, known, strict=True)])
        is_known = np.array([bool(v) and k for v, k in zip(values, known, strict=True)])
        found[column.path] = Bounds(
            column.type,
            np.where(is_known, [min(each, default=0) for each in values], LEAST),
            np.where(is_known, [max(each, default=0) for each in values], GREATEST),
            YES,
            NO,
            has_values,
            is_known,
            is_known,
        )
    return LearntValues(frozenset(ordinals), found, True)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Files, list[Expr], tuple[LearntValues, ...]]:
    files, predicates = draw(questions())
    notes = []
    for _ in range(draw(st.integers(1, 2))):
        ordinals = draw(st.sets(st.integers(0, len(predicates) - 1), min_size=1))
        columns = draw(st.sampled_from([[A], [B], [A, B]]))
        count = len(files.files)
        known = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        notes.append(learnt(files, predicates, ordinals, columns, known))
    return files, predicates, tuple(notes)


def segments_of(files: Files) -> list[Segment]:
    """Return the files in two segments. The files of one do not follow each other."""
    count = len(files.files)
    places = np.arange(0, count, 2), np.arange(1, count, 2)
    return [
        Segment(each, Files([files.files[i] for i in each], files.recorded))
        for each in places
        if len(each)
    ]


def halves_of(files: Files) -> list[Segment]:
    """Return the files in two segments, one after the other."""
    middle = len(files.files) // 2
    halves = slice(0, middle), slice(middle, len(files.files))
    return [
        Segment(each, Files(files.files[each], files.recorded))
        for each in halves
        if each.start < each.stop
    ]


@settings(max_examples=300, deadline=None)
@given(cases())
def test_files_that_are_left_out_hold_no_row(
    case: tuple[Files, list[Expr], tuple[LearntValues, ...]],
) -> None:
    files, predicates, notes = case
    count = len(files.files)
    whole = [Segment(slice(0, count), files)]
    for segments in (segments_of(files), whole, halves_of(files)):
        kept = kept_files(predicates, passing_segments((), segments, notes), count)
        for is_kept, rows in zip(kept.tolist(), files.files, strict=True):
            assert is_kept or not passing(rows, predicates), (rows, predicates, notes)


@settings(max_examples=200, deadline=None)
@given(cases())
def test_key_ranges_hold_the_keys_of_passing_rows(
    case: tuple[Files, list[Expr], tuple[LearntValues, ...]],
) -> None:
    files, predicates, notes = case
    statistics = passing_segments(predicates, segments_of(files), notes)
    assert_key_ranges_hold(files, predicates, statistics)


@settings(max_examples=300, deadline=None)
@given(cases(), st.integers(1, 3), sort_keys())
def test_first_rows_are_in_the_chosen_files(
    case: tuple[Files, list[Expr], tuple[LearntValues, ...]], limit: int, key: SortKey
) -> None:
    files, predicates, notes = case
    segments = segments_of(files)
    limited = passing_segments(predicates, segments, notes)
    assert_first_rows_are_chosen(limit, key, files, predicates, segments, limited)


@settings(max_examples=300, deadline=None)
@given(cases())
def test_files_that_cannot_improve_hold_no_least_or_greatest_value(
    case: tuple[Files, list[Expr], tuple[LearntValues, ...]],
) -> None:
    files, predicates, notes = case
    segments, kept = segments_of(files), np.ones(len(files.files), np.bool_)
    found = answer(
        [Aggregate(Function.MIN, A), Aggregate(Function.MAX, A)],
        segments,
        kept,
        fully_matching(predicates, segments, kept),
        np.array([len(rows) for rows in files.files], np.int64),
        keys=None,
        conjuncts=predicates,
        passing=passing_segments(predicates, segments, notes),
    )
    every = [each["a"] for rows in files.files for each in passing(rows, predicates)]
    left = [
        each["a"]
        for rows, is_left in zip(files.files, found.left, strict=True)
        for each in passing(rows, predicates)
        if is_left
    ]
    for i, of in enumerate((min, max)):
        partial = [each.values[i] for each in found.partials]
        values = [each for each in (*left, *partial) if each is not None]
        expected = of((each for each in every if each is not None), default=None)
        assert of(values, default=None) == expected, (files, predicates, notes)


#: Conjuncts, those of an earlier scan, and whether the file ONE is kept.
HITS: list[tuple[list[Expr], set[int], bool]] = [
    ([FIRST, below(5)], {0}, False),
    ([below(5), FIRST], {1}, False),
    ([FIRST, below(6)], {0}, True),
    ([FIRST, SECOND, below(5)], {0}, False),
    ([And((FIRST, below(5)))], {0}, False),  # it found no row
    ([Or((FIRST, IsNull(B))), below(5)], {0}, False),
    ([Or((FIRST, below(9))), below(5)], {0}, True),
    ([FIRST, Or((below(5), IsNull(A)))], {0}, True),  # NULL may pass
    ([FIRST, Not(below(7))], {0}, False),
    ([FIRST, Compare(Comparison.EQUAL, B, Literal(0, INTEGER))], {0}, True),
]


@pytest.mark.parametrize(("predicates", "ordinals", "kept"), HITS)
def test_bounds_rule_out_files(predicates: list[Expr], ordinals: set[int], kept: bool) -> None:
    files = Files([ONE], frozenset())
    segments = [Segment(slice(0, 1), files)]
    notes = (learnt(files, predicates, ordinals, [A], [True]),)
    assert kept_files(predicates, passing_segments((), segments, notes), 1).tolist() == [kept]
    assert kept_files(predicates, passing_segments((), segments), 1).tolist() == [True]
    # in a second segment
    two = Files([ONE, ONE], frozenset())
    notes = (learnt(two, predicates, ordinals, [A], [False, True]),)
    assert kept_files(predicates, passing_segments((), halves_of(two), notes), 2).tolist() == [
        True,
        kept,
    ]
    # of another type, or of another file
    other = Column(("a",), LONG)
    assert notes[0].bounds(A) is not None
    assert notes[0].bounds(other) is None
    unknown = (learnt(files, predicates, ordinals, [A], [False]),)
    assert kept_files(predicates, passing_segments((), segments, unknown), 1).tolist() == [True]


def learnt_of_spread(predicates: list[Expr], ordinal: int) -> LearntValues:
    """Return what a scan with one of the predicates finds in the files of SPREAD."""
    files = spread(recorded=frozenset())
    return learnt(files, predicates, {ordinal}, [A], [True] * len(SPREAD))


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize(("others", "expected"), OTHERS)
def test_one_row_of_a_file_passes(
    others: list[Expr], expected: list[int] | None, is_whole: bool
) -> None:
    predicates = [*others, FIRST]
    note = replace(learnt_of_spread(predicates, len(others)), is_whole=is_whole)
    segments = [Segment(slice(0, len(SPREAD)), spread(recorded=frozenset()))]
    found = chosen_of_spread(predicates, passing_segments(predicates, segments, (note,)))
    # if rows may have been deleted since, none is known to be left
    assert found == (expected if is_whole else None)


def test_greatest_row_of_a_file_passes() -> None:
    segments = [Segment(slice(0, len(SPREAD)), spread(recorded=frozenset()))]
    statistics = passing_segments([FIRST], segments, (learnt_of_spread([FIRST], 0),))
    assert chosen_of_spread([FIRST], statistics, descending=True) == [0, 1]


@pytest.mark.parametrize(
    ("functions", "left"),
    [([Function.MIN], [0]), ([Function.MAX], [1]), ([Function.MIN, Function.MAX], [0, 1])],
)
def test_row_that_is_known_to_pass_leaves_out_files(
    functions: list[Function], left: list[int]
) -> None:
    segments, count = [Segment(slice(0, len(SPREAD)), spread(recorded=frozenset()))], len(SPREAD)
    found = answer(
        [Aggregate(each, A) for each in functions],
        segments,
        np.ones(count, np.bool_),
        np.zeros(count, np.bool_),
        np.array([len(each) for each in SPREAD], np.int64),
        keys=None,
        conjuncts=[FIRST],
        passing=passing_segments([FIRST], segments, (learnt_of_spread([FIRST], 0),)),
    )
    assert np.flatnonzero(found.left).tolist() == left


Cells = dict[tuple[int, str], tuple[int, int]]


def stored(cells: Cells) -> PassingValues:
    """Return values by the number of the file and the name of the column."""
    numbers = sorted({number for number, _ in cells})
    columns = sorted({name for _, name in cells})
    unknown = (_LONG.min, _LONG.max)
    edges = [
        np.array([[cells.get((n, c), unknown)[i] for c in columns] for n in numbers], np.int64)
        for i in (0, 1)
    ]
    return PassingValues.of(
        names(numbers), [_named(each) for each in columns], (edges[0], edges[1])
    )


def _named(column: str) -> ColumnName:
    return ((column,), "integer")


def names(numbers: list[int]) -> pa.Array:
    return pa.array([each.to_bytes(16, "big") for each in numbers], pa.binary(16))


def values_of(numbers: range, of: PassingValues) -> Cells:
    located = of.located(names([*numbers]))
    return {
        (n, column): (int(least[i]), int(greatest[i]))
        for ((column,), _), (least, greatest) in located.items()
        for i, n in enumerate(numbers)
        if (least[i], greatest[i]) != (_LONG.min, _LONG.max)
    }


def some_cells() -> st.SearchStrategy[Cells]:
    places = st.tuples(st.integers(0, 5), st.sampled_from(["x", "y", "z"]))
    edges = st.tuples(st.integers(-9, 9), st.integers(-9, 9))
    return st.dictionaries(places, edges)


def test_values_without_a_file_or_a_column_are_none() -> None:
    """Otherwise a note with them would not be read again."""
    edges = np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64)
    no_edges = edges[0][:, :0], edges[1][:, :0]
    assert PassingValues.of(names([1]), [_named("x")], edges).num_files == 1
    assert PassingValues.of(names([1]), [], no_edges) == PassingValues()
    unnamed = pa.array([None], pa.binary(16))
    assert PassingValues.of(unnamed, [_named("x")], edges) == PassingValues()


@given(some_cells(), some_cells(), st.sets(st.integers(0, 5)))
def test_what_two_notes_say_holds_together(one: Cells, other: Cells, whole: set[int]) -> None:
    joined = stored(one).joined(stored(other), names(sorted(whole)).to_pylist())
    assert joined.is_valid
    expected = {}
    for place in {*one, *other}:
        found = [each[place] for each in (one, other) if place in each]
        if place[0] not in whole:
            expected[place] = (max(a for a, _ in found), min(b for _, b in found))
    assert values_of(range(7), joined) == expected
    again = stored(other).joined(stored(one), names(sorted(whole)).to_pylist())
    assert again == joined
