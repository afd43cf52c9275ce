"""The index of ORC, CSV and JSON files: built by Spark from rows, requested as the shim does."""

from __future__ import annotations

import json
import os
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import tamis
from tamis.errors import StatisticsIndexError
from tamis.indexing.handle import Index
from tests.indexing.planner import PlannerAnswer, ask_planner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 4
SCHEMA = (
    "id LONG, kind STRING, d DOUBLE, price DECIMAL(12,2), day DATE, at TIMESTAMP, flag BOOLEAN, "
    "name STRING"
)
ROWS = [
    "id",
    "CASE WHEN id % 25 = 0 THEN NULL ELSE element_at(array('a', 'b', 'c', 'd'), "
    "CAST(id DIV 25 AS INT) + 1) END AS kind",
    "CASE WHEN id % 25 = 1 THEN double('NaN') WHEN id % 25 = 2 THEN -0.0D ELSE id / 2 END AS d",
    "CAST(id * 1.5 AS DECIMAL(12,2)) AS price",
    "date_add(DATE '2020-01-01', CAST(id AS INT)) AS day",
    "timestamp_seconds(86400 * id) AS at",
    "id < 50 AS flag",
    "concat('n', id) AS name",
]


def written(spark: SparkSession, kind: str, path: str) -> str:
    """Write 100 rows to 4 files by id."""
    frame = spark.range(100).selectExpr(*ROWS).repartitionByRange(FILES, "id")
    frame.sortWithinPartitions("id").write.format(kind).save(path)
    return path


def reader_of(spark: SparkSession, kind: str, schema: str = SCHEMA, **options: Any) -> Any:
    return spark.read.format(kind).schema(schema).options(**options)


