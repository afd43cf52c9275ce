"""Tables over real files, and fixtures that compare rows and count the files that are read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis.jar import shim_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FILES = 10
ROWS_PER_FILE = 100

_schemas: dict[str, StructType] = {}


@pytest.fixture(autouse=True)
def clean_catalog(spark: SparkSession) -> Iterator[None]:
    """Drop every table and view of the shared catalog. Temporary views end with their session."""
    yield
    catalog = spark._jsparkSession.sessionState().catalog()  # spark.catalog takes 0.1 s for this
    names = catalog.listTables("default", "*", False).iterator()
    while names.hasNext():
        name = names.next()
        kind = catalog.getTableMetadata(name).tableType().name()
        spark.sql(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} IF EXISTS {name.quotedString()}")


@pytest.fixture
def learnt(spark: SparkSession, tmp_path: Path) -> Callable[[], list[Any]]:
    """Turn learning on with a store of this test; the result returns what is stored."""
    spark.conf.set("spark.tamis.remember.enabled", "true")
    spark.conf.set("spark.tamis.cache.location", str(tmp_path / "cache"))
    return lambda: spark.sql("SELECT * FROM tamis_remembered()").collect()


@pytest.fixture
def no_codegen(spark: SparkSession) -> None:
    """Generate no code in the session of this test.

    Compiling takes longer than the rest of a query over few rows. As Spark's reader returns rows
    then, and not batches, this is for tests of what tamis plans.
    """
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")


@pytest.fixture
def in_one_task(spark: SparkSession, no_codegen: None) -> None:
    """Let a scan of small files be one task, and generate no code, in the session of this test."""
    spark.conf.set("spark.sql.files.minPartitionNum", "1")


@pytest.fixture
def no_sidecar(spark: SparkSession) -> Iterator[None]:
    """Configure a Python that does not exist, and forget the failure afterwards."""
    bridge = spark._jvm.io.tamis.Tamis
    spark.conf.set("spark.tamis.python", "/nonexistent/python")
    bridge.restart()
    yield
    spark.conf.unset("spark.tamis.python")
    bridge.restart()


@pytest.fixture(scope="session")
def events_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 1,000 rows to 10 indexed files clustered by id.

    Columns: id, day, name, amount, item<sku, tags>.
    """
    path = str(tmp_path_factory.mktemp("events") / "events")
    # one partition for each file: repartitionByRange takes its bounds from a sample
    frame = spark_session.range(0, FILES * ROWS_PER_FILE, 1, FILES).selectExpr(
        "id",
        "date_add(DATE '1995-01-01', CAST(id AS INT)) AS day",
        "concat('n', lpad(CAST(id AS STRING), 4, '0')) AS name",
        "CASE WHEN id % 10 = 0 THEN NULL ELSE CAST(id * 1.5 AS DECIMAL(12, 2)) END AS amount",
        "named_struct('sku', CAST(id AS INT), 'tags', named_struct('a b', id % 7)) AS item",
    )
    frame.write.parquet(path)
    tamis.index(spark_session, path).build()
    return path


@pytest.fixture
def events(spark: SparkSession, events_path: str) -> DataFrame:
    """Return the events, and register them as the temporary view `events`."""
    frame = read_parquet(spark, events_path)
    frame.createOrReplaceTempView("events")
    return frame


def read_parquet(spark: SparkSession, path: str) -> DataFrame:
    """Return a table whose schema never changes. Spark infers it once, which takes a job."""
    schema = _schemas.get(path)
    if schema is None:
        frame = spark.read.parquet(path)
        _schemas[path] = frame.schema
        return frame
    return spark.read.schema(schema).parquet(path)


def rows(frame: DataFrame) -> list[str]:
    """Return the rows as a bag."""
    return sorted(repr(tuple(row)) for row in frame.collect())


def scans(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the decisions of tamis in the frame's plan. A fallback fails the test."""
    decisions = json.loads(shim_in(frame.sparkSession._jvm).scans(frame._jdf))
    assert [scan["fallback"] for scan in decisions] == [None] * len(decisions)
    return list(decisions)


def kept(frame: DataFrame) -> list[int]:
    """Return the number of files that each scan of tamis keeps."""
    return [scan["files_kept"] for scan in scans(frame)]


def sql_tab(spark: SparkSession) -> dict[str, list[int]]:
    """Return the tamis metrics of the last query in the SQL tab, with one value for each scan."""
    store = spark._jsparkSession.sharedState().statusStore()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        execution = store.executionsList().last()
        values = store.executionMetrics(execution.executionId())
        metrics = execution.metrics()  # AQE repeats them for every plan that it makes
        named = {m.accumulatorId(): m.name() for m in map(metrics.apply, range(metrics.size()))}
        shown: dict[str, list[int]] = {}
        for accumulator, name in named.items():
            value = values.get(accumulator)
            if name.startswith("tamis: ") and value.isDefined():
                shown.setdefault(name.removeprefix("tamis: "), []).append(
                    int(value.get().replace(",", ""))
                )
        if execution.completionTime().isDefined() and shown:
            return shown
        time.sleep(0.2)
    raise AssertionError("the SQL tab shows nothing of tamis")


@pytest.fixture(scope="module")
def rows_without_tamis() -> dict[str, list[str]]:
    """Return the rows that `same` keeps for a module, by statement."""
    return {}


@pytest.fixture(scope="module")
def fixed_tables() -> bool:
    """Return whether `same` takes each statement of the module for unchanged."""
    return False


@pytest.fixture
def same(
    spark: SparkSession, rows_without_tamis: dict[str, list[str]], fixed_tables: bool
) -> Callable[..., DataFrame]:
    """Run a statement with tamis off and on and compare the rows.

    Return the frame with tamis on. With `unchanged`, the statement has the same rows in each test
    of the module that compares it so, and they are computed once without tamis.
    """

    def check(statement: str, unchanged: bool = fixed_tables) -> DataFrame:
        off = rows_without_tamis.get(statement) if unchanged else None
        if off is None:
            spark.conf.set("spark.tamis.enabled", "false")
            off = rows(spark.sql(statement))
            spark.conf.set("spark.tamis.enabled", "true")
        if unchanged:
            rows_without_tamis[statement] = off
        frame = spark.sql(statement)
        assert rows(frame) == off
        return frame

    return check


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Return the path of a fresh directory as text."""
    return str(tmp_path)
