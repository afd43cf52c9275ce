"""ORC, CSV and JSON with an index: Spark's own scan lists only the files that a query needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import kept, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]
SCHEMA = "id LONG, day DATE, name STRING, amount DECIMAL(12, 2)"


@pytest.fixture(params=["orc", "csv", "json"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def reader(spark: SparkSession, kind: str) -> Any:
    return spark.read.format(kind).schema(SCHEMA)


def write(spark: SparkSession, events: DataFrame, kind: str, path: str) -> None:
    """Write 1,000 rows in 10 files by id, with an index."""
    rows = events.select("id", "day", "name", "amount").repartitionByRange(10, "id")
    rows.sortWithinPartitions("id").write.format(kind).save(path)
    tamis.index(spark, path, reader=reader(spark, kind)).build()


@pytest.fixture
def path(spark: SparkSession, events: DataFrame, kind: str, folder: str) -> str:
    """Write a table for this test only, registered as the view `t`."""
    path = f"{folder}/{kind}"
    write(spark, events, kind, path)
    reader(spark, kind).load(path).createOrReplaceTempView("t")
    return path


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the tables that no test changes."""
    return tmp_path_factory.mktemp("unchanged")


@pytest.fixture
def table(spark: SparkSession, events: DataFrame, kind: str, unchanged: Path) -> None:
    """Register the view `t` of a table that no test changes."""
    path = unchanged / kind
    if not path.exists():
        write(spark, events, kind, str(path))
    reader(spark, kind).load(str(path)).createOrReplaceTempView("t")


# condition | files kept; None: the scan is left to Spark
CASES = [
    ("id = 555", [1]),
    ("id >= 250 AND id < 750", [6]),
    ("id < 0", [0]),
    ("year(day) = 1996", [5]),
    ("id = 5 OR name = 'n0999'", [2]),
    ("name LIKE 'n03%'", [1]),
    ("amount > 1400 AND hash(name) % 2 = 0", [1]),
    ("id IS NULL", [0]),
    ("amount IS NULL", None),
    ("hash(name) % 2 = 0", None),
]


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("condition", "files"), CASES)
def test_conditions_keep_the_expected_files(
    same: Same, condition: str, files: list[int] | None
) -> None:
    frame = same(f"SELECT id, name FROM t WHERE {condition}")
    assert kept(frame) == (files or [])
    same(f"SELECT count(*), max(name) FROM t WHERE {condition}")


@pytest.mark.usefixtures("table")
def test_proven_predicate_leaves_the_plan(same: Same, kind: str) -> None:
    frame = same("SELECT name FROM t WHERE id >= 500")
    [scan] = scans(frame)
    answers = {c["pushdown"] for c in scan["conjuncts"]}
    # with a filter pushed to it, Spark's JSON parser may lose matching rows
    assert answers == ({"inexact"} if kind == "json" else {"exact"})
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert ("Filter" in plan) == (kind == "json")


def test_null_structs_of_orc_give_the_rows_of_plain_spark(
    spark: SparkSession, folder: str, same: Same
) -> None:
    """Spark's ORC reader loses the rows of `s.a IS NULL` whose struct is NULL, and they stay lost."""
    path = f"{folder}/null_structs"
    rows = spark.range(3).selectExpr("id", "CAST(NULL AS STRUCT<a: BIGINT>) AS s")
    rows.coalesce(1).write.orc(path)
    orc = spark.read.schema(rows.schema).format("orc")
    tamis.index(spark, path, reader=orc).build()
    orc.load(path).createOrReplaceTempView("null_structs")
    frame = same("SELECT id FROM null_structs WHERE s.a IS NULL")
    assert {c["pushdown"] for scan in scans(frame) for c in scan["conjuncts"]} <= {"inexact"}


def test_other_reader_options_do_not_use_the_index(
    spark: SparkSession, path: str, same: Same, kind: str
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    assert kept(same("SELECT * FROM t WHERE id = 555")) == []
    spark.conf.unset("spark.sql.session.timeZone")
    spark.read.format(kind).schema("id LONG, day DATE").load(path).createOrReplaceTempView("narrow")
    assert kept(same("SELECT id FROM narrow WHERE id = 555")) == []


def test_new_and_changed_files_are_read(
    spark: SparkSession, path: str, same: Same, kind: str
) -> None:
    more = spark.range(2000, 2010).selectExpr(
        "id", "DATE'2001-01-01' AS day", "'x' AS name", "CAST(id AS DECIMAL(12, 2)) AS amount"
    )
    more.coalesce(1).write.format(kind).mode("append").save(path)
    reader(spark, kind).load(path).createOrReplaceTempView("t")
    frame = same("SELECT * FROM t WHERE id = 2005")
    assert (kept(frame), frame.count()) == ([1], 1)
    assert kept(same("SELECT * FROM t WHERE id = 555")) == [2]
    tamis.index(spark, path, reader=reader(spark, kind)).refresh()
    assert kept(same("SELECT * FROM t WHERE id = 555")) == [1]


@pytest.mark.usefixtures("table")
def test_joins_limits_and_subqueries_over_other_formats(same: Same) -> None:
    same(
        "SELECT a.id, b.name FROM t a JOIN t b ON a.id = b.id WHERE a.id > 950 AND b.day > '1997-09-01'"
    )
    same("SELECT id FROM t WHERE id >= 100 ORDER BY id DESC LIMIT 5")
    same("SELECT id FROM t WHERE id > (SELECT max(id) - 5 FROM t WHERE id < 300) AND id < 400")
    same("SELECT id FROM t WHERE id < 5 UNION ALL SELECT id FROM t WHERE id > 995")
    same("SELECT id FROM t WHERE id IN (SELECT id + 1 FROM t WHERE id BETWEEN 10 AND 20)")


def test_catalog_table_of_another_format(
    spark: SparkSession, events: DataFrame, kind: str, same: Same
) -> None:
    spark.sql(
        f"CREATE TABLE parts USING {kind} PARTITIONED BY (decade) AS "
        "SELECT /*+ REPARTITION_BY_RANGE(10, id) */ id, name, id DIV 200 AS decade FROM events"
    )
    tamis.index(spark, "parts").build()
    assert kept(same("SELECT name FROM parts WHERE id = 555")) == [1]
    assert kept(same("SELECT name FROM parts WHERE decade = 2 AND id >= 500")) == [1]
    # Spark alone prunes by partition values
    assert kept(same("SELECT name FROM parts WHERE decade = 2")) == []


def test_no_report_without_an_index(
    spark: SparkSession, events: DataFrame, kind: str, folder: str, same: Same
) -> None:
    events.select("id", "name").write.format(kind).save(f"{folder}/bare")
    spark.read.format(kind).schema("id LONG, name STRING").load(
        f"{folder}/bare"
    ).createOrReplaceTempView("bare")
    before = list(spark._jvm.io.tamis.Tamis.warnings())
    frame = same("SELECT * FROM bare WHERE id = 555")
    assert kept(frame) == []
    assert list(spark._jvm.io.tamis.Tamis.warnings()) == before
    report = json.dumps(tamis.explain(frame).to_dict()["left_to_spark"])
    assert "statistics rule out no file" in report