@pytest.fixture(params=["orc", "csv", "json"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# Condition, kept files out of 4, and whether all rows of the kept files pass.
CASES: list[tuple[str, int, bool]] = [
    ("id = 30", 1, False),
    ("id >= 50", 2, True),
    ("id < 0", 0, True),
    ("id IS NULL", 0, True),
    ("kind = 'c'", 1, False),
    ("kind <> 'c'", 3, False),
    ("kind IS NULL", 4, False),
    ("kind IS NULL AND id < 25", 1, False),
    ("isnan(d)", 4, False),
    ("d > 40 AND NOT isnan(d)", 4, False),
    ("price BETWEEN 0 AND 15", 1, False),
    ("day < DATE '2020-01-11'", 1, False),
    ("year(day) = 2019", 0, True),
    ("flag", 2, True),
    ("NOT flag", 2, True),
    ("name = 'n5'", 1, False),
    ("upper(kind) = 'B'", 1, False),
]


def test_conditions_prune_and_lose_no_row(spark: SparkSession, kind: str, tmp_path: Path) -> None:
    path = written(spark, kind, str(tmp_path / "ev ünï#1%"))
    reader = reader_of(spark, kind)
    tamis.index(spark, path, reader=reader).build()
    frame = reader.load(path)
    for condition, files, all_pass in CASES:
        answer = ask_planner(spark, frame, condition)
        assert answer.warnings == [], condition
        assert answer.kept_files == files, condition
        assert_no_row_is_lost(frame, condition, answer)
        # JSON keeps its filters, because its parser may lose rows to them.
        assert answer.is_exact == (all_pass and kind != "json"), condition


def assert_no_row_is_lost(frame: Any, condition: str, answer: PlannerAnswer) -> None:
    rows = frame.where(condition).selectExpr("input_file_name()").distinct().collect()
    names = {row[0].rpartition("/")[2] for row in rows}
    assert names <= set(answer.kept), condition


ISO = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"}


@pytest.mark.parametrize(
    ("file_format", "options", "files"),
    [
        ("orc", {}, FILES),
        ("csv", ISO, 1),
        ("json", ISO, 1),
        ("csv", {}, FILES),
        ("json", {}, FILES),
    ],
)
def test_timestamps_have_bounds_if_their_format_has_a_date(
    spark: SparkSession, file_format: str, options: dict[str, str], files: int, tmp_path: Path
) -> None:
    path = written(spark, file_format, str(tmp_path / "t"))
    reader = reader_of(spark, file_format, **options)
    index = tamis.index(spark, path, reader=reader).build()
    answer = ask_planner(spark, reader.load(path), "at < TIMESTAMP '1970-01-11 00:00:00Z'")
    assert answer.kept_files == files
    assert_no_row_is_lost(reader.load(path), "at < TIMESTAMP '1970-01-11 00:00:00Z'", answer)
    named = {column["name"] for column in index.describe().to_dict()["columns"]}
    assert ("at" in named) == (files == 1)


@pytest.mark.parametrize(
    ("file_format", "line"), [("csv", "10:30:00"), ("json", '{"t": "10:30:00"}')]
)
def test_time_without_a_date_is_one_of_the_current_day(
    spark: SparkSession, file_format: str, line: str, tmp_path: Path
) -> None:
    root = tmp_path / "t"
    root.mkdir()
    (root / "a").write_text(f"{line}\n")
    reader = reader_of(spark, file_format, "t TIMESTAMP")
    frame = reader.load(str(root))
    assert frame.where("CAST(t AS DATE) = current_date()").count() == 1
    index = tamis.index(spark, str(root), reader=reader).build()
    assert index.describe().to_dict()["columns"] == []
    assert ask_planner(spark, frame, "t < TIMESTAMP '2020-01-01 00:00:00Z'").kept == ["a"]
    with pytest.raises(StatisticsIndexError, match="set the option timestampFormat"):
        index.build(expressions=["hour(t)"])


@pytest.mark.parametrize(
    ("escape", "line"),
    [('"', '"",",red,blue",7'), ("\\", '"C:\\\\",",red,blue",7'), ("\\", 'a"b,"c",7')],
)
def test_csv_files_with_unusual_quotes_are_kept(
    spark: SparkSession, escape: str, line: str, tmp_path: Path
) -> None:
    root = tmp_path / "t"
    root.mkdir()
    (root / "plain").write_text('"x","y",7\n,,8\n')
    (root / "quoted").write_text(f'"x","y",7\n{line}\n')
    reader = reader_of(spark, "csv", "p STRING, q STRING, n INT", escape=escape)
    index = tamis.index(spark, str(root), reader=reader).build()
    assert index.describe().to_dict()["unreadable_files"] == 1
    assert "some lines have quotes that Spark may read differently" in str(index.describe())
    frame = reader.load(str(root))
    for condition in ("n > 100", "n IS NULL"):
        answer = ask_planner(spark, frame, condition)
        assert answer.kept == ["quoted"]
        assert_no_row_is_lost(frame, condition, answer)


def test_recorded_members_and_expressions_prune(
    spark: SparkSession, kind: str, tmp_path: Path
) -> None:
    path = written(spark, kind, str(tmp_path / "t"))
    reader = reader_of(spark, kind)
    index = tamis.index(spark, path, reader=reader)
    index.build(
        columns={"price": ["bounds", "bloom", "ndv"], "kind": "values"},
        expressions=["soundex(kind)"],
    )
    frame = reader.load(path)
    assert ask_planner(spark, frame, "kind IN ('a', 'x')").kept_files == 1
    assert ask_planner(spark, frame, "kind NOT IN ('a', 'x')").kept_files == 3
    assert ask_planner(spark, frame, "price = 1.7").kept_files == 0
    assert ask_planner(spark, frame, "soundex(Kind) = 'B000'").kept_files == 1
    described = [(e["of"], e["kind"]) for e in index.describe().to_dict()["recorded"]]
    assert described == [
        ("price", "bloom"),
        ("price", "ndv"),
        ("kind", "values"),
        ("soundex(kind)", "bounds"),
        ("soundex(kind)", "values"),
    ]


def test_timestamps_of_orc_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, "orc", str(tmp_path / "t"))
    index = tamis.index(spark, path, reader=reader_of(spark, "orc"))
    with pytest.raises(StatisticsIndexError, match="time zone of the JVM"):
        index.build(expressions=["soundex(CAST(at AS STRING))"])
    with pytest.raises(StatisticsIndexError, match="no column at"):
        index.build(columns={"at": "bloom"})


TABLES = [
    "CREATE TABLE t (id LONG, kind STRING, code CHAR(3), name VARCHAR(9), p INT) USING csv OPTIONS (sep ';', header 'true') "
    "PARTITIONED BY (p)",
    "CREATE TABLE t (id LONG, kind STRING, code CHAR(3), name VARCHAR(9), p INT) USING json PARTITIONED BY (p)",
    "CREATE TABLE t (id LONG, kind STRING, code CHAR(3), name VARCHAR(9), p INT) USING orc PARTITIONED BY (p)",
    "CREATE TABLE t (id LONG, kind STRING, code CHAR(3), name VARCHAR(9), p INT) USING orc CLUSTERED BY (kind) INTO 2 BUCKETS",
]


@pytest.mark.parametrize("create", TABLES, ids=["csv", "json", "orc", "bucketed"])
def test_index_of_a_table_uses_its_reading(
    spark: SparkSession, create: str, tmp_path: Path
) -> None:
    location = (tmp_path / "t").as_uri()
    spark.sql("DROP TABLE IF EXISTS t")
    spark.sql(f"{create} LOCATION '{location}'")
    try:
        for p in range(3):
            spark.sql(
                f"INSERT INTO t SELECT {10 * p} + id, concat('k', id), concat('c', id), "
                f"concat('n', {p}), {p} FROM range(10)"
            )
        index = tamis.index(spark, "t").build()
        described = {column["name"] for column in index.describe().to_dict()["columns"]}
        assert described >= {"id", "kind", "name"}
        assert "code" not in described
        conditions = (
            "id = 15",
            "id = 15 AND p = 1",
            "p = 1",
            "id > 100",
            "code = 'c5'",
            "code > 'd'",
        )
        for condition in (*conditions, "name = 'n1'", "name > 'n1'"):
            answer = ask_planner(spark, spark.table("t"), condition)
            assert answer.warnings == []
            assert_no_row_is_lost(spark.table("t"), condition, answer)
        assert ask_planner(spark, spark.table("t"), "id > 100").kept_files == 0
        # The rows of a bucketed table lie in two files per insert.
        assert ask_planner(spark, spark.table("t"), "id = 15").kept_files <= 2
        assert index.describe().to_dict()["rows"] == 30
        assert index.describe().unusable_because is None
    finally:
        spark.sql("DROP TABLE IF EXISTS t")


# --- readings -------------------------------------------------------------------------------------


def other_readings(spark: SparkSession) -> list[tuple[str, Any, dict[str, str], str]]:
    return [
        ("option", reader_of(spark, "csv", sep=";"), {}, "option sep was not set and now is ;"),
        ("type", reader_of(spark, "csv", SCHEMA.replace("id LONG", "id INT")), {}, "id was long"),
        ("name", reader_of(spark, "csv", SCHEMA.replace("id LONG", "ix LONG")), {}, "ix was added"),
        ("case", reader_of(spark, "csv", SCHEMA.replace("id LONG", "ID LONG")), {}, "ID was added"),
        ("format", reader_of(spark, "json"), {}, "the format was csv and now is json"),
        ("zone", reader_of(spark, "csv"), {"spark.sql.session.timeZone": "Asia/Tokyo"}, "Tokyo"),
        ("legacy", reader_of(spark, "csv"), {"spark.sql.legacy.timeParserPolicy": "LEGACY"}, "Pol"),
        ("pruning", reader_of(spark, "csv"), {"spark.sql.csv.parser.columnPruning.enabled": "false"},
         "columnPruning"),
        ("ansi", reader_of(spark, "csv"), {"spark.sql.ansi.enabled": "false"}, "ansi"),
        ("missing", reader_of(spark, "csv"), {"spark.sql.files.ignoreCorruptFiles": "true"}, "ignore"),
        ("hadoop", reader_of(spark, "csv"), {"orc.force.positional.evolution": "true"}, "positional"),
    ]  # fmt: skip


def test_other_readings_are_not_served(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, "csv", str(tmp_path / "t"))
    reader = reader_of(spark, "csv")
    index = tamis.index(spark, path, reader=reader).build()
    assert ask_planner(spark, reader.load(path), "kind = 'zz'").kept_files == 0
    for name, other_reader, confs, part in other_readings(spark):
        before = {key: spark.conf.get(key, None) for key in confs}
        for key, value in confs.items():
            spark.conf.set(key, value)
        frame = other_reader.load(path)
        answer = ask_planner(spark, frame, "kind = 'zz'")
        unusable_because = tamis.index(spark, path, reader=other_reader).describe().unusable_because
        for key, was in before.items():
            spark.conf.unset(key) if was is None else spark.conf.set(key, was)
        assert answer.kept_files == FILES, name
        assert [code for code, _ in answer.warnings] == ["index.other_reading"], name
        assert part in answer.warnings[0][1], (name, answer.warnings)
        assert unusable_because is not None, name
        assert part in unusable_because, name
    # A conf set to its default, another letter case and nullability do not change the reading.
    spark.conf.set("spark.sql.csv.filterPushdown.enabled", "true")
    same = reader_of(spark, "csv", SCHEMA.replace("id LONG", "id LONG NOT NULL COMMENT 'x'"))
    answer = ask_planner(spark, same.load(path), "kind = 'zz'")
    assert answer.warnings == []
    assert answer.kept_files == 0
    assert index.describe().unusable_because is None


def test_index_of_another_format_is_ignored(spark: SparkSession, tmp_path: Path) -> None:
    """An index of files of another format counts as a missing index."""
    path = str(tmp_path / "t")
    spark.range(10).write.parquet(path)
    tamis.index(spark, path).build()
    spark.range(10).write.mode("append").json(path)
    frame = spark.read.schema("id LONG").json(path)
    answer = ask_planner(spark, frame, "id > 100")
    assert (answer.kept_files, answer.warnings) == (answer.files, [])


def test_secrets_are_not_stored(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, "csv", str(tmp_path / "t"))
    reader = reader_of(spark, "csv", **{"fs.s3a.secret.key": "hunter2", "comment": "#"})
    index = tamis.index(spark, path, reader=reader).build()
    options = index.describe().to_dict()["options"]
    assert options["fs.s3a.secret.key"].startswith("sha256 ")
    assert options["comment"] == "#"
    stored = b"".join(p.read_bytes() for p in (tmp_path / "t" / "_tamis").rglob("*") if p.is_file())
    assert b"hunter2" not in stored
    other_reader = reader_of(spark, "csv", **{"fs.s3a.secret.key": "hunter3", "comment": "#"})
    assert ask_planner(spark, other_reader.load(path), "id < 0").warnings != []


REFUSED = [
    ({"mode": "DROPMALFORMED"}, "csv", "DROPMALFORMED"),
    ({"mode": "failfast"}, "json", "FAILFAST"),
    ({"encoding": "UTF-16"}, "csv", "UTF-16"),
    ({"ignoreCorruptFiles": "true"}, "orc", "ignore"),
]


@pytest.mark.parametrize(
    ("options", "file_format", "part"), REFUSED, ids=[each[2] for each in REFUSED]
)
def test_ineligible_options_are_refused(
    spark: SparkSession, options: dict[str, str], file_format: str, part: str, tmp_path: Path
) -> None:
    path = written(spark, file_format, str(tmp_path / "t"))
    index = tamis.index(spark, path, reader=reader_of(spark, file_format, **options))
    for attempt in (index.build, index.refresh):
        with pytest.raises(StatisticsIndexError, match=part):
            attempt()
    index.drop()


def test_errors_state_a_fix(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, "csv", str(tmp_path / "t"))
    with pytest.raises(StatisticsIndexError, match=r"reader=spark\.read\.format"):
        tamis.index(spark, path).build()
    text = spark.read.format("text")
    with pytest.raises(StatisticsIndexError, match="only Parquet, ORC, CSV and JSON"):
        tamis.index(spark, path, reader=text).build()
    with pytest.raises(StatisticsIndexError, match="another session"):
        tamis.index(spark, path, reader=spark.newSession().read.format("csv")).build()
    with pytest.raises(StatisticsIndexError, match="cannot be read"):
        tamis.index(spark, path, reader=spark.read.format("nonsense")).build()
    overlapping = str(tmp_path / "o")
    spark.range(3).write.json(f"{overlapping}/id=1")
    with pytest.raises(StatisticsIndexError, match="rename one of them"):
        tamis.index(spark, overlapping, reader=spark.read.format("json")).build()


# --- malformed records ----------------------------------------------------------------------------

GOOD = {"csv": "1,x,2020-01-01\n2,y,2020-01-02\n", "json": '{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'}
BAD = {
    "csv": [
        "1,x,2020-01-01\nabc,y,2020-01-02\n",  # not a number
        "1,x,2020-01-01\n2,y\n",  # too short
        "1,x,2020-01-01\n2,y,2020-01-02,more\n",  # too long
        "1,x,2020-01-01\n2,y,yesterday\n",  # not a date
        '1,x,2020-01-01\n2,"y\nz",2020-01-02\n',  # two lines that are one record
        "1,x,2020-01-01\n99999999999999999999,y,2020-01-02\n",  # too large a number
    ],
    "json": [
        '{"a":1,"b":"x"}\n{"a":"abc","b":"y"}\n',
        '{"a":1,"b":"x"}\n{"a":2,"b":"y"\n',
        '{"a":1,"b":"x"}\n{"a":2,"c":"yesterday"}\n',
        '{"a":1,"b":"x"}\nnull\n',
        '{"a":1,"b":"x"}\n5\n',
        '{"a":1,"b":"x"}\n{"a":99999999999999999999}\n',
        '{"a":1,"b":"x"}\n{"a":2,"list":["x"]}\n',
    ],
}
TEXT = {"csv": "a LONG, b STRING, c DATE", "json": "a LONG, b STRING, c DATE, list ARRAY<INT>"}


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_files_with_a_malformed_record_are_kept(
    spark: SparkSession, file_format: str, tmp_path: Path
) -> None:
    root = tmp_path / "t"
    root.mkdir()
    (root / "good").write_text(GOOD[file_format])
    for k, text in enumerate(BAD[file_format]):
        (root / f"bad{k}").write_text(text)
    reader = reader_of(spark, file_format, TEXT[file_format])
    index = tamis.index(spark, str(root), reader=reader).build()
    described = index.describe()
    assert described.to_dict()["unreadable_files"] == len(BAD[file_format])
    assert described.to_dict()["rows"] == 2
    assert "records do not parse under the schema" in str(described)
    answer = ask_planner(spark, reader.load(str(root)), "a > 100")
    assert sorted(answer.kept) == [f"bad{k}" for k in range(len(BAD[file_format]))]
    assert answer.kept_records is None
    assert not answer.is_exact
    # They are read again only when they change.
    assert not refresh_reads_rows(index, spark)
    (root / "bad0").write_text(GOOD[file_format])
    index.refresh()
    assert "bad0" not in ask_planner(spark, reader.load(str(root)), "a > 100").kept


def refresh_reads_rows(index: Index, spark: SparkSession) -> bool:
    """Return whether a refresh starts a Spark job that reads rows."""
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    spark.sparkContext.setJobGroup("refresh", "refresh")
    try:
        index.refresh()
        return bool(tracker.getJobIdsForGroup("refresh"))
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        assert before >= 0


def test_column_for_malformed_records_has_no_statistics(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = tmp_path / "t"
    root.mkdir()
    (root / "good").write_text(GOOD["csv"])
    (root / "bad").write_text("1,x,2020-01-01\nabc,y,2020-01-02\n")
    for options, name in (({}, "_corrupt_record"), ({"columnNameOfCorruptRecord": "oops"}, "oops")):
        reader = reader_of(spark, "csv", f"a LONG, b STRING, c DATE, {name} STRING", **options)
        index = tamis.index(spark, str(root), reader=reader).build()
        assert name not in {each["name"] for each in index.describe().to_dict()["columns"]}
        assert ask_planner(spark, reader.load(str(root)), "a > 100").kept == ["bad"]
        assert len(ask_planner(spark, reader.load(str(root)), f"{name} IS NOT NULL").kept) == 2
        with pytest.raises(StatisticsIndexError, match="cannot be analyzed"):
            index.build(expressions=[f"upper({name})"])


def test_repeated_keys_keep_the_filter(spark: SparkSession, tmp_path: Path) -> None:
    """Plain Spark loses a row to the filter that it pushes, so the filter must stay pushed."""
    root = tmp_path / "t"
    root.mkdir()
    (root / "0").write_text('{"a":1,"a":2}\n{"a":2}\n')
    reader = reader_of(spark, "json", "a LONG, b LONG")
    index = tamis.index(spark, str(root), reader=reader).build()
    answer = ask_planner(spark, reader.load(str(root)), "a = 2")
    assert (answer.kept, answer.is_exact) == (["0"], False)
    assert answer.reasons == ["READER_LOSES_ROWS"]
    assert reader.load(str(root)).where("a = 2").count() == 1
    spark.conf.set("spark.sql.json.filterPushdown.enabled", "false")
    index.refresh()  # another reading: the index is rebuilt
    answer = ask_planner(spark, reader.load(str(root)), "a = 2")
    assert (answer.kept, answer.is_exact) == (["0"], True)
    assert reader.load(str(root)).where("a = 2").count() == 2


# --- changes of files -----------------------------------------------------------------------------


def test_changed_files_are_kept_until_refresh(
    spark: SparkSession, kind: str, tmp_path: Path
) -> None:
    path = written(spark, kind, str(tmp_path / "t"))
    reader = reader_of(spark, kind)
    index = tamis.index(spark, path, reader=reader).build(columns={"id": "values"})
    first = sorted(p for p in Path(path).iterdir() if p.name.startswith("part-"))
    assert not refresh_reads_rows(index, spark)

    status = first[0].stat()
    os.utime(first[0], ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))  # changed
    first[1].unlink()  # removed
    written(spark, kind, str(tmp_path / "more"))
    (added,) = [p for p in (tmp_path / "more").iterdir() if p.name.startswith("part-00003")]
    added.rename(Path(path, f"added-{added.name}"))
    answer = ask_planner(spark, reader.load(path), "id < 0")
    assert sorted(answer.kept) == sorted([first[0].name, f"added-{added.name}"])
    staleness = index.describe().to_dict()["staleness"]
    assert staleness == {"fresh": 2, "changed": 1, "added": 1, "gone": 1}

    index.refresh()
    assert index.describe().to_dict()["staleness"]["fresh"] == FILES
    assert [e["kind"] for e in index.describe().to_dict()["recorded"]] == ["values"]
    frame = reader.load(path)
    assert ask_planner(spark, frame, "id < 0").kept_files == 0
    assert ask_planner(spark, frame, "id = 80").kept_files == 2
    assert ask_planner(spark, frame, "id = 80 AND kind = 'x'").kept_files == 0
    index.drop()
    assert ask_planner(spark, frame, "id < 0").kept_files == FILES


def test_damaged_reading_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, "csv", str(tmp_path / "t"))
    reader = reader_of(spark, "csv")
    index = tamis.index(spark, path, reader=reader).build()
    (file,) = Path(path, "_tamis").rglob("_reading.json")
    file.write_bytes(file.read_bytes().replace(b'"csv"', b'"orc"'))
    answer = ask_planner(spark, reader.load(path), "id < 0")
    assert answer.kept_files == FILES
    assert [code for code, _ in answer.warnings] == ["index.damaged"]
    index.refresh()
    assert ask_planner(spark, reader.load(path), "id < 0").kept_files == 0


