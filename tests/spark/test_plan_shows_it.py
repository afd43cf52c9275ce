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
    assert set(shown) == {
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
    assert "2 of 10 files" in str(explanation)
    why_not = tamis.why_not(frame).to_dict()["scans"][0]["conjuncts"]
    assert [c["pushdown"] for c in why_not] == ["inexact", "unsupported"]
    assert all(c["reason"]["text"] for c in why_not)
