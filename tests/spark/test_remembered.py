"""Scans learn in which files no row passes their filters, and later scans leave these out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import LongType

import tamis
from tests.spark.conftest import kept, rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 8
ROWS = 50

Learnt = Callable[[], list[Any]]


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> str:
    """Write a log, of which only the files 2 and 5 hold the needle, in one row each."""
    return write_log(spark, str(tmp_path / "log"))


def write_log(spark: SparkSession, path: str) -> str:
    spark.range(0, FILES * ROWS, 1, FILES).selectExpr(
        "id",
        "id % 7 AS code",
        f"IF(id IN ({2 * ROWS + 7}, {5 * ROWS + 1}), 'a NEEDLE here', concat('hay ', id)) AS text",
        "IF(id % 5 = 0, NULL, id / 3.0D) AS ratio",
    ).write.mode("overwrite").parquet(path)
    age(path)
    return path


def age(path: str) -> None:
    """Let files be old enough: what was written a moment ago may be replaced unnoticed."""
    for file in Path(path).rglob("*.parquet"):
        written = file.stat().st_mtime - 10
        os.utime(file, (written, written))


NEEDLE = "text LIKE '%NEEDLE%'"


def test_second_scan_opens_only_files_with_the_needle(
    spark: SparkSession, log: str, learnt: Learnt
) -> None:
    frame = lambda: spark.read.parquet(log).where(NEEDLE)  # noqa: E731
    first = rows(frame())
    (note,) = learnt()
    assert (note.files, note.scans, note.skipped_files) == (FILES - 2, 0, 0)
    again = frame()
    assert kept(again) == [2]
    assert rows(again) == first
    assert len(first) == 2
    (note,) = learnt()
    assert note.predicates == ["(text IS NOT NULL)", "contains(text, 'NEEDLE')"]
    assert (note.scans >= 1, note.skipped_files >= FILES - 2) == (True, True)


def sql_of(path: str, predicate: str) -> str:
    return f"SELECT * FROM parquet.`{path}` WHERE {predicate}"


@pytest.mark.parametrize(
    ("predicate", "files"),
    [
        (NEEDLE, 2),
        ("text RLIKE 'NEE[D]LE'", 2),
        ("text LIKE '%hay%'", FILES),
        ("length(text) > 10", 2),
        ("code = 3 AND text LIKE '%NEEDLE%'", 0),
        ("text LIKE '%absent%'", 0),
        ("soundex(text) = soundex('a needle here')", 2),
        ("ratio IS NULL AND text LIKE '%NEEDLE%'", 0),
        ("isnan(ratio) AND code >= 0", 0),
        ("exists(split(text, ' '), w -> w = 'NEEDLE')", 2),
        ("text LIKE '%NEEDLE%' OR code < 0", 2),
        ("NOT (text NOT LIKE '%NEEDLE%')", 2),
        ("date_format(timestamp_seconds(id), 'ss') = '07' AND text LIKE '%NEEDLE%'", 0),
    ],
)
@pytest.mark.parametrize("codegen", ["true", "false"])
def test_deterministic_predicates_are_learnt(
    spark: SparkSession,
    log: str,
    learnt: Learnt,
    same: Callable[[str], DataFrame],
    predicate: str,
    files: int,
    codegen: str,
) -> None:
    spark.conf.set("spark.sql.codegen.wholeStage", codegen)
    same(sql_of(log, predicate))
    learnt()
    assert kept(same(sql_of(log, predicate))) == [files]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM {log} WHERE rand(3) < 0",
        "SELECT * FROM {log} WHERE text LIKE (SELECT concat('%', max(code), 'x') FROM {log})",
        "SELECT * FROM {log} WHERE text IN (SELECT 'nothing' FROM {log} WHERE code = 9)",
        "SELECT * FROM (SELECT * FROM {log} WHERE text LIKE '%hay%') LIMIT 1",
        "SELECT * FROM {log} WHERE monotonically_increasing_id() < 0",
        # random, although Spark 4.1 calls it deterministic
        "SELECT * FROM {log} WHERE hex(aes_encrypt(text, '0000111122223333')) LIKE 'no hex%'",
    ],
)
def test_nothing_is_learnt(
    spark: SparkSession,
    log: str,
    learnt: Learnt,
    same: Callable[[str], DataFrame],
    statement: str,
) -> None:
    same(statement.format(log=f"parquet.`{log}`"))
    assert learnt() == []


@pytest.mark.usefixtures("no_codegen")
def test_note_of_another_time_is_not_used(spark: SparkSession, log: str, learnt: Learnt) -> None:
    """The optimizer replaces now() by a constant, which is part of the key."""
    start = time.time_ns() // 1_000_000
    statement = (
        f"SELECT unix_millis(now()) - {start} AS passed, collect_list(id) AS ids FROM "
        f"parquet.`{log}` WHERE CAST(concat(id, '') AS INT) * 1000 < unix_millis(now()) - {start}"
    )
    for _ in range(2):  # the second query would open one file if it used the note of the first
        frame = spark.sql(statement)
        (row,) = frame.collect()
        assert sorted(row.ids) == [n for n in range(FILES * ROWS) if n * 1000 < row.passed]
        assert kept(frame) == [FILES]
        assert any(note.files for note in learnt())


def tens(n: int) -> int:
    return n // 10


@pytest.mark.usefixtures("in_one_task")
def test_user_defined_functions_teach_nothing(
    spark: SparkSession, log: str, learnt: Learnt, same: Callable[[str], DataFrame]
) -> None:
    """Functions in Scala and Java: LearnFromFiltersSuite."""
    tamis.index(spark, log).build()
    spark.udf.register("tens", tens, LongType())
    same(sql_of(log, f"tens(id) % 2 = 0 OR {NEEDLE}"))
    assert not any("tens" in str(note.predicates) for note in learnt())
    tamis.declare(spark, "tens", monotone=tens)
    declared = same(sql_of(log, f"tens(id) = 10 AND {NEEDLE} AND code >= 0"))
    assert kept(declared) == [1]
    assert not any("code" in str(note.predicates) for note in learnt())
    assert len(rows(same(sql_of(log, f"{NEEDLE} AND code >= 0")))) == 2


#: Each is true for other rows if the inner table changes.
SUBQUERIES = [
    "text IN (SELECT text FROM inner)",
    "text NOT IN (SELECT text FROM inner)",
    "EXISTS (SELECT 1 FROM inner WHERE inner.text = log.text)",
    "text IN (SELECT text FROM inner) OR id = 3",
    "code < (SELECT count(*) FROM inner WHERE inner.text = log.text)",
]


@pytest.mark.usefixtures("no_codegen")
def test_subqueries_are_evaluated_again(
    spark: SparkSession, log: str, learnt: Learnt, same: Callable[[str], DataFrame]
) -> None:
    """The value of a subquery is not part of a key, so a predicate with one has no key."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.read.parquet(log).createOrReplaceTempView("log")
    statement = " UNION ALL ".join(
        f"SELECT {n} AS n, id FROM log WHERE {each}" for n, each in enumerate(SUBQUERIES)
    )
    for texts in ("'hay 3', 'a NEEDLE here'", "'hay 77', 'hay 300'"):
        inner = spark.sql(f"SELECT explode(array({texts})) AS text")
        inner.write.mode("overwrite").parquet(f"{log} inner")
        spark.read.parquet(f"{log} inner").createOrReplaceTempView("inner")
        same(statement)
        assert not any("SELECT" in str(note.predicates) for note in learnt())


