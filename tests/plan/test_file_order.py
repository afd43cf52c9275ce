"""The order of the rows of several files: examples, and random files compared with their rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.statistics import LimitedStatistics, Recorded
from tamis.expr.nodes import Column
from tamis.expr.types import DOUBLE, INTEGER, LONG, STRING
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.indexing.format.row_orders import SortColumn, order_key, order_name
from tamis.plan.goals.file_order import in_order, sortedness

A, S, X = Column(("a",), LONG), Column(("s",), STRING), Column(("x",), DOUBLE)


@dataclass(frozen=True, slots=True)
class WithOrders(LimitedStatistics):
    """Statistics with the recorded numbers of some orders."""

    numbers: dict[str, list[int | None]]

    def expression(self, key: Recorded) -> Bounds | None:
        found = self.numbers.get(str(key))
        if found is None:
            return None
        low, high = INTEGER.domain
        lower = np.array([low if each is None else each for each in found])
        upper = np.array([high if each is None else each for each in found])
        return Bounds(INTEGER, lower, upper, NO, NO, YES)


def of(columns: dict[str, list[Any]], rows: list[int]) -> list[Segment]:
    cells = {name.replace("_of_", "."): values for name, values in columns.items()}
    return [Segment(slice(0, len(rows)), ArrowStatistics(pa.table(cells | {"num_records": rows})))]


def places(
    segments: list[Segment],
    columns: list[Column],
    descending: list[bool],
    tasks: list[int],
    files: Flags | None = None,
) -> list[int] | None:
    chosen = np.ones(len(tasks), np.bool_) if files is None else files
    found = in_order(columns, descending, segments, chosen, np.array(tasks, np.int64))
    return None if found is None else found.tolist()


APART = {"min_of_a": [7, 1, 4], "max_of_a": [9, 3, 5], "null_count_of_a": [0, 0, 0]}
TOUCHING = {"min_of_a": [5, 1, 3], "max_of_a": [9, 3, 5], "null_count_of_a": [0, 0, 0]}
EQUAL = {"min_of_a": [3, 3, 1], "max_of_a": [3, 3, 3], "null_count_of_a": [0, 0, 0]}
NULL_FIRST = {"min_of_a": [7, 1, 4], "max_of_a": [9, 3, 5], "null_count_of_a": [0, 2, 0]}
NULL_LAST = {"min_of_a": [7, 1, 4], "max_of_a": [9, 3, 5], "null_count_of_a": [1, 0, 0]}
ONLY_NULL = {"min_of_a": [1, None, None], "max_of_a": [3, None, None], "null_count_of_a": [0, 3, 3]}
UNCOUNTED = {"min_of_a": [7, 1, 4], "max_of_a": [9, 3, 5], "null_count_of_a": [0, None, 0]}
UNKNOWN = {"min_of_a": [7, 1, None], "max_of_a": [9, 3, None], "null_count_of_a": [0, 0, 0]}
NOT_NEAR = {"min_of_s": ["d", None], "max_of_s": ["e", "b"], "null_count_of_s": [0, 0]}
NOT_FAR = {"min_of_s": ["d", "a"], "max_of_s": ["e", None], "null_count_of_s": [0, 0]}
NOT_LAST = {"min_of_s": ["d", "a"], "max_of_s": [None, "b"], "null_count_of_s": [0, 0]}
NAN = {
    "min_of_x": [-0.0, -5.0, 1.0],
    "max_of_x": [0.0, -1.0, 2.0],
    "null_count_of_x": [0, 0, 0],
    "nan_count_of_x": [0, 0, 1],
}
ZEROS = {
    "min_of_x": [-0.0, -5.0],
    "max_of_x": [1.0, 0.0],
    "null_count_of_x": [0, 0],
    "nan_count_of_x": [0, 0],
}
NAN_UNCOUNTED = NAN | {"nan_count_of_x": [0, None, 1]}

# Statistics, columns, whether they descend, the tasks of the files, their places.
# None: the rows are not known to be sorted.
TABLE: list[tuple[dict[str, list[Any]], list[Column], list[bool], list[int], list[int] | None]] = [
    # tasks that read one file each need no statistics
    (UNKNOWN, [A], [False], [2, 0, 1], [0, 0, 0]),
    (APART, [A], [False], [0, 0, 0], [2, 0, 1]),
    (APART, [A, S], [False, True], [0, 0, 0], [2, 0, 1]),
    (APART, [A], [True], [0, 0, 0], [0, 2, 1]),
    (APART, [S], [False], [0, 0, 0], None),
    (TOUCHING, [A], [False], [0, 0, 0], [2, 0, 1]),
    (TOUCHING, [A, S], [False, False], [0, 0, 0], None),
    (TOUCHING, [A, S], [False, False], [0, 0, 1], [1, 0, 0]),
    (EQUAL, [A], [False], [0, 0, 0], [1, 2, 0]),
    (EQUAL, [A], [True], [0, 0, 0], [0, 1, 2]),
    (EQUAL, [A, S], [True, True], [0, 0, 0], None),
    (NULL_FIRST, [A, S], [False, False], [0, 0, 0], [2, 0, 1]),
    (NULL_FIRST, [A, S], [True, False], [0, 0, 0], [0, 2, 1]),
    (NULL_LAST, [A], [False], [0, 0, 0], None),
    (NULL_LAST, [A], [True], [0, 0, 0], None),
    (ONLY_NULL, [A], [False], [0, 0, 0], [2, 0, 1]),
    (ONLY_NULL, [A], [True], [0, 0, 0], [0, 1, 2]),
    (ONLY_NULL, [A, S], [False, False], [0, 0, 0], None),
    (ONLY_NULL, [A, S], [False, False], [0, 0, 1], [1, 0, 0]),
    (UNCOUNTED, [A], [False], [0, 0, 0], [2, 0, 1]),
    (UNCOUNTED, [A], [False], [0, 1, 0], [1, 0, 0]),
    (UNKNOWN, [A], [False], [0, 0, 0], None),
    (UNKNOWN, [A], [False], [0, 0, 1], [1, 0, 0]),
    (NOT_NEAR, [S], [False], [0, 0], None),
    (NOT_FAR, [S], [False], [0, 0], None),
    (NOT_LAST, [S], [False], [0, 0], [1, 0]),
    (NAN, [X, A], [False, False], [0, 0, 0], [1, 0, 2]),
    (NAN, [X, A], [True, False], [0, 0, 0], [1, 2, 0]),
    (NAN_UNCOUNTED, [X], [False], [0, 0, 0], None),
    (ZEROS, [X], [False], [0, 0], [1, 0]),
    (ZEROS, [X, A], [False, False], [0, 0], None),
]


@pytest.mark.parametrize(("statistics", "columns", "descending", "tasks", "expected"), TABLE)
def test_files_of_a_task_that_follow_one_another(
    statistics: dict[str, list[Any]],
    columns: list[Column],
    descending: list[bool],
    tasks: list[int],
    expected: list[int] | None,
) -> None:
    segments = of(statistics, [3] * len(tasks))
    assert places(segments, columns, descending, tasks) == expected


def test_files_that_are_not_read_do_not_count() -> None:
    kept = np.array([True, False, True])
    assert places(of(NULL_LAST, [3, 3, 3]), [A], [False], [1, 0, 0], kept) == [0, 0, 0]
    overlapping = {"min_of_a": [1, 2, 9], "max_of_a": [8, 3, 9], "null_count_of_a": [0, 0, 0]}
    assert places(of(overlapping, [3, 3, 3]), [A], [False], [0, 0, 0]) is None
    assert places(of(overlapping, [3, 3, 3]), [A], [False], [0, 0, 0], kept) == [0, 0, 1]


def test_a_file_without_statistics_is_not_in_order() -> None:
    segments = of(APART, [3, 3, 3])
    whole = segments[0].statistics
    some = [Segment(np.array([0, 1], np.intp), whole.take(np.array([0, 1], np.intp)))]
    assert places(some, [A], [False], [0, 0, 0]) is None
    assert places(some, [A], [False], [0, 0, 1]) == [1, 0, 0]


def test_recorded_orders_of_files() -> None:
    key = order_key([SortColumn(("a",), "long", True), SortColumn(("s",), "string", False)])
    whole = ArrowStatistics(pa.table({"num_records": [3, 3, 3, 0, 1]}))
    statistics = WithOrders(whole, {key: [1, 0, None, None, 1]})
    segments = [Segment(slice(0, 5), statistics)]
    found = sortedness([A, S], [True, False], segments, 6)
    assert found.sorted.tolist() == [True, False, False, True, True, False]
    assert found.known.tolist() == [True, True, False, True, True, False]
    assert found.empty.tolist() == [False, False, False, True, False, False]
    other_type = [Column(("a",), INTEGER), S]
    for columns, descending in (
        ([A, S], [False, False]),
        ([A], [True]),
        ([S, A], [False, True]),
        (other_type, [True, False]),
    ):
        assert not sortedness(columns, descending, segments, 6).known[:3].any()


def test_a_file_in_two_segments_is_sorted_if_one_of_them_knows() -> None:
    whole = ArrowStatistics(pa.table({"num_records": [3, 3]}))
    known = WithOrders(whole, {order_key([SortColumn(("a",), "long", False)]): [1, None]})
    for segments in ([known, whole], [whole, known]):
        of_files = [Segment(slice(0, 2), each) for each in segments]
        assert sortedness([A], [False], of_files, 2).sorted.tolist() == [True, False]


def test_names_of_orders() -> None:
    columns = [SortColumn(("a.b",), "long", False), SortColumn(("ü `x`",), "string", True)]
    assert order_name(columns) == "a.b, ü `x` DESC"
    assert order_key(columns) != order_key([SortColumn(("a", "b"), "long", False), columns[1]])


# ---- random files ----

VALUES = {
    A: st.one_of(st.none(), st.integers(0, 6)),
    X: st.sampled_from([None, math.nan, -1.0, -0.0, 0.0, 1.0, 2.0, math.inf]),
    S: st.one_of(st.none(), st.sampled_from(["", "a", "ab", "b", "Z", "ä", "\U0001f600"])),
}


def position(value: Any, descending: bool) -> tuple[Any, ...]:
    """Return the place of a value in Spark's default order, as Python compares it."""
    if value is None:
        group, value = -1, 0
    elif isinstance(value, float) and math.isnan(value):
        group, value = 1, 0
    else:
        group, value = 0, value.encode() if isinstance(value, str) else value
    if not descending:
        return group, value
    if isinstance(value, bytes):
        # a proper prefix comes after the longer value
        return -group, [255 - byte for byte in value] + [256]
    return -group, -value


