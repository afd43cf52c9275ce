"""Row statistics recorded by Spark: built over real files, and used by the next query."""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StructField, StructType
from typer.testing import CliRunner

import tamis
from tamis.errors import StatisticsIndexError
from tests.indexing.commands import use_session
from tests.spark.conftest import kept, rows, scans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

FILES = 8


@pytest.fixture(scope="module")
def written(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 800 rows to 8 files, clustered by id only. Spark writes ts as INT96."""
    path = str(tmp_path_factory.mktemp("written") / "events")
    session = spark_session.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    session.range(800).selectExpr(
        "id",
        "timestamp_seconds(86400 * id) AS ts",
        "(id * 7919) % 800 AS key",
        "element_at(array('click', 'view', 'buy', NULL), CAST(id DIV 100 % 4 AS INT) + 1) AS kind",
        "concat('{\"kind\": \"k', id DIV 200, '\", \"n\": ', id, '}') AS payload",
        "CAST(id AS DECIMAL(30, 4)) AS wide",
        "named_struct('a b', named_struct('c.d', id % 800, 'ü', CAST(id AS STRING))) AS st",
        "concat(repeat('x', 100), lpad(CAST(id AS STRING), 4, '0')) AS long_text",
        "CASE WHEN id % 100 = 0 THEN double('NaN') WHEN id % 100 = 1 THEN -0.0D ELSE id END AS d",
        "CAST(concat('b', id) AS BINARY) AS bin",
        "CAST(NULL AS INT) AS nothing",
        "id % 2 = 0 AS flag",
        "CAST(id % 100 AS TINYINT) AS tiny",
        "id DIV 400 AS part",
    ).repartitionByRange(FILES, "id").sortWithinPartitions("id").write.partitionBy("part").parquet(
        path
    )
    return path


@pytest.fixture
def path(written: str, tmp_path: Path) -> str:
    """Return a copy of these files without an index."""
    return shutil.copytree(written, str(tmp_path / "events ünï#1%"))


def check(spark: SparkSession, path: str, condition: str) -> int:
    """Return the number of kept files. Check that the rows equal those of plain Spark."""
    table = spark.read.parquet(path)
    spark.conf.set("spark.tamis.enabled", "false")
    expected = rows(table.where(condition))
    spark.conf.set("spark.tamis.enabled", "true")
    return _check_rows(table.where(condition), expected)


def check_all(spark: SparkSession, path: str, conditions: Sequence[str]) -> list[int]:
    """Do the same for many conditions. Plain Spark reads the table once."""
    table = spark.read.parquet(path)
    spark.conf.set("spark.tamis.enabled", "false")
    flags = [f"{condition} AS flag{number}" for number, condition in enumerate(conditions)]
    flagged = [tuple(row) for row in table.selectExpr("*", *flags).collect()]
    spark.conf.set("spark.tamis.enabled", "true")
    width = len(table.columns)
    return [
        _check_rows(
            table.where(condition),
            sorted(repr(row[:width]) for row in flagged if row[width + number]),
        )
        for number, condition in enumerate(conditions)
    ]


def _check_rows(frame: DataFrame, expected: list[str]) -> int:
    assert rows(frame) == expected, frame
    return kept(frame)[0] if _has_scan(frame) else 0


def _has_scan(frame: DataFrame) -> bool:
    return bool(scans(frame))


def is_exact(spark: SparkSession, path: str, condition: str) -> bool:
    frame = spark.read.parquet(path).where(condition)
    (scan,) = scans(frame)
    return all(c["pushdown"] == "exact" for c in scan["conjuncts"])


def test_reason_for_int96_proposes_bounds(spark: SparkSession, path: str) -> None:
    index = tamis.index(spark, path).build(fill_gaps=False)
    condition = "ts < TIMESTAMP '1970-02-01 00:00:00Z'"
    assert check(spark, path, condition) == FILES
    document = tamis.explain(spark.read.parquet(path).where(condition)).to_dict()
    reasons = [c["reason"] for c in document["scans"][0]["conjuncts"] if c["reason"]]
    (fix,) = {reason["fix"] for reason in reasons if "ts" in reason["text"]}
    assert 'columns={"ts": "bounds"}' in fix
    call = fix.partition(": ")[2]
    eval(call, {"tamis": tamis, "spark": spark, "path": path})
    assert check(spark, path, condition) == 1
    assert check(spark, path, "year(ts) = 1971") == 5
    index.drop()


BOUNDS = [
    ("ts >= TIMESTAMP '1972-01-01 00:00:00Z'", 1),
    ("ts IS NULL", 0),
    ("long_text = concat(repeat('x', 100), '0150')", 1),
    ("wide BETWEEN 150 AND 160", 1),
    ("d = 150", FILES - 1),
    ("d = 750", 1),
    ("isnan(d)", FILES),
    ("d < 0", 0),
    ("bin = X'62313530'", 2),  # byte order: b0 < b150 < b99
    ("nothing = 1", 0),
    ("nothing IS NOT NULL", 0),
    ("st.`a b`.`c.d` = 150", 1),
    ("flag IS NULL", 0),
]


def test_recorded_bounds_prune(spark: SparkSession, path: str) -> None:
    columns = ["ts", "long_text", "wide", "d", "bin", "nothing", "st", "flag", "tiny"]
    tamis.index(spark, path).build(columns=dict.fromkeys(columns, "bounds"))
    for condition, files in BOUNDS:
        assert check(spark, path, condition) == files, condition


MEMBERS = [
    ("key = 5", 1),
    ("key IN (5, 6)", 2),
    ("key IN (5, NULL)", 1),
    ("key <=> 5", 1),
    ("5 = key", 1),
    ("key = -1", 0),
    ("key <> 5", FILES),
    ("CAST(key AS DOUBLE) = 5", FILES),
]


@pytest.mark.parametrize("kind", ["bloom", "values"])
def test_members_prune_by_an_unclustered_column(spark: SparkSession, path: str, kind: str) -> None:
    tamis.index(spark, path).build(columns={"key": kind})
    for condition, most in MEMBERS:
        # A Bloom filter may keep one more file.
        assert check(spark, path, condition) <= most + (1 if kind == "bloom" else 0), condition


def test_value_lists_make_predicates_exact(spark: SparkSession, path: str) -> None:
    tamis.index(spark, path).build(columns={"kind": "values"})
    assert check(spark, path, "kind = 'buy'") == 2
    assert check(spark, path, "kind NOT IN ('click', 'view')") == 2
    assert check(spark, path, "kind <> 'click'") == 4
    assert check(spark, path, "NOT (kind <=> 'click')") == 6
    assert is_exact(spark, path, "kind IN ('click', 'buy', 'none')")
    assert is_exact(spark, path, "kind <> 'buy'")
    assert spark.read.parquet(path).where("kind IN ('click', 'buy')").count() == 400


ALL = ["id", "ts", "key", "kind", "payload", "wide", "d", "bin", "nothing", "flag", "tiny"]
EQUALITIES = [
    ("id", "150", 1),
    ("ts", "timestamp_seconds(86400 * 150)", 1),
    ("key", "12", 1),
    ("wide", "150BD", 1),
    ("d", "150", 1),
    ("d", "0.0D", FILES),
    ("d", "double('NaN')", FILES),
    ("bin", "X'62313530'", 1),
    ("nothing", "1", 0),
    ("st.`a b`.`ü`", "'150'", 1),
    ("tiny", "5", FILES),
    ("tiny", "500", 0),
    ("flag", "true", FILES),
]


@pytest.mark.parametrize("kind", ["bloom", "values"])
def test_members_of_every_type(spark: SparkSession, path: str, kind: str) -> None:
    index = tamis.index(spark, path).build(columns=dict.fromkeys([*ALL, "st"], kind))
    described = index.describe().to_dict()["recorded"]
    assert {entry["files"] for entry in described} == {FILES}
    equal = [f"{column} = {constant}" for column, constant, _ in EQUALITIES]
    others = [
        f"{column} {other.format(constant)}"
        for column, constant, _ in EQUALITIES
        for other in ("<> {}", "IN ({}, NULL)", "NOT IN ({})")
    ]
    kept_files = check_all(spark, path, equal + others)
    for (column, _, files), number in zip(EQUALITIES, kept_files, strict=False):
        slack = 1 if kind == "bloom" and 0 < files < FILES else 0
        assert number <= files + slack, column


EXPRESSIONS = [
    ("upper(kind)", "upper(kind) = 'BUY'", 2),
    ("get_json_object(payload, '$.kind')", "get_json_object(payload, '$.kind') = 'k3'", 2),
    ("soundex(kind)", "soundex(kind) = soundex('view')", 2),
    ("id % 2 + key", "key + id % 2 > 2000", 0),
    ("levenshtein(kind, 'view')", "levenshtein(kind, 'view') = 0", 2),
    ('payload RLIKE \'"kind": "k[01]"\'', 'payload RLIKE \'"kind": "k[01]"\'', 4),
    ("exists(array(kind), x -> x = 'buy')", "exists(array(kind), y -> y = 'buy')", 2),
    ("hour(ts) + id", "hour(ts) + id < 100", 1),
]


def test_recorded_expressions_prune(spark: SparkSession, path: str) -> None:
    tamis.index(spark, path).build(expressions=[sql for sql, _, _ in EXPRESSIONS])
    for sql, condition, files in EXPRESSIONS:
        assert check(spark, path, condition) == files, sql
    # The expression in other letter case, with another alias, and below a view.
    spark.read.parquet(path).createOrReplaceTempView("events")
    frame = spark.sql("SELECT id FROM (SELECT *, UPPER(e.KIND) AS u FROM events e) WHERE u = 'BUY'")
    assert kept(frame) == [2]
    assert not is_exact(spark, path, "soundex(kind) = 'V000' OR id < 5")


def test_expression_recorded_under_other_settings_does_not_match(
    spark: SparkSession, path: str
) -> None:
    tamis.index(spark, path).build(expressions=["date_format(ts, 'EEEE HH')"])
    condition = "date_format(ts, 'EEEE HH') = 'nonsense'"
    assert check(spark, path, condition) == 0
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    assert check(spark, path, condition) == FILES
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert check(spark, path, condition) == 0
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "CORRECTED")
    assert check(spark, path, condition) == FILES
    spark.conf.unset("spark.sql.legacy.timeParserPolicy")
    # Another pattern, another column.
    assert check(spark, path, "date_format(ts, 'EEEE mm') = 'nonsense'") == FILES


def test_refresh_preserves_the_recorded_parts(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    index = tamis.index(spark, path).build(
        columns={"ts": "bounds", "key": "bloom", "kind": "values"}, expressions=["upper(kind)"]
    )
    before = index.describe().to_dict()["recorded"]
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    more = spark.range(800, 900).selectExpr(
        "id", "timestamp_seconds(86400 * id) AS ts", "id AS key", "'sell' AS kind", "2 AS part"
    )
    more.coalesce(1).write.mode("append").partitionBy("part").parquet(path)
    removed = sorted(Path(path, "part=0").glob("*.parquet"))[0]
    removed.unlink()
    index.refresh()
    after = index.describe().to_dict()["recorded"]
    assert [(e["of"], e["kind"]) for e in after] == [(e["of"], e["kind"]) for e in before]
    assert {e["files"] for e in after if not e["fills_gap"]} == {FILES}
    for condition, files in [
        ("kind = 'sell'", 1),
        ("kind = 'buy'", 2),
        ("kind = 'click'", 1),
        ("upper(kind) = 'SELL'", 1),
        ("upper(kind) = 'VIEW'", 2),
        ("ts > TIMESTAMP '1972-03-12 00:00:00Z'", 1),
    ]:
        assert check(spark, path, condition) == files, condition
    assert check(spark, path, "key = 850") <= 2
    assert check(spark, path, "key = 5") <= 2


def test_add_preserves_the_recorded_parts(spark: SparkSession, path: str, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    spark.range(100).selectExpr("id", "id % 7 AS k", "timestamp_seconds(id) AS ts").write.parquet(
        table
    )
    index = tamis.index(spark, table)

    def columns() -> list[str]:
        return [each["name"] for each in index.describe().to_dict()["columns"]]

    def recorded() -> list[tuple[str, str]]:
        return [(each["of"], each["kind"]) for each in index.describe().to_dict()["recorded"]]

    index.add(columns=["id"])  # without an index, `add` builds one
    assert columns() == ["id"]
    index.add(columns=["k"])
    assert columns() == ["id", "k"]
    index.add(columns={"k": "bloom"}, expressions=["k + 1"])
    index.add(columns={"k": "values", "ts": "bounds"})
    everything = [("k", "bloom"), ("k", "values"), ("k + 1", "bounds"), ("k + 1", "values")]
    assert sorted(recorded()) == sorted([*everything, ("ts", "bounds")])
    assert columns() == ["id", "k", "ts"]
    for wrong in ({"nope": "bloom"}, ["nope"]):
        with pytest.raises(tamis.TamisError, match="nope"):
            index.add(columns=wrong)
    assert len(recorded()) == len(everything) + 1


def test_changed_file_is_kept_until_refresh(spark: SparkSession, path: str) -> None:
    index = tamis.index(spark, path).build(columns={"key": "values"})
    assert check(spark, path, "key = 5000") == 0
    file = sorted(Path(path, "part=1").glob("*.parquet"))[0]
    table = pq.read_table(file, partitioning=None)
    file.with_name(f".{file.name}.crc").unlink()
    at = table.schema.get_field_index("key")
    keys = pa.array([5000] * len(table), pa.int64())
    pq.write_table(table.set_column(at, "key", keys), file, use_deprecated_int96_timestamps=True)
    assert check(spark, path, "key = 5000") == 1
    index.refresh()
    assert check(spark, path, "key = 5000") == 1
    assert check(spark, path, "key = 5001") == 0


def test_empty_and_unreadable_files(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for i, values in enumerate([[1, 2], [], [None, None], [3]]):
        pq.write_table(pa.table({"a": pa.array(values, pa.int32())}), folder / f"{i}.parquet")
    index = tamis.index(spark, str(folder))
    for kind in ("bounds", "bloom", "values"):
        index.build(columns={"a": kind}, expressions={"a * 2": kind})
        assert check(spark, str(folder), "a = 3") == 1
        assert check(spark, str(folder), "a * 2 = 6") == 1
        assert check(spark, str(folder), "a IS NULL") == 1
    (folder / "4.parquet").write_bytes(b"PAR1 nothing PAR1")
    spark.sql(f"CREATE TABLE broken (a INT) USING parquet LOCATION '{folder.as_uri()}'")
    index = tamis.index(spark, "broken").build(columns={"a": ["bounds", "bloom", "values", "ndv"]})
    assert index.describe().to_dict()["unreadable_files"] == 1
    assert {
        e["files"] for e in index.describe().to_dict()["recorded"] if e["kind"] != "bounds"
    } == {4}
    index.refresh()


def test_old_dates_are_not_recorded(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for i, year in enumerate((1500, 1995)):
        days = pa.array([datetime.date(year, 1, 1), datetime.date(2000, 1, 1)])
        times = pa.array([datetime.datetime(year, 1, 1), datetime.datetime(2000, 1, 1)])
        table = pa.table({"d": days, "ts": times.cast(pa.timestamp("us", "UTC"))})
        pq.write_table(table, folder / f"{i}.parquet", use_deprecated_int96_timestamps=True)
    index = tamis.index(spark, str(folder)).build(columns={"d": "ndv", "ts": "ndv"})
    entries = index.describe().to_dict()["recorded"]
    assert [(e["of"], e["files"]) for e in entries if e["kind"] == "ndv"] == [("d", 1), ("ts", 1)]
    for kind in ("bounds", "bloom", "values"):
        index = tamis.index(spark, str(folder)).build(
            columns={"d": kind, "ts": kind}, expressions={"datediff(ts, d)": kind}
        )
        entries = index.describe().to_dict()["recorded"]
        assert {e["files"] for e in entries if not e["fills_gap"]} == {1}
        for mode in ("CORRECTED", "LEGACY"):
            spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", mode)
            spark.conf.set("spark.sql.parquet.int96RebaseModeInRead", mode)
            check(spark, str(folder), "d = DATE '1500-01-01'")
            check(spark, str(folder), "d = DATE '1500-01-10'")
            check(spark, str(folder), "ts < TIMESTAMP '1501-01-01 00:00:00Z'")
            check(spark, str(folder), "datediff(ts, d) <> 0")
            assert check(spark, str(folder), "ts = TIMESTAMP '1990-01-01 00:00:00Z'") == 1


def test_converted_int96_does_not_prune(spark: SparkSession, path: str) -> None:
    tamis.index(spark, path).build(columns={"ts": "bounds"})
    condition = "ts < TIMESTAMP '1970-02-01 00:00:00Z'"
    assert check(spark, path, condition) == 1
    for value in ("true", "TRUE"):
        spark.conf.set("spark.sql.parquet.int96TimestampConversion", value)
        assert check(spark, path, condition) == FILES
        with pytest.raises(StatisticsIndexError, match="int96TimestampConversion is true"):
            tamis.index(spark, path).build(columns={"ts": "bounds"})


def test_rows_of_columns_with_field_ids_are_read_by_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Queries that read by field id are left to Spark, so the index describes reads by name."""
    path = str(tmp_path / "t")
    field = StructField("a", LongType(), metadata={"parquet.field.id": 1})
    spark.createDataFrame([(7,)], StructType([field])).write.parquet(path)
    index = tamis.index(spark, path)
    index.build(expressions=["a % 5"])
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "True")
    with pytest.raises(StatisticsIndexError, match=r"the columns of .* have field ids"):
        index.build(expressions=["a % 5"])