#: Queries whose scan drops rows that pass its filter, and what the scan shows of it.
DROPPING = [
    ("SELECT id FROM parts WHERE {} ORDER BY id LIMIT 3", "id ASC"),
    ("SELECT id FROM parts JOIN few ON part = few.k WHERE {}", "(part IN (keys of the join))"),
    ("SELECT id FROM parts JOIN few ON id = few.k WHERE {}", "(id IN (keys of the join))"),
]


@pytest.fixture
def parts(spark: SparkSession, tmp_path: Path) -> None:
    """Register 20 files, of which each has rows with and without the needle, and three keys."""
    path = str(tmp_path / "parts")
    table = spark.range(0, 20 * ROWS, 1, 1).selectExpr(
        "id", "IF(id % 10 = 3, concat('a NEEDLE ', id), concat('hay ', id)) AS text",
        f"CAST(id DIV {ROWS} AS INT) AS part",
    )  # fmt: skip
    table.write.partitionBy("part").parquet(path)
    age(path)
    tamis.index(spark, path).build()
    spark.read.parquet(path).createOrReplaceTempView("parts")
    few = spark.range(3, 14, 5, 1).selectExpr("CAST(id AS INT) AS k")
    few.localCheckpoint().where("hash(k) <> 0").createOrReplaceTempView("few")


