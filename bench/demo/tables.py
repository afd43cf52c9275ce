"""The tables of the demonstration: TPC-H at scale 1, clustered by date, once also partitioned."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES = ("lineitem", "lineitem_by_year", "orders")  # the second is created from the first

# Table -> how many files, and the column that rows are range-partitioned by.
CLUSTERED = {"lineitem": (200, "l_shipdate"), "orders": (50, "o_orderdate")}


def make(spark: SparkSession, data: Path) -> None:
    """Write missing tables under `data`, and register every table as a temporary view."""
    for name in TABLES:
        path = data / name
        if not (path / "_SUCCESS").exists():  # Spark's mark of a finished write
            shutil.rmtree(path, ignore_errors=True)
            _write(spark, name, data)
        spark.read.parquet(str(path)).createOrReplaceTempView(name)


def generate(target: Path, tables: Sequence[str], scale: float = 1) -> Path:
    """Return `target`, with one Parquet file NAME.parquet per table, generated if necessary."""
    if not (target / "done").exists():
        generator = Path(sys.executable).with_name("tpchgen-cli")
        command = [str(generator), "parquet", f"--scale-factor={scale:g}"]
        command += [f"--tables={','.join(tables)}", f"--output-dir={target}"]
        subprocess.run([*command, "--overwrite", "--quiet"], check=True)
        (target / "done").touch()
    return target


def write_clustered(rows: DataFrame, path: Path, files: int, *columns: str) -> None:
    """Write this many files, range-partitioned and sorted by the columns."""
    ranged = rows.repartitionByRange(files, *columns)
    ranged.sortWithinPartitions(*columns).write.mode("overwrite").parquet(str(path))


def _write(spark: SparkSession, name: str, data: Path) -> None:
    if name == "lineitem_by_year":
        _write_by_year(spark, data / "lineitem", data / name)
    else:
        files, column = CLUSTERED[name]
        generated = generate(data / "generated", tuple(CLUSTERED))
        rows = spark.read.parquet(str(generated / f"{name}.parquet"))
        write_clustered(rows, data / name, files, column)


def _write_by_year(spark: SparkSession, lineitem: Path, path: Path) -> None:
    """Write by year without a shuffle: each file becomes one file, or two at a year boundary."""
    from pyspark.sql.functions import year

    session = spark.newSession()
    session.conf.set("spark.tamis.enabled", "false")
    # The cost of opening a file equals the limit of a task, so that no task gets a second one.
    session.conf.set("spark.sql.files.maxPartitionBytes", "4MB")
    session.conf.set("spark.sql.files.openCostInBytes", "4MB")
    dated = session.read.parquet(str(lineitem)).withColumn("year", year("l_shipdate"))
    dated.write.partitionBy("year").parquet(str(path))
