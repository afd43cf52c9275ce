"""Queries that name Parquet files in any way are pruned, and return the rows of plain Spark."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import kept, rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

Same = Callable[[str], "DataFrame"]


def test_read_parquet_is_pruned(spark: SparkSession, events: DataFrame) -> None:
    frame = events.where("id BETWEEN 250 AND 260")
    assert frame.count() == 11
    assert kept(frame) == [1]


@pytest.mark.parametrize("key", ["comment", "CURRENT_DEFAULT", "generationExpression"])
def test_metadata_of_any_type_does_not_disturb(spark: SparkSession, folder: str, key: str) -> None:
    """Spark expects some keys to be strings, but only reads them for tables of a catalog."""
    frame = spark.range(10).withMetadata("id", {key: 5})
    frame.write.parquet(f"{folder}/labelled")
    assert spark.read.parquet(f"{folder}/labelled").where("id < 3").count() == 3


def test_global_view_is_read_with_the_confs_of_its_session(
    spark: SparkSession, same: Same, folder: str
) -> None:
    """Under LEGACY, Spark moves dates before 1582 that another writer wrote by some days."""
    days = pa.array([datetime.date(1500, 1, 1), datetime.date(1990, 1, 1)])
    pq.write_table(pa.table({"day": days}), f"{folder}/old.parquet", store_schema=False)
    other = spark.newSession()
    other.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY")
    other.read.parquet(f"{folder}/old.parquet").createOrReplaceGlobalTempView("old_days")
    moved = same("SELECT CAST(min(day) AS STRING) FROM global_temp.old_days").first()
    assert moved is not None
    assert moved[0] != "1500-01-01"
    same("SELECT day FROM global_temp.old_days WHERE day < DATE '1500-01-05'")


def test_sql_over_a_path_is_pruned(spark: SparkSession, events_path: str, same: Same) -> None:
    assert kept(same(f"SELECT * FROM parquet.`{events_path}` WHERE id = 5")) == [1]


def test_glob_and_several_paths_are_pruned(spark: SparkSession, events_path: str) -> None:
    frame = spark.read.parquet(events_path + "/*.parquet").where("id < 100")
    assert frame.count() == 100
    assert kept(frame) == [1]
    both = spark.read.parquet(events_path, events_path).where("id < 100")
    assert both.count() == 200


@pytest.mark.parametrize("partitioned", [False, True])
def test_catalog_table_is_pruned(
    spark: SparkSession, events: DataFrame, same: Same, partitioned: bool
) -> None:
    by = "PARTITIONED BY (decade)" if partitioned else ""
    spark.sql(
        f"CREATE TABLE t USING parquet {by} AS SELECT /*+ REPARTITION_BY_RANGE(10, id) */ *, "
        "id DIV 100 AS decade FROM events"
    )
    tamis.index(spark, "t").build()
    frame = same("SELECT name, decade FROM t WHERE id >= 900 AND decade >= 5")
    (scan,) = scans(frame)
    assert (scan["files_kept"], scan["files_total"]) == (1, 5 if partitioned else 10)
    assert scan["table"].endswith("t")
    assert kept(same("SELECT count(*) FROM t WHERE id = 1 OR decade = 3")) == [1]


def test_views_ctes_and_subqueries_are_pruned(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    spark.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT id, name, amount FROM events WHERE id < 500")
    assert kept(same("SELECT * FROM v WHERE id >= 450")) == [1]
    assert kept(same("WITH c AS (SELECT * FROM v) SELECT name FROM c WHERE id IN (1, 2, 3)")) == [1]
    assert kept(same("SELECT * FROM (SELECT id AS k FROM events) WHERE k > 990")) == [1]
    same("SELECT * FROM events WHERE id = (SELECT max(id) FROM events WHERE id < 300)")
    same("SELECT * FROM events WHERE id IN (SELECT id + 1 FROM v WHERE id < 20) AND id < 10")
    same("SELECT * FROM events e WHERE EXISTS (SELECT 1 FROM v WHERE v.id = e.id AND v.id > 490)")
    same(
        "SELECT id, (SELECT count(*) FROM v WHERE v.id < e.id AND v.id > 480) FROM events e WHERE id > 985"
    )


def test_self_joins_and_set_operations_are_pruned(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    frame = same(
        "SELECT a.id, b.id FROM events a JOIN events b ON a.id = b.id WHERE a.id < 50 AND b.id > 20"
    )
    assert all(k == 1 for k in kept(frame))
    same("SELECT id FROM events WHERE id < 5 UNION ALL SELECT id FROM events WHERE id > 995")
    same("SELECT id FROM events WHERE id < 50 EXCEPT SELECT id FROM events WHERE id > 20")
    same(
        "SELECT a.id FROM events a LEFT JOIN events b ON a.id = b.id AND b.id > 900 WHERE b.id IS NULL"
    )
    same(
        "SELECT a.id FROM events a FULL JOIN (SELECT * FROM events WHERE id < 10) b ON a.id = b.id WHERE a.id < 30"
    )
    same("SELECT id FROM events WHERE id > 100 ORDER BY id LIMIT 5")
    same(
        "SELECT count(*), count(DISTINCT item.sku), sum(amount) FROM events WHERE id > 700 OR amount IS NULL"
    )


def test_repeated_plan_reuses_its_exchange(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    statement = "SELECT id % 10 AS k, count(*) AS n FROM events WHERE id < 300 GROUP BY 1"
    spark.sql(statement).createOrReplaceTempView("g")
    frame = spark.sql("SELECT * FROM g a JOIN g b ON a.k = b.k")
    assert "ReusedExchange" in frame._jdf.queryExecution().executedPlan().toString()


def test_scans_of_different_files_do_not_share_an_exchange(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    # both filters become exact and leave the plan: only the files distinguish the two scans
    frame = same(
        "SELECT count(DISTINCT day) FROM (SELECT day FROM events WHERE id < 100) x "
        "UNION ALL SELECT count(DISTINCT day) FROM (SELECT day FROM events WHERE id >= 900) y"
    )
    assert [c["pushdown"] for s in scans(frame) for c in s["conjuncts"]] == ["exact"] * 4


def test_exact_filters_leave_the_plan(spark: SparkSession, events: DataFrame, same: Same) -> None:
    frame = same("SELECT name FROM events WHERE id >= 100 AND id < 300")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan
    assert "Files: 2 of 10" in plan
    assert "id#" not in plan.split("BatchScan")[1].split("]")[0]  # nor is the column read


def test_input_files_are_the_kept_files(spark: SparkSession, events: DataFrame) -> None:
    assert len(events.inputFiles()) == 10
    survivors = events.where("id < 150").inputFiles()
    assert len(survivors) == 2
    assert set(survivors) < set(events.inputFiles())
    named = events.where("id < 150").selectExpr("input_file_name()").distinct().count()
    assert named == 2


def test_nested_fields_prune(spark: SparkSession, events: DataFrame, same: Same) -> None:
    assert kept(same("SELECT id FROM events WHERE item.sku = 777")) == [1]
    assert kept(
        same("SELECT id, item.tags FROM events WHERE item.sku > 990 AND item.tags.`a b` = 3")
    ) == [1]


def test_cached_tables_return_current_rows(
    spark: SparkSession, events: DataFrame, same: Same, folder: str
) -> None:
    spark.range(100).write.parquet(folder + "/c")
    spark.sql(f"CREATE TABLE c (id BIGINT) USING parquet LOCATION '{folder}/c'")
    tamis.index(spark, "c").build()
    spark.sql("CACHE TABLE hot AS SELECT * FROM c WHERE id < 50")
    assert same("SELECT count(*) FROM hot").first()[0] == 50
    spark.sql("CACHE TABLE c")
    assert same("SELECT count(*) FROM c WHERE id >= 90").first()[0] == 10
    spark.sql("INSERT INTO c SELECT id + 1000 FROM range(5)")
    assert same("SELECT count(*) FROM c WHERE id >= 90").first()[0] == 15
    spark.sql("INSERT OVERWRITE c SELECT id + 2000 FROM range(7)")
    assert same("SELECT count(*) FROM c").first()[0] == 7
    assert same("SELECT count(*) FROM c WHERE id >= 90").first()[0] == 7


def test_insert_from_the_same_table_and_ctas(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    spark.sql("CREATE TABLE self USING parquet AS SELECT id FROM events WHERE id < 200")
    tamis.index(spark, "self").build()
    spark.sql("INSERT INTO self SELECT id + 10000 FROM self WHERE id >= 190")
    assert same("SELECT count(*), max(id) FROM self").first() == (210, 10199)
    assert same("SELECT count(*) FROM self WHERE id > 10000").first()[0] == 10


def test_files_written_behind_the_index_are_read(
    spark: SparkSession, same: Same, folder: str
) -> None:
    path = folder + "/t"
    spark.range(100).repartition(2).write.parquet(path)
    tamis.index(spark, path).build()
    spark.range(1000, 1100).repartition(2).write.mode("append").parquet(path)
    statement = f"SELECT id FROM parquet.`{path}` WHERE id >= 1000"
    assert same(statement).count() == 100
    spark.range(5000, 5010).write.mode("overwrite").parquet(path)
    assert same(f"SELECT id FROM parquet.`{path}` WHERE id >= 5000").count() == 10


def test_refresh_sees_files_of_another_writer(spark: SparkSession, same: Same, folder: str) -> None:
    path = folder + "/r"
    spark.range(10).write.parquet(path)
    spark.sql(f"CREATE TABLE r (id BIGINT) USING parquet LOCATION '{path}'")
    tamis.index(spark, "r").build()
    assert same("SELECT count(*) FROM r WHERE id >= 0").first()[0] == 10
    spark.range(10, 30).write.mode("append").parquet(path)
    spark.sql("REFRESH TABLE r")
    assert same("SELECT count(*) FROM r WHERE id >= 0").first()[0] == 30


def test_off_and_observe_modes(spark: SparkSession, events: DataFrame) -> None:
    for key, value in (("spark.tamis.enabled", "false"), ("spark.tamis.mode", "off")):
        spark.conf.set(key, value)
        assert scans(events.where("id = 5")) == []
        spark.conf.unset(key)
    spark.conf.set("spark.tamis.mode", "observe")
    frame = events.where("id = 5")
    assert frame.count() == 1
    assert len(frame.inputFiles()) == 10
    assert "10 of 10 files are read" in frame._jdf.queryExecution().executedPlan().toString()


def test_predicate_that_keeps_no_file(spark: SparkSession, events: DataFrame, same: Same) -> None:
    assert kept(same("SELECT * FROM events WHERE id > 100000")) == [0]
    assert same("SELECT count(*), sum(id), max(name) FROM events WHERE id > 100000").first() == (
        0,
        None,
        None,
    )
    assert same("SELECT name, count(*) FROM events WHERE id > 100000 GROUP BY name").count() == 0
    assert len(rows(spark.sql("SELECT 1 FROM events WHERE id < 0"))) == 0


def test_statistics_of_the_kept_files_reach_the_optimizer(
    spark: SparkSession, events: DataFrame
) -> None:
    def statistics(frame: DataFrame) -> object:
        return frame._jdf.queryExecution().optimizedPlan().stats()

    few, many = statistics(events.where("id < 100")), statistics(events.where("id < 1000"))
    assert few.sizeInBytes() * 5 < many.sizeInBytes()
    assert few.rowCount().get() == 100


@pytest.mark.parametrize("columns", ["*", "id", "id, name", "count(*)"])
@pytest.mark.usefixtures("events")
def test_unpruned_scan_has_the_size_estimate_of_plain_spark(
    spark: SparkSession, columns: str
) -> None:
    """Joins take the same strategies as without tamis."""

    def size(on: bool) -> int:
        spark.conf.set("spark.tamis.enabled", str(on).lower())
        spark.conf.set("spark.tamis.aggregates.enabled", "false")
        frame = spark.sql(f"SELECT {columns} FROM events WHERE amount % 7 < 3")
        return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))

    assert size(True) == pytest.approx(size(False), abs=2)
