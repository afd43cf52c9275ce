"""Check that random filters, as they are sent to Airport servers, keep every row that passes.

    python tests/remote/airport_filters.py --seed 1 --count 100000
    python tests/remote/airport_filters.py --seed 21 --count 80000 --server ours
    python tests/remote/airport_filters.py --seed 31 --count 10000 --server theirs

A row for which Spark's reference evaluation says that the predicate is true must be in the answer.
Without `--server`, DuckDB evaluates the document over random rows. With `--server ours`,
`serve-airport` serves them from Parquet files, and an AirportSource reads them. If the server
declares the filter as applied exactly, the answer must have no other row. With `--server theirs`,
an AirportSource reads them from the test server of Airport's authors, which turns the document into
SQL for DuckDB. The command prints the violations, then how many predicates were sent: a check that
sends none proves nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
from tamis.remote.airport.sendable_filters import filter_document, sendable
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import Applied, ReadRequest
from tests.differential.generate import POOLS, Row, random_case, random_predicate
from tests.differential.rows import row_value
from tests.publish.client import serving
from tests.remote.airport_server import filtered
from tests.remote.airport_test_server import AirportTestServer, airport_test_server

PREDICATES = 8
#: With a server, which takes longer to start than a filter takes to be applied.
PREDICATES_OF_SERVER = 64


def violations(
    predicate: Expr, table: pa.Table, rows: list[Row], schema: pa.Schema
) -> Iterator[str] | None:
    """Yield what is wrong about the filter; None if it is not sent."""
    document = filter_document(sendable([predicate], schema), schema)
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


def run_with_server(
    seed: int,
    count: int,
    serve: Callable[[pa.Table, Sequence[int]], AbstractContextManager[dict[str, str]]],
) -> tuple[int, int, list[str]]:
    """Return how many of `count` predicates were sent, how many were exact, and the violations.

    Args:
        seed: The seed of tables and predicates.
        count: The number of predicates.
        serve: Serves a table, in files of these numbers of rows, and yields the options of its
            source.
    """
    random = Random(seed)
    sent, exact, wrong = 0, 0, []
    for _ in range(-(-count // PREDICATES_OF_SERVER)):
        case = random_case(random)
        columns = [each for each in case.columns if len(each.path) == 1]
        rows = [row for container in case.containers for row in container]
        schema = pa.schema([(each.path[0], POOLS[each.type][1]) for each in columns])
        table = _table(columns, rows, schema)
        with serve(table, [len(each) for each in case.containers]) as options:
            source = AirportSource(options)
            for _ in range(PREDICATES_OF_SERVER):
                predicate = random_predicate(random, columns)
                if any(sendable([predicate], source.schema())):
                    found, is_exact = _violations_of_source(source, predicate, rows)
                    sent, exact, wrong = sent + 1, exact + is_exact, wrong + found
    return sent, exact, wrong


@contextmanager
def served_by_tamis(table: pa.Table, sizes: Sequence[int]) -> Iterator[dict[str, str]]:
    """Serve a table from Parquet files of these numbers of rows."""
    with TemporaryDirectory() as folder:
        _write(table, sizes, Path(folder))
        with serving({"t": folder}) as uri:
            yield {"uri": uri, "schema": "main", "table": "t"}


def served_by(server: AirportTestServer) -> Callable[..., AbstractContextManager[dict[str, str]]]:
    """Return the `serve` of `run_with_server` for Airport's test server."""
    numbers = itertools.count(1)

    def serve(table: pa.Table, _: Sequence[int]) -> AbstractContextManager[dict[str, str]]:
        return nullcontext(server.create_table(f"t{next(numbers)}", table))

    return serve


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
    parser.add_argument("--server", choices=["ours", "theirs"])
    options = parser.parse_args()
    asked = options.seed, options.count
    if options.server == "ours":
        sent, exact, wrong = run_with_server(*asked, served_by_tamis)
    elif options.server == "theirs":
        with TemporaryDirectory() as folder, airport_test_server(Path(folder)) as server:
            sent, exact, wrong = run_with_server(*asked, served_by(server))
    else:
        (sent, wrong), exact = run(*asked), 0
    for each in wrong[:20]:
        print(each)
    print(f"{options.count} predicates, {sent} sent, {exact} exact, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
