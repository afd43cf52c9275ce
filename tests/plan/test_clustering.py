"""Overlap depth of the ranges of files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.expr.nodes import Column
from tamis.expr.types import DOUBLE, LONG, STRING, DataType
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.joins.clustering import depth_of_files, is_clustered

Ranges = list[tuple[object, object]]


def depth(ranges: Ranges, files: int | None = None, data_type: DataType = LONG) -> float | None:
    lower, upper = zip(*ranges, strict=True)
    table = pa.table({"min.c": list(lower), "max.c": list(upper)})
    whole = [Segment(slice(0, len(ranges)), ArrowStatistics(table))]
    kept = np.ones(files or len(ranges), np.bool_)
    return depth_of_files(Column(("c",), data_type), whole, kept)


DEPTHS: list[tuple[str, Ranges, float]] = [
    ("apart", [(0, 9), (10, 19), (20, 29)], 1.0),
    ("all the same", [(0, 9)] * 5, 5.0),
    ("all meet, at other ends", [(i, 1000 - i) for i in range(8)], 8.0),
    ("a chain: 2, 3, 2", [(0, 10), (10, 20), (20, 30)], 7 / 3),
    ("one spans the others: 4, 2, 2, 2", [(0, 99), (1, 2), (3, 4), (5, 6)], 2.5),
    ("one alone", [(0, 9)], 1.0),
]


@pytest.mark.parametrize(("name", "ranges", "expected"), DEPTHS, ids=[each[0] for each in DEPTHS])
def test_depth_of_ranges(name: str, ranges: Ranges, expected: float) -> None:
    assert depth(ranges) == pytest.approx(expected)


# Ranges of files, and whether single values lie in few of them.
CLUSTERED: list[tuple[str, Ranges, bool]] = [
    ("two files apart", [(0, 9), (10, 19)], True),
    ("two files that overlap", [(-99, 99), (-98, 98)], False),
    ("two files that share one value", [(0, 9), (9, 19)], False),
    ("three files apart", [(0, 9), (10, 19), (20, 29)], True),
    ("all files the same", [(0, 9)] * 10, False),
    ("ten files, each meets its neighbors", [(i * 10, i * 10 + 12) for i in range(10)], True),
    ("one file", [(0, 9)], False),
]


@pytest.mark.parametrize(("name", "ranges", "expected"), CLUSTERED, ids=[c[0] for c in CLUSTERED])
def test_clustered_files_share_few_values(name: str, ranges: Ranges, expected: bool) -> None:
    lower, upper = zip(*ranges, strict=True)
    table = pa.table({"min.c": list(lower), "max.c": list(upper)})
    whole = [Segment(slice(0, len(ranges)), ArrowStatistics(table))]
    assert is_clustered(Column(("c",), LONG), whole, np.ones(len(ranges), np.bool_)) == expected


def test_unknown_file_may_overlap_all_files() -> None:
    # Two known disjoint files overlap themselves and the third. The third overlaps all three.
    assert depth([(0, 9), (10, 19)], files=3) == pytest.approx((2 + 2 + 3) / 3)


def test_depth_of_strings() -> None:
    assert depth([("a", "f"), ("g", "k"), ("e", "h")], data_type=STRING) == pytest.approx(7 / 3)


def test_depth_without_usable_bounds_is_none() -> None:
    assert depth([(0.5, 1.5)], data_type=DOUBLE) is None
    assert depth([(None, None)]) is None


def test_depth_of_many_files_uses_a_sample() -> None:
    disjoint = [(10 * i, 10 * i + 9) for i in range(10_000)]
    assert depth(disjoint) == 1.0
    assert depth([(i, 100_000 - i) for i in range(10_000)]) == pytest.approx(10_000, rel=0.001)