def test_view_is_indexed_by_its_files(spark: SparkSession, path: str) -> None:
    spark.read.parquet(path).createOrReplaceTempView("files")
    spark.sql("CREATE TEMP VIEW swapped AS SELECT key AS id, id AS key FROM files WHERE id > 300")
    tamis.index(spark, "swapped").build(columns={"key": "values"})
    assert check(spark, path, "key = 5") == 1
    assert check(spark, path, "id = 5") == 1


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"columns": {"kid": "bloom"}}, "no column kid .*: did you mean kind"),
    (
        {"columns": {"id": "blom"}},
        "'blom' is not a kind of statistics.*'bounds', 'bloom', 'values', 'ndv'",
    ),
    ({"columns": {"part": "ndv"}}, "part is a partition column"),
    ({"expressions": {"upper(kind)": "ndv"}}, "'ndv' is recorded for columns only"),
    ({"columns": {"part": "values"}}, "part is a partition column"),
    ({"columns": "id"}, "take lists"),
    ({"expressions": ["uper(kind)"]}, "uper.*write it as in a SELECT"),
    ({"expressions": ["upper(kind"]}, r"upper\(kind cannot be analyzed"),
    ({"expressions": ["rand() + id"]}, "it is not deterministic"),
    ({"expressions": ["hex(aes_encrypt(kind, payload))"]}, "it is not deterministic"),
    ({"expressions": ["id + year(current_date())"]}, "depends on when, where or by whom"),
    ({"expressions": ["id + year(DATE 'today')"]}, "depends on when, where or by whom"),
    ({"expressions": ["max(id)"]}, "it is an aggregate"),
    ({"expressions": ["row_number() OVER (ORDER BY id)"]}, "it is an aggregate, window"),
    ({"expressions": ["explode(array(id))"]}, "it is an aggregate, window"),
    ({"expressions": ["id + (SELECT 1)"]}, "it contains a subquery"),
    ({"expressions": ["1 + 1"]}, "it names no column"),
    ({"expressions": ["id"]}, "is a column: name it in columns="),
    ({"expressions": ["id > 5"]}, "is a predicate"),
    ({"expressions": ["array(id)"]}, "has type array<bigint>"),
    ({"expressions": ["CAST(kind AS INT)"]}, "cannot compute statistics"),
    ({"expressions": ["my_udf(id)"]}, "user-defined function"),
    ({"predicates": "id > 5"}, "predicates= takes a list"),
    ({"predicates": ["upper(kind)"]}, "predicates: upper.* has type string: pass a condition"),
    ({"predicates": ["kind LIKE 'a%' AND id > 5"]}, "or its parts one by one"),
    ({"predicates": ["id > rand()"]}, "it is not deterministic"),
    ({"predicates": ["xpath_boolean(payload, 'a')"]}, "depends on when, where or by whom"),
    ({"predicates": ["kin LIKE 'a%'"]}, "kin.*write it as in a SELECT"),
]


