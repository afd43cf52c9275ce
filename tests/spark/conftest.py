"""Tables over real files, and the two questions that every test asks: same rows? which files?"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 10
ROWS_PER_FILE = 100


@pytest.fixture(autouse=True)
def clean_catalog(spark: SparkSession) -> Iterator[None]:
    """No table or view outlives its test."""
    yield
    for table in spark.catalog.listTables():
        kind = "VIEW" if table.tableType in ("VIEW", "TEMPORARY") else "TABLE"
        spark.sql(f"DROP {kind} IF EXISTS `{table.name}`")


@pytest.fixture
def no_sidecar(spark: SparkSession) -> Iterator[None]:
    """A Python that does not exist; forgotten afterwards."""
    bridge = spark._jvm.io.tamis.Tamis
    spark.conf.set("spark.tamis.python", "/nonexistent/python")
    bridge.restart()
    yield
    spark.conf.unset("spark.tamis.python")
    bridge.restart()


@pytest.fixture(scope="session")
def events_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """1,000 rows in 10 files clustered by id, with an index: id, day, name, amount, item<sku, tags>."""
    path = str(tmp_path_factory.mktemp("events") / "events")
    # a partition for each file: the bounds of repartitionByRange come from a sample
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
    """The events, also as the temporary view `events`."""
    frame = spark.read.parquet(events_path)
    frame.createOrReplaceTempView("events")
    return frame


def rows(frame: DataFrame) -> list[str]:
    """The rows as a bag."""
    return sorted(repr(tuple(row)) for row in frame.collect())


def scans(frame: DataFrame) -> list[dict[str, Any]]:
    """The decisions of tamis in the frame's plan; a fallback fails the test."""
    found = json.loads(frame.sparkSession._jvm.io.tamis.Tamis.scans(frame._jdf))
    assert [scan["fallback"] for scan in found] == [None] * len(found)
    return list(found)


def kept(frame: DataFrame) -> list[int]:
    """How many files each scan of tamis keeps."""
    return [scan["files_kept"] for scan in scans(frame)]


def sql_tab(spark: SparkSession) -> dict[str, list[int]]:
    """The metrics of tamis that the SQL tab shows for the last query, a value for each scan."""
    store = spark._jsparkSession.sharedState().statusStore()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        execution = store.executionsList().last()
        values = store.executionMetrics(execution.executionId())
        metrics = execution.metrics()  # the same ones again for every plan that AQE made
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
def rows_without_tamis() -> dict[str, list[str]] | None:
    """Rows by statement, for modules that ask the same of unchanged tables again. None: no reuse."""
    return None


@pytest.fixture
def same(
    spark: SparkSession, rows_without_tamis: dict[str, list[str]] | None
) -> Callable[[str], DataFrame]:
    """Run a statement with tamis off and on; the rows have to be the same. Gives the frame with it on."""

    def check(statement: str) -> DataFrame:
        off = None if rows_without_tamis is None else rows_without_tamis.get(statement)
        if off is None:
            spark.conf.set("spark.tamis.enabled", "false")
            off = rows(spark.sql(statement))
            spark.conf.set("spark.tamis.enabled", "true")
        if rows_without_tamis is not None:
            rows_without_tamis[statement] = off
        frame = spark.sql(statement)
        assert rows(frame) == off
        return frame

    return check


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A fresh directory, as text."""
    return str(tmp_path)
