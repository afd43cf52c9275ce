"""EXPLAIN, the SQL tab and tamis.explain show the decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import sql_tab

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def explained(spark: SparkSession, statement: str) -> str:
    return str(spark.sql(statement).first()[0])


def test_explain_shows_decisions(spark: SparkSession, events: DataFrame) -> None:
    text = explained(spark, "EXPLAIN SELECT name FROM events WHERE id >= 150 AND id < 250")
    assert "Files: 2 of 10" in text
    assert "Rows: 200 of 1000" in text
    assert "Exact: [(id IS NOT NULL)]" in text
    assert "Residual: [(id >= 150L), (id < 250L)]" in text
    assert "Planning: " in text


def test_explain_formatted_shows_decisions(spark: SparkSession, events: DataFrame) -> None:
    text = explained(
        spark, "EXPLAIN FORMATTED SELECT name FROM events WHERE id < 100 AND amount > 1"
    )
    for line in (
        "Files: 1 of 10",
        "Exact: [(id IS NOT NULL), (id < 100L)]",
        "PushedFilters: [IsNotNull(amount), GreaterThan(amount,1.00)]",
    ):
        assert line in text


def test_sql_tab_shows_metrics(spark: SparkSession, events: DataFrame) -> None:
    events.where("id < 150").select("name").collect()
    shown = sql_tab(spark)
    assert shown["files in the table"] == [10]
    assert shown["files kept"] == [2]
    assert (shown["rows in the table"], shown["rows kept"]) == ([1000], [200])
    assert set(shown) == {
        "rows in the table",
        "rows kept",
        "files in the table",
        "files kept",
        "files read after run-time filters",
        "bytes in the table",
        "bytes kept",
        "planning (ms)",
    }


def test_tamis_explain_shows_decisions(spark: SparkSession, events: DataFrame) -> None:
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


def test_tamis_explain_runs_no_query(spark: SparkSession, events: DataFrame) -> None:
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


def test_conjuncts_sum_to_the_files_that_the_scan_skips(
    spark: SparkSession, events: DataFrame
) -> None:
    frame = events.where("id >= 150 AND id < 450 AND name < 'n0420' AND day > '1995-01-10'")
    (scan,) = tamis.explain(frame).to_dict()["scans"]
    for what in ("files", "bytes", "rows"):
        added = sum(conjunct[f"added_{what}"] for conjunct in scan["conjuncts"])
        assert added == scan[f"{what}_total"] - scan[f"{what}_kept"]
        assert all(c[f"added_{what}"] <= added for c in scan["conjuncts"])


LATE = "SELECT name FROM events WHERE id >= (SELECT max(id) - 5 FROM events WHERE hash(id) <> 0)"


def scan_of(frame: DataFrame) -> dict[str, Any]:
    """Return the outer scan, which comes first."""
    return dict(tamis.explain(frame).to_dict()["scans"][0])


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_conditions_with_run_time_values_are_listed(
    spark: SparkSession, events: DataFrame, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = spark.sql(LATE)
    before = scan_of(frame)
    assert before["runtime"] == [{"sql": "(id >= (SELECT …))", "prunes": True}]
    assert (before["files_kept"], before["files_read"], before["bytes_read"]) == (10, None, None)
    assert "run time    (id >= (SELECT …))" in str(tamis.explain(frame))
    assert len(frame.collect()) == 6
    after = scan_of(frame)
    assert (after["files_kept"], after["files_read"], after["files_total"]) == (10, 1, 10)
    assert 0 < after["bytes_read"] < after["bytes_kept"]
    assert "the query has run: 1 of 10 files were read after run-time filters" in str(
        tamis.explain(frame)
    )


def test_run_time_keys_of_a_join_are_listed(spark: SparkSession, events: DataFrame) -> None:
    few = spark.range(3).selectExpr("id + 500 AS id").localCheckpoint().where("hash(id) <> 0")
    frame = events.join(few, "id").select("name")
    assert {"sql": "(id IN (keys of the join))", "prunes": True} in scan_of(frame)["runtime"]
    assert len(frame.collect()) == 3
    assert scan_of(frame)["files_read"] == 1


def test_condition_that_cannot_prune_is_listed(spark: SparkSession, events: DataFrame) -> None:
    """Statistics cannot exclude the values of the column from any file."""
    query = "SELECT id FROM events WHERE hash(item) = (SELECT max(hash(item)) FROM events)"
    scan = scan_of(spark.sql(query))
    assert [each["prunes"] for each in scan["runtime"]] == [False]
    assert scan["files_read"] == 10
    rows = spark.sql(f"SELECT * FROM tamis_explain('{query}') WHERE what = 'run time'").collect()
    assert [row.reason for row in rows] == ["known only when the query runs; applied to the rows"]


def test_kind_of_statistics_that_decided_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(400).selectExpr(
        "id", "(id * 7919) % 400 AS key", "concat('N', id % 7) AS name", "id % 40 AS kind"
    ).repartitionByRange(8, "id").write.parquet(path)
    tamis.index(spark, path).build(
        columns={"key": "bloom", "kind": "values"}, expressions=["hash(key)"]
    )
    frame = spark.read.parquet(path)

    def kinds(condition: str) -> list[list[str]]:
        conjuncts = scan_of(frame.where(condition))["conjuncts"]
        return [c["pruned_by"] for c in conjuncts if "IS NOT NULL" not in c["sql"]]

    assert kinds("id = 3") == [["bounds"]]
    assert kinds("key = 77") == [["bloom"]]
    assert kinds("kind NOT IN (0, 1)") == [[]]
    (recorded,) = kinds("hash(key) > 2147483646")
    assert recorded[0] == "expression"
    text = str(tamis.explain(frame.where("key = 77")))
    assert "on its own, by Bloom filters" in text
