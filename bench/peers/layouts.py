"""lineitem in four layouts, and the same files as Iceberg and as Delta tables.

Iceberg adds the existing files (add_files). Delta needs its log next to the files, so it gets hard
links of its own and converts these in place.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tamis
from bench.demo import tables
from bench.peers import predicates, queries
from bench.peers.packages import CATALOG
from bench.peers.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Layout:
    """`sorted_by`: the columns that rows are range-partitioned by; empty: the demo's layout."""

    name: str
    title: str
    sorted_by: Sequence[str]
    predicates: Sequence[str]
    queries: Sequence[Query]
    partitioned_by: str | None = None

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
    Layout("lineitem", "sorted by l_shipdate", (), predicates.BY_DATE, queries.BY_DATE),
    Layout("by_key", "sorted by l_orderkey", ("l_orderkey",), predicates.BY_KEY, queries.BY_KEY),
    Layout(
        "by_mode",
        "sorted by l_shipmode, l_comment",
        ("l_shipmode", "l_comment"),
        predicates.BY_MODE,
        queries.BY_MODE,
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
    delta = _to_delta(spark, layout, path, folder)
    iceberg = _to_iceberg(spark, layout, path)
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


def _to_delta(spark: SparkSession, layout: Layout, path: Path, folder: Path) -> Path:
    """Return a Delta table of hard links of the files, with statistics."""
    target = folder / "delta" / layout.name
    if not (target / "_delta_log" / f"{0:020}.json").exists():  # its first commit
        shutil.rmtree(target, ignore_errors=True)
        for file in path.rglob("*.parquet"):
            if any(part.startswith("_") for part in file.relative_to(path).parts):
                continue
            link = target / file.relative_to(path)
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, link)
        partitioned = f" PARTITIONED BY ({layout.partitioned_by} INT)" * bool(layout.partitioned_by)
        spark.sql(f"CONVERT TO DELTA parquet.`{target}`{partitioned}")
    return target


def _to_iceberg(spark: SparkSession, layout: Layout, path: Path) -> str:
    """Return an Iceberg table over the same files, with metrics from their footers."""
    schema = spark.read.parquet(str(path)).schema
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)
    partitioned = f" PARTITIONED BY ({layout.partitioned_by})" * bool(layout.partitioned_by)
    spark.sql(f"DROP TABLE IF EXISTS {layout.iceberg}")
    spark.sql(f"CREATE TABLE {layout.iceberg} ({columns}) USING iceberg{partitioned}")
    source = f"`parquet`.`{path}`"
    spark.sql(
        f"CALL {CATALOG}.system.add_files(table => 'peers.{layout.name}', "
        f"source_table => '{source}')"
    )
    return layout.iceberg
