"""Certain facts about a table of files."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from tamis import evaluate
from tamis.expr.nodes import Column, Expr, IsNull, Not
from tamis.expr.types import DOUBLE, LONG, STRING
from tamis.files.exact_counts import certain_columns
from tamis.files.partition import PartitionField
from tamis.files.table import ArrowStatistics

C = Column(("c",), LONG)
BOUNDS = {"num_records": [10, 10], "min.c": [1, 5], "max.c": [4, 3], "null_count.c": [2, 2]}


def test_null_counts_are_certain_unless_contradicted() -> None:
    assert ArrowStatistics(pa.table(BOUNDS)).certain(C).nulls.tolist() == [2, -1]
    many = pa.table({"num_records": [1], "null_count.c": [2]})
    assert ArrowStatistics(many).certain(C).nulls.tolist() == [-1]


def test_text_bounds_are_values_only_if_marked_as_attained() -> None:
    assert not ArrowStatistics(pa.table(BOUNDS)).certain(C).attained.any()
    marked = pa.table({**BOUNDS, "min.c": [1, 1], "attained.c": [True, None]})
    assert ArrowStatistics(marked).certain(C).attained.tolist() == [True, False]


def test_partition_columns_and_malformed_tables_have_no_certain_facts() -> None:
    spec = [PartitionField("c", "identity", "c")]
    assert not ArrowStatistics(pa.table(BOUNDS), spec).certain(C).attained.any()
    cells = {"num_records": [1], "min.s": [1], "max.s": ["b"], "attained.s": [True]}
    text = pa.table(cells | {"null_count.s": [0]})
    assert ArrowStatistics(text).certain(Column(("s",), STRING)).nulls.tolist() == [-1]


@pytest.mark.parametrize(
    ("cells", "empty"),
    [
        ({"num_records": [0, 5]}, [True, False]),
        ({"num_records": [0, -5]}, [True, False]),
        ({"num_records": [0, None]}, [True, False]),
        ({"num_records": [0, 0], "min.c": [None, 1]}, [True, False]),
        ({"num_records": [0, 0], "max.c": [1, None]}, [False, True]),
        ({"num_records": [0, 0], "null_count.c": [0, 2]}, [True, False]),
        ({"num_records": [0, 0], "null_count.c": [None, -1]}, [True, False]),
        ({"num_records": [0, 5], "null_count.c": [2, 2]}, [False, False]),
        ({"num_records": [0, 0], "other.c": [1, 2]}, [True, True]),
        # Bounds of one column show that there are rows for all columns.
        ({"num_records": [0, 0], "min.c": [None, 1], "min.d": [2, None]}, [False] * 2),
    ],
)
def test_file_is_empty_unless_a_statistic_shows_a_row(
    cells: dict[str, list[int | None]], empty: list[bool]
) -> None:
    columns = {name: pa.array(each, pa.int64()) for name, each in cells.items()}
    files = ArrowStatistics(pa.table(columns))
    flags = files.empty()
    assert flags is not None
    assert flags.tolist() == empty


def test_column_that_occurs_twice_may_show_rows() -> None:
    columns = [pa.array([0]), pa.array([None], pa.int64()), pa.array([None], pa.int64())]
    files = ArrowStatistics(pa.Table.from_arrays(columns, ["num_records", "min.c", "min.c"]))
    flags = files.empty()
    assert flags is not None
    assert flags.tolist() == [False]


@pytest.mark.parametrize(("low", "high"), [(1, 5), (None, 5), (1, None), (None, None)])
def test_partition_value_bounds_the_column_more_tightly_than_its_statistics(
    low: int | None, high: int | None
) -> None:
    cells = {"partition.c": [3], "min.c": pa.array([low], pa.int64()), "num_records": [9]}
    table = pa.table(cells | {"max.c": pa.array([high], pa.int64()), "null_count.c": [0]})
    files = ArrowStatistics(table, [PartitionField("c", "identity", "c")])
    bounds = files.bounds(C)
    assert bounds.lower is not None
    assert bounds.upper is not None
    assert (bounds.lower.tolist(), bounds.upper.tolist()) == ([3], [3])


@pytest.mark.parametrize(
    ("attained", "listed", "certain"),
    [
        ([False, False], None, [False, False]),
        ([True, False], None, [True, False]),
        ([False, False], [True, False], [True, False]),
        ([True, False], [False, True], [True, True]),
        (None, [False, True], [False, True]),
    ],
)
def test_bounds_of_listed_texts_are_values(
    attained: list[bool] | None, listed: list[bool] | None, certain: list[bool]
) -> None:
    columns = {"min": pa.array(["a", "b"]), "max": pa.array(["c", "d"])}
    if attained is not None:
        columns["attained"] = pa.array(attained)
    flags = None if listed is None else np.array(listed)
    found = certain_columns(STRING, columns, pa.array([5, 5]), flags)
    assert np.broadcast_to(found.attained, 2).tolist() == certain


@pytest.mark.parametrize("edge", ["min.x", "max.x"])
def test_value_in_a_partition_of_nan_is_a_contradiction(edge: str) -> None:
    """One edge is enough: nothing is known about that file."""
    cells = {"partition.x": [math.nan, math.nan], edge: [3.0, None], "num_records": [10, 10]}
    files = ArrowStatistics(pa.table(cells), [PartitionField("x", "identity", "x")])
    bounds = files.bounds(Column(("x",), DOUBLE))
    assert bounds.can_be_value.tolist() == [True, False]
    assert bounds.can_be_nan.all()
    assert bounds.can_be_null.tolist() == [True, False]


NULL_VALUES = {
    "num_records": [5, 5, 5, 5, 0, 5],
    "partition.p": [None, None, None, 7, None, None],
    "null_count.partition.p": [5, None, 0, 0, 0, 3],
}
KEPT_BY_NULL = [True, True, True, False, False, True]
KEPT_BY_VALUE = [False, True, True, True, False, True]


def verdicts(files: dict[str, list[int | None]], condition: Expr, transform: str) -> list[str]:
    kinds = {name: pa.int32() if name == "partition.p" else pa.int64() for name in files}
    table = pa.table({name: pa.array(each, kinds[name]) for name, each in files.items()})
    found: list[str] = evaluate(condition, table, [PartitionField("c", transform, "p")]).to_pylist()
    return found


@pytest.mark.parametrize("transform", ["bucket[16]", "identity", "truncate[1]"])
def test_partition_value_that_is_null(transform: str) -> None:
    found = verdicts(NULL_VALUES, IsNull(C), transform)
    assert [each != "none" for each in found] == KEPT_BY_NULL
    assert found[0] == "all"
    found = verdicts(NULL_VALUES, Not(IsNull(C)), transform)
    assert [each != "none" for each in found] == KEPT_BY_VALUE


def test_null_value_of_a_transform_that_says_nothing() -> None:
    for transform in ("void", "other"):
        found = verdicts(NULL_VALUES, IsNull(C), transform)
        assert [each for each in found if each != "some"] == ["none"]  # the empty file


@pytest.mark.parametrize(
    "more",
    [
        {"partition.p": [7]},  # a value, although it is NULL
        {"min.c": [1]},
        {"max.c": [1]},
        {"null_count.c": [4]},
        {"num_records": [None]},
        {"num_records": [4]},
        {"num_records": [-5]},
        {"min.partition.p": [1]},  # the count is that of a column
        {"max.partition.p": [None]},
        {"nan_count.partition.p": [0]},
    ],
)
def test_null_value_that_is_contradicted_or_unclear(more: dict[str, list[int | None]]) -> None:
    files = {"num_records": [5], "partition.p": [None], "null_count.partition.p": [5]}
    assert verdicts(files, IsNull(C), "identity") == ["all"]
    assert verdicts({**files, **more}, IsNull(C), "identity") == ["some"]
    assert verdicts({**files, **more}, Not(IsNull(C)), "identity") == ["some"]


def test_null_value_without_a_column_of_values() -> None:
    files: dict[str, list[int | None]] = {"num_records": [5], "null_count.partition.p": [5]}
    assert verdicts(files, IsNull(C), "day") == ["all"]
