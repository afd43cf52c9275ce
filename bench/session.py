"""The Spark session of a benchmark: this process, two threads, default settings of tamis.

Automatic indexes are off, and so is what repeated queries remember, unless the benchmark turns them
on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(memory: str, confs: dict[str, str] | None = None) -> SparkSession:
    """Return a session. `memory`: driver memory, such as 4g."""
    from pyspark.sql import SparkSession

    import tamis

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", memory)
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    builder = builder.config("spark.tamis.index.auto", "off")
    builder = builder.config("spark.tamis.remember.enabled", "false")
    for name, value in (confs or {}).items():
        builder = builder.config(name, value)
    spark = tamis.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def jvm(spark: SparkSession) -> Any:
    """Return the py4j view of the classes of the driver."""
    return spark.sparkContext._jvm
