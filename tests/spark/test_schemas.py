"""A schema that differs from the files or from the index changes no row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import kept

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]


def table(spark: SparkSession, folder: str, ddl: str, *files: pa.Table) -> None:
    """Register the view `t` over these files, with an index."""
    for number, each in enumerate(files):
        pq.write_table(each, Path(folder, f"{number}.parquet"))
    view(spark, folder, ddl)
    tamis.index(spark, "t").build()


def view(spark: SparkSession, folder: str, ddl: str) -> None:
    spark.read.schema(ddl).parquet(folder).createOrReplaceTempView("t")


def test_types_wider_than_in_the_index(spark: SparkSession, folder: str, same: Same) -> None:
    small = pa.table({"a": pa.array([1, 2], pa.int32()), "f": pa.array([0.1, 0.2], pa.float32())})
    large = pa.table({"a": pa.array([2**40, 7]), "f": pa.array([0.3, 0.4])})
    table(spark, folder, "a INT, f FLOAT", small, large)
    view(spark, folder, "a BIGINT, f DOUBLE")
    assert kept(same("SELECT * FROM t WHERE a > 100")) == [1]
    assert kept(same("SELECT * FROM t WHERE f < 0.15D")) == [2]
    assert kept(same("SELECT * FROM t WHERE f = 0.1D")) == [1]  # 0.1F is a different number
    assert kept(same("SELECT * FROM t WHERE a IS NULL")) == [1]


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI"])
def test_collation_over_an_index_of_plain_strings(
    spark: SparkSession, folder: str, same: Same, collation: str
) -> None:
    table(spark, folder, "s STRING", pa.table({"s": ["a", "B"]}), pa.table({"s": ["c", "d"]}))
    view(spark, folder, f"s STRING COLLATE {collation}")
    assert kept(same("SELECT * FROM t WHERE s = 'b'")) == [2]
    assert kept(same("SELECT * FROM t WHERE s IN ('C', 'z') OR s > 'D'")) == [2]
    view(spark, folder, "s STRING")
    assert kept(same(f"SELECT * FROM t WHERE s COLLATE {collation} = 'b'")) == [2]
    assert kept(same("SELECT * FROM t WHERE s = 'B'")) == [1]


def test_columns_and_fields_in_another_case(spark: SparkSession, folder: str, same: Same) -> None:
    upper = pa.table({"Aa": [1, 2], "S": [{"X": 1}, {"X": 2}]})
    lower = pa.table({"aA": [3, 4], "s": [{"x": 3}, None]})
    table(spark, folder, "aa BIGINT, s STRUCT<x: BIGINT>", upper, lower)
    for ddl in ("aa BIGINT, s STRUCT<x: BIGINT>", "AA BIGINT, S STRUCT<X: BIGINT>"):
        view(spark, folder, ddl)
        assert kept(same("SELECT * FROM t WHERE AA > 2")) == [1]
        assert kept(same("SELECT * FROM t WHERE s.X = 2")) == [1]
        assert kept(same("SELECT * FROM t WHERE S.x IS NULL")) == [1]


def test_columns_that_differ_only_by_case(spark: SparkSession, folder: str, same: Same) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    both = pa.table({"a": [1, 2], "A": [10, 20]})
    table(spark, folder, "a BIGINT, A BIGINT", both, pa.table({"a": [5, 6]}))
    assert kept(same("SELECT * FROM t WHERE a > 4")) == [1]
    assert kept(same("SELECT * FROM t WHERE A > 4")) == [1]
    assert kept(same("SELECT * FROM t WHERE A IS NULL AND a IS NOT NULL")) == [1]
    spark.conf.set("spark.sql.caseSensitive", "false")
    view(spark, folder, "b BIGINT")
    assert kept(same("SELECT * FROM t WHERE b IS NULL")) == [2]  # the index has other names


def test_column_name_with_a_dot_beside_a_struct(
    spark: SparkSession, folder: str, same: Same
) -> None:
    files = [
        pa.table({"b.c": [1, 2], "b": [{"c": 10, "d.e": 1}, {"c": 20, "d.e": 2}]}),
        pa.table({"b": [{"c": 30, "d.e": 3}, None]}),
        pa.table({"b.c": [7]}),
    ]
    table(spark, folder, "`b.c` BIGINT, b STRUCT<c: BIGINT, `d.e`: BIGINT>", *files)
    for predicate in ("`b.c` = 7", "b.c = 30", "`b.c` IS NULL", "b.c IS NULL", "`b.c` < b.c"):
        same(f"SELECT * FROM t WHERE {predicate}")
    assert kept(same("SELECT * FROM t WHERE b.`d.e` > 2")) == [1]


def test_default_of_a_column_added_later(spark: SparkSession, folder: str, same: Same) -> None:
    spark.sql(f"CREATE TABLE t (i INT) USING parquet LOCATION '{folder}/t'")
    spark.sql("INSERT INTO t SELECT id FROM range(3)")
    tamis.index(spark, "t").build()
    spark.sql("ALTER TABLE t ADD COLUMN (x INT DEFAULT 5)")
    spark.sql("INSERT INTO t VALUES (10, 7), (11, NULL)")
    for path in (f"{folder}/t", "t"):  # the files do not contain the default
        tamis.index(spark, path).build()
        for predicate in ("x = 5", "x IS NULL", "x IS NOT NULL", "x IN (5, 7)", "x > 6", "x <> 5"):
            same(f"SELECT * FROM t WHERE {predicate}")
            same(f"SELECT * FROM parquet.`{folder}/t` WHERE i >= 0")


def test_unpadded_char_and_varchar(spark: SparkSession, folder: str, same: Same) -> None:
    spark.sql(
        "CREATE TABLE t (c CHAR(5), v VARCHAR(5), s STRUCT<c: CHAR(3)>, p CHAR(3)) USING parquet "
        f"PARTITIONED BY (p) LOCATION '{folder}/t'"
    )
    for part in range(2):
        spark.sql(
            f"INSERT INTO t SELECT 'a' || id, 'v' || id, named_struct('c', 'x' || id), 'p{part}' "
            f"FROM range({part * 5}, {part * 5 + 5})"
        )
    # a file of another writer, which does not pad
    pq.write_table(
        pa.table({"c": ["a1", "a"], "v": ["v1", "v"], "s": [{"c": "x"}, {"c": "x1"}]}),
        Path(folder, "t", "p=p0 ", "other.parquet"),
    )
    spark.sql("REFRESH TABLE t")
    tamis.index(spark, "t").build()
    for padding in ("true", "false"):
        spark.conf.set("spark.sql.readSideCharPadding", padding)
        for predicate in ("c = 'a1'", "c > 'a1'", "c IN ('a', 'a7')", "s.c = 'x1'", "p = 'p1'"):
            same(f"SELECT * FROM t WHERE {predicate}")
    assert kept(same("SELECT * FROM t WHERE v = 'v7'")) == [1]


def test_decimal_partitions_with_a_user_schema(
    spark: SparkSession, folder: str, same: Same
) -> None:
    # Spark reads the directory n=3.00 as 0.0300 here
    for text in ("1.50", "3.00"):
        spark.range(4).coalesce(1).write.parquet(f"{folder}/n={text}")
    view(spark, folder, "id BIGINT, n DECIMAL(20, 4)")
    tamis.index(spark, "t").build()
    for predicate in ("n = 3 OR id < -1", "n = 0.03 OR id < -1", "n < 1 AND id > n", "n > 2"):
        same(f"SELECT * FROM t WHERE {predicate}")
    view(spark, folder, "id BIGINT, n DECIMAL(20, 2)")
    assert kept(same("SELECT * FROM t WHERE n = 3 OR id < -1")) == [1]


def test_decimal_partitions_beside_another_partition_column(
    spark: SparkSession, folder: str, same: Same
) -> None:
    for text in ("1.50", "3.00"):
        spark.range(4).coalesce(1).write.parquet(f"{folder}/n={text}/m=1")
    view(spark, folder, "id BIGINT, n DECIMAL(20, 4), m INT")
    tamis.index(spark, "t").build()
    for _ in range(2):  # the values of the listing, which Spark caches, stay as they are
        same("SELECT id, n FROM t")
        same("SELECT count(*) FROM t WHERE n = 3 OR id < -1")
        same("SELECT id, n FROM t WHERE id > 1")
