"""`spark.tamis.index.auto = full`: what an idle driver does to the indexes of its tables."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis.jar import shim_in
from tests.maintenance.test_maintain import FILES, query
from tests.maintenance.test_maintain import path as path  # a fixture
from tests.maintenance.test_maintain import written as written  # a fixture
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def idle(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    spark.conf.set("spark.tamis.index.auto", "full")
    spark.conf.set("spark.tamis.index.auto.idleTime", "0s")
    spark.conf.set("spark.tamis.cache.location", str(tmp_path / "cache"))
    yield
    spark.conf.set("spark.tamis.index.auto", "off")


def steps(tmp_path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tamis.maintenance_history(tmp_path / "history").to_pylist()
    return rows


def kinds(tmp_path: Path) -> list[tuple[Any, ...]]:
    return [(step["action"], step["kind"], step["name"]) for step in steps(tmp_path)]


def test_what_queries_lack_is_recorded_while_no_job_runs(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    before = set(shim_in(spark._jvm).warnings())
    assert query(spark, path) == [FILES, FILES]
    wait_until(lambda: len(kinds(tmp_path)) == 3)
    assert kinds(tmp_path) == [
        ("build", None, None),
        ("record", "bloom", "key"),
        ("record", "bloom", "reverse(name)"),
    ]
    assert all(step["problem"] is None for step in steps(tmp_path))
    assert sum(step["cpu_seconds"] for step in steps(tmp_path)) > 0
    assert {step["scans"] for step in steps(tmp_path)} == {0}
    on_key, on_name = query(spark, path)
    assert on_key < FILES // 2
    assert on_name < FILES // 2
    shim_in(spark._jvm).flushHistory(spark._jsparkSession)
    built, key, _ = steps(tmp_path)
    assert built["scans"] == 4
    assert key["scans"] == 2
    assert key["files_saved"] >= FILES
    assert set(shim_in(spark._jvm).warnings()) == before
    assert tamis.index(spark, path).describe().to_dict()["files"] == FILES


def test_index_that_cannot_be_written_is_kept_in_the_cache(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    (Path(path) / "_tamis").write_text("not a directory")
    assert query(spark, path) == [FILES, FILES]
    wait_until(lambda: len(kinds(tmp_path)) == 3)
    assert {step["location"].startswith("file:") for step in steps(tmp_path)} == {True}
    on_key, _ = query(spark, path)
    assert on_key < FILES // 2
    assert (Path(path) / "_tamis").read_text() == "not a directory"
    assert str(tmp_path / "cache") in str(tamis.index(spark, path).describe())


def test_table_that_was_dropped_is_not_brought_back(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    spark.conf.set("spark.tamis.index.auto.idleTime", "3s")
    assert query(spark, path) == [FILES, FILES]
    shutil.rmtree(path)
    before = set(shim_in(spark._jvm).warnings())
    time.sleep(12)
    assert not Path(path).exists()
    assert set(shim_in(spark._jvm).warnings()) == before
    assert kinds(tmp_path) == []


def test_guards_of_the_session_do_not_stop_maintenance(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    assert query(spark, path) == [FILES, FILES]
    spark.conf.set("spark.tamis.requireFilter", "*")
    wait_until(lambda: len(kinds(tmp_path)) == 3)
    assert {step["problem"] for step in steps(tmp_path)} == {None}


def test_session_of_the_user_stays_the_default(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    classes = spark._jvm.org.apache.spark.sql.classic.SparkSession
    before = classes.getDefaultSession().get()
    assert query(spark, path) == [FILES, FILES]
    wait_until(lambda: len(kinds(tmp_path)) == 3)
    assert classes.getDefaultSession().get().equals(before)
    assert spark.range(3).count() == 3


def test_without_a_budget_only_footers_are_read(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    spark.conf.set("spark.tamis.index.auto.maxReadSize", "0b")
    assert query(spark, path) == [FILES, FILES]
    wait_until(lambda: len(kinds(tmp_path)) == 1)
    assert kinds(tmp_path) == [("build", None, None)]
    time.sleep(3)
    assert kinds(tmp_path) == [("build", None, None)]
    recorded = tamis.index(spark, path).describe().to_dict()["recorded"]
    assert recorded == []


def test_job_of_a_user_ends_maintenance(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """The driver stays busy with short jobs, so that nothing is ever finished between them."""
    assert query(spark, path) == [FILES, FILES]
    ended = time.monotonic() + 6
    while time.monotonic() < ended:
        spark.sparkContext.parallelize([1], 1).count()
    assert kinds(tmp_path) == []
    wait_until(lambda: len(kinds(tmp_path)) == 3)


def warned(spark: SparkSession) -> int:
    """Return how many warnings of this driver are about maintenance."""
    return sum("while the driver was idle" in w for w in shim_in(spark._jvm).warnings())


def test_python_that_cannot_maintain_costs_one_warning(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    spark.conf.set("spark.tamis.index.auto.idleTime", "1h")  # until its Python is another one
    assert query(spark, path) == [FILES, FILES]
    spark.conf.set("spark.tamis.python", "/nonexistent/python")
    spark.conf.set("spark.tamis.index.auto.idleTime", "0s")
    try:
        wait_until(lambda: warned(spark) > 0)
        assert warned(spark) == 1
    finally:
        spark.conf.unset("spark.tamis.python")
    assert kinds(tmp_path) == []
