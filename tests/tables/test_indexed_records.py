"""What a table format and an index know together: tables of one file per row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import YES, Bounds, Flags
from tamis.evaluation.domain.exact_counts import UNKNOWN
from tamis.evaluation.statistics import Passing, Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import LONG
from tamis.files.table import ArrowStatistics
from tamis.tables.indexed_records import IndexedRecords

C = Column(("c",), LONG)
Cells = tuple[int | None, int | None, int | None]  # least and greatest value, number of NULLs


def statistics(
    low: int | None, high: int | None, nulls: int | None, attained: bool
) -> ArrowStatistics:
    """Return the statistics of one file with 10 rows."""
    return ArrowStatistics(
        pa.table(
            {
                "num_records": pa.array([10], pa.int64()),
                "min.c": pa.array([low], pa.int64()),
                "max.c": pa.array([high], pa.int64()),
                "null_count.c": pa.array([nulls], pa.int64()),
                "attained.c": pa.array([attained]),
            }
        )
    )


CASES: list[tuple[Cells, bool, Cells, bool, tuple[int, int] | None, int, bool]] = [
    # format      exact  index        whole  edges   nulls    attained
    ((1, 9, 2), True, (1, 9, 2), True, (1, 9), 2, True),
    ((0, 9, None), False, (1, 8, 2), True, (1, 8), 2, True),
    # the index counts the rows that were deleted
    ((0, 9, None), False, (1, 8, 2), False, (1, 8), UNKNOWN, False),
    # the format describes the rows that are left
    ((2, 7, 1), True, (1, 8, 2), False, (2, 7), 1, True),
    ((2, None, 1), True, (1, 8, 2), False, (2, 8), 1, False),
    ((None, None, None), False, (1, 8, 2), True, (1, 8), 2, True),
    ((1, 9, 2), True, (None, None, None), True, (1, 9), 2, True),
    # one of them is wrong
    ((1, 3, 2), True, (5, 8, 3), True, None, UNKNOWN, False),
]


@pytest.mark.parametrize(
    ("recorded", "exact", "indexed", "whole", "edges", "nulls", "attained"), CASES
)
def test_what_is_known_together(
    recorded: Cells,
    exact: bool,
    indexed: Cells,
    whole: bool,
    edges: tuple[int, int] | None,
    nulls: int,
    attained: bool,
) -> None:
    both = IndexedRecords(
        statistics(*recorded, exact), statistics(*indexed, True), np.array([whole])
    )
    bounds, certain = both.bounds(C), both.certain(C)
    if edges is None:
        assert not bounds.lower_known.any() if bounds.lower_known is not None else True
    else:
        assert (int(bounds.lower[0]), int(bounds.upper[0])) == edges  # type: ignore[index]
    assert np.broadcast_to(certain.nulls, 1)[0] == nulls
    assert bool(np.broadcast_to(certain.attained, 1)[0]) == attained


class _Attained(Statistics):
    """Statistics in which the bounds of the rows that pass any condition are values of rows."""

    num_containers = 3  # type: ignore[assignment]

    def bounds(self, column: Column) -> Bounds:
        return Bounds.unknown(column.type)

    def attained(self, passing: Passing) -> Flags:
        return YES


def test_bounds_of_passing_rows_are_not_attained_after_a_deletion() -> None:
    """The deleted row may be the one at the edge."""
    whole = np.array([True, False, True])
    both = IndexedRecords(_Attained(), _Attained(), whole)
    passing = Passing("condition", C)
    assert both.attained(passing).tolist() == [True, False, True]
    assert both.slice(1, 3).attained(passing).tolist() == [False, True]
    assert both.take(np.array([2, 1])).attained(passing).tolist() == [True, False]
