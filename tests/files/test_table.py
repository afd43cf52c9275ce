"""What a table of files says for certain."""

from __future__ import annotations

import pyarrow as pa

from tamis.expr.nodes import Column
from tamis.expr.types import LONG, STRING
from tamis.files.partition import PartitionField
from tamis.files.table import ArrowStatistics

C = Column(("c",), LONG)
BOUNDS = {"num_records": [10, 10], "min.c": [1, 5], "max.c": [4, 3], "null_count.c": [2, 2]}


def test_counts_of_nulls_are_certain_where_nothing_contradicts_them() -> None:
    assert ArrowStatistics(pa.table(BOUNDS)).certain(C).nulls.tolist() == [2, -1]
    many = pa.table({"num_records": [1], "null_count.c": [2]})
    assert ArrowStatistics(many).certain(C).nulls.tolist() == [-1]


def test_bounds_are_values_only_where_that_is_said() -> None:
    assert not ArrowStatistics(pa.table(BOUNDS)).certain(C).attained.any()
    said = pa.table({**BOUNDS, "min.c": [1, 1], "attained.c": [True, None]})
    assert ArrowStatistics(said).certain(C).attained.tolist() == [True, False]


def test_nothing_is_certain_of_a_partitioned_column_or_of_an_odd_table() -> None:
    spec = [PartitionField("c", "identity", "c")]
    assert not ArrowStatistics(pa.table(BOUNDS), spec).certain(C).attained.any()
    text = pa.table({"num_records": [1], "min.s": [1], "max.s": ["b"], "attained.s": [True]})
    assert ArrowStatistics(text).certain(Column(("s",), STRING)).nulls.tolist() == [-1]
