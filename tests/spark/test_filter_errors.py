"""An error of a filter is raised with tamis as without, unless the filter rules the file out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import read_parquet

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def table(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a from 0 to 9, one file each.

    s is a as text, but 'x' where a is 6. `five` is a table of one row.
    """
    path = str(tmp_path_factory.mktemp("errors") / "t")
    rows = spark_session.range(10).selectExpr(
        "CAST(id AS INT) AS a",
        "CAST(id % 3 AS INT) AS b",
        "if(id = 6, 'x', CAST(id AS STRING)) AS s",
    )
    rows.repartitionByRange(10, "a").write.parquet(path)
    tamis.index(spark_session, path).build()
    # Spark infers nothing from a value that lies in a file
    spark_session.range(5, 6).selectExpr("CAST(id AS INT) AS a").write.parquet(f"{path}5")
    tamis.index(spark_session, f"{path}5").build()
    return path


@pytest.fixture
def views(spark: SparkSession, table: str) -> SparkSession:
    read_parquet(spark, table).createOrReplaceTempView("t")
    read_parquet(spark, f"{table}5").createOrReplaceTempView("five")
    return spark


def outcome(spark: SparkSession, enabled: bool, statement: str) -> Any:
    """Return the rows, or the class of the error."""
    from pyspark.errors import PySparkException

    spark.conf.set("spark.tamis.enabled", str(enabled).lower())
    try:
        return sorted(tuple(row) for row in spark.sql(statement).collect())
    except PySparkException as error:
        return error.getCondition() or str(error).splitlines()[0]


# Plain Spark fails in each of them: a filter raises for a row that a goal does not need.
RAISING = [
    "SELECT max(a) FROM t WHERE 10 / (a - 3) > 1",
    "SELECT min(a) FROM t WHERE 10 / (a - 8) < 0",
    "SELECT min(a), max(a) FROM t WHERE CAST(s AS INT) >= 0",
    "SELECT a FROM t WHERE 10 / (a - 3) > 1 ORDER BY a DESC LIMIT 1",
    "SELECT a FROM t WHERE CAST(s AS INT) < 100 ORDER BY a LIMIT 2",
    "SELECT t.a FROM t JOIN five ON t.a = five.a WHERE 10 / (t.a - 3) > 1",
    "SELECT t.a FROM t JOIN five ON t.a = five.a AND 10 / (t.a - 3) > 1",
    "SELECT a FROM t WHERE 10 / (a - 3) > 1 AND a IN (SELECT a FROM five)",
    "SELECT count(*) FROM t WHERE 10 / (a - 3) > 1",
    "SELECT 1 FROM t WHERE 10 / (a - 3) > 1 HAVING 1 < 2",
    "SELECT b, max(a) FROM t WHERE 10 / (a - 3) > 1 GROUP BY b",
]

# The filter itself rules out the file, or proves that no row raises.
ANSWERED = [
    "SELECT max(a) FROM t WHERE a > 4 AND 10 / (a - 3) > 1",
    "SELECT a FROM t WHERE 10 / (a + 1) > 1 ORDER BY a DESC LIMIT 1",
    "SELECT max(a) FROM t WHERE a + 1 > 3",
    "SELECT t.a FROM t JOIN five ON t.a = five.a WHERE 10 / (t.a + 1) > 1",
    "SELECT max(a) FROM t WHERE try_divide(10, a - 3) > 1",
]


# Plain Spark fails in each of them. The expression is not a filter of the scan, and a join leaves
# out the file with a = 3.
NOT_A_FILTER_OF_THE_SCAN = [
    "SELECT a FROM t JOIN five USING (a) WHERE 10 / (a - 3) > (SELECT min(a) - 9 FROM five)",
    "SELECT t.a FROM t JOIN v ON t.b = v.b AND 10 / (t.a - 3) > v.c JOIN five ON t.a = five.a",
]

