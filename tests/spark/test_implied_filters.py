"""Ranges that predicates imply are added above sources that tamis does not scan."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tamis
from tamis.plan.ranges.implied_ranges import implied

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = """
    SELECT CAST(id AS INT) AS n, id * 1000 AS big,
           date_add(DATE '1994-12-01', CAST(id AS INT)) AS day,
           timestampadd(HOUR, id, TIMESTAMP '1994-12-01 00:00:00') AS ts,
           concat('k', lpad(CAST(id AS STRING), 4, '0')) AS name,
           CAST(id / 4 AS DECIMAL(10, 2)) AS amount
    FROM range(1000)
"""


@pytest.fixture
def orc(spark: SparkSession, tmp_path: Path) -> None:
    """Register the events as an ORC view `events`, through Spark's V1 sources."""
    spark.sql(EVENTS).coalesce(1).write.orc(str(tmp_path / "orc"))
    spark.read.orc(str(tmp_path / "orc")).createOrReplaceTempView("events")


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def pushed(frame: DataFrame) -> str:
    """Return the full filters pushed to the one scan of a plan, from its metadata."""
    spark = frame.sparkSession
    spark.conf.set("spark.sql.maxMetadataStringLength", "100000")
    text = str(
        frame.sparkSession._jvm.PythonSQLUtils.explainString(
            frame._jdf.queryExecution(), "formatted"
        )
    )
    (line,) = [each for each in text.splitlines() if each.startswith("PushedFilters: ")]
    return line


@pytest.mark.parametrize("sources", ["orc,csv,json", ""])
def test_orc_gets_implied_ranges(
    spark: SparkSession, tmp_path: Path, same: Callable[[str], DataFrame], sources: str
) -> None:
    """V1 and V2. ORC compares local times, so ranges of timestamps have a margin."""
    spark.conf.set("spark.sql.sources.useV1SourceList", sources)
    spark.sql(EVENTS).coalesce(1).write.orc(str(tmp_path / "t"))
    spark.read.orc(str(tmp_path / "t")).createOrReplaceTempView("events")
    frame = same("SELECT n FROM events WHERE year(day) = 1995")
    assert "GreaterThanOrEqual(day,1994-12-31)" in pushed(frame)
    assert "LessThanOrEqual(day,1996-01-01)" in pushed(frame)
    assert len(frame.collect()) == 365
    frame = same("SELECT n FROM events WHERE date_trunc('DAY', ts) = TIMESTAMP '1994-12-20'")
    assert "GreaterThanOrEqual(ts,1994-12-18 00:00:00.0)" in pushed(frame)
    frame = same("SELECT n FROM events WHERE substring(name, 1, 3) = 'k05'")
    assert "GreaterThanOrEqual(name,k05)" in pushed(frame)
    same("SELECT n FROM events WHERE amount * 2 = 5 OR n + 1 = 7")


def test_csv_gets_implied_ranges(
    spark: SparkSession, tmp_path: Path, same: Callable[[str], DataFrame]
) -> None:
    spark.sql(EVENTS).coalesce(1).write.csv(str(tmp_path / "t"), header=True)
    schema = spark.sql(EVENTS).schema
    frame = spark.read.csv(str(tmp_path / "t"), schema=schema, header=True)
    frame.createOrReplaceTempView("events")
    frame = same("SELECT n FROM events WHERE n + 1 = 500 AND year(ts) = 1994")
    assert "LessThanOrEqual(ts,1994-12-31 23:59:59.999999)" in pushed(frame)
    assert "EqualTo(n,499)" in pushed(frame)
    strict = spark.read.csv(str(tmp_path / "t"), schema=schema, header=True, mode="FAILFAST")
    strict.createOrReplaceTempView("events")
    assert "EqualTo(n,499)" not in pushed(same("SELECT n FROM events WHERE n + 1 = 500"))


def test_parquet_relation_left_to_spark_gets_implied_ranges(
    spark: SparkSession, tmp_path: Path
) -> None:
    """With _metadata in the output, tamis does not scan the table."""
    spark.sql(EVENTS).coalesce(1).write.parquet(str(tmp_path / "t"))
    frame = spark.read.parquet(str(tmp_path / "t"))
    frame = frame.select("n", "day", "_metadata.file_name").where("year(day) = 1995")
    assert "FileScan parquet" in plan(frame)
    assert "GreaterThanOrEqual(day,1995-01-01), LessThanOrEqual(day,1995-12-31)" in pushed(frame)
    assert frame.count() == 365


def test_conf_disables_implied_filters(spark: SparkSession, orc: None) -> None:
    statement = "SELECT n FROM events WHERE year(day) = 1995"
    for key, value in (
        ("spark.tamis.impliedFilters.enabled", "false"),
        ("spark.tamis.enabled", "false"),
        ("spark.tamis.mode", "observe"),
    ):
        spark.conf.set(key, value)
        assert "PushedFilters: [IsNotNull(day)]" in pushed(spark.sql(statement))
        spark.conf.unset(key)
    assert "GreaterThanOrEqual(day" in pushed(spark.sql(statement))


def test_second_optimization_adds_no_filter(spark: SparkSession, orc: None) -> None:
    """Spark optimizes plans with subqueries and plans of cached tables again."""
    execution = spark.sql("SELECT n FROM events WHERE year(day) = 1995")._jdf.queryExecution()
    once = execution.optimizedPlan()
    optimizer = spark._jsparkSession.sessionState().optimizer()
    again = optimizer.execute(once)
    assert once.toString().count("1994-12-31") == 1
    assert again.toString().count("1994-12-31") == 1


