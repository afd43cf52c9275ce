"""The Spark that a benchmark runs in: this process, two threads, tamis as it is by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(memory: str, confs: dict[str, str] | None = None) -> SparkSession:
    """`memory`: of the driver, as in 4g."""
    from pyspark.sql import SparkSession

    import tamis

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", memory)
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    for name, value in (confs or {}).items():
        builder = builder.config(name, value)
    spark = tamis.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