def test_dates_of_other_calendars_are_kept(spark: SparkSession, kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    dates = spark.sql("SELECT DATE'1400-01-01' AS d, 1 AS a UNION ALL SELECT DATE'2020-01-01', 2")
    dates.coalesce(1).write.format(kind).save(path)
    reader = reader_of(spark, kind, "d DATE, a INT")
    tamis.index(spark, path, reader=reader).build()
    frame = reader.load(path)
    assert ask_planner(spark, frame, "d > DATE'2021-01-01'").kept_files == 1
    assert ask_planner(spark, frame, "a > 2").kept_files == 0


def test_table_without_rows_keeps_its_files(spark: SparkSession, kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(10).where("id > 100").write.format(kind).save(path)
    reader = reader_of(spark, kind, "id LONG")
    index = tamis.index(spark, path, reader=reader).build()
    answer = ask_planner(spark, reader.load(path), "id < 0")
    assert answer.kept_files == answer.files  # no row was observed in them
    assert index.describe().to_dict()["rows"] == 0


def test_command_line_builds_from_a_reader(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(spark, "csv", str(tmp_path / "t"))
    from tamis.indexing.cli import app

    build = import_module("tamis.indexing.build.jobs")
    monkeypatch.setattr(build, "own_session", lambda settings: _UnstoppableSession(spark))
    how = ["--format", "csv", "--schema", SCHEMA, "--option", "sep=,"]
    run = CliRunner().invoke
    built = run(app, ["build", path, *how, "--bloom", "id"])
    assert built.exit_code == 0, built.output
    assert "csv with sep=','" in built.output
    described = run(app, ["describe", path, "--json", *how])
    assert json.loads(described.stdout)["format"] == "csv"
    assert run(app, ["refresh", path, *how]).exit_code == 0
    assert run(app, ["describe", path, "--schema", "a INT"]).exit_code != 0
    assert run(app, ["drop", path, *how]).exit_code == 0
    assert not Path(path, "_tamis").exists()


def test_command_of_a_stale_index_refreshes_it(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tamis.indexing.cli import app

    path = written(spark, "csv", str(tmp_path / "my table"))
    reader = reader_of(spark, "csv", nullValue="n 5", multiLine="true")
    tamis.index(spark, path, reader=reader).build(columns={"id": "bloom"})
    written(spark, "csv", str(tmp_path / "more"))
    more = next((tmp_path / "more").glob("*.csv"))
    more.rename(Path(path, "more.csv"))
    text = str(tamis.index(spark, path, reader=reader).describe())
    (command,) = re.findall(
        r"1 added, 0 deleted since the build. To update the index, run: (.*)", text
    )
    build = import_module("tamis.indexing.build.jobs")
    monkeypatch.setattr(build, "own_session", lambda settings: _UnstoppableSession(spark))
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "tamis", "index"]
    refreshed = CliRunner().invoke(app, words[4:])
    assert refreshed.exit_code == 0, refreshed.output
    described = tamis.index(spark, path, reader=reader).describe()
    assert not described.staleness.is_stale
    assert described.unusable_because is None
    assert [entry.kind for entry in described.recorded] == ["bloom"]


class _UnstoppableSession:
    """A session that a command cannot stop."""

    def __init__(self, spark: SparkSession) -> None:
        self._session = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def stop(self) -> None:
        pass
