"""tamis_explain and tamis_pushdown, from SQL alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.conftest import scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


def explained(spark: SparkSession, query: str, where: str = "true") -> list[Row]:
    text = query.replace("'", "\\'")
    return spark.sql(f"SELECT * FROM tamis_explain('{text}') WHERE {where}").collect()


def test_explain_has_a_row_for_each_scan_and_conjunct(
    spark: SparkSession, events: DataFrame
) -> None:
    query = "SELECT name FROM events WHERE id < 150 AND soundex(name) = 'x'"
    (scan,) = explained(spark, query, "what = 'scan'")
    (decided,) = scans(spark.sql(query))
    assert scan.scan == 1
    assert scan.table.endswith("events")
    assert (scan.files_kept, scan.files_total) == (decided["files_kept"], 10) == (2, 10)
    assert scan.bytes_kept == decided["bytes_kept"] < scan.bytes_total
    (below,) = explained(spark, query, "sql LIKE '%150%'")
    assert (below.what, below.files_pruned) == ("inexact", 8)
    (opaque,) = explained(spark, query, "sql LIKE '%soundex%'")
    assert opaque.what == "unsupported"
    assert "no pruning rule" in opaque.reason
    assert "expressions" in opaque.fix


def test_explain_of_joins_goals_answers_and_relations_left_to_spark(
    spark: SparkSession, events: DataFrame, tmp_path: str
) -> None:
    joined = "SELECT a.id FROM events a JOIN events b ON a.id = b.id WHERE b.id < 50"
    assert {row.scan for row in explained(spark, joined)} == {1, 2}
    (limit,) = explained(spark, "SELECT id FROM events LIMIT 3", "what = 'goal'")
    assert limit.sql == "LIMIT 3"
    (answer,) = explained(spark, "SELECT count(*) FROM events")
    assert (answer.what, answer.files_kept, answer.files_total) == ("answered", 0, 10)
    spark.range(3).write.orc(f"{tmp_path}/orc")
    (left,) = explained(spark, f"SELECT * FROM orc.`{tmp_path}/orc`")
    assert left.what == "left to spark"
    assert "format" in left.reason


def test_explain_runs_no_query(spark: SparkSession, events: DataFrame) -> None:
    explained(spark, "CREATE TABLE never_made USING parquet AS SELECT * FROM events WHERE id = 1")
    assert not spark.catalog.tableExists("never_made")
    explained(spark, "DROP VIEW events")
    assert spark.sql("SELECT 1 FROM events WHERE id = 1").count() == 1
    explained(spark, "SELECT raise_error('it ran') FROM events")


@pytest.mark.parametrize(
    "call",
    ["tamis_explain()", "tamis_explain(1)", "tamis_explain('a', 'b')", "tamis_pushdown(NULL)"],
)
def test_wrong_arguments_are_rejected(spark: SparkSession, call: str) -> None:
    with pytest.raises(Exception, match="takes one string literal"):
        spark.sql(f"SELECT * FROM {call}")


def pushdown(spark: SparkSession, query: str) -> Row:
    (row,) = spark.sql(query.replace("probe", "tamis_pushdown('events')")).collect()
    return row


def test_pushdown_shows_filters_and_columns(spark: SparkSession, events: DataFrame) -> None:
    row = pushdown(
        spark,
        "SELECT pushed_filters, pushed_columns, id FROM probe "
        "WHERE year(day) = 1995 AND id + 1 < 7 AND item.sku > 2",
    )
    assert row.id is None
    assert "year(day)" in " ".join(row.pushed_filters)
    assert any("+" in each and "7" in each for each in row.pushed_filters)
    assert any("sku" in each for each in row.pushed_filters), row.pushed_filters
    assert row.pushed_columns == ["id"]


def test_pushdown_without_push_down(spark: SparkSession, events: DataFrame) -> None:
    row = pushdown(spark, "SELECT * FROM probe")
    assert row.pushed_filters == [] == row.pushed_order == row.pushed_runtime_filters
    assert row.pushed_limit is None
    assert row.pushed_columns == events.columns


def test_pushdown_shows_limits_and_order(spark: SparkSession, events: DataFrame) -> None:
    assert pushdown(spark, "SELECT pushed_limit FROM probe WHERE id > 1 LIMIT 7").pushed_limit == 7
    row = pushdown(spark, "SELECT pushed_limit, pushed_order FROM probe ORDER BY id DESC LIMIT 7")
    assert row.pushed_limit == 7
    assert "id DESC" in " ".join(row.pushed_order)


def test_pushdown_shows_run_time_filters(spark: SparkSession, events: DataFrame) -> None:
    row = pushdown(
        spark,
        "SELECT a.id, pushed_runtime_filters FROM probe a JOIN "
        "(SELECT id FROM events WHERE id = 17 AND name > '') b ON a.id = b.id",
    )
    assert row.id == 17  # the value that the join requires: otherwise there is no row
    assert any("17" in each for each in row.pushed_runtime_filters)


def test_columns_of_pushdown_are_filtered_by_spark(spark: SparkSession, events: DataFrame) -> None:
    from_probe = "SELECT 1 FROM tamis_pushdown('events') WHERE id > 5 AND size(pushed_filters) > "
    assert spark.sql(from_probe + "0").count() == 1
    assert spark.sql(from_probe + "9").count() == 0


@pytest.mark.parametrize("named", ["{}", "parquet.`{}`"])
def test_pushdown_accepts_a_path(
    spark: SparkSession, events: DataFrame, events_path: str, named: str
) -> None:
    probe = f"tamis_pushdown('{named.format(events_path)}')"
    (row,) = spark.sql(f"SELECT * FROM {probe} WHERE id = 3").collect()
    assert any("id = 3" in each for each in row.pushed_filters)


def test_tamis_echo_is_an_alias_of_tamis_pushdown(spark: SparkSession, events: DataFrame) -> None:
    (row,) = spark.sql("SELECT pushed_filters FROM tamis_echo('events') WHERE id = 3").collect()
    assert any("id = 3" in each for each in row.pushed_filters)
