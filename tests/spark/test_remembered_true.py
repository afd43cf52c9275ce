"""Scans learn in which files and row groups every row passes their filters. Later scans then do not
apply these filters, and count the rows of such files.

How a scan can return a part of the rows of a file, and where it is tested:

    a LIMIT, a join that ends early             test_nothing_is_learnt, test_plan_shapes
    run-time filters, ranges of a join          test_plan_shapes
    row groups and pages that Spark skips       test_nothing_is_learnt
    row groups that tamis leaves out            test_second_scan_applies_no_filter
    splits smaller than files or row groups     test_splits_add_up_to_the_file
    a row for which the filter is NULL          test_nothing_is_learnt
    an error in ANSI mode                       test_error_teaches_nothing
    one scan twice in a plan, AQE, reuse        test_plan_shapes
    one scan twice in a task, retried tasks     SplitProgressSuite, SplitOutcomesSuite
    each kind of reader                         READERS
    a file that changes                         test_changed_file_needs_its_filter_again
    a file that a query reads twice             test_file_that_is_read_twice
    other values of the same file               test_values_depend_on_the_calendar_of_the_reader
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import rows, scans
from tests.spark.test_remembered import age
from tests.spark.test_remembered_row_groups import FILTERING, GROUP, GROUPS, READERS, sql_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]
Learnt = Callable[[], list[Any]]

# Except where readers are compared, and tasks.
pytestmark = pytest.mark.usefixtures("in_one_task")

ROWS = GROUP * GROUPS
NEEDLE = "text LIKE '%NEEDLE%'"


def write_file(path: Path, first: int, needles: Callable[[int], bool], **options: Any) -> None:
    """Write a file of GROUPS row groups, with the needle in these of its rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    places = range(ROWS)
    table = pa.table(
        {
            "id": pa.array([first + i for i in places], pa.int64()),
            "code": [first + i % 9 for i in places],
            # no prefix that bounds would tell
            "text": [f"{i % 10} {'NEEDLE' if needles(i) else 'hay'} {i}" for i in places],
            "x": [None if first + i == 5 else float(i + 1) for i in places],
        }
    )
    chosen = {"use_dictionary": ["code"], "row_group_size": GROUP} | options
    pq.write_table(table, path, **chosen)


