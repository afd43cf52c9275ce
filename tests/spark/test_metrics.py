"""Spark's metrics system has the metrics of tamis, registered once under one name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNTERS = (
    "scans.planned",
    "scans.fallback",
    "scans.beforeStart",
    "files.total",
    "files.kept",
    "bytes.total",
    "bytes.kept",
    "scans.observed",
    "files.observed",
    "bytes.observed",
    "audits.passed",
    "audits.disagreement",
    "audits.failed",
    "audits.files",
)


def registry(spark: SparkSession) -> Any:
    try:
        system = spark.sparkContext._jsc.sc().env().metricsSystem()
    except Py4JError:  # 4.3: SparkEnv names missing classes, and py4j inspects all of them
        pytest.skip(
            "py4j cannot inspect this Spark; tests/launch/test_ui.py reads the metrics over HTTP"
        )
    sources = system.getSourcesByName("tamis")
    assert sources.size() == 1
    return sources.apply(0).metricRegistry()


def counters(spark: SparkSession) -> dict[str, int]:
    counts = {name: each.getCount() for name, each in registry(spark).getCounters().items()}
    assert set(counts) == set(COUNTERS)
    return counts


def test_scan_is_counted(spark: SparkSession, events: DataFrame) -> None:
    before, histogram = counters(spark), registry(spark).getHistograms().get("planning.ms")
    times = histogram.getCount()
    frame = events.where("id < 150").select("name")
    frame._jdf.queryExecution().executedPlan()
    more = {name: count - before[name] for name, count in counters(spark).items()}
    assert (more["scans.planned"], more["files.total"], more["files.kept"]) == (1, 10, 2)
    assert more["scans.fallback"] == 0
    assert 0 < more["bytes.kept"] < more["bytes.total"]
    assert histogram.getCount() == times + 1
    frame.collect()  # the same plan
    assert counters(spark)["scans.planned"] == before["scans.planned"] + 1
    assert registry(spark).getGauges().get("sidecar.alive").getValue() == 1


def test_files_of_a_relation_of_spark_are_counted(spark: SparkSession, events: DataFrame) -> None:
    before = counters(spark)
    events.where("id < 150").select("name", "_metadata.file_name").collect()
    more = {name: count - before[name] for name, count in counters(spark).items()}
    assert (more["scans.planned"], more["files.total"], more["files.kept"]) == (1, 10, 2)


def test_fallbacks_are_counted(spark: SparkSession, events: DataFrame, no_sidecar: None) -> None:
    before = counters(spark)
    assert events.where("id < 150").count() == 150
    more = {name: count - before[name] for name, count in counters(spark).items()}
    assert more["scans.fallback"] == more["scans.planned"] > 0
    assert more["files.kept"] == more["files.total"]
    assert registry(spark).getGauges().get("sidecar.alive").getValue() == 0


def test_observed_scans_are_counted_separately(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set("spark.tamis.mode", "observe")
    before = counters(spark)
    assert len(events.where("id < 150").select("name").collect()) == 150
    more = {name: count - before[name] for name, count in counters(spark).items()}
    assert (more["scans.planned"], more["scans.observed"], more["scans.fallback"]) == (1, 1, 0)
    assert (more["files.total"], more["files.kept"], more["files.observed"]) == (10, 10, 2)
    assert 0 < more["bytes.observed"] < more["bytes.kept"] == more["bytes.total"]


def test_sessions_share_the_counters(spark: SparkSession, events: DataFrame) -> None:
    other = spark.newSession()
    other.read.parquet(events.inputFiles()[0]).where("id < 0").collect()
    registry(spark)
