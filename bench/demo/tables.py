"""The tables of the demonstration: TPC-H at scale 1, clustered by date, once partitioned too."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES = ("lineitem", "lineitem_by_year", "orders")


def make(spark: SparkSession, data: Path) -> None:
    """Write what is missing under `data`, and register every table as a temporary view."""
    for name in TABLES:
        path = data / name
        if not (path / "_SUCCESS").exists():  # Spark's mark of a finished write
            shutil.rmtree(path, ignore_errors=True)
            _write(spark, name, path, _generate(data / "generated"))
        spark.read.parquet(str(path)).createOrReplaceTempView(name)


def _generate(target: Path) -> Path:
    """The Parquet files of the generator, made if need be."""
    if not (target / "done").exists():
        generator = Path(sys.executable).with_name("tpchgen-cli")
        command = [str(generator), "parquet", "--scale-factor=1", "--tables=lineitem,orders"]
        subprocess.run([*command, f"--output-dir={target}", "--overwrite", "--quiet"], check=True)
        (target / "done").touch()
    return target


def _write(spark: SparkSession, name: str, path: Path, generated: Path) -> None:
    from pyspark.sql.functions import year

    if name == "orders":
        orders = spark.read.parquet(str(generated / "orders.parquet"))
        _clustered(orders, 50, "o_orderdate").write.parquet(str(path))
        return
    lineitem = spark.read.parquet(str(generated / "lineitem.parquet"))
    clustered = _clustered(lineitem, 200, "l_shipdate")
    if name == "lineitem_by_year":
        dated = clustered.withColumn("year", year("l_shipdate"))
        dated.write.partitionBy("year").parquet(str(path))
    else:
        clustered.write.parquet(str(path))


def _clustered(rows: DataFrame, files: int, column: str) -> DataFrame:
    return rows.repartitionByRange(files, column).sortWithinPartitions(column)