# predicate, a condition of a query, number of kept files
PREDICATES = [
    ("payload LIKE '%k3%'", "payload LIKE '%k3%'", 2),
    ("payload LIKE '%k3%'", "NOT payload LIKE '%k3%'", 6),
    ("payload LIKE '%k3%'", "payload LIKE '%k3%' AND id < 700", 1),
    ("payload LIKE '%k3%'", "payload LIKE '%k2%'", 8),
    ("payload RLIKE 'n.: 1[5-9]'", "id < 0 OR payload RLIKE 'n.: 1[5-9]'", 2),
    ("kind LIKE '%ie%'", "kind LIKE '%ie%'", 2),
    ("kind LIKE '%ie%'", "NOT (kind LIKE '%ie%')", 4),
    ("kind LIKE '%ie%'", "(kind LIKE '%ie%') IS NULL", 2),
]


@pytest.mark.parametrize(("predicate", "condition", "files"), PREDICATES)
def test_recorded_predicates(
    spark: SparkSession, path: str, predicate: str, condition: str, files: int
) -> None:
    index = tamis.index(spark, path).build()
    index.add(predicates=[predicate])
    assert check(spark, path, condition) == files
    assert predicate in [each.name for each in index.describe().recorded]


@pytest.mark.parametrize(("options", "says"), ERRORS)
def test_unsupported_requests_are_errors(
    spark: SparkSession, path: str, options: dict[str, Any], says: str
) -> None:
    spark.udf.register("my_udf", lambda x: x, "bigint")
    with pytest.raises(StatisticsIndexError, match=f"(?s){says}"):
        tamis.index(spark, path).build(**options)
    assert not Path(path, "_tamis").exists()


