"""Exact filters stay where a later rule of Spark reads them, and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet, scans

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]

# A Bloom filter requires a large scan and a shuffled join, and these tables are small.
BLOOM = {
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
NO_TAMIS_KEYS = {"spark.tamis.runtimeFilters.enabled": "false"}


@pytest.fixture(scope="module")
def paths(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write fact, sorted, dim, shop and parts.

    fact: keys in all files. sorted: the same rows, clustered by k. dim, shop: one day or town per
    file. parts: partitioned by p.
    """
    root = tmp_path_factory.mktemp("used_filters")
    session = spark_session
    fact = session.range(4000).selectExpr(
        "CAST(hash(id) % 200 AS INT) AS k", "CAST(id % 50 AS INT) AS s", "id AS v"
    )
    fact.repartition(4).write.parquet(f"{root}/fact")
    fact.repartitionByRange(8, "k").write.parquet(f"{root}/sorted")
    session.range(200).selectExpr(
        "CAST(id AS INT) AS k", "CAST(id % 10 AS INT) AS day", "id % 8 AS p", "id AS w",
        "concat('d', id % 10) AS name", "id % 10 = 3 AS chosen",
    ).repartitionByRange(10, "day").write.parquet(f"{root}/dim")  # fmt: skip
    session.range(50).selectExpr(
        "CAST(id AS INT) AS s", "CAST(id % 5 AS INT) AS town"
    ).repartitionByRange(5, "town").write.parquet(f"{root}/shop")
    session.range(800).selectExpr("id AS v", "id % 8 AS p").write.partitionBy("p").parquet(
        f"{root}/parts"
    )
    paths_by_name = {name: f"{root}/{name}" for name in ("fact", "sorted", "dim", "shop", "parts")}
    for path in paths_by_name.values():
        tamis.index(session, path).build()
    return paths_by_name


@pytest.fixture
def views(spark: SparkSession, paths: dict[str, str]) -> SparkSession:
    for name, path in paths.items():
        read_parquet(spark, path).createOrReplaceTempView(name)
    return spark


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[Callable[[dict[str, str]], None]]:
    """Set confs, and unset them afterwards."""
    keys: list[str] = []

    def set_all(confs: dict[str, str]) -> None:
        for key, value in confs.items():
            keys.append(key)
            spark.conf.set(key, value)

    yield set_all
    for key in keys:
        spark.conf.unset(key)


def optimized(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().optimizedPlan().toString())


def runtime_filters(frame: DataFrame) -> dict[str, int]:
    plan = optimized(frame)
    return {"bloom": plan.count("might_contain("), "partitions": plan.count("dynamicpruning#")}


def filters_with_tamis_off(spark: SparkSession, statement: str) -> dict[str, int]:
    spark.conf.set("spark.tamis.enabled", "false")
    try:
        return runtime_filters(spark.sql(statement))
    finally:
        spark.conf.set("spark.tamis.enabled", "true")


def conjuncts(frame: DataFrame) -> dict[str, str]:
    """Return how each conjunct of every scan is pushed, without IS NOT NULL."""
    return {
        c["sql"]: c["pushdown"]
        for scan in scans(frame)
        for c in scan["conjuncts"]
        if "IS NOT NULL" not in c["sql"]
    }


