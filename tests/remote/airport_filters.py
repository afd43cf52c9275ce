"""Check that random filters, as they are sent to Airport servers, keep every row that passes.

    python tests/remote/airport_filters.py --seed 1 --count 100000

DuckDB evaluates the document over random rows. A row for which Spark's reference evaluation says
that the predicate is true must be in the answer. The command prints the violations, then how many
predicates were sent: a check that sends none proves nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

import pyarrow as pa

from tamis.expr.nodes import Column, Expr
from tamis.expr.sql import to_sql
from tamis.remote.airport.sendable_filters import filter_document
from tests.differential.generate import POOLS, Row, random_case, random_predicate
from tests.differential.rows import row_value
from tests.remote.airport_server import filtered

PREDICATES = 8


def violations(
    predicate: Expr, table: pa.Table, rows: list[Row], schema: pa.Schema
) -> Iterator[str] | None:
    """Yield what is wrong about the filter; None if it is not sent."""
    document = filter_document([predicate], schema)
    if not document:
        return None
    kept = set(filtered(table, json.loads(document)).column("row").to_pylist())
    lost = [
        row
        for place, row in enumerate(rows)
        if row_value(predicate, row) is True and place not in kept
    ]
    return (f"{to_sql(predicate)} loses {row}" for row in lost)


def run(seed: int, count: int) -> tuple[int, list[str]]:
    """Return how many of `count` predicates were sent, and the violations."""
    random = Random(seed)
    sent, wrong = 0, []
    for _ in range(-(-count // PREDICATES)):
        case = random_case(random)
        columns = [each for each in case.columns if len(each.path) == 1]
        rows = [row for container in case.containers for row in container]
        schema = pa.schema([(each.path[0], POOLS[each.type][1]) for each in columns])
        table = _table(columns, rows, schema)
        for _ in range(PREDICATES):
            found = violations(random_predicate(random, columns), table, rows, schema)
            if found is not None:
                sent += 1
                wrong += found
    return sent, wrong


def _table(columns: list[Column], rows: list[Row], schema: pa.Schema) -> pa.Table:
    arrays = [
        pa.array([row[each.path] for row in rows], schema.field(each.path[0]).type)
        for each in columns
    ]
    return pa.table([*arrays, pa.array(range(len(rows)))], names=[*schema.names, "row"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    sent, wrong = run(options.seed, options.count)
    for each in wrong[:20]:
        print(each)
    print(f"{options.count} predicates, {sent} sent, {len(wrong)} rows lost")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
