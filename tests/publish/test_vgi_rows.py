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
    # Few combinations of types are not evaluated: a test that skips most filters proves little.
    assert evaluated > 0.9 * FILTERS


def test_an_overflow_fails_a_required_filter_and_keeps_the_rows_of_an_advisory_one() -> None:
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