BLOOM_QUERIES = {
    "one join": "SELECT sum(f.v + d.w) FROM fact f JOIN dim d ON f.k = d.k WHERE d.day = 3",
    "the filter's column is read": "SELECT f.v, d.day FROM fact f JOIN dim d ON f.k = d.k WHERE d.day = 3",
    "several conjuncts": "SELECT sum(f.v) FROM fact f JOIN dim d ON f.k = d.k "
    "WHERE d.day BETWEEN 3 AND 4 AND d.name IN ('d3', 'd4')",
    "two dimensions": "SELECT sum(f.v) FROM fact f JOIN dim d ON f.k = d.k JOIN shop s ON f.s = s.s "
    "WHERE d.day = 3 AND s.town = 1",
    "the filter lies below another join": "SELECT count(*) FROM fact f JOIN "
    "(SELECT d.k FROM dim d JOIN shop s ON d.k = s.s WHERE s.town = 1) x ON f.k = x.k",
    "right outer join": "SELECT count(f.v) FROM fact f RIGHT JOIN dim d ON f.k = d.k WHERE d.day = 3",
    "null-safe equality": "SELECT count(*) FROM fact f JOIN dim d ON f.k <=> d.k WHERE d.day = 3",
    "self-join": "SELECT count(*) FROM dim a JOIN dim b ON a.k = b.k WHERE b.day = 3",
    "IN": "SELECT sum(v) FROM fact WHERE k IN (SELECT k FROM dim WHERE day = 3)",
    "EXISTS": "SELECT sum(v) FROM fact f WHERE EXISTS (SELECT 1 FROM dim d WHERE d.k = f.k AND day = 3)",
    "the outer side of IN": "SELECT sum(w) FROM dim WHERE day = 3 AND k IN (SELECT k FROM fact)",
    "aggregate on the pruned side": "SELECT * FROM (SELECT k, sum(v) FROM fact GROUP BY k) f "
    "JOIN dim d ON f.k = d.k WHERE d.day = 3",
    "window on the pruned side": "SELECT * FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v)"
    " AS n FROM fact) f JOIN dim d ON f.k = d.k WHERE d.day = 3",
    "inside a subquery": "SELECT (SELECT sum(f.v) FROM fact f JOIN dim d ON f.k = d.k WHERE d.day = 3)",
    "union above": "SELECT v FROM fact f JOIN dim d ON f.k = d.k WHERE d.day = 3 UNION ALL SELECT v FROM parts",
}


@pytest.mark.parametrize("name", BLOOM_QUERIES)
def test_join_gets_the_bloom_filters_of_plain_spark(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None], name: str
) -> None:
    settings(BLOOM | NO_TAMIS_KEYS)
    statement = BLOOM_QUERIES[name]
    plain = filters_with_tamis_off(views, statement)
    assert plain["bloom"] > 0
    assert runtime_filters(same(statement))["bloom"] >= plain["bloom"]


@pytest.mark.parametrize("name", BLOOM_QUERIES)
def test_join_on_a_clustered_key_gets_the_bloom_filters_of_plain_spark(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None], name: str
) -> None:
    # Dynamic partition pruning by the key would replace the Bloom filter, and do nothing in a
    # shuffled join.
    settings(BLOOM)
    statement = BLOOM_QUERIES[name].replace("fact", "sorted")
    plain = filters_with_tamis_off(views, statement)
    assert plain["bloom"] > 0
    assert runtime_filters(same(statement))["bloom"] >= plain["bloom"]


def test_clustered_key_is_left_to_a_bloom_filter_if_the_other_side_is_too_large_to_broadcast(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None]
) -> None:
    # tamis does not compute the keys of this side in advance, because of rand().
    statement = (
        "SELECT sum(f.v) FROM sorted f JOIN (SELECT k, w + rand() AS n FROM dim "
        "WHERE day BETWEEN 3 AND 6) d ON f.k = d.k AND f.v < d.n + 5000"
    )
    settings(BLOOM | {"spark.sql.autoBroadcastJoinThreshold": "500"})
    plain = filters_with_tamis_off(views, statement)
    assert plain["bloom"] > 0
    assert runtime_filters(same(statement))["bloom"] >= plain["bloom"]


