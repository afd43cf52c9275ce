"""Generated orders and shipments of half of them, of the same days, one directory per day."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SHIPMENTS", "count_in_final_plan", "tables"]

#: Columns of the shipments, besides the day.
SHIPMENTS: Final = "id, cast(id % 31 AS INT) delay, concat('carrier ', id % 17) carrier"


def tables(
    spark: SparkSession,
    folder: Path,
    rows: int,
    days: int,
    columns: Mapping[str, str],
    distribution: str,
) -> dict[str, Path]:
    """Return the directory of each table, by the name of its view. Write those that are missing.

    Args:
        spark: The session.
        folder: Where the tables are kept.
        rows: The number of orders.
        days: The number of days.
        columns: SQL of the columns of "orders" and "shipments", from their id.
        distribution: Clauses of the query that says how rows are written.
    """
    found = {}
    for name, selected in columns.items():
        every = 2 if name == "shipments" else 1
        where = folder / f"{name}-{rows}-{days}"
        if not (where / "_SUCCESS").exists():
            spark.sql(
                f"SELECT {selected}, date_add(DATE'2024-01-01', cast(id % {days} AS INT)) day "
                f"FROM range({rows}) WHERE id div {days} % {every} = 0 {distribution}"
            ).write.mode("overwrite").partitionBy("day").parquet(str(where))
        spark.read.parquet(str(where)).createOrReplaceTempView(name)
        found[name] = where
    return found


def count_in_final_plan(plan: Any, node: str) -> int:
    """Return how often a node occurs in the final plan of a query that ran."""
    final, _, _ = plan.toString().partition("Initial Plan")
    return str(final).count(node)
