"""LIMIT reads only files that surely hold enough matching rows.

It returns as many rows as plain Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import kept, rows, scans

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

# statement, files that are kept of the 10 that hold 100 rows each by id
LIMITS = [
    ("SELECT id FROM events LIMIT 10", [1]),
    ("SELECT * FROM events LIMIT 250", [3]),
    ("SELECT id FROM events LIMIT 5000", [10]),
    ("SELECT id FROM events WHERE id >= 250 AND id < 750 LIMIT 10", [1]),
    ("SELECT id FROM events WHERE id >= 250 AND id < 750 LIMIT 101", [2]),
    # 400 rows match in fully matching files, 500 in all
    ("SELECT id FROM events WHERE id >= 250 AND id < 750 LIMIT 400", [4]),
    ("SELECT id FROM events WHERE id >= 250 AND id < 750 LIMIT 401", [6]),
    ("SELECT id FROM events WHERE id >= 250 AND id < 750 LIMIT 10 OFFSET 95", [2]),
    ("SELECT id + 1 AS more, name FROM events WHERE id >= 250 LIMIT 10", [1]),
    ("SELECT id FROM (SELECT * FROM events WHERE id >= 250) WHERE name > '' LIMIT 10", [1]),
    ("SELECT id FROM events WHERE id = 250 LIMIT 1", [1]),
    ("SELECT id FROM events WHERE year(day) = 1996 LIMIT 7", [1]),
    ("SELECT id FROM events WHERE amount IS NULL LIMIT 3", [10]),
    # another filter stays, and it is unknown which rows satisfy it
    ("SELECT id FROM events WHERE id >= 250 AND item.tags.`a b` = 3 LIMIT 10", [8]),
    ("SELECT id FROM events WHERE id >= 250 AND rand() > -id LIMIT 10", [8]),
    (
        "SELECT id FROM events WHERE id >= 250 UNION ALL SELECT id FROM events WHERE id < 100 LIMIT 5",
        [1, 1],
    ),
    ("SELECT id FROM (SELECT id FROM events WHERE id >= 300 LIMIT 20) WHERE id > 0", [1]),
    ("SELECT id FROM events WHERE id > (SELECT min(id + 1) FROM events) LIMIT 5", [10, 10]),
]


@pytest.mark.parametrize(("statement", "files"), LIMITS, ids=[each for each, _ in LIMITS])
def test_limit_keeps_enough_files(events: DataFrame, statement: str, files: list[int]) -> None:
    spark = events.sparkSession
    frame = spark.sql(statement)
    assert sorted(kept(frame)) == sorted(files)
    limited_rows = rows(frame)
    spark.conf.set("spark.tamis.enabled", "false")
    assert len(limited_rows) == len(rows(spark.sql(statement)))
    if statement.count(" LIMIT ") == 1 and not statement.endswith("> 0"):
        assert set(limited_rows) <= set(rows(spark.sql(statement.partition(" LIMIT ")[0])))


def test_limit_above_a_filter_that_prunes_every_file(events: DataFrame) -> None:
    frame = events.where("id < 0").limit(5)
    assert frame.collect() == []
    assert sum(kept(frame)) == 0


def test_limit_returns_distinct_rows_of_the_table(events: DataFrame) -> None:
    ids = [row.id for row in events.where("id >= 250").limit(150).collect()]
    assert len(set(ids)) == 150
    assert min(ids) >= 250


def test_take_first_show_and_is_empty_with_limits(events: DataFrame) -> None:
    some = events.where("id >= 250 AND id < 750")
    assert len(some.take(3)) == 3
    assert 250 <= some.first().id < 750  # type: ignore[union-attr]
    assert not some.isEmpty()
    assert events.where("id > 5000").isEmpty()


def test_partition_values_give_no_row_counts(
    spark: SparkSession, folder: str, same: Callable[[str], DataFrame]
) -> None:
    spark.range(100).selectExpr("id", "id % 4 AS p").write.partitionBy("p").parquet(f"{folder}/t")
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("parts")
    frame = spark.sql("SELECT id FROM parts WHERE p = 1 LIMIT 5")
    [scan] = scans(frame)
    assert scan["goals"][0]["reason"]["code"] == "LIMIT_NOT_COVERED"
    assert len(rows(frame)) == 5
    tamis.index(spark, f"{folder}/t").build()
    frame = spark.sql("SELECT id FROM parts WHERE p = 1 LIMIT 5")
    [scan] = scans(frame)
    assert scan["files_kept"] == 1
    assert scan["goals"] == [{"goal": "LIMIT 5", "reason": None}]
    assert [c["pushdown"] for c in scan["conjuncts"]] == ["exact", "exact"]
    assert len(rows(frame)) == 5


def test_limit_does_not_choose_a_file_in_which_the_select_list_raises(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Plain Spark reads the largest file first, and stops after it."""
    for name, texts in (("large", [str(n) for n in range(1000)]), ("small", ["x"] * 20)):
        pq.write_table(pa.table({"s": texts, "n": list(range(len(texts)))}), tmp_path / name)
    tamis.index(spark, str(tmp_path)).build()
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("t")
    assert len(spark.sql("SELECT CAST(s AS INT) FROM t LIMIT 5").collect()) == 5
    assert spark.sql("SELECT CAST(s AS INT) AS i FROM t").take(5)[0].i == 0
    spark.sql("SELECT CAST(s AS INT) FROM t").show(5)
    assert kept(spark.sql("SELECT s, n + 1 FROM t LIMIT 5")) == [1]
    # expressions above the LIMIT: the largest file is chosen, as plain Spark does
    spark.range(9).createOrReplaceTempView("u")
    for above in (
        "SELECT sum(CAST(s AS INT)) FROM (SELECT s FROM t LIMIT 5)",
        "SELECT count(*) FROM (SELECT s FROM t LIMIT 5) WHERE CAST(s AS INT) >= 0",
        "SELECT CAST(a.s AS INT), b.id FROM t a LEFT JOIN u b ON a.n = b.id LIMIT 5",
    ):
        assert spark.sql(above).collect()


