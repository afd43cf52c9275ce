"""Only queries that ran are recorded, and the record equals what Spark counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis.report.findings import Predicate, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Recorded = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def recorded(spark: SparkSession, history: Path) -> Recorded:
    """Read the records of this test's session."""
    bridge = spark._jvm.io.tamis.Tamis
    bridge.flushHistory(spark._jsparkSession)  # earlier records are written elsewhere
    spark.conf.set("spark.tamis.history.enabled", "true")
    spark.conf.set("spark.tamis.history.location", str(history))

    def read() -> list[dict[str, Any]]:
        bridge.flushHistory(spark._jsparkSession)
        return list(tamis.history(history).to_pylist())

    return read


def test_executed_scan_is_recorded(
    spark: SparkSession, events: DataFrame, events_path: str, recorded: Recorded
) -> None:
    count = len(events.where("id < 150 AND hash(name) % 10 = 0").select("name").collect())
    (row,) = recorded()
    assert row["application"] == spark.sparkContext.applicationId
    assert row["execution"] >= 0
    assert events_path in row["table"]
    assert [root.endswith(events_path) for root in row["roots"]] == [True]
    assert (row["files_kept"], row["files_read"], row["files_total"]) == (2, 2, 10)
    assert (row["rows_kept"], row["rows_total"]) == (200, 1000)
    assert 0 < row["bytes_kept"] < row["bytes_total"]
    assert (row["rows_read"], row["rows_passed"]) == (200, count)
    assert row["planning_ms"] > 0
    assert (row["fallback"], row["has_index"], row["files_without_index"]) == (None, True, 0)
    conjuncts = {each["sql"]: each for each in row["conjuncts"]}
    assert conjuncts["(id < 150L)"]["pushdown"] == "inexact"
    assert conjuncts["(id < 150L)"]["pruned_files"] == 8
    assert conjuncts["(id < 150L)"]["columns"] == ["id"]
    assert conjuncts["(id < 150L)"]["reason"]
    (opaque,) = (each for sql, each in conjuncts.items() if "hash" in sql)
    assert (opaque["pushdown"], opaque["pruned_files"], opaque["columns"]) == (
        "unsupported",
        0,
        ["name"],
    )
    assert {each["name"]: each["depth"] for each in row["columns"]} == {"id": 1.0, "name": 1.0}


def test_every_run_is_recorded(events: DataFrame, recorded: Recorded) -> None:
    frame = events.where("id < 150")
    frame.collect()
    frame.collect()
    frame.count()
    rows = recorded()
    assert len(rows) == 3
    assert len({row["execution"] for row in rows}) == 3
    assert [row["rows_read"] for row in rows][:2] == [200, 200]


# statement over 10 files of 100 rows, clustered by id | aggregates, by, groups | files
AGGREGATED = [
    ("SELECT sum(id) FROM events", (["sum(id)"], [], 1), 10),
    ("SELECT sum(id), avg(id) FROM events WHERE id < 350", (["sum(id)", "avg(id)"], [], 1), 3),
    ("SELECT sum(id * 2 + 1) FROM events WHERE id < 50", (["sum(((id * 2L) + 1L))"], [], 1), 0),
    ("SELECT day, sum(id + 1) FROM events GROUP BY day", (["sum((id + 1L))"], ["day"], 1000), 10),
    ("SELECT DISTINCT day FROM events WHERE id < 100", (["count(*)"], ["day"], 100), 1),
    ("SELECT sum(CAST(id AS DECIMAL(9, 2)) * (1 - 0.1)) FROM events WHERE id >= 200",
     (["sum((CAST(id AS DECIMAL(9,2)) * CAST(0.9BD AS DECIMAL(3,1))))"], [], 1), 8),
    ("SELECT sum(amount * (1 - amount)) FROM events",
     (["sum((amount * (1BD - amount)))"], [], 1), 10),
    ("SELECT sum(q) FROM (SELECT id + 5 AS q, day FROM events)", (["sum((id + 5L))"], [], 1), 10),
    # a FILTER leaves open the files in which it is true for some rows only
    ("SELECT sum(id) FILTER (WHERE id > 250) FROM events", (["sum(id)"], [], 1), 9),
    ("SELECT sum(id) FILTER (WHERE id > 250), sum(id) FILTER (WHERE id < 720), "
     "sum(id * 2) FILTER (WHERE id < 720) FROM events WHERE id < 950",
     (["sum(id)", "sum((id * 2L))"], [], 1), 7),
    ("SELECT sum(id) FILTER (WHERE name LIKE '%7') FROM events", (["sum(id)"], [], 1), 0),
    # answered, or nothing that can be recorded
    ("SELECT count(*) FROM events WHERE id < 150", None, None),
    ("SELECT sum(CAST(id AS DOUBLE) / 3) FROM events", None, None),
    ("SELECT count(DISTINCT id) FROM events", None, None),
    ("SELECT id, name FROM events WHERE id < 150", None, None),
    ("SELECT sum(a.id) FROM events a JOIN events b ON a.id = b.id", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "wanted", "files"), AGGREGATED)
