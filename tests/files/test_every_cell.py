"""Cells of statistics, in every combination of small values: the counts that fit decide.

A container has k NULLs, j NaNs and v ordinary values. The reference tries every k, j and v. Cells
that fit none of them are corrupt. A flag is set if some fitting combination has such a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.intersection import intersect
from tamis.expr.types import BYTE, DOUBLE, INTEGER, LONG, STRING, DataType, decimal
from tamis.files.bounds import column_bounds
from tamis.files.exact_counts import certain_columns

WIDE = decimal(30, 0)
TYPES = {
    BYTE: pa.int64(),
    LONG: pa.int64(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    WIDE: pa.decimal128(30, 0),
}


class Cells(NamedTuple):
    lower: int | None
    upper: int | None
    nulls: int | None
    nans: int | None
    records: int | None


def every_cell(data_type: DataType) -> Iterator[Cells]:
    nans = (None, -1, 0, 1, 3) if data_type.is_floating else (None,)
    return map(
        Cells._make,
        product((None, 1, 2, 3), (None, 1, 2, 3), (None, -1, 0, 2, 3), nans, (None, -1, 0, 2, 3)),
    )


def possible(data_type: DataType, cells: Cells) -> list[tuple[int, int, int]]:
    """Return the possible counts of NULLs, NaNs and ordinary values."""
    if -1 in (cells.nulls, cells.nans):
        return []
    if cells.lower is not None and cells.upper is not None and cells.lower > cells.upper:
        return []
    has_edge = cells.lower is not None or cells.upper is not None
    records = None if cells.records == -1 else cells.records
    return [
        (k, j, v)
        for k, j, v in product(range(5), range(5 if data_type.is_floating else 1), range(5))
        if cells.nulls in (None, k)
        and cells.nans in (None, j)
        and records in (None, k + j + v)
        and (v > 0 or not has_edge or records is None)
    ]


def as_cell(data_type: DataType, value: int | None) -> Any:
    if value is None:
        return None
    return f"{value}" if data_type == STRING else value


def bounds_of(data_type: DataType, several: list[Cells]) -> Bounds:
    arrow = TYPES[data_type]
    edges = (
        pa.array([as_cell(data_type, getattr(each, name)) for each in several], arrow)
        for name in ("lower", "upper")
    )
    counts = (
        pa.array([getattr(each, name) for each in several], pa.int64())
        for name in ("nulls", "nans", "records")
    )
    return column_bounds(data_type, *edges, *counts)


Facts = tuple[Any, Any, bool, bool, bool]


def facts_of(bounds: Bounds, count: int) -> list[Facts]:
    """Return the edges (None: unknown) and flags of each container."""
    flags = [
        np.broadcast_to(each, (count,)).tolist()
        for each in (bounds.can_be_null, bounds.can_be_nan, bounds.can_be_value)
    ]
    edges = []
    sides = ((bounds.lower, bounds.lower_known), (bounds.upper, bounds.upper_known))
    for edge, edge_known in sides:
        if edge is None:
            edges.append([None] * count)
            continue
        values = edge.tolist() if isinstance(edge, np.ndarray) else edge.to_pylist()
        claimed = (
            [True] * count if edge_known is None else np.broadcast_to(edge_known, (count,)).tolist()
        )
        edges.append([v if k else None for v, k in zip(values, claimed, strict=True)])
    return list(zip(*edges, *flags, strict=True))


def as_edge(data_type: DataType, value: int | None) -> Any:
    return str(value).encode() if data_type == STRING and value is not None else value


@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_flags_and_edges_follow_from_the_counts_that_fit(data_type: DataType) -> None:
    every = list(every_cell(data_type))
    for cells, facts in zip(every, facts_of(bounds_of(data_type, every), len(every)), strict=True):
        fitting = possible(data_type, cells)
        if not fitting:
            assert facts == (None, None, True, data_type.is_floating, True), cells
            continue
        lower, upper, null, nan, value = facts
        assert (lower, upper) == (
            as_edge(data_type, cells.lower),
            as_edge(data_type, cells.upper),
        ), cells
        may = tuple(any(each[place] for each in fitting) for place in range(3))
        assert value == (may[2] or (cells.nulls is None and cells.records != (cells.nans or 0))), (
            cells
        )
        if None not in (cells.nulls, cells.nans) or (
            not data_type.is_floating and cells.nulls is not None
        ):
            assert (null, nan, value) == may, cells
        else:
            assert all(
                claimed or not real for claimed, real in zip((null, nan, value), may, strict=True)
            ), cells


#: Edges outside the type, which are corrupt.
OUTSIDE = {BYTE: ((-129, 3), (1, 128), (-129, 128)), DOUBLE: ((math.nan, 3), (1, math.nan))}


@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_facts_of_a_container_do_not_depend_on_the_others(data_type: DataType) -> None:
    """Columns of orderly containers are computed in fewer steps."""
    random = Random(3)
    every = list(every_cell(data_type))
    every += [
        Cells(low, high, 0, nans, 3)  # type: ignore[arg-type]
        for low, high in OUTSIDE.get(data_type, ())
        for nans in ({0, 1} if data_type.is_floating else {None})
    ]
    facts = dict(
        zip(map(repr, every), facts_of(bounds_of(data_type, every), len(every)), strict=True)
    )
    orderly = [
        each
        for each in every
        if None not in each[:3] and each.records == 3 and min(each[2:3] + each[4:]) >= 0
        and (not data_type.is_floating or each.nans in (0, 1))
    ]  # fmt: skip
    nearly = [
        each
        for each in every
        if None not in each[:3] and each.records == 3 and each.nans in (None, 0)
    ]
    for _ in range(1500):
        pool = random.choice([every, nearly, orderly, orderly])
        several = random.choices(pool, k=random.choice([1, 2, 2, 3, 6]))
        found = facts_of(bounds_of(data_type, several), len(several))
        assert found == [facts[repr(each)] for each in several], several


@pytest.mark.parametrize("attained", [None, True, False])
@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_certain_facts_follow_from_fitting_counts(
    data_type: DataType, attained: bool | None
) -> None:
    """NULL counts are certain if they fit. Edges are values unless something contradicts that."""
    every = list(every_cell(data_type))
    arrow = TYPES[data_type]
    columns = {
        "min": pa.array([as_cell(data_type, each.lower) for each in every], arrow),
        "max": pa.array([as_cell(data_type, each.upper) for each in every], arrow),
        "null_count": pa.array([each.nulls for each in every], pa.int64()),
        "attained": pa.array([attained] * len(every), pa.bool_()),
    }
    if data_type.is_floating:
        columns["nan_count"] = pa.array([each.nans for each in every], pa.int64())
    records = pa.array([None if each.records == -1 else each.records for each in every], pa.int64())
    for names in (tuple(columns), tuple(set(columns) - {"attained"})):
        certain = certain_columns(data_type, {name: columns[name] for name in names}, records)
        nulls = np.broadcast_to(certain.nulls, len(every)).tolist()
        values = np.broadcast_to(certain.attained, len(every)).tolist()
        for cells, count, is_value in zip(every, nulls, values, strict=True):
            fits = bool(possible(data_type, cells))
            has_edge = cells.lower is not None or cells.upper is not None
            claimed = fits and cells.records not in (None, -1) and cells.nulls is not None
            if fits or has_edge:
                assert count == (cells.nulls if claimed else -1), cells
                can_be_attained = not data_type.is_text or (bool(attained) and "attained" in names)
                assert is_value == (fits and can_be_attained), cells


@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_containers_are_evaluated_independently(data_type: DataType) -> None:
    every = list(every_cell(data_type))
    all_facts = facts_of(bounds_of(data_type, every), len(every))
    for cells, facts in zip(every, all_facts, strict=True):
        assert facts_of(bounds_of(data_type, [cells]), 1) == [facts], cells
        assert facts_of(bounds_of(data_type, [cells, cells]), 2) == [facts, facts], cells


@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_shortcut_for_known_fitting_counts_gives_equal_facts(data_type: DataType) -> None:
    """These counts use a faster path, whose choice depends on all containers of the array."""
    counts = [
        each
        for each in every_cell(data_type)
        if each.nulls is not None and each.records is not None and each.records >= 0
        if (each.nans is not None or not data_type.is_floating) and possible(data_type, each)
    ]
    for selected in (counts, [each for each in counts if None not in (each.lower, each.upper)]):
        all_facts = facts_of(bounds_of(data_type, selected), len(selected))
        assert all_facts == [facts_of(bounds_of(data_type, [each]), 1)[0] for each in selected]
        several = facts_of(bounds_of(data_type, selected[::-1]), len(selected))
        assert several == all_facts[::-1]


@pytest.mark.parametrize("missing", ["lower", "upper", "nulls", "nans", "records"])
@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_missing_column_equals_a_column_of_nulls(data_type: DataType, missing: str) -> None:
    # Containers without rows are left out: a missing column gives fewer facts about them.
    every = [
        each
        for each in every_cell(data_type)
        if getattr(each, missing) is None and each.records != 0
    ]
    arrow = TYPES[data_type]
    arrays = {
        name: pa.array(
            [
                as_cell(data_type, getattr(each, name))
                if name in ("lower", "upper")
                else getattr(each, name)
                for each in every
            ],
            arrow if name in ("lower", "upper") else pa.int64(),
        )
        for name in Cells._fields
    }
    with_nulls = facts_of(column_bounds(data_type, *arrays.values()), len(every))
    without_column = facts_of(
        column_bounds(data_type, *(arrays | {missing: None}).values()), len(every)
    )
    assert with_nulls == without_column


@pytest.mark.parametrize("edge", ["lower", "upper"])
def test_bound_outside_the_type_is_corrupt(edge: str) -> None:
    for value, is_inside in ((-129, False), (-128, True), (127, True), (128, False)):
        for opposite in (None, 0):
            low, high = (value, opposite) if edge == "lower" else (opposite, value)
            if value == (-129 if edge == "upper" else 128) or (
                None not in (low, high) and low > high
            ):
                is_inside = False
            bounds = bounds_of(BYTE, [Cells(low, high, 0, None, 5)])
            claimed = facts_of(bounds, 1)[0]
            assert (claimed[0], claimed[1]) == ((low, high) if is_inside else (None, None)), (
                low,
                high,
            )
            assert claimed[2] is not is_inside


def test_nan_bound_is_corrupt() -> None:
    for low, high in ((math.nan, 1.0), (1.0, math.nan), (math.nan, None), (None, math.nan)):
        edges = (pa.array([each, 0.0], pa.float64()) for each in (low, high))
        zeros = pa.array([0, 0])
        bounds = column_bounds(DOUBLE, *edges, zeros, zeros, pa.array([5, 5]))
        assert facts_of(bounds, 2) == [
            (None, None, True, True, True),
            (0.0, 0.0, False, False, True),
        ]


PARTS = [
    Cells(low, high, nulls, nans, records)
    for low, high in ((None, None), (1, 2), (2, 3), (3, 3), (1, None), (None, 2))
    for nulls, nans, records in ((None, None, None), (0, 0, 3), (2, 0, 5), (3, 0, 3), (0, 3, 3))
    if records != 3 or nulls == nans == 0 or (low is None and high is None)
]


@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_intersection_is_the_range_that_both_allow(data_type: DataType) -> None:
    """Both bounds hold: the greater lower edge, the lesser upper edge, and the flags of both."""
    pairs = list(product(PARTS, PARTS))
    x, y = (bounds_of(data_type, [pair[place] for pair in pairs]) for place in (0, 1))
    intersections = facts_of(intersect(x, y), len(pairs))
    for pair, of_x, of_y, facts in zip(
        pairs, facts_of(x, len(pairs)), facts_of(y, len(pairs)), intersections, strict=True
    ):
        lower = max((each for each in (of_x[0], of_y[0]) if each is not None), default=None)
        upper = min((each for each in (of_x[1], of_y[1]) if each is not None), default=None)
        flags = tuple(a and b for a, b in zip(of_x[2:], of_y[2:], strict=True))
        crossed = lower is not None and upper is not None and lower > upper
        if crossed and not flags[2]:
            continue
        if crossed or not any(flags):
            assert facts == (None, None, True, data_type.is_floating, True), pair
        elif flags[2]:
            assert facts == (lower, upper, *flags), pair
        else:
            assert facts[2:] == flags, pair


def test_whole_numbers_of_every_width_are_read() -> None:
    for arrow in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32()):
        edge = pa.array([3], arrow)
        assert facts_of(column_bounds(INTEGER, edge, edge, edge, None, edge), 1)[0][0:2] == (
            None,
            None,
        )
        count = pa.array([0], arrow)
        assert facts_of(column_bounds(INTEGER, edge, edge, count, None, edge), 1) == [
            (3, 3, False, False, True)
        ]
