"""Reading from a server of the published airport-go, which parses the filters that tamis sends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

import tamis
from tamis.expr.nodes import Column, Expr
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP_NTZ
from tamis.remote.airport.sendable_filters import sendable
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import ReadRequest
from tests.differential.generate import POOLS, Row, random_predicate
from tests.differential.rows import row_value
from tests.launch.processes import free_port, running, shell
from tests.remote.published import folder_of, installing, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.programs

SOURCES = Path(__file__).with_name("airport_go")
TYPES = (BOOLEAN, INTEGER, LONG, DOUBLE, STRING, DATE, TIMESTAMP_NTZ)
COLUMNS = [Column((f"c{place}",), data_type) for place, data_type in enumerate(TYPES)]
ROWS, PREDICATES = 60, 1500


def program() -> Path:
    """Return the server, which is built once; skip the test if it cannot be built."""
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        pytest.skip("airport-go needs Go, which was not found")
    texts = [each.read_text() for each in sorted(SOURCES.iterdir())]
    name = "airport-go"
    with installing(name, texts) as folder:
        if folder is not None:
            run(name, go, "-C", SOURCES, "build", "-o", folder / "server", ".")
    return folder_of(name) / "server"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, its rows, and the file to which it writes filters as SQL."""

    options: dict[str, str]
    rows: pa.Table
    values: list[Row]
    filters: Path

    def sql(self) -> list[str]:
        return self.filters.read_text().splitlines()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    binary, folder = program(), tmp_path_factory.mktemp("airport_go")
    random = Random(7)
    values: list[Row] = [
        {each.path: random.choice([None, *POOLS[each.type][0]]) for each in COLUMNS}
        for _ in range(ROWS)
    ]
    arrays = {
        each.path[0]: pa.array([row[each.path] for row in values], POOLS[each.type][1])
        for each in COLUMNS
    }
    rows = pa.table(arrays | {"row": pa.array(range(ROWS), pa.int64())})
    with pa.ipc.new_file(folder / "rows.arrow", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=25)
    port = free_port()
    command = [str(binary), f"127.0.0.1:{port}", str(folder / "rows.arrow"), str(folder / "sql")]
    with running(command, folder, shell(folder)) as process:
        process.wait_for_port(port)
        options = {"uri": f"grpc://127.0.0.1:{port}", "schema": "main", "table": "t"}
        yield Server(options, rows, values, folder / "sql")


def test_filters_mean_the_same_to_the_library(server: Server) -> None:
    """DuckDB evaluates what the library makes of the filters: no row that passes is lost."""
    source = AirportSource(server.options)
    random = Random(8)
    names = tuple(source.schema().names)
    sent = selective = 0
    database = duckdb.connect()
    database.register("t", server.rows)
    for _ in range(PREDICATES):
        predicate = random_predicate(random, COLUMNS)
        if not any(sendable([predicate], source.schema())):
            continue
        sent += 1
        (task,) = source.tasks(ReadRequest(names, (predicate,)))
        assert sum(batch.num_rows for batch in task.batches()) == ROWS
        condition = server.sql()[-1]
        kept = {n for (n,) in database.sql(f"SELECT row FROM t WHERE {condition}").fetchall()}
        selective += len(kept) < ROWS
        lost = [n for n in _passing(predicate, server.values) if n not in kept]
        assert lost == [], (predicate, condition)
    assert sent > 100
    assert selective > 50


def _passing(predicate: Expr, rows: list[Row]) -> list[int]:
    return [place for place, row in enumerate(rows) if row_value(predicate, row) is True]


def test_spark_reads_the_table(spark: SparkSession, server: Server) -> None:
    table = tamis.read_airport(spark, **server.options)
    plain = ["c0", "c1", "c2", "c4", "row"]
    collected = table.select(*plain).orderBy("row").collect()
    rows = server.rows.select(plain).to_pylist()
    assert [row.asDict() for row in collected] == rows
    before = len(server.sql())
    expected = [row["row"] for row in rows if row["c1"] is not None and row["c1"] > 1]
    found = table.where("c1 > 1").orderBy("row").select("row").collect()
    assert [row.row for row in found] == expected
    assert "c1 > 1" in server.sql()[before].replace('"', "")
