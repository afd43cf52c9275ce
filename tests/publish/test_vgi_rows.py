"""Filters decide rows as DuckDB does."""

from __future__ import annotations

from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tamis.publish.vgi.rows import CannotEvaluate, passing
from tamis.wire.vgi import Filters, Malformed
from tests.publish.random_filters import SCHEMA, Filter, random_rows
from tests.wire.vgi.documents import batch, column, comparison, literal, predicate, snapshot

FILTERS = 250
ROWS = 100


def kept(content: bytes, rows: pa.RecordBatch) -> list[int]:
    """Return the ordinals of the rows that pass."""
    flags = np.ones(rows.num_rows, np.bool_)
    for each in Filters.snapshot(content, rows.schema).predicates.values():
        flags &= passing(each, rows)
    return np.flatnonzero(flags).tolist()


def is_evaluated(content: bytes) -> bool:
    """Return whether a filter is evaluated; any other problem than its types is raised."""
    try:
        Filters.snapshot(content, SCHEMA)
    except Malformed as problem:
        if "cannot be evaluated" in str(problem):
            return False
        raise
    return True


def test_random_filters_keep_the_rows_that_duckdb_keeps() -> None:
    random = Random(20261124)
    evaluated = 0
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for _ in range(FILTERS):
        rows = random_rows(random, ROWS)
        made = Filter(random)
        node, sql = made.predicate()
        content = made.content(node)
        if not is_evaluated(content):
            continue
        evaluated += 1
        found = kept(content, rows)
        ordinals = pa.array(range(ROWS))
        connection.register("c", pa.Table.from_batches([rows.append_column("row", ordinals)]))
        constants = made.payloads or {"value_0": pa.nulls(1)}
        connection.register("v", pa.table(constants))
        expected = connection.execute(f"SELECT row FROM c, v WHERE {sql} ORDER BY row").fetchall()
        assert found == [row for (row,) in expected], sql
    assert evaluated == FILTERS


def test_overflow_fails_a_required_filter_and_keeps_the_rows_of_an_advisory_one() -> None:
    rows = pa.record_batch({"n": pa.array([1, 2**63 - 1, None])})
    total = {"node": "arithmetic", "op": "add", "left": column(0, "n"), "right": literal(0)}
    node = comparison("gt", total, literal(0))
    for mode, expected in (("required", None), ("advisory", [True, True, False])):
        content = batch(snapshot(predicate(node, mode=mode)), {"value_0": pa.array([1])})
        (only,) = Filters.snapshot(content, rows.schema).predicates.values()
        if expected is None:
            with pytest.raises(CannotEvaluate, match="query:0"):
                passing(only, rows)
        else:
            assert passing(only, rows).tolist() == expected


def test_value_that_cannot_be_cast_fails_a_required_filter_unless_another_part_decides() -> None:
    rows = pa.record_batch({"n": pa.array([1, 2, 3]), "s": ["1", "x", None]})
    number = {"node": "cast", "expression": column(1, "s"), "type_ref": 0}
    equal = comparison("eq", number, column(0, "n"))
    small = comparison("lt", column(0, "n"), literal(0))
    payloads = {"type_0": pa.nulls(1, pa.int64()), "value_0": pa.array([2])}
    both = {"node": "and", "children": [small, equal]}
    cases = [(equal, "advisory", [True, True, False]), (both, "required", [True, False, False])]
    for node, mode, expected in cases:
        content = batch(snapshot(predicate(node, mode=mode)), payloads)
        (only,) = Filters.snapshot(content, rows.schema).predicates.values()
        assert passing(only, rows).tolist() == expected
    (only,) = Filters.snapshot(
        batch(snapshot(predicate(equal)), payloads), rows.schema
    ).predicates.values()
    with pytest.raises(CannotEvaluate, match="query:0"):
        passing(only, rows)
