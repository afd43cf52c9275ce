"""Tables of VGI workers in Spark, with the extension."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SERVE = "from tamis.cli import app; app()"
#: A worker that says that it applies filters, and returns every row.
PRETENDS = (
    "import numpy, tamis.publish.vgi.requests.scan_batches as scan\n"
    "scan.passing = lambda predicate, batch: numpy.ones(batch.num_rows, bool)\n"
) + SERVE
#: A worker whose table has a filter, which it accepts and does not apply.
BRANCHED = (
    "import types\n"
    "from tamis.publish.vgi import catalog\n"
    "records = catalog.records\n"
    "def pack(**fields): return records.BRANCH.pack(branch_filter='n IN (1, 2)', **fields)\n"
    "changed = {'BRANCH': types.SimpleNamespace(pack=pack)}\n"
    "catalog.records = types.SimpleNamespace(**{**vars(records), **changed})\n"
) + PRETENDS
#: A worker that ignores the number of rows of a request, and records the batches that it makes.
#: The file is part of the program: a Python process of Spark may be older than the test.
COUNTS = (
    "from tamis.publish.vgi.requests.scan_batches import Scan\n"
    "start, turn = Scan.__init__, Scan.next\n"
    "def __init__(self, function, filters, projection=None, limit=None, tokens=None):\n"
    "    start(self, function, filters, projection, None, tokens)\n"
    "def next(self, *rest):\n"
    "    batch = turn(self, *rest)\n"
    "    with open({counts!r}, 'a') as file:\n"
    "        print(0 if batch is None else batch.num_rows, file=file)\n"
    "    return batch\n"
    "Scan.__init__, Scan.next = __init__, next\n"
) + SERVE


@contextmanager
def worker(folder: Path, program: str = SERVE) -> Iterator[str]:
    """Serve two files as the table `numbers` over HTTP."""
    for start in (0, 100):
        numbers = range(start, start + 100)
        rows = {"n": pa.array(numbers), "s": [f"s{n % 7}" for n in numbers]}
        pq.write_table(pa.table(rows), folder / f"{start}.parquet")
    arguments = ["serve-vgi", "--http", f"numbers={folder}"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield "http://127.0.0.1:" + process.stdout.readline().strip().removeprefix("PORT:")
    finally:
        process.terminate()
        process.wait(30)


def read(spark: SparkSession, uri: str) -> DataFrame:
    return tamis.read_vgi(spark, uri, table="numbers")


def plan(frame: DataFrame) -> str:
    text: str = frame._jdf.queryExecution().optimizedPlan().toString()
    return text


def test_exact_filters_leave_the_plan(spark: SparkSession, tmp_path: Path) -> None:
    with worker(tmp_path) as uri:
        frame = read(spark, uri)
        exact = frame.where("n >= 190 AND s <> 's1' AND NOT (n = 195 OR s IS NULL)")
        assert "Filter" not in plan(exact)
        assert sorted(row.n for row in exact.collect()) == [191, 192, 193, 194, 196, 198, 199]
        mixed = frame.where("n % 50 = 3 AND n > 100")
        assert "% 50" in plan(mixed)
        assert "> 100" not in plan(mixed)
        assert sorted(row.n for row in mixed.collect()) == [103, 153]
        assert frame.where("n > 100").limit(3).count() == 3
        assert frame.alias("a").join(frame.where("n < 3").alias("b"), "n").count() == 3


def test_worker_that_only_pretends_to_filter_is_found(spark: SparkSession, tmp_path: Path) -> None:
    with worker(tmp_path, PRETENDS) as uri:
        spark.conf.set("spark.tamis.remote.verify.enabled", "true")
        with pytest.raises(Exception, match=r"numbers .*: reading failed: the server has declared"):
            read(spark, uri).where("n = 150").collect()
        spark.conf.set("spark.tamis.remote.verify.enabled", "false")
        assert read(spark, uri).where("n = 150").count() == 100  # what the conf is for


def test_filter_of_a_branch_that_a_worker_does_not_apply_is_found(
    spark: SparkSession, tmp_path: Path
) -> None:
    with worker(tmp_path, BRANCHED) as uri:
        spark.conf.set("spark.tamis.remote.verify.enabled", "true")
        with pytest.raises(
            Exception, match=r"numbers .*: reading failed: .* branch 1 \(scan\), n IN"
        ):
            read(spark, uri).collect()
        spark.conf.set("spark.tamis.remote.verify.enabled", "false")
        assert read(spark, uri).count() == 100  # what the conf is for


def test_limit_ends_the_scan_of_a_function_early(spark: SparkSession, tmp_path: Path) -> None:
    counts = tmp_path / "batches.txt"
    pq.write_table(pa.table({"n": [1]}), tmp_path / "t.parquet")
    program = COUNTS.format(counts=str(counts))
    command = shlex.join([sys.executable, "-c", program, "serve-vgi", f"t={tmp_path}"])
    frame = tamis.read_vgi(spark, command, "filter_echo", [1_000_000])
    assert frame.limit(7).count() == 7
    # A worker may be one turn ahead of its reader.
    assert 7 <= sum(map(int, counts.read_text().split())) < 100_000
    counts.unlink()
    assert frame.count() == 1_000_000
    assert len(counts.read_text().split()) > 10


@pytest.mark.parametrize(
    ("by", "sent"),
    [
        ("n DESC", "Order: [n DESC NULLS LAST]"),
        ("s NULLS LAST, n DESC", "Order: [s ASC NULLS LAST, n DESC NULLS LAST]"),
    ],
)
def test_order_of_the_first_rows_is_sent(
    spark: SparkSession, tmp_path: Path, by: str, sent: str
) -> None:
    statement = f"SELECT n FROM t WHERE n > 20 ORDER BY {by} LIMIT 5"
    with worker(tmp_path) as uri:
        read(spark, uri).createOrReplaceTempView("t")
        text = explained(spark, statement)
        assert sent in text
        assert "Limit: 5" in text
        rows = spark.sql(statement).collect()
        spark.conf.set("spark.tamis.mode", "off")
        assert rows == spark.sql(statement).collect()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT n FROM t ORDER BY n % 7, n LIMIT 5",
        "SELECT n FROM t WHERE n % 2 = 1 ORDER BY n LIMIT 5",  # the filter is not sent
    ],
)
def test_order_that_is_not_of_all_rows_is_not_sent(
    spark: SparkSession, tmp_path: Path, statement: str
) -> None:
    with worker(tmp_path) as uri:
        read(spark, uri).createOrReplaceTempView("t")
        assert "Order: " not in explained(spark, statement)
        rows = spark.sql(statement).collect()
        spark.conf.set("spark.tamis.mode", "off")
        assert rows == spark.sql(statement).collect()


def explained(spark: SparkSession, statement: str) -> str:
    """Return the text of EXPLAIN FORMATTED."""
    (row,) = spark.sql(f"EXPLAIN FORMATTED {statement}").collect()
    text: str = row[0]
    return text
