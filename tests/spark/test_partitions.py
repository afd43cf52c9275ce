"""Hive partitions without any index: partition values alone are statistics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.conftest import scans, sql_tab

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[..., "DataFrame"]


@pytest.fixture(scope="module")
def written(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the same rows as Parquet and ORC, in a directory whose name has a space."""
    folder = tmp_path_factory.mktemp("sales data")
    frame = spark_session.range(120).selectExpr(
        "id",
        "IF(id % 12 = 11, NULL, 1990 + id % 12) AS year",
        "concat('r', id % 3, IF(id % 2 = 0, ' =%', '')) AS region",
    )
    for kind in ("parquet", "orc"):
        frame.write.partitionBy("year", "region").format(kind).save(str(folder / kind))
    return folder


@pytest.fixture
def sales(spark: SparkSession, written: Path) -> str:
    """Register the view `sales` of the Parquet files, and return their path."""
    path = str(written / "parquet")
    spark.read.parquet(path).createOrReplaceTempView("sales")
    return path


# predicate | files kept of 12, one per partition | whether every conjunct is exact
CASES = [
    ("year = 1995", 1, True),
    ("year BETWEEN 1993 AND 1994", 2, True),
    ("year IS NULL", 1, True),
    ("year <=> NULL", 1, True),
    ("NOT (year > 1991)", 2, True),
    ("year IN (1990, NULL, 2005)", 1, True),
    ("year NOT IN (1990, 1991)", 9, True),
    ("year = 1995 OR region = 'r1'", 3, True),
    ("region = 'r0 =%'", 2, True),
    ("substring(region, 2, 1) = '2'", 4, True),  # Spark itself evaluates it on the values
    ("year + 1 = 1996 AND region LIKE 'r%'", 1, True),
    ("year = 1995 AND id > 50", 1, False),
    ("year = 1995 OR id = 3", 12, False),
    ("(year = 1995 AND id > 50) OR (year = 1993 AND id < 50)", 2, False),
]


@pytest.mark.parametrize(("predicate", "files", "exact"), CASES)
def test_partition_values_prune(
    spark: SparkSession, sales: str, same: Same, predicate: str, files: int, exact: bool
) -> None:
    frame = same(f"SELECT id, year, region FROM sales WHERE {predicate}", unchanged=True)
    (scan,) = scans(frame)
    assert (scan["files_kept"], scan["files_total"]) == (files, 12)
    assert ({c["pushdown"] for c in scan["conjuncts"]} == {"exact"}) == exact


# the value is known when the query runs; files of 12 that plain Spark reads
AT_RUN_TIME = [
    ("year = (SELECT max(id) + 1984 FROM range(12))", 1),
    ("year + 1 > (SELECT max(id) + 1988 FROM range(12)) AND id > 3", 2),
    ("(year = (SELECT max(id) + 1984 FROM range(12)) AND id > 3) OR year = 1990", 2),
    ("CAST(year AS TINYINT) = (SELECT max(id) FROM range(12))", None),
    ("id > (SELECT max(id) FROM range(12))", 12),
]


@pytest.mark.parametrize("setting", ["mode=observe", "runtimeFilters.enabled=false", "python=gone"])
def test_partitions_are_pruned_as_in_plain_spark_whatever_the_settings(
    spark: SparkSession,
    sales: str,
    same: Same,
    request: pytest.FixtureRequest,
    setting: str,
) -> None:
    from pyspark.errors import PySparkException

    if setting == "python=gone":
        request.getfixturevalue("no_sidecar")
    else:
        key, value = setting.split("=")
        spark.conf.set(f"spark.tamis.{key}", value)
    for predicate, files in [(case[0], case[1]) for case in CASES] + AT_RUN_TIME:
        statement = f"SELECT id, year, region FROM sales WHERE {predicate}"
        if files is None:
            with pytest.raises(PySparkException, match="CAST_OVERFLOW"):
                spark.sql(statement).collect()
        else:
            same(statement, unchanged=True)
            assert sql_tab(spark)["files read after run-time filters"] == [files], predicate


