"""EXPLAIN and the SQL tab say what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tamis
from tests.spark.conftest import sql_tab

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def explained(spark: SparkSession, statement: str) -> str:
    return str(spark.sql(statement).first()[0])


def test_explain(spark: SparkSession, events: DataFrame) -> None:
    text = explained(spark, "EXPLAIN SELECT name FROM events WHERE id >= 150 AND id < 250")
    assert "Files: 2 of 10" in text
    assert "Rows: 200 of 1000" in text
    assert "Exact: [(id IS NOT NULL)]" in text
    assert "Residual: [(id >= 150L), (id < 250L)]" in text
    assert "Planning: " in text


def test_explain_formatted(spark: SparkSession, events: DataFrame) -> None:
    text = explained(
        spark, "EXPLAIN FORMATTED SELECT name FROM events WHERE id < 100 AND amount > 1"
    )
    for line in (
        "Files: 1 of 10",
        "Exact: [(id IS NOT NULL), (id < 100L)]",
        "PushedFilters: [IsNotNull(amount), GreaterThan(amount,1.00)]",
    ):
        assert line in text


def test_sql_tab(spark: SparkSession, events: DataFrame) -> None:
    events.where("id < 150").select("name").collect()
    shown = sql_tab(spark)
    assert shown["files in the table"] == [10]
    assert shown["files kept"] == [2]
    assert (shown["rows in the table"], shown["rows in what is kept"]) == ([1000], [200])
    assert set(shown) == {
        "rows in the table",
        "rows in what is kept",
        "files in the table",
        "files kept",
        "files read after run-time filters",
        "bytes in the table",
        "bytes kept",
        "planning (ms)",
    }


def test_tamis_explain(spark: SparkSession, events: DataFrame) -> None:
    frame = events.where("id < 150 AND hash(name) > 0")
    explanation = tamis.explain(frame)
    (scan,) = explanation.to_dict()["scans"]
    assert (scan["files_kept"], scan["files_total"]) == (2, 10)
    assert (scan["rows_kept"], scan["rows_total"]) == (200, 1000)
    assert 0 < scan["bytes_kept"] < scan["bytes_total"]
    pruned = {c["sql"]: (c["pushdown"], c["pruned_files"]) for c in scan["conjuncts"]}
    assert pruned["(id < 150L)"] == ("inexact", 8)
    assert [v for k, v in pruned.items() if "hash" in k] == [("unsupported", 0)]
    by_sql = {c["sql"]: c for c in scan["conjuncts"]}
    chosen = by_sql["(id < 150L)"]
    assert (chosen["pruned_rows"], chosen["added_files"], chosen["added_rows"]) == (800, 8, 800)
    assert chosen["pruned_bytes"] == scan["bytes_total"] - scan["bytes_kept"]
    assert sum(c["added_files"] for c in scan["conjuncts"]) == 8
    assert set(scan["timing"]) == {"listing_ms", "question_ms", "planner_ms", "opening_ms"}
    assert 0 <= scan["timing"]["listing_ms"] + scan["timing"]["question_ms"] <= scan["planning_ms"]
    text = str(explanation)
    assert "2 of 10 files" in text
    assert "200 of 1,000 rows" in text
    assert f"prunes 8 of 10 files, {chosen['pruned_bytes']:,} of" in text
    assert explanation._repr_html_().count("<svg") == 3 + 1  # one conjunct prunes
    assert chosen["reason"]["code"] == "ONLY_AT_THE_EDGE"
    (why_not,) = tamis.why_not(frame).to_dict()["scans"][0]["conjuncts"]
    assert why_not["pushdown"] == "unsupported"
    assert why_not["reason"]["text"]


def test_tamis_explain_runs_nothing(spark: SparkSession, events: DataFrame) -> None:
    context = spark.sparkContext
    context.setJobGroup("explained", "what tamis.explain runs")
    try:
        frame = events.where("id > (SELECT max(id) - 5 FROM events)").orderBy("name").limit(3)
        assert str(tamis.explain(frame))
        assert str(tamis.why_not(frame))
        assert context.statusTracker().getJobIdsForGroup("explained") == []
        frame.collect()
        assert context.statusTracker().getJobIdsForGroup("explained") != []
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def test_what_conjuncts_add_is_what_the_scan_leaves_out(
    spark: SparkSession, events: DataFrame
) -> None:
    frame = events.where("id >= 150 AND id < 450 AND name < 'n0420' AND day > '1995-01-10'")
    (scan,) = tamis.explain(frame).to_dict()["scans"]
    for what in ("files", "bytes", "rows"):
        added = sum(conjunct[f"added_{what}"] for conjunct in scan["conjuncts"])
        assert added == scan[f"{what}_total"] - scan[f"{what}_kept"]
        assert all(c[f"added_{what}"] <= added for c in scan["conjuncts"])