@pytest.fixture(scope="module")
def clean(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of three files: every row has the needle, every row of the first four row
    groups, and none.
    """
    path = tmp_path_factory.mktemp("clean") / "log"
    small = {"write_page_index": True, "data_page_size": 32, "write_batch_size": 4}
    write_file(path / "0.parquet", 0, lambda i: True, **small)
    write_file(path / "1.parquet", ROWS, lambda i: i < 4 * GROUP, **small)
    write_file(path / "2.parquet", 2 * ROWS, lambda i: False)
    age(str(path))
    tamis.index(spark_session, str(path)).build()
    return str(path)


@pytest.fixture(scope="module")
def plain(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of two files without an index, of one row group each: every row has the
    needle, or none.
    """
    path = tmp_path_factory.mktemp("plain") / "log"
    write_file(path / "0.parquet", 0, lambda i: True, row_group_size=ROWS)
    write_file(path / "1.parquet", ROWS, lambda i: False, row_group_size=ROWS)
    age(str(path))
    return str(path)


def exact(frame: DataFrame) -> list[str]:
    """Return the conjuncts that a scan need not apply because of what earlier scans have found."""
    (scan,) = tamis.explain(frame).to_dict()["scans"]
    found = [each for each in scan["conjuncts"] if each["remembered"]]
    assert all(each["pushdown"] == "exact" for each in found)
    return [each["sql"] for each in found]


FOUND = "contains(text, 'NEEDLE')"


@pytest.mark.parametrize("reader", [*READERS, FILTERING])
def test_second_scan_applies_no_filter(
    spark: SparkSession, clean: str, learnt: Learnt, same: Same, reader: dict[str, str]
) -> None:
    for key, value in reader.items():
        spark.conf.set(key, value)
    statement = sql_of(clean, NEEDLE)
    same(statement)
    (note,) = learnt()
    assert (note.files, note.partial_files) == (1, 1)
    assert (note.passing_files, note.partial_passing_files) == (1, 1)
    again = same(statement)
    assert exact(again) == [FOUND]
    (scan,) = scans(again)
    assert (scan["files_kept"], scan["row_groups_kept"]) == (2, GROUPS + 4)
    assert "Filter" not in again._jdf.queryExecution().optimizedPlan().toString()
    # a scan with less rows still knows what it knew, and one with more rows does not
    assert exact(same(sql_of(clean, f"{NEEDLE} AND code >= 0 AND rand(1) < 2"))) == [FOUND]
    assert exact(same(sql_of(clean, f"{NEEDLE} OR code = 3"))) == []
    assert exact(same(sql_of(clean, "text LIKE '%NEED%'"))) == []


def test_whole_files_answer_counts_limits_and_sorted_limits(
    spark: SparkSession, clean: str, learnt: Learnt, same: Same
) -> None:
    same(sql_of(clean, f"{NEEDLE} AND id < {ROWS}"))
    learnt()
    spark.read.parquet(clean).createOrReplaceTempView("log")
    first = f"FROM log WHERE {NEEDLE} AND id < {ROWS}"
    counted = same(f"SELECT count(*), max(id), count(x) {first}")
    assert scans(counted) == []  # no file is read
    # the other file is read
    counted = same(f"SELECT count(*), max(id) FROM log WHERE {NEEDLE}")
    assert [scan["files_kept"] for scan in scans(counted)] == [2]
    limited = spark.sql(f"SELECT * FROM log WHERE {NEEDLE} LIMIT 7")
    assert [scan["files_kept"] for scan in scans(limited)] == [1]
    assert all("NEEDLE" in row.text for row in limited.collect())
    assert limited.count() == 7
    ordered = same(f"SELECT * FROM log WHERE {NEEDLE} ORDER BY id LIMIT 7")
    assert [scan["files_kept"] for scan in scans(ordered)] == [1]
    same(f"SELECT * FROM log WHERE {NEEDLE} ORDER BY id DESC LIMIT 7")
    same(f"SELECT sum(code), count(DISTINCT text) FROM log WHERE {NEEDLE}")


def test_files_without_an_index_need_no_filter_either(
    spark: SparkSession, plain: str, learnt: Learnt, same: Same
) -> None:
    statement = sql_of(plain, NEEDLE)
    same(statement)
    (note,) = learnt()
    assert (note.files, note.passing_files) == (1, 1)
    again = same(statement)
    assert FOUND in exact(again)
    assert [scan["files_kept"] for scan in scans(again)] == [1]
    (note,) = learnt()
    assert note.scans > 0


@pytest.mark.parametrize("bytes_of_task", [300, 1500, 6000])
def test_splits_add_up_to_the_file(
    spark: SparkSession, clean: str, learnt: Learnt, same: Same, bytes_of_task: int
) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(bytes_of_task))
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    statement = sql_of(clean, NEEDLE)
    assert spark.sql(statement).rdd.getNumPartitions() > 3
    same(statement)
    (note,) = learnt()
    assert note.passing_files + note.partial_passing_files == 2
    assert exact(same(statement)) == [FOUND]
    same(f"SELECT count(*) FROM parquet.`{clean}` WHERE {NEEDLE} AND id < {ROWS}")


