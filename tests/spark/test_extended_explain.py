"""EXPLAIN ends with the decisions of tamis if spark.sql.extendedExplainProviders requests them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONF = "spark.sql.extendedExplainProviders"


@pytest.fixture(autouse=True)
def provider(spark: SparkSession) -> None:
    spark.conf.set(CONF, "io.tamis.TamisExplain")


def extended_lines(spark: SparkSession, query: str, mode: str = "") -> list[str]:
    """Return the lines of tamis at the end of EXPLAIN."""
    text = str(spark.sql(f"EXPLAIN {mode} {query}").first()[0])
    _, title, end = text.partition("== Extended Information (tamis) ==\n")
    assert title, text
    return [line.rstrip() for line in end.strip().splitlines()]


@pytest.mark.parametrize("mode", ["", "FORMATTED", "EXTENDED"])
def test_explain_shows_a_scan_and_its_conjuncts(
    spark: SparkSession, events: DataFrame, mode: str
) -> None:
    query = "SELECT name FROM events WHERE id < 150 AND soundex(name) = 'x'"
    scan, *conjuncts = extended_lines(spark, query, mode)
    assert scan.startswith("scan 1 of parquet file:")
    assert ": 2 of 10 files, " in scan
    assert scan.endswith("200 of 1000 rows")
    (exact,) = [line for line in conjuncts if "(id IS NOT NULL)" in line]
    assert exact == "  exact: (id IS NOT NULL)"
    (opaque,) = [line for line in conjuncts if "soundex" in line]
    assert opaque.startswith("  unsupported: ")
    assert "no pruning rule" in opaque


def test_explain_shows_files_of_a_relation_of_spark(spark: SparkSession, events_path: str) -> None:
    query = f"SELECT name, _metadata.file_name FROM parquet.`{events_path}` WHERE id < 150"
    for mode in ("", "FORMATTED"):
        assert ": 2 of 10 files, " in extended_lines(spark, query, mode)[0]


def test_explain_shows_goals_subqueries_and_adaptive_plans(
    spark: SparkSession, events: DataFrame
) -> None:
    assert "  goal LIMIT 3: reads only the files that it needs" in extended_lines(
        spark, "SELECT id FROM events LIMIT 3"
    )
    query = "SELECT name FROM events WHERE id < 150 AND id > (SELECT max(hash(name)) FROM events WHERE id = 7)"
    lines = extended_lines(spark, query)
    assert len([line for line in lines if line.startswith("scan ")]) == 2
    frame = spark.sql(query)
    frame.collect()  # the adaptive plan differs afterwards
    text = frame._sc._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "simple")
    assert text.count("\nscan ") == 2


def test_explain_without_a_scan_and_with_tamis_off(spark: SparkSession, events: DataFrame) -> None:
    assert extended_lines(spark, "SELECT 1") == ["tamis does not plan any scan of this query"]
    spark.conf.set("spark.tamis.enabled", "false")
    assert extended_lines(spark, "SELECT name FROM events WHERE id < 150") == [
        "tamis does not plan any scan of this query"
    ]


def test_explain_with_an_unavailable_planner(
    spark: SparkSession, events: DataFrame, no_sidecar: None
) -> None:
    lines = extended_lines(spark, "SELECT name FROM events WHERE id < 150")
    assert ": 10 of 10 files, " in lines[0]
    assert lines[-1].startswith("  reads what plain Spark reads (")


def test_explain_provider_never_throws(spark: SparkSession) -> None:
    explain = spark._jvm.io.tamis.TamisExplain()
    assert explain.generateExtendedInfo(None).startswith("the decisions cannot be shown (")
