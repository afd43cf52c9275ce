"""The statistics index of a directory of Parquet files: built by Spark, read by the planner.

leaves      which columns have statistics       layout, store   the durable form
storage     URIs and Hadoop settings            cache           the local form, mapped
decoding    a statistic of a footer as a value  freshness       which rows still hold
footers     a footer as bounds and counts       reader          indexes that are open
harvest     what executors run                  columns         bounds, read when first named
build       the Spark job                       handle          `tamis.index(spark, path)`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.index.handle import Index

__all__ = ["Index", "index"]


def index(spark: SparkSession, path_or_table: str) -> Index:
    """The statistics index of a directory of Parquet files, or of a table over one.

    `path_or_table`: a path or URI, or the name of a table. Nothing happens before one of `build`,
    `refresh`, `describe` or `drop` is called.

    >>> tamis.index(spark, "/data/lineitem").build()  # doctest: +SKIP
    tamis.index(spark, '/data/lineitem')
    """
    from tamis.index.handle import Index

    return Index(spark, path_or_table)


def __getattr__(name: str) -> object:
    if name == "Index":
        from tamis.index.handle import Index

        return Index
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
