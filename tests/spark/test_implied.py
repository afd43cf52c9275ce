"""Ranges that predicates imply reach the Parquet reader and skip row groups of boundary files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.conftest import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 10_000
ROW_GROUP = 100


def rows_read(frame: DataFrame) -> int:
    """Run the frame, and return the number of rows that its one scan read."""
    frame.collect()
    (leaf,) = list(_seq(frame._jdf.queryExecution().executedPlan().collectLeaves()))
    return int(leaf.metrics().apply("numOutputRows").value())


def _plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def _seq(seq: object) -> list[object]:
    return [seq.apply(i) for i in range(seq.size())]  # type: ignore[attr-defined]


@pytest.fixture
def hours(spark: SparkSession, tmp_path: Path) -> str:
    """Write one file of 100 row groups.

    10,000 timestamps from 1994-12-01 on, an hour apart, and columns derived from them.
    """
    start = dt.datetime(1994, 12, 1, tzinfo=dt.UTC)
    moments = [start + dt.timedelta(hours=n) for n in range(ROWS)]
    table = pa.table(
        {
            "ts": pa.array(moments, pa.timestamp("us", "UTC")),
            "clock": pa.array([m.replace(tzinfo=None) for m in moments], pa.timestamp("us")),
            "Day": pa.array([m.date() for m in moments], pa.date32()),
            "n": pa.array(range(ROWS), pa.int64()),
            "amount": pa.array([f"{n}.50" for n in range(ROWS)]).cast(pa.decimal128(12, 2)),
            "name": pa.array([f"{n // 1000}-{n:05d}" for n in range(ROWS)]),
            "s": pa.array([{"a b": n} for n in range(ROWS)], pa.struct([("a b", pa.int32())])),
            "x": pa.array([None if n % 7 == 0 else float(n) for n in range(ROWS)]),
        }
    )
    (tmp_path / "hours").mkdir()
    pq.write_table(table, tmp_path / "hours" / "0.parquet", row_group_size=ROW_GROUP)
    spark.read.parquet(str(tmp_path / "hours")).createOrReplaceTempView("hours")
    return str(tmp_path / "hours")


@pytest.mark.parametrize(
    ("condition", "at_most"),
    [
        ("year(ts) = 1995", 8760 + 2 * ROW_GROUP),
        ("date_trunc('DAY', ts) = TIMESTAMP '1995-03-26 00:00:00'", 2 * ROW_GROUP),
        ("year(day) = 1995 AND month(day) = 3", 744 + 2 * ROW_GROUP),
        ("n + 1 = 500", ROW_GROUP),
        ("n DIV 1000 = 3", 1000 + 2 * ROW_GROUP),
        ("CAST(amount AS BIGINT) = 77", 2 * ROW_GROUP),
        ("substring(name, 1, 2) = '4-'", 1000 + 2 * ROW_GROUP),
        ("s.`a b` * 2 BETWEEN 100 AND 110", 2 * ROW_GROUP),
        ("coalesce(n, 0) = 77", ROW_GROUP),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_implied_ranges_skip_row_groups(
    spark: SparkSession,
    hours: str,
    same: Callable[[str], DataFrame],
    condition: str,
    at_most: int,
    zone: str,
) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    frame = same(f"SELECT * FROM hours WHERE {condition}")
    assert len(frame.collect()) > 0
    assert 0 < rows_read(frame) <= at_most
    spark.conf.set("spark.tamis.enabled", "false")
    assert rows_read(spark.sql(f"SELECT * FROM hours WHERE {condition}")) == ROWS


@pytest.mark.parametrize(
    "condition",
    [
        "month(day) = 3",
        "CAST(amount AS INT) = 77",  # overflows from a decimal on that not every file can hold
        "coalesce(n, 77) = 77",
        "abs(x) < 5.0D",
        "x + 1 = 5.0D",
        "n % 7 = 3 OR year(day) = 1995",
        "hash(n) = 5",
        "year(day) = 1995 AND day < DATE '2200-01-01' OR x > 5",
    ],
)
def test_predicates_without_an_implied_range(
    spark: SparkSession, hours: str, same: Callable[[str], DataFrame], condition: str
) -> None:
    frame = same(f"SELECT * FROM hours WHERE {condition}")
    assert "Implied: []" in frame._jdf.queryExecution().executedPlan().toString()


def test_explain_shows_implied_ranges_and_the_predicate(spark: SparkSession, hours: str) -> None:
    spark.sql("SELECT 1").collect()
    text = spark.sql("EXPLAIN FORMATTED SELECT n FROM hours WHERE year(day) = 1995").first()[0]
    assert "Implied: [(Day >= DATE '1995-01-01'), (Day <= DATE '1995-12-31')]" in text
    assert "LessThanOrEqual(Day,1995-12-31)" in text
    assert "Filter" in text
    assert "year(Day" in text


def test_implied_ranges_over_timestamp_ntz_are_not_pushed(
    spark: SparkSession, hours: str, same: Callable[[str], DataFrame]
) -> None:
    """ParquetFilters of Spark 4.1 converts no filter over TIMESTAMP_NTZ.

    The implied ranges skip no row group.
    """
    frame = same("SELECT * FROM hours WHERE year(clock) = 1995")
    assert len(frame.collect()) == 8760
    assert "Implied: [(clock >= TIMESTAMP_NTZ '1995-01-01 00:00:00')" in _plan(frame)
    assert rows_read(frame) == ROWS
    assert rows_read(same("SELECT * FROM hours WHERE clock < TIMESTAMP_NTZ '1995-01-01'")) == ROWS


def test_int96_and_column_names_in_another_case(
    spark: SparkSession, folder: str, same: Callable[[str], DataFrame]
) -> None:
    """Spark pushes no order of INT96. The name is spelled differently in the file."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    spark.range(1000).selectExpr(
        "timestamp_seconds(id * 86400) AS Moment", "CAST(id AS INT) AS Number"
    ).coalesce(1).write.parquet(folder + "/t")
    spark.read.parquet(folder + "/t").createOrReplaceTempView("old")
    assert len(same("SELECT * FROM old WHERE year(moment) = 1971").collect()) == 365
    assert len(same("SELECT * FROM old WHERE NUMBER - 1 = 7").collect()) == 1


