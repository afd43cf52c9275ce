"""A correlated subquery shares exchanges with the query, as in plain Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

#: Shaped like query 2 of TPC-H: both sides join the same regions.
LEAST = """
    SELECT o.part, o.cost FROM offers o JOIN regions r ON o.region = r.region
    WHERE r.name = 'r1' AND o.cost = (
        SELECT min(i.cost) FROM offers i JOIN regions q ON i.region = q.region
        WHERE q.name = 'r1' AND i.part = o.part)"""


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> None:
    """Register offers, in four files, and regions, in one; `holes` has regions that are NULL."""
    key = "CAST(id % 3 AS INT)"
    offers = spark.range(0, 400, 1, 4).selectExpr(
        "id % 40 AS part", f"{key} AS region", "pmod(hash(id), 90) AS cost"
    )
    regions = spark.range(0, 3, 1, 1).selectExpr(f"{key} AS region", "concat('r', id) AS name")
    holes = spark.range(0, 6, 1, 1).selectExpr(
        f"IF(id < 3, {key}, NULL) AS region", "concat('r', id % 3) AS name"
    )
    for name, frame in {"offers": offers, "regions": regions, "holes": holes}.items():
        path = str(tmp_path / name)
        frame.write.parquet(path)
        tamis.index(spark, path).build()
        read_parquet(spark, path).createOrReplaceTempView(name)


def executed(frame: DataFrame) -> str:
    """Return the final plan of a frame that has run."""
    plan: str = frame._jdf.queryExecution().executedPlan().toString()
    return plan.partition("== Initial Plan ==")[0]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_broadcast_in_a_correlated_subquery_is_reused(
    spark: SparkSession, same: Callable[[str], DataFrame], adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    plan = executed(same(LEAST))
    assert "ReusedExchange" in plan
    assert "isnotnull(region" not in plan


@pytest.mark.usefixtures("tables")
def test_is_not_null_that_is_not_proven_stays(same: Callable[[str], DataFrame]) -> None:
    plan = executed(same(LEAST.replace("regions", "holes")))
    assert "isnotnull(region" in plan