@pytest.mark.usefixtures("no_codegen", "parts")
def test_scans_that_drop_rows_at_run_time_learn_nothing_from_it(
    spark: SparkSession, learnt: Learnt, same: Callable[[str], DataFrame]
) -> None:
    spark.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    for (statement, shown), text in zip(DROPPING, ("NEED", "EEDL", "EDLE"), strict=True):
        predicate = f"text LIKE '%{text}%'"
        frame = same(statement.format(predicate))
        conditions = [each for scan in scans(frame) for each in scan["runtime"]]
        assert any(shown in each["sql"] and each["prunes"] for each in conditions), conditions
        assert {(note.files, note.partial_files, note.passing_files) for note in learnt()} <= {
            (0, 0, 0)
        }
        again = same(f"SELECT * FROM parts WHERE {predicate}")
        assert kept(again) == [20]


def test_limit_that_stops_early_learns_only_from_files_read_to_their_end(
    spark: SparkSession, log: str, learnt: Learnt
) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(1 << 30))
    spark.conf.set("spark.sql.files.minPartitionNum", "1")
    assert len(spark.sql(sql_of(log, NEEDLE) + " LIMIT 1").collect()) == 1
    notes = learnt()
    assert sum(note.files for note in notes) < FILES - 2
    assert len(spark.sql(sql_of(log, NEEDLE)).collect()) == 2


@pytest.mark.parametrize(
    ("first", "then", "files"),
    [
        # more conjuncts: fewer rows pass
        (NEEDLE, f"{NEEDLE} AND code > 1", 2),
        (NEEDLE, f"{NEEDLE} AND rand(1) < 2", 2),
        # fewer conjuncts: more rows may pass
        (f"{NEEDLE} AND code > 100", NEEDLE, FILES),
        # another constant, another lambda, another direction
        ("length(text) > 10", "length(text) > 3", FILES),
        ("length(text) > 10", "length(text) <= 10", FILES),
        (
            "exists(split(text, ' '), w -> w = 'x')",
            "exists(split(text, ' '), w -> w = 'hay')",
            FILES,
        ),
        (NEEDLE, f"{NEEDLE} OR code = 1", FILES),
        # the same in another spelling
        (NEEDLE, "TEXT like '%NEEDLE%'", 2),
        (NEEDLE, "contains(text, 'NEEDLE')", 2),
    ],
)
def test_note_serves_scans_that_have_all_its_conjuncts(
    spark: SparkSession,
    log: str,
    learnt: Learnt,
    same: Callable[[str], DataFrame],
    first: str,
    then: str,
    files: int,
) -> None:
    same(sql_of(log, first))
    learnt()
    assert kept(same(sql_of(log, then))) == [files]


