"""The tables of the demonstration: TPC-H at scale 1, clustered by date, once partitioned too."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES = ("lineitem", "lineitem_by_year", "orders")  # the second is made from the first

# Table -> how many files, and the column by whose ranges rows are put into them.
CLUSTERED = {"lineitem": (200, "l_shipdate"), "orders": (50, "o_orderdate")}


def make(spark: SparkSession, data: Path) -> None:
    """Write what is missing under `data`, and register every table as a temporary view."""
    for name in TABLES:
        path = data / name
        if not (path / "_SUCCESS").exists():  # Spark's mark of a finished write
            shutil.rmtree(path, ignore_errors=True)
            _write(spark, name, data)
        spark.read.parquet(str(path)).createOrReplaceTempView(name)


def generate(target: Path, tables: Sequence[str], scale: float = 1) -> Path:
    """One Parquet file a table, `target`/NAME.parquet, made by the generator if need be."""
    if not (target / "done").exists():
        generator = Path(sys.executable).with_name("tpchgen-cli")
        command = [str(generator), "parquet", f"--scale-factor={scale:g}"]
        command += [f"--tables={','.join(tables)}", f"--output-dir={target}"]
        subprocess.run([*command, "--overwrite", "--quiet"], check=True)
        (target / "done").touch()
    return target


def write_clustered(rows: DataFrame, path: Path, files: int, *columns: str) -> None:
    """That many files, each of a range of the columns, sorted by them."""
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
    """File by file, without a shuffle: each becomes a file again, or two where a year ends."""
    from pyspark.sql.functions import year

    session = spark.newSession()
    session.conf.set("spark.tamis.enabled", "false")
    # Opening a file counts for as much as a task may read, so that no task gets a second one.
    session.conf.set("spark.sql.files.maxPartitionBytes", "4MB")
    session.conf.set("spark.sql.files.openCostInBytes", "4MB")
    dated = session.read.parquet(str(lineitem)).withColumn("year", year("l_shipdate"))
    dated.write.partitionBy("year").parquet(str(path))
