"""Conjuncts are evaluated in the order in which they were written, including subqueries.

`a = (SELECT …) AND CAST(s AS INT) = 3` raises only in rows for which the first conjunct is true.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIRST = "k = (SELECT max(k) FROM mixed WHERE k < 8)"
RAISES = "CAST(s AS INT) = 7"
STATEMENTS = [
    f"SELECT k FROM mixed WHERE {FIRST} AND {RAISES}",
    f"SELECT k FROM mixed WHERE k >= 0 AND {FIRST} AND k < 100 AND {RAISES} AND n > 0",
    f"SELECT k FROM mixed WHERE {FIRST} AND {RAISES} AND k > (SELECT min(k) FROM mixed)",
    f"SELECT count(*) FROM mixed WHERE {FIRST} AND {RAISES} AND k IN (SELECT n FROM mixed)",
    "SELECT a.k FROM mixed a JOIN mixed b ON a.k = b.n WHERE "
    "a.k = (SELECT max(k) FROM mixed WHERE k < 8) AND CAST(a.s AS INT) = 7",
    # Spark pushes the condition on m below the semi join, behind the filter on the scan.
    f"SELECT k FROM mixed m WHERE {FIRST} AND {RAISES} "
    "AND EXISTS (SELECT 1 FROM mixed u WHERE u.k = m.k AND m.n < 50)",
]


@pytest.fixture
def mixed(spark: SparkSession, folder: str) -> DataFrame:
    """Write k from 0 to 99 to 4 files; s is a number only where k is 7."""
    frame = spark.range(100).selectExpr(
        "id AS k", "IF(id = 7, '7', 'none') AS s", "CAST(id AS INT) AS n"
    )
    frame.repartitionByRange(4, "k").write.parquet(f"{folder}/mixed")
    tamis.index(spark, f"{folder}/mixed").build()
    spark.conf.set("spark.sql.ansi.enabled", "true")
    read = spark.read.parquet(f"{folder}/mixed")
    read.createOrReplaceTempView("mixed")
    return read


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_queries_that_succeed_in_spark_succeed(
    mixed: DataFrame, same: Callable[[str], DataFrame], statement: str, adaptive: str
) -> None:
    mixed.sparkSession.conf.set("spark.sql.adaptive.enabled", adaptive)
    assert rows(same(statement)) != []


def test_order_of_conjuncts_above_an_aggregate(
    mixed: DataFrame, same: Callable[[str], DataFrame]
) -> None:
    """A run-time condition for the scan below leaves the filter above it as it is."""
    mixed.sparkSession.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    grouped = "SELECT k, max(s) AS s, max(n) AS n FROM mixed GROUP BY k"
    statement = (
        f"SELECT k FROM ({grouped}) WHERE n = (SELECT max(n) FROM mixed WHERE k < 8) "
        f"AND {RAISES} AND (k, n) IN (SELECT k, n FROM mixed WHERE k < 50)"
    )
    assert rows(same(statement)) == ["(7,)"]


def test_query_that_raises_in_spark_raises(mixed: DataFrame) -> None:
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        mixed.sparkSession.sql(f"SELECT k FROM mixed WHERE {RAISES} AND {FIRST}").collect()


def test_ordered_conjuncts_still_prune(mixed: DataFrame) -> None:
    frame = mixed.sparkSession.sql(f"SELECT k FROM mixed WHERE {FIRST} AND n < 20 AND {RAISES}")
    assert min(scan["files_kept"] for scan in scans(frame)) == 1
