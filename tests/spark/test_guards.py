"""What a guard refuses, and that it says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import UnsupportedOperationException

from tests.spark.conftest import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

REQUIRE = "spark.tamis.requireFilter"
ASSERT = "spark.tamis.assertPruned"

NEED_A_FILTER = [
    "SELECT name FROM events",
    "SELECT name FROM events WHERE id IS NOT NULL",
    "SELECT name FROM events WHERE rand() < 2",
    "SELECT a.name FROM events a JOIN events b ON a.name <> b.name WHERE a.id = 5",
    "SELECT id FROM events WHERE id = (SELECT max(length(name)) FROM events)",
]

HAVE_ONE = [
    "SELECT count(name) FROM events WHERE id = 5",
    "SELECT count(name) FROM events WHERE id >= 0",  # true of every row, and known to be
    "SELECT count(name) FROM events WHERE year(day) = 1995 OR id = 3",
    "SELECT a.id FROM events a JOIN events b ON a.id = b.id WHERE a.id < 50",  # b by the keys of a
    "SELECT name FROM events LIMIT 5",
    "SELECT count(*) FROM events",  # no file is read
]


@pytest.mark.parametrize("query", NEED_A_FILTER)
@pytest.mark.parametrize("tables", ["*", "elsewhere, {path}", "{path}/"])
def test_a_scan_without_a_predicate_is_refused(
    spark: SparkSession, events: DataFrame, events_path: str, query: str, tables: str
) -> None:
    spark.conf.set(REQUIRE, tables.format(path=f"file:{events_path}"))
    with pytest.raises(UnsupportedOperationException, match="requireFilter"):
        spark.sql(query).collect()


@pytest.mark.parametrize("named", ["{path}", "file:{path}", "elsewhere, {path}/"])
def test_a_path_may_hold_spaces(spark: SparkSession, tmp_path: Path, named: str) -> None:
    path = str(tmp_path / "a b")
    spark.range(10).write.parquet(path)
    spark.conf.set(REQUIRE, named.format(path=path))
    with pytest.raises(UnsupportedOperationException, match="requireFilter"):
        spark.read.parquet(path).collect()
    spark.conf.set(REQUIRE, named.format(path=str(tmp_path / "a")))
    assert len(spark.read.parquet(path).collect()) == 10


@pytest.mark.parametrize("query", HAVE_ONE)
def test_a_scan_with_one_is_not(spark: SparkSession, events: DataFrame, query: str) -> None:
    spark.conf.set("spark.tamis.enabled", "false")
    expected = len(rows(spark.sql(query)))
    spark.conf.set("spark.tamis.enabled", "true")
    spark.conf.set(REQUIRE, "*")
    assert len(rows(spark.sql(query))) == expected


def test_other_tables_are_not_guarded(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set(REQUIRE, "elsewhere")
    assert spark.sql("SELECT name FROM events").count() == 1000


def test_tables_are_named_as_in_the_catalog(spark: SparkSession, events: DataFrame) -> None:
    spark.sql("CREATE TABLE kept_apart USING parquet AS SELECT * FROM events")
    for name in ("kept_apart", "default.KEPT_APART", "spark_catalog.default.kept_apart"):
        spark.conf.set(REQUIRE, name)
        with pytest.raises(UnsupportedOperationException, match="kept_apart"):
            spark.sql("SELECT name FROM kept_apart").collect()
        assert spark.sql("SELECT name FROM events").count() == 1000


def test_the_refusal_says_what_was_tried(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set(REQUIRE, "*")
    with pytest.raises(UnsupportedOperationException) as refused:
        spark.sql("SELECT id FROM events WHERE soundex(name) = 'x'").collect()
    assert "soundex" in str(refused.value)
    assert "no rule is known" in str(refused.value)


def test_nobody_is_refused_for_a_planner_that_is_gone(
    spark: SparkSession, events: DataFrame, no_sidecar: None
) -> None:
    spark.conf.set(REQUIRE, "*")
    assert spark.sql("SELECT id FROM events WHERE id = 717").count() == 1


@pytest.mark.parametrize("mode", ["observe", "off"])
def test_other_modes_refuse_nothing(spark: SparkSession, events: DataFrame, mode: str) -> None:
    spark.conf.set("spark.tamis.mode", mode)
    spark.conf.set(REQUIRE, "*")
    spark.conf.set(ASSERT, "name")
    assert spark.sql("SELECT id FROM events WHERE name > ''").count() == 1000


PRUNES = [
    ("id", "SELECT name FROM events WHERE id = 5"),
    ("ID", "SELECT name FROM events WHERE id = 5"),
    ("id = 5", "SELECT name FROM events WHERE id = 5 AND name > ''"),
    ("id + 1 < 50", "SELECT name FROM events WHERE 50 > 1 + id"),
    ("name", "SELECT name FROM events WHERE id = 5"),  # the query has no such conjunct
    ("no_such_column", "SELECT name FROM events WHERE id >= 0"),
    ("id; day", "SELECT name FROM events WHERE id = 5"),
]

DOES_NOT_PRUNE = [
    ("id", "SELECT name FROM events WHERE id >= 0"),
    ("id >= 0", "SELECT name FROM events WHERE id >= 0 AND id < 50"),
    ("day; soundex(name)", "SELECT id FROM events WHERE soundex(name) = 'x' AND id = 5"),
    ("name", "SELECT id FROM events WHERE soundex(name) = 'x' AND id = 5"),
]


@pytest.mark.parametrize(("asserted", "query"), PRUNES)
def test_what_prunes_passes(
    spark: SparkSession, events: DataFrame, asserted: str, query: str
) -> None:
    spark.conf.set(ASSERT, asserted)
    spark.sql(query).collect()


@pytest.mark.parametrize(("asserted", "query"), DOES_NOT_PRUNE)
def test_what_does_not_prune_fails_the_query(
    spark: SparkSession, events: DataFrame, asserted: str, query: str
) -> None:
    spark.conf.set(ASSERT, asserted)
    with pytest.raises(UnsupportedOperationException, match="pruned none of the 10 files"):
        spark.sql(query).collect()


def test_what_nobody_can_plan_did_not_prune(
    spark: SparkSession, events: DataFrame, no_sidecar: None
) -> None:
    spark.conf.set(ASSERT, "id")
    with pytest.raises(UnsupportedOperationException, match="cannot be run"):
        spark.sql("SELECT name FROM events WHERE id = 719").collect()


def test_what_is_no_sql_is_said(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set(ASSERT, "id = = 5")
    with pytest.raises(UnsupportedOperationException, match="assertPruned"):
        spark.sql("SELECT name FROM events WHERE id = 5").collect()
