"""Rows that Spark's Parquet reader loses by its own push-down stay lost: no result changes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]

FINE = "TIMESTAMP '2020-01-01 00:00:00.0015'"

MILLIS = [
    f"SELECT id FROM t WHERE ts < {FINE}",
    f"SELECT id FROM t WHERE ts <> {FINE}",
    f"SELECT id FROM t WHERE NOT (ts >= {FINE})",
    f"SELECT id FROM t WHERE ts NOT IN ({FINE})",
    f"SELECT id FROM t WHERE NOT (ts <=> {FINE})",
    f"SELECT count(*) FROM t WHERE ts < {FINE}",
    f"SELECT min(id), max(ts) FROM t WHERE ts < {FINE}",
    f"SELECT count(*) FROM (SELECT id FROM t WHERE ts < {FINE} LIMIT 15)",
    f"SELECT id FROM t WHERE ts < {FINE} ORDER BY ts DESC LIMIT 3",
    "SELECT id FROM t WHERE ts + INTERVAL '0.0005' SECOND < TIMESTAMP '2020-01-01 00:00:00.002'",
    "SELECT id FROM t WHERE ts + INTERVAL '0.0005' SECOND <> TIMESTAMP '2020-01-01 00:00:00.002'",
    "SELECT id FROM t ORDER BY ts DESC LIMIT 12",
    "SELECT id FROM t WHERE date_trunc('MILLISECOND', ts) <= TIMESTAMP '2020-01-01 00:00:00.001'",
]


def write_milliseconds(spark: SparkSession, folder: str) -> None:
    """Write and index the table t: ten rows in each of three milliseconds, one file each."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")
    start = "TIMESTAMP '2020-01-01 00:00:00'"
    rows = spark.range(30).selectExpr(
        "id", f"timestampadd(MICROSECOND, (id % 3) * 1000, {start}) AS ts"
    )
    rows.repartitionByRange(3, "ts").write.parquet(f"{folder}/t")
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
    tamis.index(spark, f"{folder}/t").build()


@pytest.mark.parametrize("statement", MILLIS)
def test_milliseconds_compared_with_finer_constants(
    spark: SparkSession, folder: str, same: Same, statement: str
) -> None:
    write_milliseconds(spark, folder)
    same(statement)


SUBQUERY = [
    # Predicate | rows of plain Spark | rows of tamis, the right number.
    ("ts < (SELECT max(m) FROM c)", 10, 20),
    ("ts <> (SELECT max(m) FROM c)", 20, 30),
    ("NOT (ts >= (SELECT m FROM c))", 10, 20),
]


@pytest.mark.parametrize(("predicate", "plain", "right"), SUBQUERY)
def test_value_of_a_subquery_loses_no_rows(
    spark: SparkSession, folder: str, predicate: str, plain: int, right: int
) -> None:
    write_milliseconds(spark, folder)
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    spark.sql(f"SELECT {FINE} AS m").write.parquet(f"{folder}/c")
    spark.read.parquet(f"{folder}/c").createOrReplaceTempView("c")
    counts = {}
    for enabled in ("false", "true"):
        spark.conf.set("spark.tamis.enabled", enabled)
        counts[enabled] = len(spark.sql(f"SELECT id FROM t WHERE {predicate}").collect())
    assert counts == {"false": plain, "true": right}


WIDENED = [
    "d < 21474836.48",
    "d < 30000000.00",
    "d <> 42949672.96",
    "d + 1 < 21474837.48",
    "d * 2 < 60000000.00",
    "d < 21474836.47",
    "d < 5",
]


@pytest.mark.parametrize("predicate", WIDENED)
def test_decimals_of_files_with_fewer_digits(
    spark: SparkSession, folder: str, same: Same, predicate: str
) -> None:
    spark.range(10).selectExpr("id", "CAST(id AS DECIMAL(9, 2)) AS d").repartitionByRange(
        2, "id"
    ).write.parquet(f"{folder}/t")
    frame = spark.read.schema("id BIGINT, d DECIMAL(18, 2)").parquet(f"{folder}/t")
    frame.createOrReplaceTempView("t")
    tamis.index(spark, f"{folder}/t").build()
    same(f"SELECT id FROM t WHERE {predicate}")
    same(f"SELECT count(*) FROM t WHERE {predicate}")


def test_decimals_in_arrays_of_fewer_bytes(spark: SparkSession, folder: str, same: Same) -> None:
    """Spark's reader fails for a constant that does not fit the bytes of the file. The query has no
    such constant: only ranges that it implies have.
    """
    values = pa.array([Decimal(n).scaleb(-2) for n in range(100)], pa.decimal128(10, 2))
    Path(f"{folder}/t").mkdir(parents=True)
    pq.write_table(pa.table({"id": range(100), "d": values}), f"{folder}/t/0.parquet")
    frame = spark.read.schema("id BIGINT, d DECIMAL(18, 2)").parquet(f"{folder}/t")
    frame.createOrReplaceTempView("t")
    for predicate in ("d * 100 > 95", "d / 10 > 0.05", "d / 100000000 < 5000000"):
        same(f"SELECT id FROM t WHERE {predicate} AND id % 3 = 0")


@pytest.mark.parametrize(
    "moment", ["1582-10-04 23:00:00", "1582-10-10 00:00:00", "1582-10-14 22:00:00"]
)
def test_timestamps_that_the_julian_calendar_lacks(
    spark: SparkSession, folder: str, same: Same, moment: str
) -> None:
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    spark.sql(
        "SELECT id, timestampadd(HOUR, CAST(id AS INT), TIMESTAMP '1582-10-15 00:00:00') AS ts FROM range(6)"
    ).repartitionByRange(3, "id").write.parquet(f"{folder}/t")
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
    tamis.index(spark, f"{folder}/t").build()
    for op in ("<", "<=", ">", ">=", "<>"):
        same(f"SELECT id FROM t WHERE ts {op} TIMESTAMP '{moment}'")


def test_topk_over_decimals_of_files_with_fewer_digits(
    spark: SparkSession, folder: str, same: Same
) -> None:
    """The last of the first rows has more digits than the first file can hold."""
    spark.range(3).selectExpr("id", "CAST(id AS DECIMAL(9, 2)) AS d").coalesce(1).write.parquet(
        f"{folder}/t"
    )
    for least in (-35_000_000, -75_000_000):
        spark.range(10).selectExpr(
            "id", f"CAST({least} + id * 1000000 AS DECIMAL(18, 2)) AS d"
        ).coalesce(1).write.mode("append").parquet(f"{folder}/t")
    frame = spark.read.schema("id BIGINT, d DECIMAL(18, 2)").parquet(f"{folder}/t")
    frame.createOrReplaceTempView("t")
    spark.sql(
        f"CREATE TABLE wide (id BIGINT, d DECIMAL(18, 2)) USING parquet LOCATION '{folder}/t'"
    )
    tamis.index(spark, "wide").build()
    for order in ("d DESC", "d DESC NULLS FIRST", "d", "-d"):
        same(f"SELECT d FROM wide ORDER BY {order} LIMIT 12")