def test_aggregates_that_an_index_could_record(
    spark: SparkSession,
    events: DataFrame,
    recorded: Recorded,
    statement: str,
    wanted: tuple[list[str], list[str], int] | None,
    files: int | None,
) -> None:
    events.createOrReplaceTempView("events")
    spark.sql(statement).collect()
    found = [row["aggregates"] for row in recorded()]
    if wanted is None:
        assert set(map(str, found)) == {"None"}
        return
    (aggregates,) = found
    assert (aggregates["aggregates"], aggregates["by"], aggregates["groups"]) == wanted
    assert aggregates["files"] == files
    assert (aggregates["bytes"] > 0) == (files != 0)


def test_proposed_aggregates_answer_the_query(
    spark: SparkSession, events: DataFrame, recorded: Recorded, history: Path, tmp_path: Path
) -> None:
    """Run the call that the report names. It records what the query looks for."""
    path = str(tmp_path / "copy")
    events.selectExpr("*", "id % 3 AS kind").repartitionByRange(8, "id").write.parquet(path)
    statement = (
        "SELECT kind, sum(id * (1 - 0.5)), avg(CAST(id AS DECIMAL(7, 2)) / 3), max(id * 2), "
        "sum(id * 3) FILTER (WHERE id >= 100 AND id < 5000) FROM copy WHERE id >= 100 GROUP BY kind"
    )

    def opened() -> list[int]:
        spark.read.parquet(path).createOrReplaceTempView("copy")
        frame = spark.sql(statement)
        frame.collect()
        return [scan["files_kept"] for scan in tamis.explain(frame).to_dict()["scans"]]

    tamis.index(spark, path).build()
    for _ in range(5):
        assert opened() == [8]
    recorded()
    (use,) = findings(tamis.history(history)).aggregates
    exec(use.call, {"tamis": tamis, "spark": spark})
    assert len(opened()) <= 1
    assert sum(opened()) <= 1


def test_explained_query_is_not_recorded(
    spark: SparkSession, events: DataFrame, recorded: Recorded
) -> None:
    frame = events.where("id < 150")
    frame.explain("formatted")
    tamis.explain(frame)
    spark.sql("EXPLAIN SELECT * FROM events WHERE id < 150").collect()
    spark.sql("EXPLAIN CODEGEN SELECT * FROM events WHERE id < 150").collect()
    assert recorded() == []


def test_failed_query_is_not_recorded(events: DataFrame, recorded: Recorded) -> None:
    with pytest.raises(Exception, match="on purpose"):
        events.where("id < 150 AND raise_error('on purpose') IS NULL").collect()
    assert recorded() == []


def test_disabled_history_records_nothing(
    spark: SparkSession, events: DataFrame, recorded: Recorded, history: Path
) -> None:
    spark.conf.set("spark.tamis.history.enabled", "false")
    events.where("id < 150").collect()
    assert recorded() == []
    assert not history.exists()


def test_cached_scan_is_recorded_once(events: DataFrame, recorded: Recorded) -> None:
    cached = events.where("id < 150").cache()
    cached.count()
    cached.where("id = 3").collect()
    cached.count()
    (row,) = recorded()
    assert (row["rows_read"], row["rows_passed"]) == (200, 150)


def test_exact_filter_passes_every_row_read(events: DataFrame, recorded: Recorded) -> None:
    events.where("id < 200").select("name").collect()
    (row,) = recorded()
    assert (row["rows_read"], row["rows_passed"]) == (200, 200)