def statistics_of(
    column: Column, files: list[list[Any]], known: list[bool]
) -> dict[str, list[Any]]:
    name = column.path[0]
    cells: dict[str, list[Any]] = {f"min.{name}": [], f"max.{name}": []}
    cells |= {f"null_count.{name}": [], f"nan_count.{name}": []}
    for values, is_known in zip(files, known, strict=True):
        ordinary = [v for v in values if v is not None and v == v]
        low, high = (min, max) if column is not S else (_least, _greatest)
        cells[f"min.{name}"].append(low(ordinary) if ordinary and is_known else None)
        cells[f"max.{name}"].append(high(ordinary) if ordinary and is_known else None)
        cells[f"null_count.{name}"].append(values.count(None))
        cells[f"nan_count.{name}"].append(sum(v is not None and v != v for v in values))
    if column is not X:
        del cells[f"nan_count.{name}"]
    return cells


def _least(values: list[str]) -> str:
    return min(values, key=str.encode)


def _greatest(values: list[str]) -> str:
    return max(values, key=str.encode)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_rows_of_tasks_are_sorted(data: st.DataObject) -> None:
    column = data.draw(st.sampled_from([A, X, S]))
    has_other = data.draw(st.booleans())
    down, other_down = data.draw(st.booleans()), data.draw(st.booleans())
    row = st.tuples(VALUES[column], st.integers(0, 2) if has_other else st.just(0))
    files = data.draw(st.lists(st.lists(row, min_size=1, max_size=3), min_size=1, max_size=4))
    tasks = [data.draw(st.integers(0, 1)) for _ in files]
    known = [data.draw(st.sampled_from([True, True, True, False])) for _ in files]

    def key(each: tuple[Any, int]) -> tuple[Any, ...]:
        return position(each[0], down), position(each[1], other_down)

    files = [sorted(file, key=key) for file in files]
    cells = statistics_of(column, [[value for value, _ in file] for file in files], known)
    text = pa.string() if column is S else (pa.float64() if column is X else pa.int64())
    arrays = {
        name: pa.array(values, pa.int64() if "count" in name else text)
        for name, values in cells.items()
    }
    table = pa.table(arrays | {"num_records": [len(file) for file in files]})
    segments = [Segment(slice(0, len(files)), ArrowStatistics(table))]
    columns = [column, Column(("b",), LONG)] if has_other else [column]
    found = places(segments, columns, [down, other_down][: len(columns)], tasks)

    def is_sorted(some: list[list[tuple[Any, int]]], strictly: bool) -> bool:
        rows = [each for file in some for each in file]
        in_place = all(key(a) <= key(b) for a, b in pairwise(rows))
        firsts = pairwise(some)
        apart = all(key(a[-1])[0] < key(b[0])[0] for a, b in firsts)
        return in_place and (apart or not strictly)

    for task in set(tasks):
        of_task = [i for i, each in enumerate(tasks) if each == task]
        if found is not None:
            of_task.sort(key=lambda i: found[i])
            assert is_sorted([files[i] for i in of_task], strictly=False)
    if found is None and all(known):
        assert any(
            not any(
                is_sorted([files[i] for i in order], strictly=has_other)
                for order in permutations(i for i, each in enumerate(tasks) if each == task)
            )
            for task in set(tasks)
        )