@pytest.mark.parametrize(
    "predicate",
    [
        # one row does not pass, or makes the filter NULL
        "text NOT LIKE '%NEEDLE 7' AND id < 160",
        "sqrt(x) > 0 AND id < 160",
        # row groups, and pages, that Spark skips
        "id BETWEEN 23 AND 130 AND length(text) > 1",
        "id IN (3, 103, 150) AND length(text) > 1",
        "code < 3 AND length(text) > 1",
        "rand(3) < 2",
        "length(text) > (SELECT min(code) FROM {log})",
        "text IN (SELECT text FROM {log})",
    ],
)
def test_nothing_is_learnt(
    spark: SparkSession, clean: str, learnt: Learnt, same: Same, predicate: str
) -> None:
    statement = sql_of(clean, predicate.format(log=f"parquet.`{clean}`"))
    same(statement)
    for limit in (1, 3 * GROUP):
        assert len(spark.sql(f"{statement} LIMIT {limit}").collect()) <= limit
    assert sum(note.passing_files for note in learnt()) == 0
    same(statement)
    for other in ("length(text) > 1", "sqrt(x) > 0", "text NOT LIKE '%NEEDLE 7'"):
        assert len(rows(same(sql_of(clean, f"{other} AND id < {ROWS}")))) in (ROWS, ROWS - 1)


def test_limit_learns_from_finished_row_groups_only(
    spark: SparkSession, clean: str, learnt: Learnt, same: Same
) -> None:
    statement = sql_of(clean, NEEDLE)
    assert len(spark.sql(f"{statement} LIMIT {2 * GROUP + 1}").collect()) == 2 * GROUP + 1
    (note,) = learnt()
    assert (note.passing_files, note.partial_passing_files) == (0, 1)
    assert exact(same(statement)) == []