@pytest.mark.parametrize(
    ("conf", "before", "after", "predicate"),
    [
        ("spark.sql.session.timeZone", "UTC", "Asia/Kolkata", "hour(timestamp_seconds(id)) = 5"),
        (
            "spark.sql.ansi.enabled",
            "false",
            "true",
            "CAST(substr(text, 5) AS INT) = 10 AND id = 10",
        ),
        ("spark.sql.caseSensitive", "false", "true", NEEDLE),
        ("spark.sql.legacy.timeParserPolicy", "CORRECTED", "LEGACY", NEEDLE),
        ("spark.sql.parquet.filterPushdown", "true", "false", NEEDLE),
    ],
)
def test_note_of_other_settings_is_not_used(
    spark: SparkSession,
    log: str,
    learnt: Learnt,
    conf: str,
    before: str,
    after: str,
    predicate: str,
) -> None:
    spark.conf.set(conf, before)
    rows(spark.sql(sql_of(log, predicate)))
    assert len(learnt()) == 1
    spark.conf.set(conf, after)
    (scan,) = tamis.explain(spark.sql(sql_of(log, predicate))).to_dict()["scans"]
    assert scan["remembered_files"] == 0
    spark.conf.set(conf, before)
    (scan,) = tamis.explain(spark.sql(sql_of(log, predicate))).to_dict()["scans"]
    assert scan["remembered_files"] > 0


def test_changed_files_are_read_again(
    spark: SparkSession, log: str, learnt: Learnt, same: Callable[[str], DataFrame]
) -> None:
    same(sql_of(log, NEEDLE))
    assert [note.files for note in learnt()] == [FILES - 2]
    (victim,) = Path(log).glob("part-00000-*")
    (other,) = Path(log).glob("part-00002-*")
    spark.range(0, 2, 1, 1).selectExpr(
        "id", "0L AS code", "'new NEEDLE' AS text", "1.0D AS ratio"
    ).write.mode("append").parquet(log)
    assert kept(same(sql_of(log, NEEDLE))) == [3]
    victim.write_bytes(other.read_bytes())
    (victim.parent / f".{victim.name}.crc").unlink(missing_ok=True)
    spark.catalog.refreshByPath(log)
    assert kept(same(sql_of(log, NEEDLE))) == [4]
    other.unlink()
    spark.catalog.refreshByPath(log)
    assert kept(same(sql_of(log, NEEDLE))) == [3]


def test_file_that_is_replaced_for_a_while(
    spark: SparkSession, log: str, learnt: Learnt, same: Callable[[str], DataFrame]
) -> None:
    """A frame reads whatever lies at its paths by the time it runs."""
    for checksum in Path(log).glob(".*.crc"):
        checksum.unlink()
    with_needle, other, aside = (
        *(sorted(Path(log).glob("*.parquet"))[i] for i in (2, 3)),
        Path(log) / "_aside",
    )

    def swap() -> None:
        for source, target in ((with_needle, aside), (other, with_needle), (aside, other)):
            source.rename(target)

    frame = spark.sql(sql_of(log, NEEDLE))
    frame._jdf.queryExecution().executedPlan()
    swap()
    frame.collect()
    (note,) = learnt()
    assert note.files == FILES - 3  # only those that stayed
    swap()
    spark.catalog.refreshByPath(log)
    assert same(sql_of(log, NEEDLE)).count() == 2


def test_joins_topk_and_aggregates_profit(
    spark: SparkSession, log: str, learnt: Learnt, same: Callable[[str], DataFrame]
) -> None:
    spark.read.parquet(log).createOrReplaceTempView("log")
    same(f"SELECT * FROM log WHERE {NEEDLE}")
    learnt()
    assert kept(same(f"SELECT count(*) FROM log WHERE {NEEDLE}")) == [2]
    assert kept(same(f"SELECT * FROM log WHERE {NEEDLE} ORDER BY id DESC LIMIT 1")) == [2]
    joined = same(f"SELECT * FROM log a JOIN log b ON a.id = b.id WHERE a.{NEEDLE}")
    assert 2 in kept(joined)


