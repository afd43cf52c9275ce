"""The statistics index of a directory of files: built by Spark, read by the planner.

- handle, cli, describe: `tamis.index(spark, path)`, `python -m tamis index`, descriptions.
- changes, place, state: what the handle does: building and refreshing, and where the index is.
- build: the Spark jobs, and the generation made of their results.
- executor: the code that executors run to read footers (pyarrow only, enforced by the linter).
- format: the durable form: layout, store, kinds of recorded statistics.
- read: reading by the planner: bounds, row groups, caches, freshness.
- storage: file systems for URIs, with Hadoop settings.
- problems: the reasons why an index is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader

    from tamis.indexing.describe import Description
    from tamis.indexing.handle import Index

__all__ = ["Description", "Index", "index"]


def index(
    spark: SparkSession,
    path_or_table: str | os.PathLike[str],
    *,
    reader: DataFrameReader | None = None,
) -> Index:
    """Return a handle to the statistics index of a directory of files, or of a table.

    The table may be one over a directory, or one of Delta or Iceberg.

    Nothing is read or written until a method of the handle is called, such as `build`, `refresh`,
    `describe` or `drop`.

    Args:
        spark: The session that reads the files.
        path_or_table: A path or URI, or the name of a table. A `str` is a path if it contains a
            slash or begins with a scheme such as `file:`. Otherwise, or if it is quoted as in
            "parquet.`/data/events`", it is the name of a table. A `pathlib.Path` is always a path.
        reader: How Spark reads the ORC, CSV or JSON files at a path. Without it, the files at a
            path are Parquet, or those of a Delta or Iceberg table. The index serves queries that
            read the files in the same way: with the same format, schema and options, in a session
            with the same time zone and the same settings that affect reading. A table has its own
            format, schema and options.

    >>> tamis.index(spark, "/data/lineitem").build()  # doctest: +SKIP
    tamis.index(spark, '/data/lineitem')
    >>> csv = spark.read.format("csv").schema("id LONG, at DATE")  # doctest: +SKIP
    >>> tamis.index(spark, "/data/events", reader=csv).build()  # doctest: +SKIP
    """
    from tamis.indexing.handle import Index

    return Index(spark, path_or_table, reader)


def __getattr__(name: str) -> object:
    if name == "Index":
        from tamis.indexing.handle import Index

        return Index
    if name == "Description":
        from tamis.indexing.describe import Description

        return Description
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
