"""Settings of sessions that run many small queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["save_work"]


def save_work(spark: SparkSession) -> None:
    """Avoid work that takes longer than the rows of small queries."""
    context = spark.sparkContext._jsc
    # Each scan copies Hadoop's configuration and sends it to its tasks: 1,500 defaults, which the
    # code contains anyway, beside what the confs of the session state.
    hadoop, prefix = context.hadoopConfiguration(), "spark.hadoop."
    hadoop.clear()
    for name, value in spark.sparkContext.getConf().getAll():
        if name.startswith(prefix):
            hadoop.set(name.removeprefix(prefix), value)
    # A job records the call stack that started it unless a call site is set.
    context.sc().setLocalProperty("callSite.short", "test")
    context.sc().setLocalProperty("callSite.long", "test")
