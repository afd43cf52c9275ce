"""Check that random filters, as they are sent to VGI workers, return the rows of Spark.

    python tests/remote/vgi_filters.py --seed 1 --count 10000
    python tests/remote/vgi_filters.py --version 1.5.0

The unmodified reference worker evaluates them over random rows. Spark's reference evaluation says
which rows pass: a required filter must return exactly these, and an advisory one must not lose any.
The command prints the violations, then how many predicates were sent.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

import pyarrow as pa

from tamis.expr.nodes import Column, Expr
from tamis.expr.sql import to_sql
from tamis.remote.vgi.filters.encodings import encoding_of
from tamis.remote.vgi.filters.filter_document import FilterDocument, Mode
from tamis.remote.vgi.filters.filter_list import FilterList
from tamis.remote.vgi.filters.sendable_filters import sendable
from tamis.remote.vgi.functions.arguments import Arguments, argument_bytes
from tamis.remote.vgi.protocol.framing import CallFailed, protocol_of
from tamis.remote.vgi.protocol.methods import REQUEST
from tamis.remote.vgi.protocol.record import row_of
from tamis.remote.vgi.protocol.records import BOUND, INIT_REQUEST
from tamis.remote.vgi.protocol.version_1 import bind_request
from tamis.remote.vgi.transports.connection import Connection
from tamis.remote.vgi.transports.location import connected
from tests.differential.generate import POOLS, Row, random_case, random_predicate
from tests.differential.rows import row_value

PREDICATES = 8
VERSION = "2.2.0"
_PATH = pa.schema({"path": pa.string()})


class Checker:
    """Sends filters to a worker over one connection after the other."""

    def __init__(self, command: str, folder: Path, version: str) -> None:
        self._command, self._version = command, version
        self._encoding = encoding_of(version)
        self._file = folder / "rows.arrow"
        self._connection: Connection | None = None
        self.sent = Counter[str]()
        self.wrong: list[str] = []

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def check(
        self, columns: Sequence[Column], rows: Sequence[Row], predicates: Sequence[Expr]
    ) -> None:
        table = table_of(columns, rows)
        with pa.ipc.new_file(self._file, table.schema) as writer:
            writer.write_table(table)
        arguments = argument_bytes(Arguments([str(self._file)]), _PATH)
        bind = bind_request(
            self._version,
            function_name="rows_of",
            arguments=arguments,
            function_type="TABLE",
            schema_path=["main"],
        )
        for each in predicates:
            self._check_one(each, table, rows, bind)

    def _check_one(
        self, predicate: Expr, table: pa.Table, rows: Sequence[Row], bind: bytes
    ) -> None:
        sent = sendable(predicate, table.schema, self._encoding)
        if sent is None:
            self.sent["not sent"] += 1
            return
        mode = Mode.REQUIRED if sent.is_exact else Mode.ADVISORY
        self.sent[str(mode)] += 1
        passing = {n for n, row in enumerate(rows) if row_value(predicate, row) is True}
        document = self._encoding(table.schema)
        document.add(sent.predicate, mode)
        try:
            kept = set(self._kept(bind, table.schema, document))
        except CallFailed as failure:
            self.close()
            self.wrong.append(f"{mode} {to_sql(predicate)} fails: {failure}")
            return
        lost, more = passing - kept, kept - passing
        if lost or (more and mode is Mode.REQUIRED):
            examples = [rows[n] for n in sorted(lost or more)[:2]]
            what = "loses" if lost else "keeps"
            self.wrong.append(f"{mode} {to_sql(predicate)} {what} {examples}")

    def _kept(
        self, bind: bytes, schema: pa.Schema, document: FilterDocument | FilterList
    ) -> Iterator[int]:
        if self._connection is None:
            self._connection = connected(self._command, None)
        bound = self._connection.call(
            "bind", row_of(REQUEST, {"request": bind}), self._version, protocol_of(self._version)
        )
        assert bound is not None
        columns = BOUND.unpack(bound)["output_schema"]
        request = INIT_REQUEST.pack(
            bind_call=bind,
            output_schema=columns,
            pushdown_filters=document.encoded(),
            join_keys=document.join_keys or None,
        )
        for batch in self._connection.scan(request, self._version):
            yield from batch.column(batch.schema.names.index("row")).to_pylist()


def table_of(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    """Return the rows as a table, with structs for the columns in them, and the column `row`."""
    arrays = {}
    for each in columns:
        values = pa.array([row[each.path] for row in rows], POOLS[each.type][1])
        if len(each.path) == 2:
            values = pa.StructArray.from_arrays([values], names=[each.path[1]])
        arrays[each.path[0]] = values
    return pa.table(arrays | {"row": pa.array(range(len(rows)), pa.int64())})


def run(
    command: str, seed: int, count: int, version: str = VERSION
) -> tuple[Counter[str], list[str]]:
    """Return how `count` predicates were sent, and the violations."""
    random = Random(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        checker = stack.enter_context(closing(Checker(command, folder, version)))
        for _ in range(-(-count // PREDICATES)):
            case = random_case(random)
            rows = [row for container in case.containers for row in container]
            predicates = [random_predicate(random, case.columns) for _ in range(PREDICATES)]
            checker.check(case.columns, rows, predicates)
        return checker.sent, checker.wrong


def main() -> int:
    from tests.remote import vgi_reference, vgi_version_1

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--version", default=VERSION, choices=[VERSION, *vgi_version_1.RELEASES])
    options = parser.parse_args()
    version = options.version
    is_newest = version == VERSION
    command = vgi_reference.worker_command() if is_newest else vgi_version_1.worker_command(version)
    sent, wrong = run(command, options.seed, options.count, version)
    for each in wrong[:20]:
        print(each)
    print(f"{options.count} predicates, {dict(sent)}, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