def test_char_columns_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE padded (c CHAR(5), v VARCHAR(5)) USING parquet")
    spark.sql("INSERT INTO padded VALUES ('ab', 'ab')")
    with pytest.raises(
        StatisticsIndexError, match="statistics of c cannot be recorded: c is a CHAR column"
    ):
        tamis.index(spark, "padded").build(columns={"c": "values"})
    with pytest.raises(StatisticsIndexError, match="CHAR column"):
        tamis.index(spark, "padded").build(expressions=["upper(c)"])
    tamis.index(spark, "padded").build(columns={"v": "values"}, expressions=["upper(v)"])
    spark.sql("DROP TABLE padded")


def test_command_line_builds_and_describes(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tamis.indexing.cli import app

    use_session(monkeypatch, spark)
    run = CliRunner().invoke
    options = [
        "--bounds",
        "ts",
        "--bloom",
        "key",
        "--values",
        "kind",
        "--ndv",
        "key",
        "--expression",
        "upper(kind)",
    ]
    built = run(app, ["build", path, *options])
    assert built.exit_code == 0, built.output
    for line in ("bloom key 8 / 8", "ndv key 8 / 8", "values upper(kind) 8 / 8"):
        assert line in " ".join(built.output.split())
    described = json.loads(run(app, ["describe", path, "--json"]).output)
    requested = [e for e in described["recorded"] if not e["fills_gap"]]
    assert [(e["of"], e["kind"], e["is_expression"]) for e in requested] == [
        ("ts", "bounds", False),
        ("key", "bloom", False),
        ("key", "ndv", False),
        ("kind", "values", False),
        ("upper(kind)", "bounds", True),
        ("upper(kind)", "values", True),
    ]
    assert all(e["seconds"] > 0 for e in described["recorded"])
    assert run(app, ["build", path, "--column", "id", "--bloom", "key"]).exit_code == 2


def test_char_fields_are_refused(spark: SparkSession) -> None:
    """Only the metadata of the column names the CHAR inside it."""
    fields = "s STRUCT<c: CHAR(5), v: VARCHAR(5), n: INT>"
    spark.sql(f"CREATE TABLE padded_fields ({fields}) USING parquet")
    spark.sql("INSERT INTO padded_fields VALUES (named_struct('c', 'ab', 'v', 'ab', 'n', 1))")
    for name in ("s", "s.c"):
        with pytest.raises(StatisticsIndexError, match="s is a CHAR column"):
            tamis.index(spark, "padded_fields").build(columns={name: "bounds"})
    with pytest.raises(StatisticsIndexError, match="s is a CHAR column"):
        tamis.index(spark, "padded_fields").build(expressions=["upper(s.c)"])
    tamis.index(spark, "padded_fields").build(columns={"s.n": "bounds"})
    spark.sql("DROP TABLE padded_fields")


def test_expressions_of_partition_columns_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A table of the catalog may give the files of the directory p=2 another value of p."""
    spark.sql(
        "SELECT id, TIMESTAMP '2020-01-01 00:00:00' AS p, 1 AS q FROM range(4)"
    ).write.partitionBy("p", "q").parquet(str(tmp_path / "t"))
    for expression in ("unix_micros(p)", "unix_micros(P) + id", "q + id"):
        with pytest.raises(StatisticsIndexError, match="a partition column"):
            tamis.index(spark, str(tmp_path / "t")).build(expressions=[expression])
