"""Random filters over remote tables give the rows that plain Spark reads from the same files."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

import tamis
from tamis.expr.nodes import Expr
from tamis.expr.sql import to_sql
from tamis.remote.airport.sendable_filters import sendable as sendable_to_airport
from tamis.remote.vgi.filters.sendable_filters import sendable
from tests.differential.generate import POOLS, random_case, random_predicate
from tests.launch.processes import free_port, running, shell
from tests.publish.client import serving
from tests.remote.vgi_reference import WORKER, reference_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES, PREDICATES = 1, 60
ROWS = "rows.arrow"  # the rows of the Parquet files beside it

#: Yields the table of a folder.
Served = Callable[["SparkSession", Path], AbstractContextManager[DataFrame]]


@contextmanager
def airport(spark: SparkSession, folder: Path) -> Iterator[DataFrame]:
    with serving({"t": folder / "files"}) as uri:
        yield tamis.read_airport(spark, uri, "main", "t")


@contextmanager
def vgi(spark: SparkSession, folder: Path) -> Iterator[DataFrame]:
    """A worker of tamis, which reads the files."""
    command = [sys.executable, "-m", "tamis", "serve-vgi", "--http", f"t={folder / 'files'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip().removeprefix("PORT:")
        try:
            yield tamis.read_vgi(spark, f"http://127.0.0.1:{port}", table="t")
        finally:
            process.terminate()


@contextmanager
def reference(spark: SparkSession, folder: Path) -> Iterator[DataFrame]:
    """The published worker, which applies required filters with DuckDB."""
    port = free_port()
    command = [reference_python(), str(WORKER), "--http", "--port", str(port), "--prefix", "/api"]
    with running([*command, "--quiet"], folder, shell(folder)) as process:
        process.wait_for_port(port)
        rows = [str(folder / ROWS)]
        yield tamis.read_vgi(spark, f"http://127.0.0.1:{port}/api", "rows_of", rows)


def is_sent_to_airport(predicate: Expr, schema: pa.Schema) -> bool:
    return any(sendable_to_airport([predicate], schema))


def is_sent_to_vgi(predicate: Expr, schema: pa.Schema) -> bool:
    return sendable(predicate, schema) is not None


SERVERS = [
    (airport, is_sent_to_airport, 5),
    (vgi, is_sent_to_vgi, 30),
    (reference, is_sent_to_vgi, 30),
]


@pytest.mark.parametrize(
    ("served", "is_sent", "least"), SERVERS, ids=["airport", "vgi", "reference"]
)
def test_random_filters_return_the_rows_of_plain_spark(
    spark: SparkSession,
    tmp_path: Path,
    served: Served,
    is_sent: Callable[[Expr, pa.Schema], bool],
    least: int,
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    # Spark's Parquet reader loses -0.0 for `a IN (1.5, 0.0)`
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    random, compared, sent = Random(21), 0, 0
    for number in range(CASES):
        folder = tmp_path / str(number)
        schema, predicates = _write_case(random, folder)
        spark.conf.set("spark.tamis.mode", "observe")
        plain, accepted = _rows(spark.read.parquet(str(folder / "files")), predicates)
        spark.conf.set("spark.tamis.mode", "apply")
        with served(spark, folder) as frame:
            rows, accepted_remotely = _rows(frame, predicates)
        assert accepted_remotely == accepted
        assert {key: rows[key] for key in rows if rows[key] != plain[key]} == {}, number
        compared += len(accepted)
        sent += sum(is_sent(each, schema) for each in accepted)
    assert compared > CASES * PREDICATES / 2
    assert sent > least


def _write_case(random: Random, folder: Path) -> tuple[pa.Schema, list[Expr]]:
    """Write the rows of a random case; return its columns and predicates over them."""
    case = random_case(random)
    columns = [each for each in case.columns if len(each.path) == 1]
    schema = pa.schema([(each.path[0], POOLS[each.type][1]) for each in columns])
    (folder / "files").mkdir(parents=True)
    tables = []
    for place, rows in enumerate(case.containers):
        arrays = [
            pa.array([row[each.path] for row in rows], schema.field(each.path[0]).type)
            for each in columns
        ]
        ids = pa.array(range(1000 * place, 1000 * place + len(rows)), pa.int64())
        tables.append(pa.table([*arrays, ids], names=[*schema.names, "row"]))
        pq.write_table(tables[-1], folder / "files" / f"{place}.parquet", row_group_size=3)
    with pa.ipc.new_file(folder / ROWS, tables[0].schema) as writer:
        writer.write_table(pa.concat_tables(tables))
    return schema, [random_predicate(random, columns) for _ in range(PREDICATES)]


def _rows(frame: DataFrame, predicates: list[Expr]) -> tuple[dict[str, Counter[int]], list[Expr]]:
    """Return the rows that pass each predicate, and the predicates that Spark accepts."""
    accepted, parts = [], []
    for each in predicates:
        try:
            part = frame.where(to_sql(each)).selectExpr(f"{len(parts)} AS place", "row")
        except AnalysisException:
            continue
        accepted.append(each)
        parts.append(part)
    rows: dict[str, Counter[int]] = {to_sql(each): Counter() for each in accepted}
    for place, row in reduce(DataFrame.unionAll, parts).collect():
        rows[to_sql(accepted[place])][row] += 1
    return rows, accepted