MIXED = "((s.year = 1995 AND s.id > 50) OR s.year = 1993)"
LATEST = "s.year = (SELECT max(id) + 1984 FROM range(12))"
SHAPES = [
    "SELECT s.id, r.id FROM sales s LEFT JOIN sales r ON s.id = r.id + 1 AND r.year = 1995 WHERE {c}",
    "SELECT s.id, r.id FROM sales r LEFT JOIN (SELECT * FROM sales s WHERE {c}) s ON s.id = r.id",
    "SELECT s.id, r.id FROM sales r FULL JOIN (SELECT * FROM sales s WHERE {c}) s ON s.id = r.id",
    "SELECT id FROM sales r WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.id = r.id AND {c})",
    "SELECT id FROM sales r WHERE id NOT IN (SELECT s.id FROM sales s WHERE {c})",
    "SELECT id FROM sales s WHERE {c} UNION ALL SELECT id FROM sales WHERE year = 1991",
    "SELECT year, region, count(*) FROM sales s WHERE {c} GROUP BY GROUPING SETS ((year), (region), ())",
    "SELECT id, rank() OVER (PARTITION BY year ORDER BY id) FROM sales s WHERE {c}",
    "SELECT count(*), min(id), max(year) FROM sales s WHERE {c}",
    "SELECT id FROM sales s WHERE {c} ORDER BY id DESC LIMIT 3",
    "WITH w AS (SELECT * FROM sales s WHERE {c}) SELECT a.id, b.id FROM w a JOIN w b ON a.id = b.id",
]


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("reader", ["parquet", "orc"])
@pytest.mark.parametrize("condition", [MIXED, LATEST])
def test_shapes_of_plans_return_the_same_rows(
    spark: SparkSession, written: Path, same: Same, condition: str, reader: str, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.read.format(reader).load(str(written / reader)).createOrReplaceTempView("sales")
    for shape in SHAPES:
        same(shape.format(c=condition), unchanged=True)


def test_catalog_partitions_prune(spark: SparkSession, sales: str, same: Same) -> None:
    spark.sql(
        f"CREATE TABLE s (id BIGINT, year INT, region STRING) USING parquet "
        f"PARTITIONED BY (year, region) LOCATION '{sales}'"
    )
    spark.sql("MSCK REPAIR TABLE s")
    same("SELECT * FROM s WHERE year = 1995")
    same("SELECT * FROM s WHERE year = 1995 OR id < 3")
    spark.sql("ALTER TABLE s DROP PARTITION (year = 1995, region = 'r2')")
    assert same("SELECT count(*) FROM s WHERE year = 1995").first()[0] == 0


def test_dynamic_partition_pruning_still_works(spark: SparkSession, sales: str, same: Same) -> None:
    years = "SELECT CAST(1990 + id AS INT) AS year, id AS k FROM range(12)"
    spark.sql(years).createOrReplaceTempView("years")
    statement = (
        "SELECT s.id FROM sales s JOIN (SELECT * FROM years WHERE k = 3) y ON s.year = y.year"
    )
    frame = same(statement)
    assert "dynamicpruning" in str(frame._jdf.queryExecution().executedPlan().toString())
    for _ in range(2):  # the second run meets the cached state of the first
        spark.sql(statement).collect()
        shown = sql_tab(spark)
        kept = shown["files kept"]
        read = shown["files read after run-time filters"]
        assert 0 < min(read) <= max(kept) // 6, shown


def test_scans_with_and_without_a_run_time_filter(
    spark: SparkSession, sales: str, same: Same
) -> None:
    spark.sql(
        "SELECT CAST(1990 + id AS INT) AS year, id AS k FROM range(12)"
    ).createOrReplaceTempView("years")
    same(
        "WITH s AS (SELECT * FROM sales WHERE id < 100), "
        "j AS (SELECT s.id, s.year FROM s JOIN years y ON s.year = y.year WHERE y.k = 3) "
        "SELECT (SELECT count(*) FROM s) AS everything, (SELECT count(*) FROM j) AS some, count(*) "
        "FROM s JOIN j ON s.id = j.id"
    )


OPERATORS = ("=", "<>", "<", ">=", "<=>")


@pytest.mark.parametrize(
    "kind", ["DATE", "TIMESTAMP", "DOUBLE", "DECIMAL(9,2)", "BOOLEAN", "STRING"]
)
def test_partition_columns_of_types_prune(
    spark: SparkSession, folder: str, same: Same, kind: str
) -> None:
    values = {
        "DATE": ["1969-12-31", "2024-02-29"],
        "TIMESTAMP": ["1969-12-31 23:59:59.5", "2024-03-10 02:30:00"],
        "DOUBLE": ["-0.0", "1.5", "NaN"],
        "DECIMAL(9,2)": ["-1.50", "2.00"],
        "BOOLEAN": ["true", "false"],
        "STRING": ["a/b", "ü"],
    }[kind]
    spark.sql(f"CREATE TABLE p (id BIGINT, v {kind}) USING parquet PARTITIONED BY (v)")
    rows_of_files = [
        f"({number}, {'NULL' if value is None else repr(value)})"
        for number, value in enumerate([*values, None])
    ]
    inserted = f"VALUES {', '.join(rows_of_files)} AS given (id, v)"
    spark.sql(f"INSERT INTO p SELECT id, CAST(v AS {kind}) FROM {inserted}")
    for value in values:
        compared = [f"v {operator} CAST('{value}' AS {kind})" for operator in OPERATORS]
        branches = [
            f"SELECT {n} AS branch, * FROM p WHERE {condition}"
            for n, condition in enumerate(compared + [f"{each} OR id = 0" for each in compared])
        ]
        same(" UNION ALL ".join(branches))
    same("SELECT * FROM p WHERE v IS NULL OR id = 1")


@pytest.mark.parametrize("clustered", ["", "CLUSTERED BY (id) INTO 2 BUCKETS"])
def test_partition_filter_that_raises_fails_as_in_plain_spark(
    spark: SparkSession, clustered: str
) -> None:
    from pyspark.errors import PySparkException

    spark.sql(f"CREATE TABLE p (id BIGINT, v INT) USING parquet PARTITIONED BY (v) {clustered}")
    spark.sql("INSERT INTO p VALUES (1, 5), (2, 1995)")
    before = list(spark._jvm.io.tamis.Tamis.warnings())
    for enabled in ("false", "true"):
        spark.conf.set("spark.tamis.enabled", enabled)
        with pytest.raises(PySparkException, match="CAST_OVERFLOW"):
            spark.sql("SELECT id FROM p WHERE CAST(v AS TINYINT) > 3").collect()
    assert list(spark._jvm.io.tamis.Tamis.warnings()) == before