@pytest.mark.parametrize("codegen", ["true", "false"])
@pytest.mark.parametrize(
    ("conf", "planned", "other", "predicate"),
    [
        (  # where the code of a plan is made, it takes up this setting
            "spark.sql.legacy.timeParserPolicy",
            "CORRECTED",
            "LEGACY",
            "to_date(concat('2024-1-', id % 9 + 1), 'yyyy-MM-dd') IS NOT NULL",
        ),
        (  # and tasks read this one
            "spark.sql.jsonGenerator.ignoreNullFields",
            "true",
            "false",
            "to_json(struct(nullif(code, code) AS x, id)) LIKE '%null%'",
        ),
    ],
)
def test_frame_that_runs_under_other_settings_teaches_nothing(
    spark: SparkSession,
    log: str,
    learnt: Learnt,
    same: Callable[[str], DataFrame],
    conf: str,
    planned: str,
    other: str,
    predicate: str,
    codegen: str,
) -> None:
    """Its keys are those of the settings for which it was planned."""
    spark.conf.set("spark.sql.codegen.wholeStage", codegen)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    statement = sql_of(log, predicate)
    spark.conf.set(conf, planned)
    early, later = spark.sql(statement), spark.sql(statement)
    for frame in (early, later):
        frame._jdf.queryExecution().executedPlan()
    spark.conf.set(conf, other)
    early.collect()
    spark.conf.set(conf, planned)
    early.collect()  # with code that was made under the other setting
    assert learnt() == []
    later.collect()
    spark.conf.set(conf, other)
    later.collect()
    assert {note.passing_files for note in learnt()} == {0}
    for value in (planned, other) * 2:
        spark.conf.set(conf, value)
        same(statement)
        learnt()


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_self_joins_unions_and_caches_learn_each_filter(
    spark: SparkSession,
    log: str,
    learnt: Learnt,
    same: Callable[[str], DataFrame],
    adaptive: str,
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.read.parquet(log).createOrReplaceTempView("log")
    statements = [
        f"SELECT count(*) FROM (SELECT * FROM log WHERE {NEEDLE}) a JOIN "
        "(SELECT * FROM log WHERE text LIKE '%hay 1%') b ON a.code = b.code",
        f"SELECT * FROM log WHERE {NEEDLE} UNION ALL SELECT * FROM log WHERE text LIKE '%9%'",
        f"SELECT code, count(*) FROM log WHERE {NEEDLE} GROUP BY code",
    ]
    for statement in statements * 2:
        same(statement)
        learnt()
    assert {note.files for note in learnt()} >= {FILES - 2}


def test_cached_frame_is_learnt_from(spark: SparkSession, log: str, learnt: Learnt) -> None:
    cached = spark.sql(sql_of(log, NEEDLE)).cache()
    assert cached.count() == 2
    cached.unpersist()
    assert [note.files for note in learnt()] == [FILES - 2]


def test_same_scan_twice_in_one_task_learns_nothing(
    spark: SparkSession, log: str, learnt: Learnt
) -> None:
    # Spark's own vectorized reader fails here
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    numbers = spark.sql(sql_of(log, NEEDLE)).select("id").coalesce(1)
    plan = numbers._jdf.queryExecution().toRdd()
    assert plan.cartesian(plan, spark._jvm.scala.reflect.ClassTag.Any()).count() == 4
    learnt()
    assert kept(spark.sql(sql_of(log, NEEDLE))) == [FILES]


def test_failed_query_teaches_nothing(spark: SparkSession, log: str, learnt: Learnt) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "true")
    failing = spark.sql(sql_of(log, f"1 / (id - {FILES * ROWS - 1}) > 2"))
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        failing.collect()
    assert learnt() == []


def test_partition_values_are_not_part_of_a_note(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Callable[[str], DataFrame]
) -> None:
    path = str(tmp_path / "days")
    spark.range(0, 100, 1, 2).selectExpr(
        "id", "concat('x', id) AS text", "id % 2 AS day"
    ).write.partitionBy("day").parquet(path)
    age(path)
    same(sql_of(path, "day = 1 AND text LIKE '%97%'"))
    (note,) = learnt()
    assert note.predicates == ["(text IS NOT NULL)", "contains(text, '97')"]
    same(sql_of(path, "day = 0 OR text LIKE '%97%'"))
    assert len(learnt()) == 1  # the value of the conjunct depends on the directory
    assert kept(same(sql_of(path, "day = 1 AND text LIKE '%97%'"))) == [1]