ONE_JOIN = "SELECT sum(f.v) FROM sorted f JOIN dim d ON f.k = d.k WHERE d.day = 3"
BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "10485760"}
PRUNED_BY_BROADCAST = {
    "the join is broadcast": (ONE_JOIN, BLOOM | BROADCAST),
    "by hint": (ONE_JOIN.replace("SELECT", "SELECT /*+ BROADCAST(d) */"), BLOOM),
    "a subquery of its own": (
        ONE_JOIN,
        BLOOM | {"spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false"},
    ),
    "no scan is large enough for a Bloom filter": (ONE_JOIN, {}),
    "one of two joins is broadcast": (
        "SELECT /*+ BROADCAST(e) */ sum(f.v) FROM sorted f JOIN dim d ON f.k = d.k "
        "JOIN dim e ON f.k = e.k WHERE d.day = 3 AND e.day = 3",
        BLOOM,
    ),
}


@pytest.mark.parametrize("name", PRUNED_BY_BROADCAST)
def test_clustered_key_is_pruned_by_keys_that_spark_can_provide(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None], name: str
) -> None:
    statement, confs = PRUNED_BY_BROADCAST[name]
    settings(confs)
    assert runtime_filters(same(statement))["partitions"] >= 1


def test_aggregate_below_a_broadcast_join_keeps_its_bloom_filter(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None]
) -> None:
    settings({**BLOOM, **NO_TAMIS_KEYS, "spark.sql.autoBroadcastJoinThreshold": "10485760"})
    statement = BLOOM_QUERIES["aggregate on the pruned side"]
    assert filters_with_tamis_off(views, statement)["bloom"] == 1
    assert runtime_filters(same(statement))["bloom"] == 1


BROADCAST_OFF = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
PARTITION_QUERIES = {
    "one join": ("SELECT * FROM parts JOIN dim ON parts.p = dim.p WHERE dim.day = 3", {}),
    "broadcast by hint": (
        "SELECT /*+ BROADCAST(d) */ * FROM parts JOIN dim d ON parts.p = d.p WHERE d.day = 3",
        BROADCAST_OFF,
    ),
    "a subquery of its own": (
        "SELECT * FROM parts JOIN dim d ON parts.p = d.p WHERE d.day = 3",
        {
            **BROADCAST_OFF,
            "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false",
        },
    ),
    "IN": ("SELECT * FROM parts WHERE p IN (SELECT p FROM dim WHERE day = 3)", {}),
    "the outer side of IN": ("SELECT w FROM dim WHERE day = 3 AND p IN (SELECT p FROM parts)", {}),
    "aggregate on the filtered side": (
        "SELECT * FROM parts JOIN (SELECT p, max(w) FROM dim WHERE day = 3 GROUP BY p) d ON parts.p = d.p",
        {},
    ),
    "left outer join": (
        "SELECT * FROM dim LEFT JOIN parts ON parts.p = dim.p WHERE dim.day = 3",
        {},
    ),
}


@pytest.mark.parametrize("name", PARTITION_QUERIES)
def test_join_gets_the_partition_pruning_of_plain_spark(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None], name: str
) -> None:
    statement, confs = PARTITION_QUERIES[name]
    settings(confs | NO_TAMIS_KEYS)
    plain = filters_with_tamis_off(views, statement)
    assert plain["partitions"] > 0
    assert runtime_filters(same(statement))["partitions"] >= plain["partitions"]


NOT_LEFT = {
    "no join": "SELECT sum(w) FROM dim WHERE day = 3",
    "limit": "SELECT w FROM dim WHERE day = 3 LIMIT 5",
    "top-k": "SELECT w FROM dim WHERE day = 3 ORDER BY w LIMIT 5",
    "scalar subquery": "SELECT (SELECT sum(w) FROM dim WHERE day = 3)",
    "no equality": "SELECT count(*) FROM fact f JOIN dim d ON f.k < d.k WHERE d.day = 3",
    "rows without a partner are kept": "SELECT count(*) FROM fact f LEFT JOIN dim d ON f.k = d.k AND d.day = 3",
    "anti join": "SELECT count(*) FROM fact f WHERE NOT EXISTS "
    "(SELECT 1 FROM shop s WHERE s.s = f.s) AND f.v >= 0",
    "cross join": "SELECT count(*) FROM fact f CROSS JOIN dim d WHERE d.day = 3",
}


