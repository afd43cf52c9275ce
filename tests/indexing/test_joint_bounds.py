"""Bounds of a column by the values of another: recorded, refreshed, and used together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis.errors import StatisticsIndexError
from tests.indexing.planner import ask_planner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4
#: In every file, `ship mode` has the values AIR, MAIL and NULL, and `day` those from 0 to 99. The
#: rows of MAIL have days below 10 in the first file, from 10 to 19 in the second one, and so on.
ROWS = [
    "CASE id % 3 WHEN 0 THEN 'AIR' WHEN 1 THEN 'MAIL' END AS `Ship ünï mode`",
    "CAST(IF(id % 3 = 1, id DIV 300 * 10 + id % 10, id % 100) AS INT) AS day",
    "IF(id % 3 = 1, 'M', IF(id % 2 = 0, 'a', 'z')) AS code",
]


def written(spark: SparkSession, path: Path) -> str:
    frame = spark.range(1200).selectExpr("id", *ROWS).repartitionByRange(FILES, "id")
    frame.sortWithinPartitions("id").drop("id").write.parquet(str(path))
    return str(path)


CASES: list[tuple[str, int]] = [
    ("`Ship ünï mode` = 'MAIL' AND day < 10", 1),
    ("`ship ünï mode` = 'MAIL' AND day BETWEEN 15 AND 25", 2),
    ("upper(`Ship ünï mode`) LIKE 'MA%' AND day >= 30", 1),
    ("`Ship ünï mode` = 'MAIL' AND day > 50", 0),
    ("`Ship ünï mode` = 'AIR' AND day > 50", 4),
    ("`Ship ünï mode` IS NULL AND day > 50", 4),
    ("`Ship ünï mode` <> 'AIR' AND day > 50", 0),
    ("NOT (`Ship ünï mode` <=> 'AIR') AND day > 50", 4),
    ("(`Ship ünï mode` = 'MAIL' AND day > 50) OR day > 99", 0),
    ("`Ship ünï mode` = 'BUS'", 0),
    ("length(`Ship ünï mode`) = 2", 0),
    ("`Ship ünï mode` = 'MAIL' AND day % 100 > 60", 0),
]
SPELLINGS: list[dict[str, Any]] = [
    {"columns": {"day": {"bounds": {"by": "Ship ünï mode"}}}},
    {"columns": {"day": "bounds by Ship ünï mode"}},
    {"columns": {"day": ["bloom", "bounds by Ship ünï mode"]}},
    {"aggregates": ["max(day)", "min(day)"], "by": ["Ship ünï mode"]},
]


def check(spark: SparkSession, frame: DataFrame, condition: str) -> int:
    answer = ask_planner(spark, frame, condition)
    assert answer.warnings == [], condition
    files = frame.where(condition).selectExpr("input_file_name()").distinct().collect()
    assert {row[0].rpartition("/")[2] for row in files} <= set(answer.kept), condition
    return answer.kept_files


@pytest.mark.parametrize("request_", SPELLINGS)
def test_conjuncts_over_two_columns_prune_together(
    spark: SparkSession, request_: dict[str, Any], tmp_path: Path
) -> None:
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build(**request_)
    frame = spark.read.parquet(path)
    assert [(sql, check(spark, frame, sql)) for sql, _ in CASES] == CASES


def test_rows_are_the_same_with_and_without_groups(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build(columns={"day": "bounds by Ship ünï mode"})
    for condition, kept in CASES:
        query = f"SELECT count(*), sum(day), count(code) FROM parquet.`{path}` WHERE {condition}"
        spark.conf.set("spark.tamis.enabled", "false")
        expected = spark.sql(query).collect()
        spark.conf.set("spark.tamis.enabled", "true")
        assert spark.sql(query).collect() == expected, condition
        frame = spark.read.parquet(path).where(condition)
        (scan,) = tamis.explain(frame).to_dict()["scans"] or [{"files_kept": 0}]
        assert scan["files_kept"] == kept, condition


def test_refresh_adds_the_groups_of_new_files(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t")
    index = tamis.index(spark, path).build(columns={"day": "bounds by Ship ünï mode"})
    more = spark.range(300).selectExpr(
        "'MAIL' AS `Ship ünï mode`", "CAST(70 AS INT) AS day", "'q' AS code"
    )
    more.coalesce(1).write.mode("append").parquet(path)
    condition = "`Ship ünï mode` = 'MAIL' AND day > 30 AND day <> 70"
    frame = spark.read.parquet(path)
    assert check(spark, frame, "`Ship ünï mode` = 'MAIL' AND day = 70") == 1
    index.refresh()
    assert check(spark, spark.read.parquet(path), condition) == 1


def test_file_with_too_many_groups_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = ["concat('n', id) AS name", "CAST(IF(id = 0, 5, 9) AS INT) AS day", "id % 2 AS two"]
    spark.range(3000).selectExpr(*rows).coalesce(1).write.parquet(path)
    tamis.index(spark, path).build(columns={"day": "bounds by name"})
    assert check(spark, spark.read.parquet(path), "name = 'n7' AND day = 5") == 1


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"day": {"bounds": {}}}, "write .*by"),
        ({"day": {"bloom": {"by": "code"}}}, "write .*by"),
        ({"day": "bounds by kode"}, "kode"),
        ({"dai": "bounds by code"}, "dai"),
    ],
)
def test_unsupported_requests_are_errors(
    spark: SparkSession, columns: dict[str, Any], says: str, tmp_path: Path
) -> None:
    path = written(spark, tmp_path / "t")
    with pytest.raises(StatisticsIndexError, match=f"(?s){says}"):
        tamis.index(spark, path).build(columns=columns)