def test_scans_of_joins_and_subqueries_are_recorded(
    spark: SparkSession, events: DataFrame, recorded: Recorded
) -> None:
    spark.sql(
        "SELECT a.name FROM events a JOIN events b ON a.id = b.item.sku "
        "WHERE a.id < 150 AND b.day >= DATE '1995-02-01' AND a.id > (SELECT min(hash(name)) FROM events WHERE id = 7)"
    ).collect()
    assert len(recorded()) == 3


def test_limit_records_its_goal(events: DataFrame, recorded: Recorded) -> None:
    events.where("id < 550").limit(5).collect()
    (row,) = recorded()
    assert row["files_kept"] == 1
    assert [each["goal"] for each in row["goals"]] == ["LIMIT 5"]


def test_relation_of_spark_is_recorded(events: DataFrame, recorded: Recorded) -> None:
    events.where("id < 150 AND amount > 3").select("name", "_metadata.file_name").collect()
    (row,) = recorded()
    assert (row["files_kept"], row["files_total"], row["rows_read"]) == (2, 10, 200)
    assert row["rows_passed"] < 150


def test_scan_of_a_write_is_recorded(events: DataFrame, recorded: Recorded, folder: str) -> None:
    events.where("id < 150").write.parquet(f"{folder}/copy")
    assert [row["files_kept"] for row in recorded()] == [2]


def test_unwritable_history_is_warned_once(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    bridge = spark._jvm.io.tamis.Tamis
    (tmp_path / "file").write_text("no folder")
    spark.conf.set("spark.tamis.history.enabled", "true")
    spark.conf.set("spark.tamis.history.location", str(tmp_path / "file" / "history"))
    for _ in range(3):
        assert events.where("id < 150").count() == 150
        bridge.flushHistory(spark._jsparkSession)
    warnings = [text for text in bridge.warnings() if str(tmp_path) in text]
    assert len(warnings) == 1
    assert "cannot be written" in warnings[0]


def suspects(history: Path, path: str) -> list[Predicate]:
    predicates = findings(tamis.history(history)).predicates
    return [each for each in predicates if path in each.table]


def test_fixes_of_missing_and_coarse_statistics(
    spark: SparkSession, recorded: Recorded, history: Path, folder: str
) -> None:
    path, clustered = f"{folder}/mixed", f"{folder}/clustered"
    rows = spark.range(4000).selectExpr("id", "(id * 7919) % 4000 AS key")
    rows.repartitionByRange(8, "id").write.parquet(path)

    def causes(where: str) -> list[tuple[str, str]]:
        before = len(suspects(history, where))
        spark.read.parquet(where).where("key BETWEEN 2000 AND 2001").collect()
        recorded()
        findings_now = suspects(history, where)
        assert len(findings_now) <= before + 2
        return sorted((each.predicate, str(each.cause)) for each in findings_now)

    assert causes(path) == [("(key <= ?)", "missing"), ("(key >= ?)", "missing")]
    tamis.index(spark, path).build()
    assert ("(key <= ?)", "coarse") in causes(path)
    (fix,) = {each.fix for each in suspects(history, path) if each.cause == "coarse"}
    assert fix == "cluster the table by key"
    spark.read.parquet(path).repartitionByRange(8, "key").write.parquet(clustered)
    tamis.index(spark, clustered).build()
    assert causes(clustered) == []
    uses = {
        each.column: each for each in findings(tamis.history(history)).columns if path in each.table
    }
    assert uses["key"].depth == pytest.approx(8, abs=0.5)
    assert uses["key"].lost_bytes > 0


def test_fix_of_a_stale_index(
    spark: SparkSession, recorded: Recorded, history: Path, folder: str
) -> None:
    path = f"{folder}/grown"

    def write(first: int) -> None:
        frame = spark.range(first, first + 4000).repartitionByRange(4, "id")
        frame.write.mode("append").parquet(path)

    write(0)
    tamis.index(spark, path).build()
    for first in (4000, 8000, 12000):
        write(first)
    spark.read.parquet(path).where("id >= 0 AND hash(id) % 50 = 0").collect()
    recorded()
    by_predicate = {each.predicate: each for each in suspects(history, path)}
    assert {str(each.cause) for each in by_predicate.values()} == {"stale"}
    assert {each.files_unknown for each in by_predicate.values()} == {12}
    assert all("index refresh" in each.fix and path in each.fix for each in by_predicate.values())
    tamis.index(spark, path).refresh()
    spark.read.parquet(path).where("id = 5").collect()
    assert (recorded()[-1]["files_kept"], recorded()[-1]["files_without_index"]) == (1, 0)