@pytest.mark.parametrize("name", NOT_LEFT)
def test_exact_filter_leaves_where_no_rule_can_use_it(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None], name: str
) -> None:
    settings(BLOOM)
    frame = same(NOT_LEFT[name])
    assert set(conjuncts(frame).values()) <= {"exact"}


UNMET = {
    "the other side is small": {"spark.sql.autoBroadcastJoinThreshold": "-1"},
    "Bloom filters are off": {**BLOOM, "spark.sql.optimizer.runtime.bloomFilter.enabled": "false"},
    "the filtered side is large": {
        **BLOOM,
        "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "1",
    },
    "the join is broadcast": {**BLOOM, "spark.sql.autoBroadcastJoinThreshold": "10485760"},
}


@pytest.mark.parametrize("name", UNMET)
def test_exact_filter_leaves_where_a_threshold_is_not_met(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None], name: str
) -> None:
    settings(UNMET[name])
    statement = BLOOM_QUERIES["one join"]
    assert filters_with_tamis_off(views, statement) == {"bloom": 0, "partitions": 0}
    assert set(conjuncts(same(statement)).values()) == {"exact"}


def test_only_the_cheapest_exact_conjunct_stays(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None]
) -> None:
    settings(BLOOM)
    pushed = conjuncts(same(BLOOM_QUERIES["several conjuncts"]))
    left = [sql for sql, how in pushed.items() if how == "inexact"]
    assert left == ["(day >= 3)"]


def test_no_exact_conjunct_stays_beside_a_residual(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None]
) -> None:
    settings(BLOOM)
    statement = (
        "SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k WHERE d.day = 3 AND d.w % 20 > 4"
    )
    pushed = conjuncts(same(statement))
    assert pushed["(day = 3)"] == "exact"
    assert [sql for sql, how in pushed.items() if how != "exact"] != []


def test_filter_that_spark_would_not_repeat_does_not_stay(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None]
) -> None:
    # A residual with LIKE makes the filter too expensive for a Bloom filter, with or without
    # another conjunct.
    settings(BLOOM)
    statement = (
        "SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k "
        "WHERE d.day = 3 AND CAST(d.w AS STRING) LIKE '1_3%'"
    )
    assert filters_with_tamis_off(views, statement)["bloom"] == 0
    assert conjuncts(same(statement))["(day = 3)"] == "exact"


def test_predicate_that_spark_considers_unselective_does_not_stay(
    views: SparkSession, same: Same, settings: Callable[[dict[str, str]], None]
) -> None:
    settings(BLOOM)
    statement = "SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k WHERE d.chosen"
    assert filters_with_tamis_off(views, statement)["bloom"] == 0
    assert set(conjuncts(same(statement)).values()) == {"exact"}


def test_keys_of_a_join_with_several_bloom_filters(
    spark: SparkSession,
    settings: Callable[[dict[str, str]], None],
    same: Same,
    tmp_path: Path,
) -> None:
    # The keys of `large` come from a query with two Bloom filters, whose subqueries Spark merges.
    columns = {"large": ["id", "uuid() AS v"], "small": ["id", "CAST(id % 30 AS INT) AS a"]}
    for name, rows, files in (("large", 2000, 4), ("small", 50, 2)):
        path = str(tmp_path / name)
        spark.range(0, rows, 1, files).selectExpr(*columns[name]).write.parquet(path)
        tamis.index(spark, path).build()
        read_parquet(spark, path).createOrReplaceTempView(name)
    settings(BLOOM | {"spark.sql.cbo.enabled": "true"})
    frame = same(
        "SELECT v FROM (SELECT nvl2(l.a, r.id, 0) AS x FROM (SELECT * FROM small WHERE id >= 10) l "
        "LEFT JOIN (SELECT * FROM small WHERE abs(a) < 9) r ON l.a <=> r.id) q "
        "JOIN large ON q.x = large.id"
    )
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("might_contain") >= 2
    assert "keymembership" in plan
