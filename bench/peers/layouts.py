"""lineitem in four layouts, and the same files as Iceberg and as Delta tables."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tamis
from bench.demo import tables
from bench.peers import predicates, queries
from bench.peers.conversions import to_delta, to_iceberg
from bench.peers.packages import CATALOG
from bench.peers.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to sort the rows into files.

    Attributes:
        sorted_by: The columns that rows are range-partitioned by; empty: the demo's layout.
        recorded: What an index records of two columns together, as arguments of `build`.
    """

    name: str
    title: str
    sorted_by: Sequence[str]
    predicates: Sequence[str]
    queries: Sequence[Query]
    partitioned_by: str | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)

    @property
    def iceberg(self) -> str:
        return f"{CATALOG}.peers.{self.name}"


@dataclass(frozen=True, slots=True)
class Sources:
    """The same files as a directory with a tamis index, and as tables of the other systems."""

    path: Path
    iceberg: str
    delta: Path


LAYOUTS = (
    Layout(
        "lineitem",
        "sorted by l_shipdate",
        (),
        predicates.BY_DATE,
        queries.BY_DATE,
        recorded={"expressions": ["l_receiptdate - l_shipdate"]},
    ),
    Layout("by_key", "sorted by l_orderkey", ("l_orderkey",), predicates.BY_KEY, queries.BY_KEY),
    Layout(
        "by_mode",
        "sorted by l_shipmode, l_comment",
        ("l_shipmode", "l_comment"),
        predicates.BY_MODE,
        queries.BY_MODE,
        recorded={"columns": {"l_comment": {"bounds": {"by": "l_shipmode"}}}},
    ),
    Layout(
        "lineitem_by_year",
        "partitioned by year",
        (),
        predicates.BY_YEAR,
        queries.BY_YEAR,
        "year",
    ),
)
_FILES = 200
_CALENDAR = """
    SELECT day, concat(year(day), '-Q', quarter(day)) AS quarter,
           month(day) = 12 AND dayofmonth(day) = 25 AS holiday
    FROM (SELECT explode(sequence(DATE'1992-01-01', DATE'1998-12-31')) AS day)
"""


def make(spark: SparkSession, demo: Path, folder: Path) -> dict[str, Path]:
    """Write missing data. Return the directory of each layout by its name."""
    tables.make(spark, demo)
    places = {}
    for layout in LAYOUTS:
        path = (folder if layout.sorted_by else demo) / layout.name
        if not (path / "_SUCCESS").exists():
            shutil.rmtree(path, ignore_errors=True)
            rows = spark.read.parquet(str(demo / "lineitem"))
            tables.write_clustered(rows, path, _FILES, *layout.sorted_by)
        places[layout.name] = path
    return places


def sources(spark: SparkSession, layout: Layout, path: Path, folder: Path) -> Sources:
    delta = folder / "delta" / layout.name
    to_delta(spark, path, delta, layout.partitioned_by)
    iceberg = to_iceberg(spark, layout.iceberg, path, layout.partitioned_by)
    tamis.index(spark, str(path)).build()
    return Sources(path, iceberg, delta)


def dimensions(spark: SparkSession, demo: Path, folder: Path) -> None:
    """Create the views `orders` and `calendar`, with indexes."""
    calendar = folder / "calendar"
    if not (calendar / "_SUCCESS").exists():
        spark.sql(_CALENDAR).coalesce(1).write.mode("overwrite").parquet(str(calendar))
    for name, path in (("orders", demo / "orders"), ("calendar", calendar)):
        tamis.index(spark, str(path)).build()
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