def test_nested_fields_and_odd_names(
    spark: SparkSession, tmp_path: Path, learnt: Learnt, same: Callable[[str], DataFrame]
) -> None:
    path = str(tmp_path / "odd")
    spark.range(0, 60, 1, 3).selectExpr(
        "named_struct('Ä b', concat('v', id), 'c', id) AS s", "concat('w', id) AS `a.b`"
    ).write.parquet(path)
    age(path)
    for predicate in ("s.`Ä b` LIKE '%59%'", "`a.b` LIKE '%59%'"):
        same(sql_of(path, predicate))
        learnt()
        assert kept(same(sql_of(path, predicate))) == [1]
    same(sql_of(path, "s IS NULL AND `a.b` LIKE '%7%'"))
    assert not any("s IS NULL" in str(note) for note in learnt())


def test_files_that_are_too_young_are_not_learnt(
    spark: SparkSession, log: str, learnt: Learnt
) -> None:
    now = time.time() + 60
    for file in Path(log).glob("*.parquet"):
        os.utime(file, (now, now))
    spark.catalog.refreshByPath(log)
    rows(spark.sql(sql_of(log, NEEDLE)))
    assert learnt() == []


def test_explanations_name_the_cause(spark: SparkSession, log: str, learnt: Learnt) -> None:
    statement = sql_of(log, NEEDLE)
    rows(spark.sql(statement))
    learnt()
    text = str(tamis.explain(spark.sql(statement)))
    assert f"an earlier scan found no row that passes in {FILES - 2} files" in text
    plan = (
        spark.sql(statement)
        ._jdf.queryExecution()
        .explainString(
            spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
        )
    )
    assert f"Remembered: {FILES - 2} files left out" in plan
    quoted = statement.replace("'", "\\'")
    files = spark.sql(f"SELECT * FROM tamis_files('{quoted}')").collect()
    causes = {file.decided_by for file in files if not file.kept}
    assert causes == {"an earlier scan found no row that passes"}
    explained = spark.sql(f"SELECT * FROM tamis_explain('{quoted}')").collect()
    assert [row.files_pruned for row in explained if row.what == "remembered"] == [FILES - 2]


def test_off_means_off(spark: SparkSession, log: str, learnt: Learnt) -> None:
    rows(spark.sql(sql_of(log, NEEDLE)))
    assert len(learnt()) == 1
    spark.conf.set("spark.tamis.remember.enabled", "false")
    assert kept(spark.sql(sql_of(log, NEEDLE))) == [FILES]
    rows(spark.sql(sql_of(log, "text LIKE '%absent%'")))
    assert len(learnt()) == 1


def test_damaged_notes_are_no_notes(
    spark: SparkSession, log: str, learnt: Learnt, tmp_path: Path
) -> None:
    rows(spark.sql(sql_of(log, NEEDLE)))
    learnt()
    (note,) = (tmp_path / "cache" / "remembered-4").glob("*.note")
    note.write_bytes(note.read_bytes()[:-5])
    rows(spark.sql(sql_of(log, "text LIKE '%absent%'")))
    assert len(spark.sql(sql_of(log, NEEDLE)).collect()) == 2


def test_audit_checks_remembered_files(spark: SparkSession, log: str, learnt: Learnt) -> None:
    rows(spark.sql(sql_of(log, NEEDLE)))
    learnt()
    spark.conf.set("spark.tamis.audit", str(FILES))
    audit = spark._jvm.io.tamis.report.Audit
    before = audit.files()
    rows(spark.sql(sql_of(log, NEEDLE)))
    learnt()
    assert spark._jvm.io.tamis.Tamis.awaitAudits(60_000)
    assert audit.files() - before == FILES - 2