# predicate, whether a range follows from it
PREDICATES = [
    ("year(day) = 1995", True),
    ("n + 1 = 7", True),
    ("NOT (n + 1 > 7)", True),
    ("n + 1 IN (5, 6)", True),
    ("CAST(big AS INT) = 5000", True),
    ("name LIKE 'k05_%'", True),
    ("startswith(upper(name), 'K05')", True),
    ("year(day) = 1995 AND n < 500", True),
    ("n = big", True),  # big lies in the range of INT
    ("n + 1 = big", True),
    ("year(day) = 1995 OR day < DATE '1994-01-01'", True),
    ("length(name) = 5", False),
    ("hash(n) > 0", False),
    # what sources take as it is
    ("n = 5", False),
    ("5 > n", False),
    ("NOT (n < 5 OR day IS NULL)", False),
    ("n IN (1, 2) AND n <=> 2", False),
    ("n IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)", False),
    ("startswith(name, 'k05')", False),
    ("contains(name, '05') OR endswith(name, '5')", False),
    ("name LIKE 'k05%'", False),
    ("(n < 5) = (big < 5)", False),
    ("startswith(name, CAST(n AS STRING))", False),
    ("startswith(name, name)", False),
]


def test_extension_asks_whenever_the_planner_derives_a_range(
    spark: SparkSession, orc: None
) -> None:
    """The planner decides. The extension asks it only about conditions with a function."""
    schema = spark.table("events").schema

    def plan_with(is_on: str, predicate: str) -> str:
        spark.conf.set("spark.tamis.impliedFilters", is_on)
        # without the ids of columns
        return re.sub(r"#\d+", "", plan(spark.sql(f"SELECT * FROM events WHERE {predicate}")))

    derived = {p: bool(implied(tamis.parse(spark, p, schema))) for p, _ in PREDICATES}
    assert {p for p, follows in PREDICATES if derived[p] != follows} == set()
    added = {p: plan_with("true", p) != plan_with("false", p) for p, _ in PREDICATES}
    assert {p for p, follows in PREDICATES if added[p] != follows} == set()


def test_existing_filter_is_not_implied_again(spark: SparkSession, orc: None) -> None:
    statement = "SELECT n FROM events WHERE day >= DATE '1995-02-01' AND hash(n) > 0"
    assert pushed(spark.sql(statement)).count("GreaterThanOrEqual") == 1


def test_implied_filters_below_joins_and_subqueries_with_nulls(
    spark: SparkSession, orc: None, same: Callable[[str], DataFrame]
) -> None:
    spark.sql("SELECT n, IF(n % 3 = 0, NULL, day) AS day FROM events").createOrReplaceTempView("v")
    for statement in (
        "SELECT a.n, b.n FROM events a LEFT JOIN events b ON a.n = b.n AND year(b.day) = 1995",
        "SELECT a.n, b.n FROM events a FULL JOIN events b ON a.n + 1 = b.n AND a.n + 1 = 7",
        "SELECT n FROM v WHERE coalesce(year(day), 1995) = 1995",
        "SELECT n FROM v WHERE NOT (year(day) = 1995)",
        "SELECT n FROM v WHERE (year(day) = 1995) IS NULL",
        "SELECT n FROM events WHERE n IN (SELECT n + 1 FROM events WHERE year(day) = 1995)",
        "SELECT n FROM events WHERE n > (SELECT min(n) FROM events WHERE year(day) = 1995)",
        "SELECT count(*) FROM events WHERE year(day) = 1995 AND rand() < 2",
    ):
        same(statement)


def test_random_numbers_stay_with_their_rows(spark: SparkSession, orc: None) -> None:
    """rand(42) gives each row the same number again, unless earlier rows are skipped."""
    frame = spark.sql("SELECT n FROM events WHERE year(day) = 1995 AND rand(42) < 0.5")
    assert "GreaterThanOrEqual" not in pushed(frame)


def test_streaming_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(EVENTS).coalesce(1).write.orc(str(tmp_path / "in"))
    stream = spark.readStream.schema(spark.sql(EVENTS).schema).orc(str(tmp_path / "in"))
    query = stream.where("year(day) = 1995").writeStream.format("memory").queryName("out")
    started = query.trigger(availableNow=True).start()
    started.awaitTermination()
    assert spark.table("out").count() == 365
    assert "1994-12-31" not in started._jsq.streamingQuery().lastExecution().toString()


def test_missing_sidecar_adds_no_implied_filter(
    spark: SparkSession, orc: None, no_sidecar: None
) -> None:
    warnings = spark._jvm.io.tamis.Tamis.warnings
    before = list(warnings())
    spark.conf.set("spark.tamis.fileIndexSwap.enabled", "false")
    # no request: the predicate has no function
    assert spark.sql("SELECT n FROM events WHERE day >= DATE '1995-02-01' AND n < 70").count() == 8
    assert list(warnings()) == before
    for days in (11, 12, 13):  # predicates of no other test, because answers are cached
        frame = spark.sql(f"SELECT n FROM events WHERE year(date_sub(day, {days})) = 1995")
        assert frame.count() == 365
        assert "PushedFilters: [IsNotNull(day)]" in pushed(frame)
    assert len(list(warnings())) == len(before) + 1


def test_json_gets_no_implied_ranges(
    spark: SparkSession, tmp_path: Path, same: Callable[[str], DataFrame]
) -> None:
    """Of a key that a record has twice, the last value counts, but the parser filters by the first."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.json").write_text('{"a": 1, "a": 2}\n{"a": 2}\n{"a": 3}\n')
    for sources in ("orc,csv,json", ""):
        spark.conf.set("spark.sql.sources.useV1SourceList", sources)
        frame = spark.read.schema("a INT").json(str(tmp_path / "t"))
        frame.createOrReplaceTempView("records")
        assert len(same("SELECT a FROM records WHERE a + 1 = 3").collect()) == 2