def test_error_teaches_nothing(spark: SparkSession, clean: str, learnt: Learnt, same: Same) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "true")
    # the text of a row without the needle has no E
    failing = sql_of(clean, "1 / (length(text) - length(regexp_replace(text, 'E', ''))) > 0")
    for _ in range(2):
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            spark.sql(failing).collect()
        assert learnt() == []
    same(f"{failing} AND id < {ROWS}")
    assert [note.passing_files for note in learnt()] == [1]
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql(failing).collect()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    assert exact(same(failing)) == []


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_plan_shapes(
    spark: SparkSession, clean: str, learnt: Learnt, same: Same, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.read.parquet(clean).createOrReplaceTempView("log")
    spark.range(100, 103).createOrReplaceTempView("few")
    statements = [
        # a run-time filter, and ranges that the join adds
        f"SELECT * FROM log JOIN few USING (id) WHERE {NEEDLE}",
        f"SELECT count(*) FROM (SELECT 1 FROM log a JOIN few ON a.{NEEDLE} LIMIT 2)",
        f"SELECT * FROM few WHERE EXISTS (SELECT 1 FROM log WHERE {NEEDLE} AND code > 4)",
    ]
    for statement in statements * 2:
        same(statement)
        learnt()
    statements = [
        # the side that outer joins extend with NULL
        f"SELECT few.id, text FROM few LEFT JOIN log ON few.id = log.id AND {NEEDLE}",
        f"SELECT few.id, text FROM few LEFT JOIN log USING (id) WHERE {NEEDLE}",
        f"SELECT * FROM few FULL JOIN (SELECT * FROM log WHERE {NEEDLE}) USING (id)",
        f"SELECT id FROM few WHERE id NOT IN (SELECT id FROM log WHERE {NEEDLE})",
        # the same scan twice
        f"SELECT id FROM log WHERE {NEEDLE} UNION ALL SELECT id FROM log WHERE {NEEDLE}",
        f"SELECT id FROM log WHERE {NEEDLE} UNION ALL SELECT code FROM log WHERE NOT ({NEEDLE})",
        f"SELECT /*+ MERGE(b) */ count(*) FROM log a JOIN log b ON a.code = b.code "
        f"WHERE a.{NEEDLE} AND b.{NEEDLE}",
        f"SELECT code, count(*), max(text) FROM log WHERE {NEEDLE} GROUP BY code",
        f"SELECT DISTINCT substr(text, 1, 3) FROM log WHERE {NEEDLE} OR id = {3 * ROWS - 1}",
    ]
    for statement in statements * 2:
        same(statement)
        learnt()
    assert exact(same(f"SELECT * FROM log WHERE {NEEDLE}")) == [FOUND]


def test_cached_and_prepared_frames_keep_their_rows(
    spark: SparkSession, clean: str, learnt: Learnt, same: Same
) -> None:
    before = spark.sql(sql_of(clean, NEEDLE))
    before.explain()  # planned with the filter
    cached = spark.sql(sql_of(clean, NEEDLE)).cache()
    assert cached.count() == ROWS + 4 * GROUP
    learnt()
    assert before.count() == cached.where("code >= 0").count() == ROWS + 4 * GROUP
    cached.unpersist()
    assert exact(same(sql_of(clean, NEEDLE))) == [FOUND]


@pytest.mark.parametrize(
    ("conf", "before", "after", "predicate"),
    [
        (
            "spark.sql.session.timeZone",
            "UTC",
            "Asia/Kolkata",
            "hour(timestamp_seconds(length(text))) = 0",
        ),
        ("spark.sql.ansi.enabled", "false", "true", "CAST(substr(text, 10) AS INT) IS NOT NULL"),
        ("spark.sql.caseSensitive", "false", "true", NEEDLE),
        ("spark.sql.parquet.filterPushdown", "true", "false", NEEDLE),
    ],
)
def test_other_settings_need_the_filter(
    spark: SparkSession,
    clean: str,
    learnt: Learnt,
    same: Same,
    conf: str,
    before: str,
    after: str,
    predicate: str,
) -> None:
    statement = sql_of(clean, f"{predicate} AND id < {ROWS}")
    spark.conf.set(conf, before)
    same(statement)
    assert [note.passing_files for note in learnt()] == [1]
    spark.conf.set(conf, after)
    assert exact(spark.sql(statement)) == []
    same(statement)
    spark.conf.set(conf, before)
    assert len(exact(same(statement))) == 1
    spark.conf.set("spark.tamis.remember.enabled", "false")
    assert exact(same(statement)) == []


def test_values_depend_on_the_calendar_of_the_reader(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    """With LEGACY rebasing, the first days of the year 900 are in 899, and times of these days move
    by seconds that depend on the time zone of the JVM. The files do not name either of them.
    """
    path = tmp_path / "old"
    path.mkdir()
    for file in range(4):
        times = [datetime(900 + file, 1, 1 + day, 12, tzinfo=UTC) for day in range(20)]
        text = ["a NEEDLE" if day < 10 else "hay" for day in range(20)]
        pq.write_table(pa.table({"at": times, "text": text}), path / f"{file}.parquet")
    age(str(path))
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    try:
        for zone, mode in [
            ("UTC", "CORRECTED"),
            ("UTC", "LEGACY"),
            ("Asia/Kolkata", "LEGACY"),
            ("America/New_York", "LEGACY"),
        ]:
            zones.setDefault(zones.getTimeZone(zone))
            frame = spark.read.option("datetimeRebaseMode", mode).parquet(str(path))
            frame.createOrReplaceTempView("old")
            for condition in (
                NEEDLE,
                f"{NEEDLE} AND at = TIMESTAMP '0900-01-06 12:00:00Z'",
                "second(at) = 0",
            ):
                same(f"SELECT at FROM old WHERE {condition}")
                learnt()
    finally:
        zones.setDefault(before)


def test_file_that_is_read_twice(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    """Parts of several copies are as long as the file, but do not hold all of its rows."""
    path = str(tmp_path / "log")
    small = {"parquet.block.size": "1500", "parquet.block.size.row.check.min": "10"}
    spark.range(0, 800, 1, 1).selectExpr(
        "id", "IF(id < 400, 'an error', 'ok') AS payload", "id AS level"
    ).write.options(**small).parquet(path)
    age(path)
    size = sum(file.stat().st_size for file in Path(path).glob("*.parquet"))
    for conf in ("codegen.wholeStage", "codegen.factoryMode", "files.minPartitionNum"):
        spark.conf.unset(f"spark.sql.{conf}")
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(-(-size // 3)))
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    spark.read.parquet(path, path, path).createOrReplaceTempView("log")
    spark.read.parquet(path).createOrReplaceTempView("one")
    for limit in (1, 150, 350, 400, 500):
        spark.sql(f"SELECT level FROM log WHERE payload LIKE '%error%' LIMIT {limit}").collect()
        learnt()
        same("SELECT count(*) FROM one WHERE payload LIKE '%error%'")
    same("SELECT * FROM log WHERE payload LIKE '%error%'")
    learnt()
    same("SELECT * FROM log WHERE payload LIKE '%error%' AND level > 300")


def test_changed_file_needs_its_filter_again(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    path = tmp_path / "log"
    write_file(path / "0.parquet", 0, lambda i: True)
    age(str(path))
    statement = sql_of(str(path), NEEDLE)
    same(statement)
    learnt()
    assert FOUND in exact(same(statement))
    write_file(path / "0.parquet", 0, lambda i: i != 9)
    spark.catalog.refreshByPath(str(path))
    changed = same(statement)
    assert FOUND not in exact(changed)
    assert changed.count() == ROWS - 1
    write_file(path / "1.parquet", ROWS, lambda i: i == 3)
    spark.catalog.refreshByPath(str(path))
    assert same(statement).count() == ROWS


def test_missing_columns_and_partition_columns(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    path = tmp_path / "days"
    write_file(path / "day=1" / "0.parquet", 0, lambda i: True)
    write_file(path / "day=2" / "1.parquet", ROWS, lambda i: i % 2 == 0)
    pq.write_table(
        pa.table({"id": [7, 8], "extra": pa.array([1, None], pa.int64()), "text": ["a", "b"]}),
        path / "day=2" / "2.parquet",
    )
    age(str(path))
    spark.read.option("mergeSchema", "true").parquet(str(path)).createOrReplaceTempView("log")
    statements = [
        f"SELECT * FROM log WHERE day = 1 AND {NEEDLE}",
        f"SELECT * FROM log WHERE day > 0 AND {NEEDLE}",
        f"SELECT * FROM log WHERE (day = 1 OR id > 3) AND {NEEDLE}",
        "SELECT * FROM log WHERE extra + 1 IS NULL AND day = 1",
        "SELECT * FROM log WHERE extra + 1 IS NULL",
        "SELECT * FROM log WHERE coalesce(extra, 1) = 1",
    ]
    for statement in statements * 2:
        same(statement)
        learnt()
    assert FOUND in exact(same(statements[0]))
    assert FOUND not in exact(same(statements[1]))
    assert len(exact(same(statements[3]))) == 1


def test_explanations_and_audit(
    spark: SparkSession, clean: str, learnt: Learnt, same: Same
) -> None:
    statement = sql_of(clean, f"{NEEDLE} AND id < {ROWS}")
    same(statement)
    learnt()
    found = "an earlier scan found it true for every row"
    assert found in str(tamis.explain(spark.sql(statement)))
    mode = spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    plan = spark.sql(statement)._jdf.queryExecution().explainString(mode)
    assert f"RememberedTrue: [{FOUND}], because an earlier query" in plan
    quoted = statement.replace("'", "\\'")
    explained = spark.sql(f"SELECT * FROM tamis_explain('{quoted}')").collect()
    assert [row.sql for row in explained if row.reason == found] == [FOUND]
    # the audit reads the file, and checks the filter that left the plan
    spark.conf.set("spark.tamis.audit", "3")
    audit = spark._jvm.io.tamis.report.Audit
    before = audit.files()
    same(statement)
    learnt()
    assert spark._jvm.io.tamis.Tamis.awaitAudits(60_000)
    assert audit.files() - before >= 1
