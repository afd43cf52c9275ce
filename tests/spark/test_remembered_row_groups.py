"""Scans learn in which row groups no row passes their filters, and later scans leave these out.

How a scan can end or skip rows, and where it is tested:

    a LIMIT stops within a row group            test_limit_learns_from_finished_row_groups_only
    retried tasks, duplicates, stages again     SplitOutcomesSuite
    splits smaller than row groups              test_splits_know_their_own_row_groups
    row groups and pages that Spark skips       test_row_groups_that_spark_skips_are_learnt
    run-time filters, early end of joins        test_plan_shapes
    the same scan twice, AQE, exchange reuse    test_plan_shapes
    one scan twice in a task                    SplitProgressSuite
    each kind of reader                         READERS
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import rows, scans
from tests.spark.test_remembered import age

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]
Learnt = Callable[[], list[Any]]

# Except where readers are compared, and tasks.
pytestmark = pytest.mark.usefixtures("in_one_task")

GROUP, GROUPS = 20, 8
#: Rows with the needle: in the row groups 2 and 5.
NEEDLES = (2 * GROUP + 3, 5 * GROUP, 5 * GROUP + 19)
NEEDLE = "text LIKE '%NEEDLE%'"

ROW_BY_ROW = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.parquet.enableVectorizedReader": "false",
}
#: Vectorized, vectorized but row by row, and row by row.
READERS = [
    {"spark.sql.codegen.wholeStage": "true"},
    {"spark.sql.codegen.wholeStage": "false"},
    ROW_BY_ROW,
]
#: Returns only rows that pass the pushed filters, and so goes over whole row groups at once.
FILTERING = ROW_BY_ROW | {"spark.sql.parquet.recordLevelFilter.enabled": "true"}


def log_rows(needles: tuple[int, ...] = NEEDLES) -> pa.Table:
    ids = range(GROUPS * GROUP)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            # each row group has 0 and 9; every other one has 5
            "code": [(0, 9, 5 if i // GROUP % 2 else 4)[i % 3] for i in ids],
            "text": [f"a NEEDLE {i}" if i in needles else f"hay {i}" for i in ids],
            "x": [(None, float("nan"), -0.0, 1.5)[i // GROUP % 4] for i in ids],
            "Ö.b": [f"v{i}" for i in ids],
        }
    )


def write(spark: SparkSession, path: Path, files: int = 1, **options: Any) -> str:
    """Write files of GROUPS row groups, of which only the first file holds the needle."""
    path.mkdir(parents=True)
    for number in range(files):
        table = log_rows(NEEDLES if number == 0 else ())
        # with a dictionary of the text, Spark's reader would skip row groups by itself
        pq.write_table(
            table,
            path / f"{number}.parquet",
            row_group_size=GROUP,
            use_dictionary=["code"],
            **options,
        )
    age(str(path))
    tamis.index(spark, str(path)).build()
    return str(path)


@pytest.fixture(scope="module")
def one(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of one file. Its pages are small and have a column index."""
    return write(
        spark_session,
        tmp_path_factory.mktemp("one") / "log",
        write_page_index=True,
        data_page_size=32,
        write_batch_size=4,
    )


