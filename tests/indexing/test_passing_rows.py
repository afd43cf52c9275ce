"""Bounds of columns in the rows that pass a recorded condition: recorded, refreshed, and used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis.errors import StatisticsIndexError
from tests.indexing.planner import PlannerAnswer, ask_planner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 6
#: Each file has 100 rows, of which those with an `id` that ends in 7 are errors. In file n, the
#: `level` is from 0 to 99, and that of errors is from 10 n to 10 n + 9.
ROWS = [
    "id",
    "DATE '2024-01-01' + CAST(id DIV 50 AS INT) AS `D ünï`",
    "concat('n', id, IF(id % 10 = 7, ' error', ''), IF(id = 107, ' rare', '')) AS payload",
    "CAST(IF(id % 10 = 7, id DIV 100 * 10 + id DIV 10 % 10, id % 100) AS INT) AS level",
    "IF(id % 10 = 7, IF(id DIV 100 = 2, double('NaN'), IF(id DIV 100 = 3, NULL,"
    " IF(id DIV 100 = 4, -0.0D, id))), id % 100) AS d",
    "named_struct('x', CAST(id % 10 AS SMALLINT), 'b.c', 'é') AS st",
    "IF(id DIV 100 = 5, NULL, IF(id % 10 = 7, repeat(concat('k', id DIV 100), 700), '')) AS text",
    "IF(id % 10 = 7, timestamp_seconds(id DIV 100 * 86400), timestamp_seconds(id % 100)) AS ts",
]
CONDITION = "payload LIKE '%error%'"
RARE = "payload LIKE '%rare%'"


def written(spark: SparkSession, path: Path, rows: str = "id < 600") -> str:
    frame = spark.range(600).where(rows).selectExpr(*ROWS).repartitionByRange(FILES, "id")
    frame.sortWithinPartitions("id").write.parquet(str(path))
    return str(path)


def asked(spark: SparkSession, path: str, condition: str) -> PlannerAnswer:
    (answer,) = asked_all(spark, path, [condition])
    return answer


def asked_all(spark: SparkSession, path: str, conditions: Sequence[str]) -> list[PlannerAnswer]:
    """Return the answers of the planner, which keep the rows that pass, as do queries."""
    spark.conf.set("spark.tamis.enabled", "false")
    frame = spark.read.parquet(path)
    # no filter: Spark reads and evaluates all rows
    rows = frame.selectExpr("input_file_name()", "struct(*)", *conditions).collect()
    spark.conf.set("spark.tamis.enabled", "true")
    answers = []
    for number, condition in enumerate(conditions, 2):
        answer = ask_planner(spark, frame, condition)
        assert answer.warnings == [], condition
        passing = [row for row in rows if row[number]]
        assert {row[0].rpartition("/")[2] for row in passing} <= set(answer.kept), condition
        expected = sorted(str(row[1]) for row in passing)
        assert sorted(map(str, frame.where(condition).collect())) == expected
        answers.append(answer)
    return answers


COLUMNS = ["level", "d", "st.x", "text", "ts"]
#: A filter, and the number of files that are kept.
CASES: list[tuple[str, int]] = [
    (f"{CONDITION} AND level < 20", 2),
    (f"{CONDITION} AND level BETWEEN 25 AND 34", 2),
    (f"level = 99 AND {CONDITION}", 0),
    (f"{CONDITION} AND level % 100 > 54", 1),
    (f"{RARE} AND level = 99", 6),  # nothing is recorded about its rows
    ("level = 99", 6),
    # not a conjunct of its own: rows that do not pass it are returned, too
    (f"{CONDITION} OR level = 99", 6),
    (f"NOT ({CONDITION}) AND level = 99", 6),
    (f"({CONDITION}) IS NULL AND level = 99", 0),
    (f"({CONDITION} AND level = 99) OR id = 3", 6),
    (f"({CONDITION} OR id = 3) AND level = 99", 6),
    # NaN is the greatest value; files of errors have NaN or NULL only, or a zero
    (f"{CONDITION} AND d > 1000", 1),
    (f"{CONDITION} AND d = double('NaN')", 1),
    (f"{CONDITION} AND d = 0", 1),
    (f"{CONDITION} AND d = 50", 1),
    (f"{CONDITION} AND d = 99", 0),
    (f"{CONDITION} AND d IS NULL", 1),
    (f"{CONDITION} AND d IS NOT NULL AND d < 10000", 4),
    (f"{CONDITION} AND st.x < 7", 0),
    (f"{CONDITION} AND st.x = 7", 6),
    (f"{CONDITION} AND text > 'k2' AND text < 'k3'", 1),
    (f"{CONDITION} AND text = ''", 0),
    (f"{CONDITION} AND text IS NULL", 1),
    (f"{CONDITION} AND ts = TIMESTAMP '1970-01-03 00:00:00Z'", 1),
    (f"{CONDITION} AND level = NULL", 0),
]


def test_bounds_of_passing_rows_prune(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t ünï")
    tamis.index(spark, path).build().add(predicates={CONDITION: COLUMNS})
    answers = asked_all(spark, path, [sql for sql, _ in CASES])
    found = [(sql, each.kept_files) for (sql, _), each in zip(CASES, answers, strict=True)]
    assert [each for each, other in zip(found, CASES, strict=True) if each != other] == []


#: Conditions that are comparisons, a filter, and the number of files that are kept. One file has
#: only NULL as `text`.
COMPARISONS: list[tuple[str, str, int]] = [
    ("text <> ''", "text <> '' AND level < 20", 2),
    ("text <> ''", "NOT ('' = text) AND level BETWEEN 25 AND 34", 2),
    ("text <> ''", "text IS NOT NULL AND text != '' AND level = 99", 0),
    ("text <> ''", "text <> 'x' AND level = 99", 5),
    ("text <> ''", "(text <> '' OR id = 3) AND level = 99", 5),
    ("length(text) > 5", "length(text) > 5 AND level < 20", 2),
    ("length(text) > 5", "length(text) > 6 AND level < 20", 5),
    ("id % 10 IN (7, 17)", "id % 10 IN (17, 7) AND level >= 55", 1),
    ("id % 10 = 7 OR id % 10 = 17", "(id % 10 = 17 OR id % 10 = 7) AND level >= 55", 1),
    ("st.x >= 7S AND st.x <= 7S", "level = 99", 6),
]


def test_comparisons_are_conditions(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t")
    found = []
    for condition, _, _ in COMPARISONS[:-1]:
        predicates = {condition: ["level", "text"]}
        index = tamis.index(spark, path)
        index = index.add(predicates=predicates) if found else index.build(predicates=predicates)
        found.append(condition)
        assert condition not in recorded(index)  # bounds of its columns decide the condition
    answers = asked_all(spark, path, [sql for _, sql, _ in COMPARISONS])
    kept = [(*each[:2], of.kept_files) for each, of in zip(COMPARISONS, answers, strict=True)]
    assert [each for each, other in zip(kept, COMPARISONS, strict=True) if each != other] == []


def test_comparison_needs_columns(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t")
    clustered = tamis.index(spark, path).build(predicates=["level % 100 > 54"])
    assert "IF(level % 100 > 54, id, NULL)" in recorded(clustered)
    assert asked(spark, path, "level % 100 > 54 AND id BETWEEN 101 AND 150").kept_files == 0
    with pytest.raises(StatisticsIndexError, match="name columns"):
        tamis.index(spark, path).build(predicates={"level > 5": []})
    mixed = str(tmp_path / "mixed")
    spark.range(100).selectExpr("id * 7919 % 100 AS a").repartition(4).write.parquet(mixed)
    for predicates in (["a > 5"], {"a > 5": []}):
        with pytest.raises(StatisticsIndexError, match="name columns"):
            tamis.index(spark, mixed).build(predicates=predicates)


def recorded(index: Any) -> list[str]:
    return [each.name for each in index.describe().recorded if not each.fills_gap]


def test_a_list_records_the_columns_by_which_the_table_is_clustered(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = written(spark, tmp_path / "t")
    clustered = ["id", "`D ünï`", "payload"]
    expected = [CONDITION, *(f"IF({CONDITION}, {name}, NULL)" for name in clustered)]
    built = tamis.index(spark, path).build(predicates=[CONDITION])
    assert sorted(recorded(built)) == sorted(expected)
    added = tamis.index(spark, path).build().add(predicates=[CONDITION])
    assert sorted(recorded(added)) == sorted(expected)
    first = "DATE '2024-01-01'"
    rows = f"{CONDITION} AND `D ünï` = {first} AND id > 40 AND id < 47"
    assert asked(spark, path, rows).kept_files == 1
    assert asked(spark, path, f"{CONDITION} AND id BETWEEN 98 AND 106").kept_files == 0
    assert asked(spark, path, "id BETWEEN 98 AND 106").kept_files == 2


@pytest.mark.parametrize(
    ("predicates", "says"),
    [
        ({CONDITION: "level"}, "mapping from conditions to lists"),
        ({CONDITION: ["levl"]}, "levl"),
        ({CONDITION: ["st"]}, "type struct"),
        ({"rand() < 0.5": ["level"]}, "not deterministic"),
        ({"payload IN (SELECT concat('a', 'b'))": ["level"]}, "subquery"),
        ({"length(payload)": ["level"]}, "pass a condition"),
    ],
)
def test_unsupported_requests_are_errors(
    spark: SparkSession, tmp_path: Path, predicates: Any, says: str
) -> None:
    path = written(spark, tmp_path / "t")
    with pytest.raises(StatisticsIndexError, match=f"(?s){says}"):
        tamis.index(spark, path).build(predicates=predicates)


def test_refresh_reads_the_rows_of_new_files(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t", "id < 300")
    index = tamis.index(spark, path).build().add(predicates={CONDITION: ["level"]})
    frame = spark.range(600).where("id >= 300").selectExpr(*ROWS)
    frame.coalesce(1).write.mode("append").parquet(path)
    condition = f"{CONDITION} AND level >= 60"
    assert asked(spark, path, condition).kept_files == 1
    index.refresh()
    assert asked(spark, path, condition).kept_files == 0
    spark.read.parquet(path).localCheckpoint().write.mode("overwrite").parquet(path)
    index.refresh()
    assert asked(spark, path, condition).kept_files == 0


def test_file_that_was_replaced_is_read(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build().add(predicates={CONDITION: ["level"]})
    condition = f"{CONDITION} AND level = 99"
    assert asked(spark, path, condition).kept_files == 0
    (first, *_) = sorted(Path(path).glob("*.parquet"))
    other = str(tmp_path / "other")
    spark.range(1).selectExpr(
        "0L AS id", "DATE '2024-01-01' AS `D ünï`", "'error' AS payload", "99 AS level"
    ).coalesce(1).write.parquet(other)
    (new,) = Path(other).glob("*.parquet")
    first.write_bytes(new.read_bytes())
    first.with_name(f".{first.name}.crc").unlink()
    assert asked(spark, path, condition).kept_files == 1


def test_settings_are_part_of_a_condition(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t")
    call = "startswith(date_format(ts, 'HH'), '00')"
    tamis.index(spark, path).build().add(predicates={call: ["level"]})
    late = f"{call} AND level = 100"
    before = spark.conf.get("spark.sql.session.timeZone")
    for zone in ("Asia/Tokyo", "UTC", "America/New_York"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        asked(spark, path, f"{call} AND level = 7")
        asked(spark, path, late)
    spark.conf.set("spark.sql.session.timeZone", str(before))


def test_columns_are_named_in_any_case(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build().add(predicates={"PAYLOAD LIKE '%error%'": ["LEVEL"]})
    assert asked(spark, path, f"{CONDITION} AND level = 99").kept_files == 0
    assert asked(spark, path, "Payload LIKE '%error%' AND LeVeL = 99").kept_files == 0


def test_column_that_is_read_as_another_type_is_unknown(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build().add(predicates={CONDITION: ["level"]})
    frame = spark.read.schema("payload STRING, level BIGINT").parquet(path)
    assert ask_planner(spark, frame, f"{CONDITION} AND level = 99").kept_files == 6
    frame = spark.read.schema("payload STRING, level INT").parquet(path)
    assert ask_planner(spark, frame, f"{CONDITION} AND level = 99").kept_files == 0


def test_no_conjunct_leaves_the_plan(spark: SparkSession, tmp_path: Path) -> None:
    """What holds for all rows that pass does not hold for the other rows of these files."""
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build().add(predicates={CONDITION: ["level", "payload"]})
    answer = asked(spark, path, f"{CONDITION} AND level BETWEEN 0 AND 9")
    assert (answer.kept_files, answer.is_exact) == (1, False)
    starts = "startswith(payload, 'n1')"
    tamis.index(spark, path).build().add(predicates={starts: ["payload"]})
    answer = asked(spark, path, f"{starts} AND payload >= 'n1'")
    assert "exact" not in answer.pushdowns[:1]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing", "newer"])
def test_damaged_index_keeps_files(spark: SparkSession, tmp_path: Path, damage: str) -> None:
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build().add(predicates={CONDITION: ["level"]})
    name = "_recorded.json" if damage == "newer" else "_recorded.stats"
    for file in Path(path, "_tamis").glob(f"*/{name}"):
        content = file.read_bytes()
        if damage == "missing":
            file.unlink()
        elif damage == "truncated":
            file.write_bytes(content[: len(content) // 2])
        elif damage == "flipped":
            file.write_bytes(content[:-40] + bytes(each ^ 255 for each in content[-40:]))
        else:
            document = json.loads(content)
            file.write_text(json.dumps({**document, "format": 99}))
    answer = ask_planner(spark, spark.read.parquet(path), f"{CONDITION} AND level = 99")
    assert answer.kept_files == 6
    assert answer.warnings
