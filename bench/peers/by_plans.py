"""Files that the plans of filters read. Only the count of files with matching rows runs: no method
opens fewer files unless it has more information than the contents of single files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tamis
from bench.peers.layouts import Layout, Sources
from bench.peers.systems import exceeded
from bench.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WIDTH = 72


def opened(frame: DataFrame) -> int:
    """Return how many data files the plan of a scan reads, for a V1 file source or Iceberg."""
    plan = frame._jdf.queryExecution().sparkPlan()
    leaves = plan.collectLeaves()
    if leaves.isEmpty():
        return 0
    (leaf,) = (leaves.apply(i) for i in range(leaves.size()))
    name = str(leaf.getClass().getSimpleName())
    if name == "LocalTableScanExec":  # Spark itself proves that no row matches
        return 0
    if name == "BatchScanExec":
        leaf.inputPartitions()
        metrics = {metric.name(): metric.value() for metric in leaf.scan().reportDriverMetrics()}
        return int(metrics["resultDataFiles"])
    directories = leaf.relation().location().listFiles(leaf.partitionFilters(), leaf.dataFilters())
    return sum(directories.apply(i).files().size() for i in range(directories.size()))


def kept(frame: DataFrame) -> int:
    """Return how many files the plan reads with tamis on."""
    scans: list[dict[str, Any]] = json.loads(
        jvm(frame.sparkSession).io.tamis.Tamis.scans(frame._jdf)
    )
    if not scans:
        return opened(frame)  # no row can match, or the format keeps its own scan
    (scan,) = scans
    assert scan["fallback"] is None, scan["fallback"]
    return int(scan["files_kept"])


def holding(spark: SparkSession, path: Path, predicates: Sequence[str]) -> list[int]:
    """Return how many files contain a row that satisfies each predicate, in one pass."""
    spark.conf.set("spark.tamis.enabled", "false")
    spark.read.parquet(str(path)).createOrReplaceTempView("every_row")
    flags = [
        f"max(CASE WHEN {predicate} THEN 1 ELSE 0 END) AS p{number}"
        for number, predicate in enumerate(predicates)
    ]
    by_file = f"SELECT {', '.join(flags)} FROM every_row GROUP BY input_file_name()"
    sums = ", ".join(f"sum(p{number})" for number in range(len(predicates)))
    (row,) = spark.sql(f"SELECT {sums} FROM ({by_file})").collect()
    return [int(count or 0) for count in row]


def compare_recorded(spark: SparkSession, layout: Layout, path: Path) -> Iterator[list[str]]:
    """Yield one row per predicate: text, files with rows, files kept by footers, and by `recorded`.

    Predicates for which footers suffice are left out. The index of the directory is built twice.
    """
    ideals = holding(spark, path, layout.predicates)
    spark.conf.set("spark.tamis.enabled", "true")
    counts = []
    for arguments in ({}, layout.recorded):
        tamis.index(spark, str(path)).build(**arguments)
        frame = spark.read.parquet(str(path))
        counts.append([kept(frame.where(predicate)) for predicate in layout.predicates])
    for predicate, ideal, before, after in zip(layout.predicates, ideals, *counts, strict=True):
        if before > ideal:
            yield [predicate, str(ideal), str(before), str(after)]


def compare(spark: SparkSession, layout: Layout, sources: Sources) -> Iterator[list[str]]:
    """Yield one row per predicate: text, files with rows, files that each system reads, mark."""
    path = sources.path
    spark.conf.set("spark.tamis.enabled", "false")
    relations = (
        spark.read.parquet(str(path)),
        spark.table(sources.iceberg),
        spark.read.format("delta").load(str(sources.delta)),
    )
    for predicate, ideal in zip(
        layout.predicates, holding(spark, path, layout.predicates), strict=True
    ):
        spark.conf.set("spark.tamis.enabled", "true")
        parquet, iceberg, delta = (kept(each.where(predicate)) for each in relations)
        spark.conf.set("spark.tamis.enabled", "false")
        native, only_iceberg, only_delta = (opened(each.where(predicate)) for each in relations)
        text = predicate if len(predicate) <= _WIDTH else predicate[: _WIDTH - 1] + "…"
        files = (parquet, native, only_iceberg, iceberg, only_delta, delta)
        yield [text, str(ideal), *map(str, files), exceeded(ideal, files)]