def test_limit_above_a_left_outer_join_keeps_all_rows(spark: SparkSession, tmp_path: Path) -> None:
    starts = [0, 200, 300, 400]
    for start, end in zip(starts, [*starts[1:], 500], strict=True):
        table = pa.table({"id": pa.array(range(start, end), pa.int64())})
        pq.write_table(table, tmp_path / f"f{start}.parquet")
    tamis.index(spark, str(tmp_path)).build()
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("t")
    joined = "SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.id = b.id + 300"
    assert sorted(kept(spark.sql(joined))) == [1, 4]
    frame = spark.sql(f"{joined} LIMIT 150")
    # f0 holds enough rows, and their partners would have ids below 0
    assert sorted(kept(frame)) == [0, 1]
    assert len(frame.collect()) == 150


def test_empty_files_and_files_that_may_be_missing(spark: SparkSession, tmp_path: Path) -> None:
    for number, length in enumerate([0, 3, 0, 4]):
        table = pa.table({"c": pa.array(range(length), pa.int64())})
        pq.write_table(table, tmp_path / f"f{number}.parquet")
    tamis.index(spark, str(tmp_path)).build()
    frame = spark.read.parquet(str(tmp_path))
    assert kept(frame.limit(4)) == [1]
    assert len(frame.limit(4).collect()) == 4
    assert kept(frame.limit(5)) == [2]
    assert len(frame.limit(5).collect()) == 5
    assert len(frame.limit(8).collect()) == 7
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    assert kept(spark.read.parquet(str(tmp_path)).limit(4)) == [4]


def test_conf_disables_limit_pruning(events: DataFrame) -> None:
    spark = events.sparkSession
    spark.conf.set("spark.tamis.limit.enabled", "false")
    [scan] = scans(events.where("id >= 250").limit(10))
    assert scan["files_kept"] == 8
    assert scan["goals"] == []


def test_plan_shows_the_limit_goal(events: DataFrame) -> None:
    def text(frame: DataFrame) -> str:
        return str(frame._jdf.queryExecution().executedPlan().toString())

    assert "Goals: [LIMIT 10]" in text(events.where("id >= 250").limit(10))
    assert "Goals: [LIMIT 900: no effect, the fully matching files" in text(
        events.where("id >= 250").limit(900)
    )


def test_limit_in_inserts_and_caches(events: DataFrame, folder: str) -> None:
    spark = events.sparkSession
    events.where("id >= 250").limit(10).write.parquet(f"{folder}/out")
    assert spark.read.parquet(f"{folder}/out").count() == 10
    cached = events.where("id >= 250").limit(10).cache()
    assert cached.count() == 10 == cached.count()
    assert events.where("id >= 250").count() == 750
