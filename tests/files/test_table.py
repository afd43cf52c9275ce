"""Certain facts about a table of files."""

from __future__ import annotations

import pyarrow as pa

from tamis.expr.nodes import Column
from tamis.expr.types import LONG, STRING
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
    text = pa.table({"num_records": [1], "min.s": [1], "max.s": ["b"], "attained.s": [True]})
    assert ArrowStatistics(text).certain(Column(("s",), STRING)).nulls.tolist() == [-1]
