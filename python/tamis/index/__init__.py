"""The statistics index of a directory of files: built by Spark, read by the planner.

leaves      which columns have statistics       layout, store   the durable form
storage     URIs and Hadoop settings            cache           the local form, mapped
decoding    a statistic of a footer as a value  freshness       which rows still hold
footers     a footer as bounds and counts       reader          indexes that are open
harvest     what executors run                  columns         bounds, read when first named
build       the Spark jobs                      handle          `tamis.index(spark, path)`
reading     how Spark reads ORC, CSV and JSON   row_harvest     statistics of these, from rows
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader

    from tamis.index.handle import Index

__all__ = ["Index", "index"]


def index(
    spark: SparkSession,
    path_or_table: str | os.PathLike[str],
    *,
    reader: DataFrameReader | None = None,
) -> Index:
    """The statistics index of a directory of files, or of a table over one.

    `path_or_table`: a path or URI, or the name of a table; a `pathlib.Path` is a path. Nothing
    happens before one of `build`, `refresh`, `describe` or `drop` is called.

    `reader`: how Spark reads the files of a path that are ORC, CSV or JSON; without one they are
    Parquet. The index serves queries that read in the same way: of the same format, schema and
    options, in a session of the same time zone and like settings. A table knows its own.

    >>> tamis.index(spark, "/data/lineitem").build()  # doctest: +SKIP
    tamis.index(spark, '/data/lineitem')
    >>> csv = spark.read.format("csv").schema("id LONG, at DATE")  # doctest: +SKIP
    >>> tamis.index(spark, "/data/events", reader=csv).build()  # doctest: +SKIP
    """
    from tamis.index.handle import Index

    return Index(spark, path_or_table, reader)


def __getattr__(name: str) -> object:
    if name == "Index":
        from tamis.index.handle import Index

        return Index
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
