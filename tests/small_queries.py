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
    # code contains anyway.
    context.hadoopConfiguration().clear()
    # A job records the call stack that started it unless a call site is set.
    context.sc().setLocalProperty("callSite.short", "test")
    context.sc().setLocalProperty("callSite.long", "test")
