"""Files of lineitem that queries open. Every query runs, so choices at run time count too."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bench.opened import Opened
from bench.peers.layouts import Sources
from bench.peers.queries import Query
from bench.peers.systems import exceeded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compare(spark: SparkSession, queries: Sequence[Query], sources: Sources) -> Iterator[list[str]]:
    """Yield one row per query: text, ideal, files that each system opens, mark.

    Raises:
        AssertionError: The answers do not have the same rows.
    """
    from pyspark.sql.functions import input_file_name

    spark.conf.set("spark.tamis.enabled", "false")
    parquet = spark.read.parquet(str(sources.path))
    parquet.createOrReplaceTempView("in_parquet")
    parquet.withColumn("file", input_file_name()).createOrReplaceTempView("every_row")
    tables = (
        ("in_parquet", True),
        ("in_parquet", False),
        (sources.iceberg, False),
        (sources.iceberg, True),
        (f"delta.`{sources.delta}`", False),
        (f"delta.`{sources.delta}`", True),
    )
    for query in queries:
        ran = [_run(spark, query, table, sources, on) for table, on in tables]
        spark.conf.set("spark.tamis.enabled", "false")
        ideal = query.ideal.files(spark, "every_row")
        if any(answer != ran[0][0] for answer, _ in ran):
            raise AssertionError(f"{query.sql}: the answers differ")
        files = [opened for _, opened in ran]
        yield [query.text, str(ideal), *map(str, files), exceeded(ideal, files)]


def _run(
    spark: SparkSession, query: Query, table: str, sources: Sources, on: bool
) -> tuple[object, int]:
    """Return the deterministic part of the answer, and the number of opened files."""
    before = {name: spark.conf.get(name) for name in query.confs}
    for name, value in {**query.confs, "spark.tamis.enabled": str(on).lower()}.items():
        spark.conf.set(name, value)
    try:
        frame = spark.sql(query.sql.format(t=table))
        with Opened([sources.path, sources.delta]) as opened:
            rows = frame.collect()
    finally:
        for name, former in before.items():
            if former is not None:
                spark.conf.set(name, former)
    return len(rows) if query.any_rows else sorted(map(repr, rows)), len(opened.files)


def say_warnings(spark: SparkSession) -> None:
    """Print the warnings of tamis: after a fallback, the figures are those of plain Spark."""
    jvm: Any = spark._jvm
    for warning in jvm.io.tamis.Tamis.warnings():
        print(f"warning: {warning}", file=sys.stderr)
