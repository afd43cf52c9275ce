"""`python -m bench.peers`: print how many files each opens, predicate by predicate.

One session, the same files: Spark's own Parquet source with tamis off and on, Iceberg and Delta.
*holds rows* is how many files hold a row of which the predicate is true, found by reading them
all: no method opens fewer, unless it knows more than the files' contents. Nothing is run but that;
the other figures are those of the plans.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.peers import layouts, packages
from bench.peers.layouts import LAYOUTS, Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BUILD = Path(__file__).resolve().parents[2] / "build"
_WIDTH = 72


def session(folder: Path) -> SparkSession:
    """A session with all four; the extension of tamis comes last."""
    from pyspark.sql import SparkSession

    import tamis

    confs = {
        **packages.confs(packages.ICEBERG, packages.DELTA),
        **packages.lakes(folder / "iceberg"),
        "spark.driver.memory": "3g",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in confs.items():
        builder = builder.config(name, value)
    spark = tamis.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def opened(frame: DataFrame) -> int:
    """How many data files the plan of one scan reads, of a V1 file source or of Iceberg."""
    plan = frame._jdf.queryExecution().sparkPlan()
    leaves = plan.collectLeaves()
    if leaves.isEmpty():
        return 0
    (leaf,) = (leaves.apply(i) for i in range(leaves.size()))
    name = str(leaf.getClass().getSimpleName())
    if name == "LocalTableScanExec":  # Spark found out by itself that there is no row
        return 0
    if name == "BatchScanExec":
        leaf.inputPartitions()
        metrics = {metric.name(): metric.value() for metric in leaf.scan().reportDriverMetrics()}
        return int(metrics["resultDataFiles"])
    directories = leaf.relation().location().listFiles(leaf.partitionFilters(), leaf.dataFilters())
    return sum(directories.apply(i).files().size() for i in range(directories.size()))


def kept(frame: DataFrame) -> int:
    """How many files the plan reads with tamis on."""
    scans: list[dict[str, Any]] = json.loads(
        frame.sparkSession._jvm.io.tamis.Tamis.scans(frame._jdf)
    )
    if not scans:
        return opened(frame)
    (scan,) = scans
    assert scan["fallback"] is None, scan["fallback"]
    return int(scan["files_kept"])


def holding(spark: SparkSession, path: Path, predicates: Sequence[str]) -> list[int]:
    """How many files hold a row of which each predicate is true, in one pass over all rows."""
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


def compare(spark: SparkSession, layout: Layout, path: Path, folder: Path) -> list[list[str]]:
    """One row a predicate: text, files that hold rows, tamis, native, Iceberg, Delta."""
    delta = str(layouts.to_delta(spark, layout, path, folder))
    iceberg = layouts.to_iceberg(spark, layout, path)
    tamis_index(spark, path)
    rows = []
    for predicate, ideal in zip(
        layout.predicates, holding(spark, path, layout.predicates), strict=True
    ):
        spark.conf.set("spark.tamis.enabled", "true")
        ours = kept(spark.read.parquet(str(path)).where(predicate))
        spark.conf.set("spark.tamis.enabled", "false")
        native = opened(spark.read.parquet(str(path)).where(predicate))
        with_iceberg = opened(spark.table(iceberg).where(predicate))
        with_delta = opened(spark.read.format("delta").load(delta).where(predicate))
        text = predicate if len(predicate) <= _WIDTH else predicate[: _WIDTH - 1] + "…"
        figures = (ideal, ours, native, with_iceberg, with_delta)
        rows.append([text, *map(str, figures)])
    return rows


def tamis_index(spark: SparkSession, path: Path) -> None:
    import tamis

    spark.conf.set("spark.tamis.enabled", "true")
    tamis.index(spark, str(path)).build()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=_BUILD / "peers")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    spark = session(folder)
    try:
        places = layouts.make(spark, _BUILD / "demo", folder)
        for layout in LAYOUTS:
            path = places[layout.name]
            files = len(list(path.rglob("part-*.parquet")))
            print(f"\n### {layout.title}: {files} files\n")
            print("| predicate | holds rows | tamis | Spark | Iceberg | Delta |")
            print("|---|---:|---:|---:|---:|---:|")
            for text, *figures in compare(spark, layout, path, folder):
                escaped = text.replace("|", "\\|")
                print(f"| `{escaped}` | {' | '.join(figures)} |", flush=True)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
