"""Statements around scans that tamis rewrites: writes, views, caches, merged and reused plans.

All rewrites are enabled, with and without adaptive execution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.spark.conftest import kept, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]


@pytest.fixture(params=["true", "false"], ids=["adaptive", "fixed"], autouse=True)
def adaptive(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", request.param)


def physical(frame: DataFrame) -> str:
    """Return the plan that ran, with its subqueries."""
    frame.collect()
    text: str = frame._jdf.queryExecution().executedPlan().toString()
    return text.partition("+- == Initial Plan ==")[0]


# write statement, rows expected afterwards
WRITES = [
    "SELECT id, name FROM events WHERE id >= 950",
    "SELECT id, name FROM events WHERE id >= 100 ORDER BY id DESC LIMIT 7",
    "SELECT id, name FROM events ORDER BY day LIMIT 3",
    "SELECT count(*) AS id, max(name) AS name FROM events WHERE id BETWEEN 150 AND 849",
    "SELECT a.id, b.name FROM events a JOIN events b ON a.id = b.id WHERE a.day < DATE'1995-02-01'",
    "SELECT id, name FROM events WHERE id IN (SELECT max(id) FROM events WHERE id < 300)",
    "SELECT id, name FROM events WHERE id < 5 UNION ALL SELECT id, name FROM events WHERE id > 995",
]


@pytest.mark.parametrize("query", WRITES)
def test_written_rows_equal_the_rows_read(
    spark: SparkSession, events: DataFrame, query: str
) -> None:
    spark.conf.set("spark.tamis.enabled", "false")
    expected = rows(spark.sql(query))
    spark.conf.set("spark.tamis.enabled", "true")
    spark.sql(f"CREATE TABLE made USING parquet AS {query}")
    assert rows(spark.table("made")) == expected
    spark.sql(f"INSERT INTO made {query}")
    assert rows(spark.table("made")) == sorted(2 * expected)
    spark.sql(f"INSERT OVERWRITE made {query}")
    assert rows(spark.table("made")) == expected


def test_table_is_written_from_itself(spark: SparkSession, same: Same) -> None:
    spark.sql("CREATE TABLE own USING parquet AS SELECT id, id % 7 AS k FROM range(200)")
    spark.sql("INSERT INTO own SELECT id + 1000, k FROM own ORDER BY id DESC LIMIT 5")
    assert same("SELECT count(*), max(id) FROM own").first() == (205, 1199)
    spark.sql("INSERT INTO own SELECT count(*), 0 FROM own")
    assert same("SELECT count(*), min(id) FROM own WHERE id >= 200").first() == (6, 205)
    spark.sql("INSERT INTO own SELECT a.id + 5000, b.k FROM own a JOIN own b ON a.id = b.id")
    assert same("SELECT count(*) FROM own WHERE id >= 5000").first() == (206,)
    assert same("SELECT id FROM own ORDER BY id DESC LIMIT 2").first() == (6199,)


def test_view_follows_its_table(spark: SparkSession, same: Same) -> None:
    spark.sql("CREATE TABLE base USING parquet AS SELECT id FROM range(100)")
    spark.sql("CREATE VIEW counted AS SELECT count(*) AS n, max(id) AS m FROM base WHERE id >= 10")
    spark.sql("CREATE VIEW last AS SELECT id FROM base ORDER BY id DESC LIMIT 3")
    try:
        assert same("SELECT * FROM counted").first() == (90, 99)
        spark.sql("INSERT INTO base SELECT id + 500 FROM range(4)")
        assert same("SELECT * FROM counted").first() == (94, 503)
        assert rows(same("SELECT * FROM last WHERE id > 501")) == ["(502,)", "(503,)"]
        assert same("SELECT count(*) FROM base WHERE id IN (SELECT id FROM last)").first() == (3,)
    finally:
        spark.sql("DROP VIEW counted")
        spark.sql("DROP VIEW last")


def test_query_uses_a_matching_cached_plan(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    cached = events.where("id >= 250").orderBy("id").limit(10).cache()
    try:
        assert cached.count() == 10
        again = events.where("id >= 250").orderBy("id").limit(10)
        assert "InMemoryTableScan" in physical(again)
        assert rows(again) == rows(cached)
        joined = events.join(cached.select("id"), "id")
        assert len(joined.collect()) == 10
        # the cache does not match another filter over the same table
        assert "InMemoryTableScan" not in physical(events.where("id >= 990"))
    finally:
        cached.unpersist()


MERGED = [
    ("(SELECT avg(id) FROM events)", "(SELECT sum(amount) FROM events)"),
    (
        "(SELECT avg(id) FROM events WHERE id > 505)",
        "(SELECT sum(amount) FROM events WHERE id > 505)",
    ),
    (
        "(SELECT avg(id) FROM events WHERE hash(name) % 3 = 1 AND id < 777)",
        "(SELECT sum(amount) FROM events WHERE hash(name) % 3 = 1 AND id < 777)",
    ),
    ("(SELECT avg(id) + 1 FROM events)", "(SELECT sum(item.sku) FROM events WHERE id IS NOT NULL)"),
]


@pytest.mark.parametrize("subqueries", MERGED[:3])
def test_scalar_subqueries_over_the_same_files_are_merged(
    spark: SparkSession, events: DataFrame, same: Same, subqueries: tuple[str, str]
) -> None:
    frame = same(f"SELECT {', '.join(subqueries)}")
    assert "mergedValue" in physical(frame)


@pytest.mark.parametrize("subqueries", MERGED)
def test_scalar_subqueries_in_any_position(
    spark: SparkSession, events: DataFrame, same: Same, subqueries: tuple[str, str]
) -> None:
    first, second = subqueries
    same(f"SELECT id FROM events WHERE id > {first} AND item.sku < {second}")
    same(f"SELECT {first} + (SELECT max(item.sku) FROM events WHERE id > {first} - 10)")
    same(f"SELECT {first}, {second}, (SELECT max(name) FROM events), (SELECT count(*) FROM events)")


def test_subqueries_over_different_files_are_not_merged(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    frame = same(
        "SELECT (SELECT avg(id) FROM events WHERE id < 50), "
        "(SELECT sum(amount) FROM events WHERE id > 950)"
    )
    assert "mergedValue" not in physical(frame)
    assert sorted(kept(frame)) == [1, 1]


def test_unmerged_subqueries_read_only_their_columns(
    spark: SparkSession, events: DataFrame
) -> None:
    frame = spark.sql(
        "SELECT (SELECT max(name) FROM events WHERE id > 505), "
        "(SELECT sum(amount) FROM events WHERE id > 505)"
    )
    assert "name#" not in " ".join(
        line for line in physical(frame).splitlines() if "amount#" in line and "BatchScan" in line
    )


REUSED = [
    "SELECT a.k, a.n + b.n FROM g a JOIN g b ON a.k = b.k",
    "SELECT k, n FROM g UNION ALL SELECT k, -n FROM g",
]


@pytest.mark.parametrize("query", REUSED)
@pytest.mark.parametrize(
    "view",
    [
        "SELECT id % 10 AS k, count(*) AS n FROM events WHERE id < 300 GROUP BY 1",
        "SELECT id % 10 AS k, count(*) AS n FROM events WHERE hash(name) % 3 = 1 GROUP BY 1",
    ],
)
def test_exchange_is_reused(
    spark: SparkSession, events: DataFrame, same: Same, view: str, query: str
) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.sql(f"CREATE TEMP VIEW g AS {view}")
    assert "ReusedExchange" in physical(same(query))


def test_subquery_is_reused(spark: SparkSession, events: DataFrame, same: Same) -> None:
    average = "(SELECT avg(id) FROM events WHERE id < 300)"
    frame = same(
        f"SELECT id FROM events WHERE id < {average} UNION ALL SELECT 1 WHERE 1 < {average}"
    )
    spark.conf.set("spark.tamis.enabled", "false")
    without = spark.sql(
        f"SELECT id FROM events WHERE id < {average} UNION ALL SELECT 1 WHERE 1 < {average}"
    )
    assert ("ReusedSubquery" in physical(frame)) == ("ReusedSubquery" in physical(without))
