"""The mode `observe` shows what tamis would read, while the query reads what plain Spark reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import sql_tab

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY = "SELECT name FROM events WHERE id >= 100 AND id < 250 AND hash(name) % 2 = 0"
SIZES = ("files", "bytes", "rows", "row_groups")


@pytest.fixture
def applied(spark: SparkSession, events: DataFrame) -> dict[str, Any]:
    """Return the scan of the same query with its decisions applied."""
    (scan,) = tamis.explain(spark.sql(QUERY)).to_dict()["scans"]
    return dict(scan)


@pytest.fixture
def observed(spark: SparkSession, applied: dict[str, Any]) -> DataFrame:
    spark.conf.set("spark.tamis.mode", "observe")
    return spark.sql(QUERY)


def plan(frame: DataFrame, mode: str = "simple") -> str:
    query = frame._jdf.queryExecution()
    return str(frame.sparkSession._jvm.PythonSQLUtils.explainString(query, mode))


def test_plain_spark_reads_and_filters_everything(observed: DataFrame) -> None:
    assert len(observed.inputFiles()) == 10
    text = plan(observed)
    assert "Filter " in text
    for conjunct in ("id#", ">= 100", "< 250"):
        assert conjunct in text.partition("Filter ")[2].partition("\n")[0]


@pytest.mark.parametrize("mode", ["simple", "formatted"])
def test_explain_shows_what_would_be_kept(observed: DataFrame, mode: str) -> None:
    text = plan(observed, mode)
    assert "Files: 2 of 10" in text
    assert "Rows: 200 of 1000" in text
    assert "Observed: not applied, 10 of 10 files are read" in text
    assert "Exact: [(id IS NOT NULL), (id >= 100L)]" in text


def test_explanations_show_what_would_be_kept(observed: DataFrame, applied: dict[str, Any]) -> None:
    explanation = tamis.explain(observed)
    (scan,) = explanation.to_dict()["scans"]
    for what in SIZES:
        for which in ("kept", "total"):
            assert scan[f"{what}_{which}"] == applied[f"{what}_{which}"]
    assert scan["files_kept"] == 2
    assert scan["conjuncts"] == applied["conjuncts"]
    assert (applied["observed"], applied["files_read"]) == (False, 2)
    assert (scan["observed"], scan["files_read"]) == (True, 10)
    assert scan["bytes_read"] == scan["bytes_total"]
    assert scan["fallback_reason"]["code"] == "OBSERVING"
    text = str(explanation)
    assert "would keep 2 of 10 files" in text
    assert "observed, not applied: 10 of 10 files are read" in text
    assert "exact       (id >= 100L)" in text
    page = explanation._repr_html_()
    assert "would keep 2 of 10 files" in page
    assert "observed, not applied: 10 of 10 files are read" in page
    (why,) = tamis.why_not(observed).to_dict()["scans"]
    assert (why["files_kept"], why["observed"]) == (2, True)
    assert "(id >= 100L)" not in [each["sql"] for each in why["conjuncts"]]


def test_sql_tab_shows_what_would_be_kept(spark: SparkSession, observed: DataFrame) -> None:
    observed.collect()
    shown = sql_tab(spark)
    assert shown["files in the table"] == [10]
    assert shown["files that would be kept (observed, not applied)"] == [2]
    assert shown["files read after run-time filters"] == [10]
    assert shown["rows that would be kept (observed, not applied)"] == [200]
    would, total = (
        shown["bytes that would be kept (observed, not applied)"],
        shown["bytes in the table"],
    )
    assert 0 < would[0] < total[0]
    assert "files kept" not in shown


def test_extended_explain_shows_what_would_be_kept(
    spark: SparkSession, observed: DataFrame
) -> None:
    spark.conf.set("spark.sql.extendedExplainProviders", "io.tamis.TamisExplain")
    text = str(spark.sql(f"EXPLAIN {QUERY}").first()[0])
    assert ": would read 2 of 10 files" in text
    assert "observed, not applied: 10 of 10 files are read" in text
    assert "exact: (id >= 100L)" in text


def test_sql_functions_show_what_would_be_kept(spark: SparkSession, observed: DataFrame) -> None:
    rows = spark.sql(f"SELECT * FROM tamis_explain('{QUERY}')").collect()
    (scan,) = [row for row in rows if row.what == "scan"]
    assert (scan.files_kept, scan.files_total, scan.files_read) == (2, 10, 10)
    assert scan.reason.startswith("observed, not applied")
    assert scan.fix == "SET spark.tamis.mode = apply"
    assert {row.sql for row in rows if row.what == "exact"} >= {"(id >= 100L)"}
    files = spark.sql(f"SELECT * FROM tamis_files('{QUERY}')").collect()
    assert sum(row.kept for row in files) == 2
    assert all(row.read for row in files)


def test_history_shows_what_would_have_been_kept(
    spark: SparkSession, observed: DataFrame, tmp_path: Path
) -> None:
    bridge = spark._jvm.io.tamis.Tamis
    bridge.flushHistory(spark._jsparkSession)
    spark.conf.set("spark.tamis.history.enabled", "true")
    spark.conf.set("spark.tamis.history.location", str(tmp_path))
    observed.collect()
    bridge.flushHistory(spark._jsparkSession)
    (row,) = tamis.history(tmp_path).to_pylist()
    assert row["observed"] is True
    assert (row["files_kept"], row["files_read"], row["files_total"]) == (2, 10, 10)
    assert row["bytes_kept"] < row["bytes_read"] == row["bytes_total"]
    assert (row["rows_kept"], row["rows_total"]) == (200, 1000)
    assert {c["sql"]: c["pushdown"] for c in row["conjuncts"]}["(id >= 100L)"] == "exact"


GOALS = {
    "LIMIT": "SELECT id FROM events LIMIT 10",
    "LIMIT over a filter": "SELECT name FROM events WHERE id >= 150 LIMIT 10",
    "top-k": "SELECT id FROM events ORDER BY id DESC LIMIT 3",
    "join": "SELECT e.id FROM events e JOIN few f ON e.id = f.id",
    "IN": "SELECT id FROM events WHERE id IN (SELECT id FROM few)",
    "the subquery of IN": "SELECT id FROM few WHERE id IN (SELECT id FROM events)",
    "aggregate over some files": "SELECT count(*), max(id) FROM events WHERE id >= 150",
    "aggregate over no file": "SELECT count(*), min(id) FROM events",
    "join below a LIMIT": "SELECT * FROM (SELECT id FROM events LIMIT 150) e LEFT JOIN few f ON e.id = f.id",
}


@pytest.fixture
def few(spark: SparkSession, events: DataFrame, tmp_path: Path) -> SparkSession:
    """Return the session with a view `few` of an indexed table: ids in two files of events."""
    spark.range(320, 380).coalesce(1).write.parquet(str(tmp_path / "few"))
    tamis.index(spark, tmp_path / "few").build()
    spark.read.parquet(str(tmp_path / "few")).createOrReplaceTempView("few")
    return spark


def files_of_events(frame: DataFrame, which: str) -> int:
    scans = tamis.explain(frame).to_dict()["scans"]
    return sum(int(scan[which]) for scan in scans if scan["files_total"] == 10)


@pytest.mark.parametrize("name", GOALS)
def test_goals_show_what_would_be_kept(few: SparkSession, name: str) -> None:
    few.conf.set("spark.tamis.runtimeFilters.enabled", "false")
    kept = files_of_events(few.sql(GOALS[name]), "files_kept")
    assert kept < 10
    few.conf.set("spark.tamis.mode", "observe")
    frame = few.sql(GOALS[name])
    assert files_of_events(frame, "files_kept") == kept
    assert files_of_events(frame, "files_read") == 10
    assert "Observed: not applied, 10 of 10 files are read" in plan(frame)
    found = frame.collect()
    few.conf.set("spark.tamis.enabled", "false")
    plain = few.sql(GOALS[name])
    if "LIMIT" in name:
        assert len(found) == plain.count()
    else:
        assert sorted(found) == sorted(plain.collect())


def test_filter_of_a_table_of_spark_shows_what_would_be_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "orc")
    spark.range(100).repartitionByRange(5, "id").write.orc(path)
    tamis.index(spark, path, reader=spark.read.format("orc").schema("id BIGINT")).build()

    def scan() -> dict[str, Any]:
        frame = spark.read.schema("id BIGINT").orc(path).where("id < 10")
        (only,) = tamis.explain(frame).to_dict()["scans"]
        assert frame.count() == 10
        return dict(only)

    applied = scan()
    spark.conf.set("spark.tamis.mode", "observe")
    observed = scan()
    assert applied["files_kept"] == observed["files_kept"] < 5
    assert (applied["observed"], observed["observed"]) == (False, True)
    assert observed["files_read"] == 5
    text = str(tamis.explain(spark.read.schema("id BIGINT").orc(path).where("id < 10")))
    assert "observed, not applied: 5 of 5 files are read" in text