# The same expressions below a goal that leaves out no file.
RAISING_BELOW_A_GOAL = [
    "SELECT a FROM t WHERE 10 / (a - 3) > (SELECT min(a) - 9 FROM five) ORDER BY a DESC LIMIT 1",
    "SELECT max(a) FROM t WHERE 10 / (a - 3) > (SELECT min(a) - 9 FROM five)",
    "SELECT t.a FROM t JOIN v ON t.b = v.b AND 10 / (t.a - 3) > v.c ORDER BY t.a DESC LIMIT 1",
    "SELECT a FROM t GROUP BY a HAVING 10 / (max(a) - 3) > 1 ORDER BY a DESC LIMIT 1",
    "SELECT a FROM (SELECT a FROM t GROUP BY a HAVING 10 / (a - 3) > 1) JOIN five USING (a)",
    "SELECT a FROM (SELECT a FROM t GROUP BY a HAVING 10 / (max(a) - 3) > 1) JOIN five USING (a)",
]


def test_aggregates_of_a_part_of_a_group_do_not_raise(spark: SparkSession, tmp_path: Path) -> None:
    """The join drops the group of k = 5, whose rows are in both files and whose sum is 2."""
    for name, keys, values in (("a", [1, 5], [1, 2]), ("b", [5, 10], [0, 1])):
        pq.write_table(pa.table({"k": keys, "x": values}), tmp_path / f"{name}.parquet")
    tamis.index(spark, str(tmp_path)).build()
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("cut")
    spark.range(8, 11).toDF("k").createOrReplaceTempView("keys")
    for statement in (
        "SELECT g.k, g.r FROM (SELECT k, 10 / sum(x) AS r FROM cut GROUP BY k) g JOIN keys USING (k)",
        "SELECT k, (SELECT 10 / sum(x) FROM cut WHERE cut.k = keys.k) AS r FROM keys WHERE k > 9",
    ):
        assert [(row.k, row.r) for row in spark.sql(statement).collect()] == [(10, 10.0)]


@pytest.mark.parametrize("statement", NOT_A_FILTER_OF_THE_SCAN)
def test_other_expression_does_not_keep_a_file(views: SparkSession, statement: str) -> None:
    views.range(3).selectExpr("CAST(id AS INT) AS b", "id - 200 AS c").createOrReplaceTempView("v")
    views.conf.set("spark.tamis.runtimeFilters.enabled", "false")
    assert outcome(views, False, statement) == "DIVIDE_BY_ZERO"
    assert len(outcome(views, True, statement)) == 1


@pytest.mark.parametrize("statement", RAISING_BELOW_A_GOAL)
def test_other_expression_below_a_goal_raises(views: SparkSession, statement: str) -> None:
    views.range(3).selectExpr("CAST(id AS INT) AS b", "id - 200 AS c").createOrReplaceTempView("v")
    views.conf.set("spark.tamis.runtimeFilters.enabled", "false")
    assert outcome(views, False, statement) == "DIVIDE_BY_ZERO"
    assert outcome(views, True, statement) == "DIVIDE_BY_ZERO"


@pytest.mark.parametrize("statement", RAISING)
def test_error_of_a_filter_is_raised(views: SparkSession, statement: str) -> None:
    # Run-time filters skip files like Spark's own dynamic pruning, whether or not a filter raises.
    views.conf.set("spark.tamis.runtimeFilters.enabled", "false")
    off = outcome(views, False, statement)
    assert off == ("CAST_INVALID_INPUT" if "CAST(s" in statement else "DIVIDE_BY_ZERO")
    assert outcome(views, True, statement) == off


@pytest.mark.parametrize("statement", ANSWERED)
def test_filter_without_errors_is_answered(views: SparkSession, statement: str) -> None:
    assert outcome(views, True, statement) == outcome(views, False, statement)


def test_file_ruled_out_by_the_filter_raises_nothing(views: SparkSession) -> None:
    # plain Spark evaluates both conjuncts on the row with a = 3
    statement = "SELECT a FROM t WHERE 10 / (a - 3) > 1 AND a > 4"
    assert outcome(views, True, statement) == [(5,), (6,), (7,), (8,), (9,)]
