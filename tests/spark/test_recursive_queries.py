"""Recursive queries get no run-time filters in their recursive part.

Spark plans that part again for each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

Same = Callable[[str], "DataFrame"]


@pytest.fixture(scope="module")
def tables(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write nodes, parts and small.

    nodes: a tree of 2,000 nodes, clustered by id. parts: the same, partitioned by p. small: five
    ids.
    """
    root = tmp_path_factory.mktemp("recursion")
    session = spark_session
    nodes = session.range(2000).selectExpr("id", "id div 3 AS parent", "CAST(id % 5 AS INT) AS p")
    nodes.repartitionByRange(20, "id").sortWithinPartitions("id").write.parquet(f"{root}/nodes")
    nodes.write.partitionBy("p").parquet(f"{root}/parts")
    session.range(5).selectExpr("id * 300 AS id", "CAST(id AS INT) AS p").coalesce(1).write.parquet(
        f"{root}/small"
    )
    paths = {name: f"{root}/{name}" for name in ("nodes", "parts", "small")}
    for path in paths.values():
        tamis.index(session, path).build()
    return paths


@pytest.fixture
def views(spark: SparkSession, tables: dict[str, str]) -> SparkSession:
    if not spark.version.startswith(("4.1", "4.2", "4.3")):
        pytest.skip("WITH RECURSIVE needs Spark 4.1")
    for name, path in tables.items():
        read_parquet(spark, path).createOrReplaceTempView(name)
    return spark


STEPS = {
    "inner": "SELECT t.parent, depth + 1 FROM r JOIN nodes t ON t.id = r.n WHERE depth < 3",
    "inner, filtered": "SELECT t.parent, depth + 1 FROM r JOIN nodes t ON t.id = r.n AND t.p + 0 < 4 WHERE depth < 3",
    "left": "SELECT coalesce(t.parent, -1), depth + 1 FROM r LEFT JOIN nodes t ON t.id = r.n WHERE depth < 3",
    "right": "SELECT t.parent, depth + 1 FROM nodes t RIGHT JOIN r ON t.id = r.n WHERE depth < 3",
    "semi": "SELECT n div 3, depth + 1 FROM r LEFT SEMI JOIN nodes t ON t.id = r.n WHERE depth < 3",
    "anti": "SELECT n + 500, depth + 1 FROM r LEFT ANTI JOIN nodes t ON t.id = r.n + 1000 WHERE depth < 3",
    "in": "SELECT n div 3, depth + 1 FROM r WHERE n IN (SELECT id FROM nodes WHERE p < 4) AND depth < 3",
    "exists": "SELECT n div 3, depth + 1 FROM r WHERE EXISTS (SELECT 1 FROM nodes t WHERE t.id = r.n) AND depth < 3",
    "not exists": "SELECT n + 400, depth + 1 FROM r WHERE NOT EXISTS (SELECT 1 FROM nodes t WHERE t.id = r.n + 1500) AND depth < 3",
    "scalar": "SELECT n div 3, depth + 1 FROM r WHERE n < (SELECT max(id) FROM nodes) AND depth < 3",
    "in a join": "SELECT n div 3, depth + 1 FROM r WHERE n IN (SELECT t.id FROM nodes t JOIN small s ON s.p = t.p WHERE s.id < 1000) AND depth < 3",
    "in a join with partitions": "SELECT n div 3, depth + 1 FROM r WHERE n IN (SELECT t.id FROM parts t JOIN small s ON s.p = t.p WHERE s.id < 1000) AND depth < 3",
    "partitions of a static side": "SELECT t.parent, depth + 1 FROM r JOIN parts t ON t.id = r.n JOIN small s ON s.p = t.p WHERE depth < 3 AND s.id < 1000",
    "keys of a static side": "SELECT t.parent, depth + 1 FROM r JOIN nodes t ON t.id = r.n JOIN small s ON s.id = t.id WHERE depth < 3 AND s.p > 1",
    "limit": "SELECT * FROM (SELECT t.parent, depth + 1 FROM r JOIN nodes t ON t.id = r.n WHERE depth < 3 LIMIT 3)",
    "two scans": "SELECT u.parent, depth + 1 FROM r JOIN nodes t ON t.id = r.n JOIN nodes u ON u.id = t.parent WHERE depth < 3",
}


@pytest.mark.parametrize("step", STEPS)
def test_recursive_step_over_a_clustered_table(views: SparkSession, same: Same, step: str) -> None:
    same(f"WITH RECURSIVE r(n, depth) AS (SELECT 777L, 0 UNION ALL {STEPS[step]}) SELECT * FROM r")


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("threshold", ["-1", "10485760"])
def test_recursive_step_with_every_join_strategy(
    views: SparkSession, same: Same, threshold: str, adaptive: str
) -> None:
    views.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    views.conf.set("spark.sql.adaptive.enabled", adaptive)
    same(
        f"WITH RECURSIVE r(n, depth) AS (SELECT 777L, 0 UNION ALL {STEPS['inner']}) SELECT * FROM r"
    )


def test_recursive_step_over_a_partitioned_table(views: SparkSession) -> None:
    # plain Spark fails: it puts dynamic partition pruning into the step
    step = (
        "SELECT t.parent, depth + 1 FROM r JOIN parts t ON t.id = r.n AND t.p = r.n % 5 "
        "WHERE depth < 3"
    )
    statement = "WITH RECURSIVE r(n, depth) AS (SELECT 777L, 0 UNION ALL {}) SELECT * FROM r"
    expected = views.sql(statement.format(STEPS["inner"]))
    assert rows(views.sql(statement.format(step))) == rows(expected)


def test_anchor_that_scans_a_table(views: SparkSession, same: Same) -> None:
    same(
        "WITH RECURSIVE r(n, depth) AS (SELECT id, 0 FROM nodes WHERE id > 1990 UNION ALL "
        f"{STEPS['inner']}) SELECT n, count(*) FROM r GROUP BY n"
    )


def test_join_above_the_recursion(views: SparkSession, same: Same) -> None:
    same(
        f"WITH RECURSIVE r(n, depth) AS (SELECT 777L, 0 UNION ALL {STEPS['inner']}) "
        "SELECT t.id, t.p, depth FROM r JOIN nodes t ON t.id = r.n"
    )


def test_run_time_keys_are_added_only_outside_of_the_recursion(views: SparkSession) -> None:
    views.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")

    def has_condition(statement: str) -> bool:
        plan = views.sql(statement)._jdf.queryExecution().optimizedPlan().toString()
        return "runtimecondition" in plan.lower()

    static = "SELECT t.* FROM nodes t JOIN small s ON s.id = t.id WHERE s.p > 1"
    assert has_condition(static)
    step = f"SELECT t.parent, depth + 1 FROM r JOIN ({static}) t ON t.id = r.n WHERE depth < 3"
    assert not has_condition(
        f"WITH RECURSIVE r(n, depth) AS (SELECT 777L, 0 UNION ALL {step}) SELECT * FROM r"
    )
