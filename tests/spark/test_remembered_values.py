"""Scans learn bounds of the rows that pass their filters, and later scans with these filters use them.

How the bounds could be those of other rows, and where that is tested:

    a LIMIT, a join that ends early             test_scan_that_stops_learns_of_finished_files
    run-time filters, ranges of a join          test_plan_shapes
    splits smaller than files                   test_splits_add_up_to_the_file
    row groups that tamis or Spark leaves out   test_row_groups_that_are_left_out
    rows that pass with NULL                    test_null_is_no_value
    more rows than are noted                    test_many_rows_that_pass
    another type, spelling, column, partition   test_columns
    a file that changes                         test_changed_file
    one scan twice in a task, retried tasks     SplitProgressSuite, SplitOutcomesSuite
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import kept, rows
from tests.spark.test_remembered import age

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Learnt = Callable[[], list[Any]]
Same = Callable[[str], "DataFrame"]

FILES = 8
#: All files have the levels 0 to 99. In file n, errors have the levels 10 n to 10 n + 9.
COLUMNS = [
    "id",
    "CAST(IF(id % 20 = 3, id DIV 100 * 10 + id % 10, id % 100) AS INT) AS level",
    "IF(id % 20 = 3, 'an error', IF(id % 20 = 4, NULL, 'ok')) AS payload",
    "timestamp_seconds(IF(id % 20 = 3, id DIV 100 * 3600 + id % 100, id % 100 * 400)) AS at",
    "CAST(IF(id % 20 = 3, id DIV 100, id % 100 / 10) - 3.5 AS DECIMAL(9, 1)) AS price",
    "CAST(IF(id % 20 = 3, id DIV 100, id % 8) AS TINYINT) AS tiny",
    "DATE '1960-01-01' + CAST(IF(id % 20 = 3, id DIV 100, id % 8) AS INT) AS `D ünï`",
    "IF(id % 20 = 3, id DIV 100, id % 8) * 1.0D AS ratio",
]
ERROR = "payload LIKE '%error%'"


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> str:
    return write_log(spark, str(tmp_path / "log"))


def write_log(spark: SparkSession, path: str) -> str:
    frame = spark.range(100 * FILES).selectExpr(*COLUMNS).repartitionByRange(FILES, "id")
    frame.write.mode("overwrite").parquet(path)
    age(path)
    spark.read.parquet(path).createOrReplaceTempView("log")
    return path


def learn(spark: SparkSession, learnt: Learnt, columns: str, condition: str = ERROR) -> int:
    """Run a query; return the number of files with bounds of the rows that pass."""
    rows(spark.sql(f"SELECT {columns} FROM log WHERE {condition}"))
    return sum(note.bounded_files for note in learnt())


#: Columns that the first query reads, a condition of a later query, and the files that it reads.
CASES: list[tuple[str, str, int]] = [
    ("level", f"{ERROR} AND level BETWEEN 20 AND 25", 1),
    ("level", f"{ERROR} AND level IN (13, 73)", 2),
    ("level", f"{ERROR} AND level > 80", 0),
    ("level", f"level * 2 > 140 AND {ERROR}", 1),
    ("level", f"{ERROR} AND (level > 70 OR level IS NULL)", 8),  # bounds say nothing about NULL
    ("level, payload", f"{ERROR} AND length(payload) > 3 AND level < 10", 1),
    ("at", f"{ERROR} AND at >= TIMESTAMP '1970-01-01 06:30:00Z'", 1),
    ("price", f"{ERROR} AND price > 2.5", 1),
    ("tiny", f"{ERROR} AND tiny = 4", 1),
    ("`D ünï`", f"{ERROR} AND `D ünï` < DATE '1960-01-03'", 2),
    ("id, level", f"{ERROR} AND level = 43 AND id > 3", 1),
    # nothing is known
    ("level", "level BETWEEN 20 AND 25", 8),
    ("level", "payload LIKE '%erro%' AND level > 80", 8),
    ("level", f"({ERROR} OR id = 3) AND level > 80", 8),
    ("level", f"NOT ({ERROR}) AND level > 80", 8),
    ("payload", f"{ERROR} AND level > 80", 8),
    ("ratio", f"{ERROR} AND ratio = 4", 8),
    ("level + 1", f"{ERROR} AND level > 80", 0),
]


@pytest.mark.parametrize("codegen", ["true", "false"])
def test_bounds_leave_out_files(
    spark: SparkSession, log: str, learnt: Learnt, same: Same, codegen: str
) -> None:
    spark.conf.set("spark.sql.codegen.wholeStage", codegen)
    found = []
    for number, (columns, condition, _) in enumerate(CASES):
        spark.conf.set(
            "spark.tamis.cache.location", str(Path(log).parent / f"cache {codegen} {number}")
        )
        bounded = learn(spark, learnt, columns)
        assert bounded == (0 if columns in ("payload", "ratio") else FILES)
        again = same(f"SELECT * FROM log WHERE {condition}")
        learnt()  # before the next location is set
        found.append((columns, condition, sum(kept(again))))
    assert found == CASES


def test_joins_and_sorted_limits_profit(
    spark: SparkSession, log: str, learnt: Learnt, same: Same
) -> None:
    spark.range(3).selectExpr("CAST(23 AS INT) AS d", "id AS n").coalesce(1).write.parquet(
        f"{log} days"
    )
    spark.read.parquet(f"{log} days").createOrReplaceTempView("days")
    tamis.index(spark, log).build()
    tamis.index(spark, f"{log} days").build()
    statements = {
        f"SELECT max(l.id) FROM log l JOIN days ON l.level = days.d WHERE {ERROR}": [1, 1],
        f"SELECT count(*) FROM log l LEFT SEMI JOIN days ON l.level = d WHERE {ERROR}": [1, 1],
        f"SELECT level FROM log WHERE {ERROR} ORDER BY level LIMIT 2": [2],
        f"SELECT id, level FROM log WHERE {ERROR} ORDER BY level DESC LIMIT 1": [1],
        f"SELECT level FROM log WHERE {ERROR} AND level < 55 ORDER BY level DESC LIMIT 1": [1],
        f"SELECT level FROM log WHERE {ERROR} AND id % 7 = 1 ORDER BY level LIMIT 2": [8],
        f"SELECT max(level), min(level) FROM log WHERE {ERROR} AND level > 33": [2],
        f"SELECT max(level) FROM log WHERE {ERROR} AND id % 7 = 2": [8],
    }
    learn(spark, learnt, "level")
    found = {each: sorted(kept(same(each))) for each in statements}
    assert found == statements


def test_bounds_are_of_rows_that_pass_all_conjuncts(
    spark: SparkSession, log: str, learnt: Learnt, same: Same
) -> None:
    learn(spark, learnt, "level", f"{ERROR} AND id % 7 < 5")
    assert kept(same(f"SELECT * FROM log WHERE {ERROR} AND level > 80")) == [FILES]
    assert sum(kept(same(f"SELECT * FROM log WHERE id % 7 < 5 AND {ERROR} AND level > 80"))) == 0
    # statistics say that the second conjunct is true for the files that are read
    tamis.index(spark, log).build()
    learn(spark, learnt, "level", f"{ERROR} AND id >= 100")
    assert sum(kept(same(f"SELECT * FROM log WHERE {ERROR} AND level > 81"))) == 1


def test_scan_that_stops_learns_of_finished_files(
    spark: SparkSession, log: str, learnt: Learnt, same: Same
) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(1 << 30))
    spark.conf.set("spark.sql.files.minPartitionNum", "1")
    assert len(spark.sql(f"SELECT level FROM log WHERE {ERROR} LIMIT 7").collect()) == 7
    assert sum(note.bounded_files for note in learnt()) < FILES
    assert len(rows(same(f"SELECT level FROM log WHERE {ERROR} AND level >= 20"))) == 30
    spark.range(1).createOrReplaceTempView("one")
    same(f"SELECT * FROM one WHERE EXISTS (SELECT level FROM log WHERE {ERROR} AND tiny > 1)")
    learnt()
    same(f"SELECT * FROM log WHERE {ERROR} AND tiny > 1 AND level >= 20")


@pytest.mark.parametrize("bytes_of_task", [300, 1500, 6000])
def test_splits_add_up_to_the_file(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same, bytes_of_task: int
) -> None:
    path = str(tmp_path / "groups")
    spark.range(0, 100 * FILES, 1, 2).selectExpr(*COLUMNS).write.options(
        **{"parquet.block.size": "2000", "parquet.block.size.row.check.min": "10"}
    ).parquet(path)
    age(path)
    spark.read.parquet(path).createOrReplaceTempView("log")
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(bytes_of_task))
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    assert spark.sql("SELECT * FROM log").rdd.getNumPartitions() > 3
    assert learn(spark, learnt, "level") == 2
    assert sum(kept(same(f"SELECT * FROM log WHERE {ERROR} AND level > 80"))) == 0
    assert kept(same(f"SELECT * FROM log WHERE {ERROR} AND level > 40")) == [1]
    assert len(rows(same(f"SELECT * FROM log WHERE {ERROR} AND level >= 33"))) == 25


def test_row_groups_that_are_left_out(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    path = str(tmp_path / "groups")
    spark.range(100 * FILES).selectExpr(*COLUMNS).coalesce(1).write.options(
        **{"parquet.block.size": "2000", "parquet.block.size.row.check.min": "10"}
    ).parquet(path)
    age(path)
    tamis.index(spark, path).build()
    spark.read.parquet(path).createOrReplaceTempView("log")
    learn(spark, learnt, "level", f"{ERROR} AND id BETWEEN 210 AND 390")
    # the bounds are those of the row groups that were read
    assert kept(same(f"SELECT * FROM log WHERE {ERROR} AND level > 80")) == [1]
    condition = f"{ERROR} AND id BETWEEN 210 AND 390 AND level"
    assert sum(kept(same(f"SELECT * FROM log WHERE {condition} > 39"))) == 0
    assert sum(kept(same(f"SELECT * FROM log WHERE {condition} = 39"))) == 0
    assert len(rows(same(f"SELECT * FROM log WHERE {condition} > 30"))) == 5


def test_null_is_no_value(spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same) -> None:
    path = str(tmp_path / "nulls")
    spark.range(0, 90, 1, 3).selectExpr(
        "id",
        "CASE WHEN id >= 60 THEN NULL WHEN id < 30 AND id % 2 = 0 THEN NULL ELSE id END AS a",
        "IF(id % 3 = 0, 'error', 'ok') AS payload",
    ).write.parquet(path)
    age(path)
    spark.read.parquet(path).createOrReplaceTempView("log")
    assert learn(spark, learnt, "a") == 3
    # of the second file it is not known that no such row has NULL
    cases = {"a IS NULL": 3, "a > 57": 0, "a < 5": 1, "coalesce(a, 99) > 90": 3}
    found = {each: sum(kept(same(f"SELECT * FROM log WHERE {ERROR} AND {each}"))) for each in cases}
    assert found == cases
    for order in ("a", "a DESC", "a NULLS LAST", "a DESC NULLS FIRST"):
        for limit in (1, 4, 20):
            same(f"SELECT a FROM log WHERE {ERROR} ORDER BY {order} LIMIT {limit}")


def test_many_rows_that_pass(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    path = str(tmp_path / "many")
    spark.range(0, 6000, 1, 2).selectExpr(
        "id",
        "id % 3000 AS a",
        "IF(id % 3000 < IF(id < 3000, 1024, 1025), 'error', 'ok') AS payload",
    ).write.parquet(path)
    age(path)
    spark.read.parquet(path).createOrReplaceTempView("log")
    assert learn(spark, learnt, "a") == 1
    assert kept(same(f"SELECT * FROM log WHERE {ERROR} AND a > 1500")) == [1]
    assert kept(same(f"SELECT * FROM log WHERE {ERROR} AND a = 1023")) == [2]


def test_columns(spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same) -> None:
    path = str(tmp_path / "days")
    spark.range(0, 400, 1, 4).selectExpr(
        "id", "CAST(id AS INT) AS a", "IF(id % 9 = 0, 'error', 'ok') AS payload", "id % 2 AS day"
    ).write.partitionBy("day").parquet(path)
    age(path)
    spark.read.parquet(path).createOrReplaceTempView("log")
    learn(spark, learnt, "day, a")
    condition = f"{ERROR} AND a > 396"
    assert sum(kept(same(f"SELECT * FROM log WHERE {condition}"))) == 0
    assert kept(same(f"SELECT * FROM log WHERE {ERROR} AND day = 0 AND A BETWEEN 100 AND 250")) == [
        2
    ]
    frame = spark.read.schema("payload STRING, a BIGINT, day INT").parquet(path)
    assert kept(frame.where(condition)) == [8]
    frame = spark.read.schema("payload STRING, a INT, day STRING").parquet(path)
    assert sum(kept(frame.where(condition))) == 0
    frame = spark.read.schema("payload STRING, day INT, missing INT").parquet(path)
    assert rows(frame.where(ERROR).select("missing"))
    learnt()
    assert sum(kept(frame.where(f"{ERROR} AND missing > 3"))) == 0
    assert len(rows(frame.where(f"{ERROR} AND missing IS NULL"))) == 45
    for conf, value in (
        ("spark.sql.session.timeZone", "Asia/Kolkata"),
        ("spark.sql.caseSensitive", "true"),
        ("spark.sql.parquet.enableVectorizedReader", "false"),
        ("spark.tamis.remember.enabled", "false"),
    ):
        before = str(spark.conf.get(conf))
        spark.conf.set(conf, value)
        assert kept(spark.sql(f"SELECT * FROM log WHERE {condition}")) == [8]
        spark.conf.set(conf, before)


def test_changed_file(spark: SparkSession, log: str, learnt: Learnt, same: Same) -> None:
    learn(spark, learnt, "level")
    statement = f"SELECT * FROM log WHERE {ERROR} AND level > 80"
    assert sum(kept(same(statement))) == 0
    (first,) = Path(log).glob("part-00000-*")
    spark.range(1).selectExpr("id", "99 AS level", "'an error' AS payload", *COLUMNS[3:]).coalesce(
        1
    ).write.parquet(f"{log} other")
    (new,) = Path(f"{log} other").glob("*.parquet")
    first.write_bytes(new.read_bytes())
    first.with_name(f".{first.name}.crc").unlink()
    spark.catalog.refreshByPath(log)
    assert (kept(same(statement)), len(rows(spark.sql(statement)))) == ([1], 1)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_plan_shapes(
    spark: SparkSession, log: str, learnt: Learnt, same: Same, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.range(20, 23).selectExpr("CAST(id AS INT) AS level").createOrReplaceTempView("few")
    statements = [
        # a run-time filter, and ranges that the join adds
        f"SELECT * FROM log JOIN few USING (level) WHERE {ERROR}",
        f"SELECT count(*) FROM (SELECT 1 FROM log a JOIN few ON a.{ERROR} LIMIT 2)",
        f"SELECT * FROM few WHERE EXISTS (SELECT 1 FROM log WHERE {ERROR} AND tiny > 4)",
        # the side that outer joins extend with NULL
        f"SELECT few.level, at FROM few LEFT JOIN log ON few.level = log.level AND {ERROR}",
        f"SELECT * FROM few FULL JOIN (SELECT * FROM log WHERE {ERROR}) USING (level)",
        f"SELECT level FROM few WHERE level NOT IN (SELECT level FROM log WHERE {ERROR})",
        # the same scan twice
        f"SELECT level FROM log WHERE {ERROR} UNION ALL SELECT tiny FROM log WHERE {ERROR}",
        f"SELECT level FROM log WHERE {ERROR} UNION ALL SELECT level FROM log WHERE NOT ({ERROR})",
        f"SELECT tiny, count(*), max(level) FROM log WHERE {ERROR} GROUP BY tiny",
        f"SELECT level, at FROM log WHERE {ERROR} ORDER BY at DESC, level LIMIT 3",
        f"SELECT max(at), min(level) FROM log WHERE {ERROR}",
        f"SELECT * FROM log WHERE {ERROR} AND level > 65",
    ]
    for statement in statements * 2:
        same(statement)
        learnt()
    assert sum(kept(same(statements[-1]))) == 1


def test_explanations_and_audit(spark: SparkSession, log: str, learnt: Learnt) -> None:
    learn(spark, learnt, "level")
    statement = f"SELECT * FROM log WHERE {ERROR} AND level < 15"
    text = str(tamis.explain(spark.sql(statement)))
    assert f"an earlier scan found no row that passes in {FILES - 2} files" in text
    quoted = statement.replace("'", "\\'")
    files = spark.sql(f"SELECT * FROM tamis_files('{quoted}')").collect()
    causes = {file.decided_by for file in files if not file.kept}
    assert causes == {"an earlier scan found no row that passes"}
    spark.conf.set("spark.tamis.audit", str(FILES))
    audit = spark._jvm.io.tamis.report.Audit
    before = audit.files()
    rows(spark.sql(statement))
    (note,) = [each for each in learnt() if each.bounded_files == FILES]
    assert note.skipped_files >= FILES - 2
    assert spark._jvm.io.tamis.Tamis.awaitAudits(60_000)
    assert audit.files() - before == FILES - 2
