"""Bounds of the rows that pass a recorded condition serve filters, top-k and joins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 8
#: All files have `day` from 0 to 99. Errors have the days 10 n to 10 n + 9 in file n.
COLUMNS = [
    "id",
    "CAST(IF(id % 20 = 3, id DIV 100 * 10 + id % 10, id % 100) AS INT) AS day",
    "IF(id % 20 = 3, 'an error', IF(id % 20 = 4, NULL, 'ok')) AS payload",
]
ERROR = "payload LIKE '%error%'"


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> str:
    path = str(tmp_path / "log")
    frame = spark.range(800).selectExpr(*COLUMNS).repartitionByRange(FILES, "id")
    frame.sortWithinPartitions("id").write.parquet(path)
    spark.range(3).selectExpr("CAST(23 AS INT) AS d", "id AS n").coalesce(1).write.parquet(
        str(tmp_path / "days")
    )
    spark.read.parquet(path).createOrReplaceTempView("log")
    spark.read.parquet(str(tmp_path / "days")).createOrReplaceTempView("days")
    tamis.index(spark, path).build(predicates={ERROR: ["day"]})
    tamis.index(spark, str(tmp_path / "days")).build()
    return path


def opened(spark: SparkSession, query: str) -> list[int]:
    """Return the files of each scan. Check that the rows are those of plain Spark."""
    spark.conf.set("spark.tamis.enabled", "false")
    expected = [tuple(row) for row in spark.sql(query).collect()]
    spark.conf.set("spark.tamis.enabled", "true")
    frame = spark.sql(query)
    assert [tuple(row) for row in frame.collect()] == expected, query
    scans: list[dict[str, Any]] = tamis.explain(spark.sql(query)).to_dict()["scans"]
    return sorted(scan["files_kept"] for scan in scans)


@pytest.mark.parametrize(
    ("query", "files"),
    [
        (f"SELECT count(*) FROM log WHERE {ERROR} AND day BETWEEN 20 AND 25", [1]),
        ("SELECT count(*) FROM log WHERE day BETWEEN 20 AND 25", [8]),
        (f"SELECT count(*) FROM log WHERE {ERROR} AND day IN (13, 73)", [2]),
        (f"SELECT count(*) FROM log WHERE {ERROR} AND day > 80", []),
        (f"SELECT max(l.id) FROM log l JOIN days ON l.day = days.d WHERE {ERROR}", [1, 1]),
        (f"SELECT count(*) FROM log l LEFT SEMI JOIN days ON l.day = d WHERE {ERROR}", [1, 1]),
    ],
)
def test_files_that_hold_passing_rows(
    spark: SparkSession, log: str, query: str, files: list[int]
) -> None:
    assert opened(spark, query) == files


PHRASES = [
    "id",
    # every file has '' and phrases from the whole alphabet
    "IF(id % 20 < 3, concat(char(97 + (id DIV 100 * 3 + id) % 26), id), IF(id % 20 = 4, NULL, ''))"
    " AS phrase",
    "CAST(id % 7 AS INT) AS n",
    "CAST(id DIV 400 AS INT) AS half",
]


@pytest.fixture
def phrases(spark: SparkSession, tmp_path: Path) -> str:
    path = str(tmp_path / "phrases")
    frame = spark.range(800).selectExpr(*PHRASES).repartitionByRange(FILES, "id")
    frame.write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("phrases")
    tamis.index(spark, path).build(predicates={"phrase <> ''": ["phrase", "n"]})
    return path


SOME = "phrase <> ''"


@pytest.mark.parametrize(
    ("query", "files"),
    [
        (f"WHERE {SOME} ORDER BY phrase LIMIT 2", [2]),
        (f"WHERE {SOME} ORDER BY phrase DESC LIMIT 2", [2]),
        (f"WHERE {SOME} ORDER BY phrase LIMIT 1 OFFSET 1", [2]),
        (f"WHERE {SOME} ORDER BY phrase, id LIMIT 2", [2]),
        (
            f"WHERE {SOME} AND phrase IS NOT NULL AND length(phrase) > 1 ORDER BY phrase LIMIT 1",
            [1],
        ),
        # nothing is known about the rows with the least phrases
        (f"WHERE {SOME} AND n = 3 ORDER BY phrase LIMIT 2", [8]),
        (f"WHERE {SOME} AND phrase LIKE '%9' ORDER BY phrase LIMIT 2", [8]),
        ("WHERE phrase <> 'x' ORDER BY phrase LIMIT 2", [8]),
        (f"WHERE {SOME} AND half = 1 ORDER BY phrase LIMIT 2", [2]),
        (f"WHERE {SOME} OR n = 8 ORDER BY phrase LIMIT 2", [8]),
    ],
)
def test_least_passing_values_choose_the_files(
    spark: SparkSession, phrases: str, query: str, files: list[int]
) -> None:
    assert opened(spark, f"SELECT phrase FROM phrases {query}") == files


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("order", ["day DESC, id", "day, id", "day DESC NULLS FIRST, id"])
def test_top_k_under_a_condition_has_the_same_rows(
    spark: SparkSession, log: str, order: str, ansi: str
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    for limit in (1, 4, 7, 100):
        opened(spark, f"SELECT id, day FROM log WHERE {ERROR} ORDER BY {order} LIMIT {limit}")
    spark.conf.unset("spark.sql.ansi.enabled")
