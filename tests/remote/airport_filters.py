"""Check that random filters, as they are sent to Airport servers, keep every row that passes.

    python tests/remote/airport_filters.py --seed 1 --count 100000
    python tests/remote/airport_filters.py --seed 21 --count 80000 --server

A row for which Spark's reference evaluation says that the predicate is true must be in the answer.
Without `--server`, DuckDB evaluates the document over random rows. With it, `serve-airport` serves
them from Parquet files, and an AirportSource reads them. If the server declares the filter as
applied exactly, the answer must have no other row. The command prints the violations, then how many
predicates were sent: a check that sends none proves nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.expr.nodes import Column, Expr
from tamis.expr.sql import to_sql
from tamis.remote.airport.sendable_filters import filter_document
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import Applied, ReadRequest
from tests.differential.generate import POOLS, Row, random_case, random_predicate
from tests.differential.rows import row_value
from tests.publish.client import serving
from tests.remote.airport_server import filtered

PREDICATES = 8
#: With a server, which takes longer to start than a filter takes to be applied.
PREDICATES_OF_SERVER = 64


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


def run_with_server(seed: int, count: int) -> tuple[int, int, list[str]]:
    """Return how many of `count` predicates were sent, how many were exact, and the violations."""
    random = Random(seed)
    sent, exact, wrong = 0, 0, []
    for _ in range(-(-count // PREDICATES_OF_SERVER)):
        case = random_case(random)
        columns = [each for each in case.columns if len(each.path) == 1]
        rows = [row for container in case.containers for row in container]
        schema = pa.schema([(each.path[0], POOLS[each.type][1]) for each in columns])
        table = _table(columns, rows, schema)
        with TemporaryDirectory() as folder:
            _write(table, [len(each) for each in case.containers], Path(folder))
            with serving({"t": folder}) as uri:
                source = AirportSource({"uri": uri, "schema": "main", "table": "t"})
                for _ in range(PREDICATES_OF_SERVER):
                    predicate = random_predicate(random, columns)
                    if filter_document([predicate], source.schema()):
                        found, is_exact = _violations_of_source(source, predicate, rows)
                        sent, exact, wrong = sent + 1, exact + is_exact, wrong + found
    return sent, exact, wrong


def _violations_of_source(
    source: AirportSource, predicate: Expr, rows: list[Row]
) -> tuple[list[str], bool]:
    """Return what is wrong about the answers to a filter, and whether it is exact."""
    true = {place for place, row in enumerate(rows) if row_value(predicate, row) is True}
    answer = rows_of(source, ReadRequest(("row",), (predicate,)))
    wrong = [f"loses {rows[each]}" for each in true - answer.keys()]
    wrong += [f"repeats {rows[each]}" for each, times in answer.items() if times > 1]
    (how,) = source.applied([predicate])
    if how is Applied.EXACTLY:
        required = rows_of(source, ReadRequest(("row",), required=(predicate,)))
        wrong += [f"as exact loses {rows[each]}" for each in true - required.keys()]
        wrong += [f"as exact returns {rows[each]}" for each in required.keys() - true]
    return [f"{to_sql(predicate)} {each}" for each in wrong], how is Applied.EXACTLY


def rows_of(source: AirportSource, request: ReadRequest) -> Counter[int]:
    """Return how often each row is in the answer, by the first column of the request."""
    (name, *_) = request.columns
    batches = [batch for task in source.tasks(request) for batch in task.batches()]
    return Counter(value for batch in batches for value in batch.column(name).to_pylist())


def _write(table: pa.Table, sizes: Sequence[int], folder: Path) -> None:
    """Write consecutive rows to a file each, in row groups of three rows."""
    start = 0
    for place, size in enumerate(sizes):
        pq.write_table(table.slice(start, size), folder / f"{place}.parquet", row_group_size=3)
        start += size


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
    parser.add_argument("--server", action="store_true")
    options = parser.parse_args()
    if options.server:
        sent, exact, wrong = run_with_server(options.seed, options.count)
    else:
        (sent, wrong), exact = run(options.seed, options.count), 0
    for each in wrong[:20]:
        print(each)
    print(f"{options.count} predicates, {sent} sent, {exact} exact, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
