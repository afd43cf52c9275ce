"""After Spark overwrites a table, `refresh` restores the parts of its index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows(spark: SparkSession) -> DataFrame:
    """Return keys spread over all files, so that only a Bloom filter distinguishes the files."""
    return spark.range(1000).selectExpr("id", "id * 7919 % 1000 AS key").repartition(10, "id")


def files_read(frame: DataFrame) -> int:
    """Return the number of files read for one key."""
    (scan,) = tamis.explain(frame.where("key = 5")).to_dict()["scans"]
    return int(scan["files_kept"])


def test_refresh_after_overwrite_of_a_path(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows(spark).write.parquet(path)
    index = tamis.index(spark, path).build(columns={"key": "bloom"})
    expected = files_read(spark.read.parquet(path))
    assert expected < 3
    rows(spark).write.mode("overwrite").parquet(path)
    assert not (tmp_path / "t" / "_tamis").exists()
    spark._jvm.io.tamis.Tamis.invalidate(path)  # an open index is checked once per second
    assert spark.read.parquet(path).where("key = 5").count() == 1
    assert [w for w in spark._jvm.io.tamis.Tamis.warnings() if "index refresh" in w and path in w]
    index.refresh()
    assert files_read(spark.read.parquet(path)) == expected


def test_refresh_after_insert_overwrite_of_a_table(spark: SparkSession, tmp_path: Path) -> None:
    rows(spark).createOrReplaceTempView("rows_to_insert")
    spark.sql(f"CREATE TABLE overwritten (id LONG, key LONG) USING csv LOCATION '{tmp_path}/t'")
    try:
        spark.sql("INSERT INTO overwritten TABLE rows_to_insert")
        index = tamis.index(spark, "overwritten").build(columns={"key": "bloom"})
        expected = files_read(spark.table("overwritten"))
        assert expected < 3
        spark.sql("INSERT OVERWRITE overwritten TABLE rows_to_insert")
        index.refresh()
        assert files_read(spark.table("overwritten")) == expected
    finally:
        spark.sql("DROP TABLE overwritten")