@pytest.fixture(scope="module")
def two(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of two files."""
    return write(spark_session, tmp_path_factory.mktemp("two") / "log", files=2)


def sql_of(path: str, predicate: str) -> str:
    return f"SELECT * FROM parquet.`{path}` WHERE {predicate}"


def groups(frame: DataFrame) -> int | None:
    """Return the number of row groups that a scan keeps; None: files are read whole."""
    (scan,) = scans(frame)
    kept: int | None = scan["row_groups_kept"]
    return kept


def later(spark: SparkSession, statement: str, learnt: Learnt) -> int | None:
    """Return the number of row groups that a statement keeps after what was learnt."""
    learnt()
    return groups(spark.sql(statement))


@pytest.mark.parametrize("reader", [*READERS, FILTERING])
def test_second_scan_reads_only_row_groups_with_the_needle(
    spark: SparkSession, two: str, learnt: Learnt, same: Same, reader: dict[str, str]
) -> None:
    for key, value in reader.items():
        spark.conf.set(key, value)
    statement = sql_of(two, NEEDLE)
    same(statement)
    (note,) = learnt()
    assert (note.files, note.partial_files) == (1, 1)
    again = same(statement)
    (scan,) = scans(again)
    assert (scan["files_kept"], scan["row_groups_kept"]) == (1, 2)
    assert (scan["remembered_files"], scan["remembered_row_groups"]) == (1, 6)
    more = same(sql_of(two, f"{NEEDLE} AND code >= 0 AND rand(1) < 2"))
    assert groups(more) == 2
    assert groups(same(sql_of(two, "text LIKE '%NEED%'"))) in (None, 2 * GROUPS)
    (note,) = [each for each in learnt() if each.predicates == ["contains(text, 'NEEDLE')"]]
    assert (note.skipped_files, note.skipped_row_groups) == (2, 12)


@pytest.mark.parametrize("reader", READERS)
def test_limit_learns_from_finished_row_groups_only(
    spark: SparkSession, one: str, learnt: Learnt, same: Same, reader: dict[str, str]
) -> None:
    for key, value in reader.items():
        spark.conf.set(key, value)
    statement = sql_of(one, NEEDLE)
    assert len(spark.sql(f"{statement} LIMIT 1").collect()) == 1
    # the first two have no needle; the third has one, where the query stopped
    assert later(spark, statement, learnt) == GROUPS - 2
    same(statement)
    assert later(spark, statement, learnt) == 2


@pytest.mark.parametrize("bytes_of_task", [300, 1500, 6000])
def test_splits_know_their_own_row_groups(
    spark: SparkSession, two: str, learnt: Learnt, same: Same, bytes_of_task: int
) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(bytes_of_task))
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    statement = sql_of(two, NEEDLE)
    assert spark.sql(statement).rdd.getNumPartitions() > 2
    same(statement)
    assert later(spark, statement, learnt) == 2
    same(statement)
    # another note has bounds of the rows that pass
    assert [(n.files, n.partial_files) for n in learnt() if n.files] == [(1, 1)]


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        ("code = 5", 4),  # dictionaries rule out the others
        ("id BETWEEN 30 AND 70 AND text LIKE '%NEEDLE%'", 1),  # bounds
        ("id BETWEEN 47 AND 49 AND text LIKE '%hay%'", 1),  # the column index
        ("id IN (3, 103, 150) AND text LIKE '%3'", 2),
    ],
)
def test_row_groups_that_spark_skips_are_learnt(
    spark: SparkSession, one: str, learnt: Learnt, same: Same, predicate: str, kept: int
) -> None:
    same(sql_of(one, predicate))
    assert later(spark, sql_of(one, predicate), learnt) == kept
    same(sql_of(one, predicate))
    # none of these conjuncts is known alone
    for conjunct in predicate.replace("BETWEEN 30 AND 70", "> 30").split(" AND "):
        if not conjunct[0].isdigit():
            same(sql_of(one, conjunct.replace("BETWEEN 47", "> 47")))


def test_row_groups_that_an_exact_conjunct_leaves_out_are_not_learnt_about(
    one: str, learnt: Learnt, same: Same
) -> None:
    statement = sql_of(one, f"id >= {6 * GROUP} AND {NEEDLE}")
    same(statement)
    assert len(learnt()) == 1
    assert scans(same(statement))[0]["files_kept"] == 0
    assert len(rows(same(sql_of(one, NEEDLE)))) == len(NEEDLES)


def test_row_groups_that_bloom_filters_skip_are_learnt(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    path = str(tmp_path / "bloom")
    spark.range(0, 4000, 1, 1).selectExpr("hex(hash(id)) AS text").write.options(
        **{
            "parquet.block.size": "4096",
            "parquet.block.size.row.check.min": "10",
            "parquet.enable.dictionary": "false",
            "parquet.bloom.filter.enabled": "true",
        }
    ).parquet(path)
    age(path)
    tamis.index(spark, path).build()
    (text,) = spark.sql("SELECT hex(hash(1234L))").first()
    statement = sql_of(path, f"text = '{text}' AND length(text) > 1")
    same(statement)
    assert later(spark, statement, learnt) == 1
    same(statement)


def test_plan_shapes(spark: SparkSession, two: str, learnt: Learnt, same: Same) -> None:
    spark.read.parquet(two).createOrReplaceTempView("log")
    spark.range(100, 103).createOrReplaceTempView("few")
    statements = [
        # a run-time filter, and ranges that the join adds
        f"SELECT * FROM log JOIN few USING (id) WHERE {NEEDLE}",
        # a LIMIT over a join, a semi join that ends early
        f"SELECT count(*) FROM (SELECT 1 FROM log a JOIN few ON a.{NEEDLE} LIMIT 2)",
        f"SELECT * FROM few WHERE EXISTS (SELECT 1 FROM log WHERE {NEEDLE} AND code > 4)",
        # the same scan twice
        f"SELECT id FROM log WHERE {NEEDLE} UNION ALL SELECT id FROM log WHERE {NEEDLE}",
        f"SELECT /*+ MERGE(b) */ count(*) FROM log a JOIN log b ON a.code = b.code "
        f"WHERE a.{NEEDLE} AND b.{NEEDLE}",
        f"SELECT id FROM log WHERE {NEEDLE} ORDER BY id DESC LIMIT 1",
        f"SELECT code, count(*), max(text) FROM log WHERE {NEEDLE} GROUP BY code",
    ]
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for statement in statements:
            same(statement)
        learnt()
    same(f"SELECT * FROM log WHERE {NEEDLE}")
    assert later(spark, f"SELECT * FROM log WHERE {NEEDLE}", learnt) == 2


def test_predicates_have_the_same_rows(
    spark: SparkSession, one: str, learnt: Learnt, same: Same
) -> None:
    predicates = [
        "isnan(x) AND text LIKE '%9%'",
        "x = 0.0 AND text LIKE '%5%'",
        "coalesce(x, 0.0) = 0.0 AND length(text) = 5",
        "`Ö.b` LIKE '%99' OR `ö.B` LIKE 'v7_'",
        "NOT (text LIKE '%1%')",
    ]
    for number, predicate in enumerate(predicates):
        spark.conf.set("spark.sql.ansi.enabled", str(number % 2 == 0).lower())
        for _ in range(2):
            same(sql_of(one, predicate))
            learnt()
    assert len(learnt()) >= 4


def test_partition_columns_do_not_hinder_learning_from_files_read_in_part(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    write(spark, tmp_path / "log" / "day=1")
    path = write(spark, tmp_path / "log" / "day=2").rpartition("/")[0]
    tamis.index(spark, path).build()
    statement = f"SELECT * FROM parquet.`{path}` WHERE day = 2 AND {NEEDLE}"
    same(statement)
    assert later(spark, statement, learnt) == 2
    more = f"{statement} AND id % 100 = 19"
    same(more)  # reads two row groups, and learns
    same(f"SELECT * FROM parquet.`{path}` WHERE day = 1 AND {NEEDLE} AND id % 100 = 19")
    assert any("% 100" in str(note.predicates) for note in learnt())
    assert groups(same(more)) == 1
    same(f"SELECT * FROM parquet.`{path}` WHERE day > 0 AND {NEEDLE}")
    same(f"SELECT * FROM parquet.`{path}` WHERE day > 0 AND id % 100 = 19")


def test_changed_file_is_read_whole(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    path = write(spark, tmp_path / "log")
    statement = sql_of(path, NEEDLE)
    same(statement)
    assert later(spark, statement, learnt) == 2
    file = Path(path) / "0.parquet"
    pq.write_table(log_rows((1, 30)), file, row_group_size=GROUP)
    spark.catalog.refreshByPath(path)
    same(statement)
    tamis.index(spark, path).refresh()
    assert len(rows(same(statement))) == 2


def test_damaged_note_and_switches(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Same
) -> None:
    path = write(spark, tmp_path / "log")
    statement = sql_of(path, NEEDLE)
    same(statement)
    assert later(spark, statement, learnt) == 2
    for key in ("spark.tamis.rowGroups.enabled", "spark.tamis.remember.enabled"):
        spark.conf.set(key, "false")
        assert groups(same(statement)) in (None, GROUPS)
        spark.conf.set(key, "true")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    assert scans(same(statement))[0]["remembered_row_groups"] == 0
    spark.conf.unset("spark.sql.session.timeZone")
    (note,) = [
        each
        for each in (tmp_path / "cache" / "remembered-4").glob("*.note")
        if each.stat().st_size > 1
    ][:1]
    note.write_bytes(note.read_bytes()[:-3])
    same(sql_of(path, "text LIKE '%absent%'"))  # another note: the store is read again
    learnt()
    same(statement)


def test_explanations_name_the_cause(spark: SparkSession, two: str, learnt: Learnt) -> None:
    statement = sql_of(two, NEEDLE)
    rows(spark.sql(statement))
    learnt()
    text = str(tamis.explain(spark.sql(statement)))
    assert "an earlier scan found no row that passes in 1 files and 6 row groups" in text
    mode = spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    plan = spark.sql(statement)._jdf.queryExecution().explainString(mode)
    assert "Remembered: 1 files and 6 row groups left out" in plan
    quoted = statement.replace("'", "\\'")
    explained = spark.sql(f"SELECT * FROM tamis_explain('{quoted}')").collect()
    reasons = [row.reason for row in explained if row.what == "remembered"]
    assert reasons == [
        "an earlier scan found no row that passes in these files and in 6 row groups of other files"
    ]
