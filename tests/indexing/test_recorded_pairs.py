"""Recorded comparisons and differences of two columns decide every spelling of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.indexing.planner import ask_planner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4
#: b - a is 5 in the first file, 0 in the second, and -5 in the third one. In the fourth it is any
#: of these, or NULL. The bounds of a and b are the same in all files.
BASE = "CAST(id % 25 * 100 AS INT)"
STEP = (
    "CAST(CASE id DIV 25 WHEN 0 THEN 5 WHEN 1 THEN 0 WHEN 2 THEN -5 "
    "ELSE element_at(array(5, 0, -5, NULL), CAST(id % 4 + 1 AS INT)) END AS INT)"
)
DAY = "DATE '2020-01-01'"
ROWS = [
    f"{BASE} AS a",
    f"{BASE} + {STEP} AS b",
    f"CAST({BASE} + {STEP} AS BIGINT) AS `Wide ünï.b`",
    f"CAST({BASE} AS DECIMAL(12,2)) AS price",
    f"CAST({BASE} + {STEP} AS DECIMAL(13,3)) AS paid",
    f"date_add({DAY}, {BASE}) AS sent",
    f"date_add({DAY}, {BASE} + {STEP}) AS got",
    f"timestamp_seconds({BASE} * 60) AS since",
    f"timestamp_seconds({BASE} * 60 + {STEP} * 60) AS until",
    f"CAST({DAY} AS TIMESTAMP_NTZ) + make_dt_interval(0, 0, {BASE}) AS start",
    f"CAST({DAY} AS TIMESTAMP_NTZ) + make_dt_interval(0, 0, {BASE} + {STEP}) AS stop",
    f"CAST({BASE} AS DOUBLE) AS x",
    f"CAST({BASE} + {STEP} AS DOUBLE) AS y",
    f"lpad(CAST({BASE} + 100 AS STRING), 6, '0') AS s",
    f"lpad(CAST({BASE} + 100 + {STEP} AS STRING), 6, '0') AS t",
]


def written(spark: SparkSession, path: Path) -> str:
    frame = spark.range(100).selectExpr("id", *ROWS).repartitionByRange(FILES, "id")
    frame.sortWithinPartitions("id").drop("id").write.parquet(str(path))
    return str(path)


#: What is recorded: the same differences in several forms.
DIFFERENCES = [
    "b - a",
    "a - `Wide ünï.b`",
    "price - paid",
    "got - sent",
    "until - since",
    "stop - start",
    "y - x",
    "s < t",
    "s = t",
]
OTHER_DIFFERENCES = [
    "try_subtract(a, b)",
    "`Wide ünï.b` - 7 - a",
    "paid + 1.5 - price",
    "datediff(sent, got)",
    "unix_micros(since) - unix_micros(until)",
    "timestampdiff(MICROSECOND, start, stop)",
    "x - y",
    "NOT (s >= t)",
    "s <> t",
]
COMPARISONS = [
    *("a < b", "a >= b + 1"),
    *("`Wide ünï.b` > a", "a > `Wide ünï.b`"),
    *("price < paid", "paid < price"),
    *("sent < got", "got <= date_sub(sent, 1)"),
    *("until > since", "NOT (until >= since)"),
    *("start < stop", "stop < start"),
    *("x < y", "x <= y"),
    *("s < t", "s > t"),
]

# Conditions, kept files of 4, and whether all of their rows pass.
CASES: list[tuple[str, int, bool]] = [
    (f"{left} {op} {right}", kept, False)
    for left, right in (
        ("a", "b"),
        ("a", "`wide ünï.b`"),
        ("price", "paid"),
        ("sent", "got"),
        ("since", "until"),
        ("start", "stop"),
        ("x", "y"),
        ("s", "t"),
    )
    for op, kept in (("<", 2), ("<=", 3), ("=", 2), (">=", 3), (">", 2), ("<>", 3), ("<=>", 2))
]
#: The same, where the sizes of the differences are recorded and not only their signs.
SIZES: list[tuple[str, int, bool]] = [
    ("a + 3 < b", 2, False),
    ("a + 5 < b", 0, True),
    ("b - a BETWEEN 1 AND 5", 2, False),
    ("b - a IN (5, 6)", 2, False),
    ("a BETWEEN b AND b + 3", 2, False),
    ("`Wide ünï.B` - A > 5", 0, True),
    ("paid - price > 4.99", 2, False),
    ("price + 5.001 <= paid", 0, True),
    ("datediff(got, sent) > 0", 2, False),
    ("datediff(sent, got) >= 5", 2, False),
    ("got - sent > INTERVAL 5 DAYS", 0, True),
    ("date_add(sent, 3) < got", 2, False),
    ("sent + INTERVAL 5 DAYS < got", 0, True),
    ("until - since > INTERVAL 5 MINUTES", 0, True),
    ("timestampdiff(MINUTE, since, until) < 0", 2, False),
    ("unix_timestamp(until) - unix_timestamp(since) > 299", 2, False),
    ("since + INTERVAL 301 SECONDS < until", 0, True),
    ("stop - start >= INTERVAL 1 SECOND", 2, False),
    ("start < stop AND a > b", 1, False),
]


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("recorded", [DIFFERENCES, OTHER_DIFFERENCES], ids=["one", "other"])
def test_recorded_differences_decide_comparisons(
    spark: SparkSession, recorded: list[str], ansi: str, tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build(expressions=recorded)
    check_all(spark, spark.read.parquet(path), [*CASES, *SIZES])


def test_recorded_comparisons_decide_the_opposite_and_the_mirrored_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build(expressions=COMPARISONS)
    check_all(spark, spark.read.parquet(path), CASES)


#: Rounded differences: what is recorded, conditions, and kept files of 4 in UTC and in New York,
#: where differences of local times may be off by an hour.
ROUNDED: list[tuple[str, str, int, int]] = [
    ("unix_timestamp(since) - unix_timestamp(until)", "since < until", 3, 3),
    ("unix_timestamp(since) - unix_timestamp(until)", "since + INTERVAL 2 SECONDS < until", 2, 2),
    ("timestampdiff(SECOND, start, stop)", "start = stop", 2, 4),
    ("timestampdiff(MINUTE, start, stop)", "start < stop", 3, 4),
    ("timestampdiff(MINUTE, start, stop)", "start + INTERVAL 3 HOURS < stop", 0, 0),
    ("datediff(until, since)", "since + INTERVAL 2 DAYS < until", 0, 0),
]


@pytest.mark.parametrize(("zone", "place"), [("UTC", 2), ("America/New_York", 3)])
def test_rounded_differences_decide_what_rounding_leaves(
    spark: SparkSession, zone: str, place: int, tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    path = written(spark, tmp_path / "t")
    frame = spark.read.parquet(path)
    for case in ROUNDED:
        recorded, condition, kept = case[0], case[1], case[place]
        tamis.index(spark, path).build(expressions=[recorded])
        check_all(spark, frame, [(condition, kept, kept == 0)])


def test_recorded_interval_is_a_value_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """A list of values excludes what lies between its bounds."""
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build(expressions={"got - sent": ["bounds", "values"]})
    check_all(spark, spark.read.parquet(path), [("got - sent = INTERVAL 3 DAYS", 0, True)])


def check_all(
    spark: SparkSession, frame: DataFrame, cases: Sequence[tuple[str, int, bool]]
) -> None:
    """Check the kept files of conditions, and that every row for which one is true is in them."""
    conditions = [condition for condition, _, _ in cases]
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # of very many expressions
    # no filter: Spark reads and evaluates all rows
    rows = frame.selectExpr("input_file_name()", *conditions).collect()
    found = []
    for number, condition in enumerate(conditions, 1):
        answer = ask_planner(spark, frame, condition)
        assert answer.warnings == [], condition
        names = {row[0].rpartition("/")[2] for row in rows if row[number]}
        assert names <= set(answer.kept), condition
        found.append((condition, answer.kept_files, answer.is_exact))
    assert [each for each, case in zip(found, cases, strict=True) if each != case] == []
