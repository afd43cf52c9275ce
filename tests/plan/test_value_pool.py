"""Which values the files of a scan can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.edge_values import edge_of
from tamis.evaluation.statistics import Members, Subject
from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, Literal, Opaque
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, DataType
from tamis.files.segments import Segment
from tamis.indexing.format import blooms
from tamis.indexing.format.value_lists import UNKNOWN, ValueLists, ValueMembers
from tamis.indexing.read.row_statistics import _Together
from tamis.plan.value_pool import TOO_MANY, rules_decide, value_pool
from tests.evaluation.given import Given, between

LEAST, GREATEST = LONG.domain


def pool(bounds: Bounds, count: int, most: int = 100, ranges: bool = True, kept: Any = None) -> Any:
    flags = np.ones(count, np.bool_) if kept is None else np.array(kept)
    segments = [Segment(slice(0, count), Given(bounds, count))]
    found = value_pool(Column(("c",), bounds.type), segments, flags, most, ranges)
    return found.tolist() if isinstance(found, np.ndarray) else found


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        ([1], [3], [1, 2, 3]),
        ([1, 2], [3, 4], [1, 2, 3, 4]),
        ([2, 1], [2, 9], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ([5, 1], [6, 2], [1, 2, 5, 6]),
        ([1, 7], [5000, 7], [7]),  # a wide range contributes nothing
        ([3], [1], None),  # contradictory
        ([LEAST], [GREATEST], None),  # not known
        ([GREATEST - 1, LEAST], [GREATEST, LEAST], [LEAST, GREATEST - 1, GREATEST]),
        ([0, 200], [60, 260], TOO_MANY),
        ([0, 20], [60, 70], list(range(71))),
    ],
)
def test_values_between_bounds(lower: list[int], upper: list[int], expected: Any) -> None:
    assert pool(between(LONG, lower, upper), len(lower)) == expected


def test_only_kept_files_count() -> None:
    assert pool(between(DATE, [1, 7], [2, 8]), 2, kept=[False, True]) == [7, 8]


def test_only_single_values_without_ranges() -> None:
    assert pool(between(LONG, [1, 7], [2, 7]), 2, ranges=False) == [7]


@pytest.mark.parametrize(
    ("data_type", "lower", "upper", "expected"),
    [
        (DOUBLE, [0.5, 1.0], [0.5, 2.0], [0.5]),
        (DOUBLE, [-np.inf], [np.inf], None),
        (BOOLEAN, [0], [1], [0, 1]),
        (STRING, ["a", "b", None], ["a", "c", None], [b"a"]),
        (STRING, ["a"], ["b"], None),
    ],
)
def test_single_values_of_other_types(
    data_type: DataType, lower: list[Any], upper: list[Any], expected: Any
) -> None:
    found = pool(between(data_type, lower, upper), len(lower))
    assert (found if found is None or isinstance(found, list) else found.to_pylist()) == expected


def test_file_with_only_nulls_contributes_nothing() -> None:
    bounds = Bounds(LONG, np.array([1]), np.array([1]), YES, NO, NO)
    assert pool(bounds, 1) is None


@dataclass(frozen=True, slots=True)
class Listed(Given):
    """Files of which some have a list of values."""

    lists: Members | None = None

    def members(self, subject: Subject) -> Members | None:
        return self.lists


def listed_pool(
    lists: list[list[int] | None], bounds: Bounds, most: int, kept: list[bool], filters: bool
) -> Any:
    counts = np.array([UNKNOWN if each is None else len(each) for each in lists])
    values = edge_of([value for each in lists for value in each or ()], LONG)
    members: Members = ValueMembers.of(ValueLists(counts, values))
    if filters:
        blocks = np.full(len(lists), blooms.UNKNOWN)
        none = np.zeros(len(lists), np.int64)
        members = _Together(
            members, blooms.BloomMembers(LONG, none, blocks, np.zeros((0, 4), np.uint64))
        )
    segments = [Segment(slice(0, len(lists)), Listed(bounds, len(lists), members))]
    found = value_pool(COLUMN, segments, np.array(kept), most, ranges=True)
    return found.tolist() if isinstance(found, np.ndarray) else found


COLUMN = Column(("c",), LONG)
LISTS: list[list[int] | None] = [[5, 1, 900], [2], None, [], [7, 5]]
BOUNDS = between(LONG, [1, 2, 20, 0, 5], [900, 2, 22, 900, 7])


@pytest.mark.parametrize("filters", [False, True])
@pytest.mark.parametrize(
    ("kept", "most", "expected"),
    [
        ([True] * 5, 100, [1, 2, 5, 7, 20, 21, 22, 900]),
        ([True] * 5, 8, [1, 2, 5, 7, 20, 21, 22, 900]),
        ([True] * 5, 7, TOO_MANY),
        ([True, False, False, True, False], 3, [1, 5, 900]),
        ([True, False, False, True, False], 2, TOO_MANY),
        ([False, False, True, False, True], 100, [5, 7, 20, 21, 22]),
        ([False, False, False, True, False], 100, None),
    ],
)
def test_listed_values_replace_those_between_bounds(
    kept: list[bool], most: int, expected: Any, filters: bool
) -> None:
    assert listed_pool(LISTS, BOUNDS, most, kept, filters) == expected


NAME = Column(("name",), STRING)


@pytest.mark.parametrize(
    ("predicate", "decided"),
    [
        (Compare(Comparison.EQUAL, Call("Year", (NAME,), (), INTEGER), Literal(1, INTEGER)), True),
        (Call("SoundEx", (NAME,), (), STRING), False),  # no rule
        (Call("Reverse", (NAME,), (), STRING), False),  # a rule for single values
        (Opaque("f(name)"), False),
    ],
)
def test_ranges_are_enumerated_where_rules_know_only_single_values(
    predicate: Expr, decided: bool
) -> None:
    assert rules_decide(predicate) is decided