def test_dates_of_the_julian_calendar(
    spark: SparkSession, folder: str, same: Callable[[str], DataFrame]
) -> None:
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    spark.sql(
        "SELECT date_add(DATE '1582-09-20', CAST(id AS INT)) AS d, "
        "timestampadd(DAY, id, TIMESTAMP '1582-09-20 13:00:00') AS ts FROM range(60)"
    ).coalesce(1).write.parquet(folder + "/t")
    spark.read.parquet(folder + "/t").createOrReplaceTempView("old")
    for condition in (
        "year(d) = 1582 AND month(d) = 10",
        "year(ts) = 1582 AND month(ts) = 10",
        "date(ts) >= DATE '1582-10-10'",
        "last_day(d) = DATE '1582-10-31'",
        "year(d) > 1000",
    ):
        assert len(same(f"SELECT * FROM old WHERE {condition}").collect()) > 0


def test_implied_ranges_of_partition_columns_prune_and_are_not_pushed(
    spark: SparkSession, folder: str, same: Callable[[str], DataFrame]
) -> None:
    spark.range(1000).selectExpr(
        "id", "date_add(DATE '1995-01-01', CAST(id DIV 100 AS INT)) AS day"
    ).write.partitionBy("day").parquet(folder + "/t")
    spark.read.parquet(folder + "/t").createOrReplaceTempView("parts")
    frame = same("SELECT id FROM parts WHERE date_add(day, 1) = DATE '1995-01-05' AND id + 1 > 340")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "Files: 1 of 10" in plan
    assert "Implied: [(id >= 340L)]" in plan
    assert rows(frame) == sorted(repr((n,)) for n in range(340, 400))
