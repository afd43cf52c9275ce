"""Parquet files of other writers are pruned, and their rows are unchanged.

See files/make.py.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = Path(__file__).parent / "files"
A = "a" * 63

COMMON = [
    *(f"i {op} 12" for op in ("=", "<>", "<", "<=", ">", ">=", "<=>")),
    *("i IS NULL", "i IS NOT NULL", "i IN (3, NULL)", "NOT (i <=> 3)", "i NOT IN (1, 2, 3, 4)"),
    *("d > 3.0D", "d = double('NaN')", "d < 2.0D", "d IS NULL", "d >= 10.0D", "NOT (d < 2.0D)"),
    *("ts < TIMESTAMP '1900-01-01 00:00:00Z'", "ts >= TIMESTAMP '1990-01-01 02:00:00Z'"),
    *("text IS NULL", "text >= 'b'", "text = 'é'", "text < 'b'", "_row >= 10 AND i IS NULL"),
]
TYPES = [
    *("u > 2147483657L", "u < 2147483650L", "u = 2147483648L"),
    *("zero = 0.0D", "zero >= 0.0D", "zero < 0.0D", "zero <= -0.0D", "zero IN (0.0D, 1.0D)"),
    *(f"text = '{A}0'", f"text > '{A}~'", f"text > '{A}'", f"text <= '{'b' * 63}'"),
    *(f"raw > X'64{'FF' * 80}'", "raw < X'65'", f"raw <= X'64{'FF' * 80}02'", "raw > X'66'"),
    *("day < DATE '1582-10-15'", "day = DATE '1500-01-02'", "day >= DATE '2000-01-03'"),
    *("ntz < TIMESTAMP_NTZ '1900-01-01 00:00:00'", "ntz > TIMESTAMP_NTZ '1990-01-01 04:00:00'"),
    *("small < -0.03", "small = 0.05", "large < -30000000000000000000000000000", "large > 0"),
    *("flag", "NOT flag", "flag IS NULL", "flag <=> true"),
    *("s.x IS NULL", "s.x >= 10", "s.y = 'a'", "s.y IS NULL", "s IS NULL", "s.x IS NOT NULL"),
    *("list IS NULL", "size(list) = 2 AND i > 10"),
]
CATEGORIES = [
    f"category {op} {value}" for op in ("=", "<", ">=", "<>", "<=>") for value in (1, 3, 13)
]


@pytest.mark.parametrize(
    ("writer", "predicates"),
    [
        ("polars", COMMON + TYPES),
        ("duckdb", COMMON + TYPES),
        ("fastparquet", COMMON + CATEGORIES),
    ],
)
def test_files_of_other_writers_are_pruned(
    spark: SparkSession,
    folder: str,
    same: Callable[[str], DataFrame],
    writer: str,
    predicates: list[str],
) -> None:
    copytree(FILES / writer, folder, dirs_exist_ok=True)
    spark.read.parquet(folder).createOrReplaceTempView("t")
    tamis.index(spark, "t").build()
    queries = [f'SELECT "{each}", _row FROM t WHERE {each}' for each in predicates]
    decisions = scans(same(" UNION ALL ".join(queries)))
    assert len(decisions) == len(predicates)
    assert sum(scan["files_kept"] == 0 for scan in decisions) > 0
    assert sum(scan["files_kept"] == 1 for scan in decisions) >= 5


def test_shifted_timestamps_in_every_spelling(
    spark: SparkSession, folder: str, same: Callable[[str], DataFrame]
) -> None:
    """Spark shifts INT96 of other writers, so recorded bounds do not hold, in any spelling."""
    Path(folder, "t").mkdir()
    for day in range(3):
        moments = [datetime(2020, 1, 1 + day, hour) for hour in (5, 6)]
        values = pa.table(
            {"id": [day * 2, day * 2 + 1], "ts": pa.array(moments, pa.timestamp("us"))}
        )
        pq.write_table(values, f"{folder}/t/{day}.parquet", use_deprecated_int96_timestamps=True)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    tamis.index(spark, f"{folder}/t").build(columns={"ts": "bounds"})
    spark.conf.set("spark.sql.parquet.int96TimestampConversion", "true")
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
    for name in ("ts", "TS"):
        joined = (
            f"SELECT id FROM t JOIN VALUES (TIMESTAMP '2020-01-01 05:00:00') v(x) ON {name} = x"
        )
        assert len(same(joined).collect()) == 1
        same(f"SELECT {name} FROM t ORDER BY {name} DESC LIMIT 2")
        same(f"SELECT min({name}), max({name}) FROM t")
