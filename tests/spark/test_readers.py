"""Planning decides how rows are read. The readers are made when the query runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.conftest import kept, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def _broadcasts(spark: SparkSession) -> int:
    """Return the number of broadcasts before this one."""
    return int(spark.sparkContext.broadcast(None)._jbroadcast.id())


def _reads_columns(frame: DataFrame) -> bool:
    return "ColumnarToRow" in frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.usefixtures("events")
def test_planning_broadcasts_nothing(spark: SparkSession) -> None:
    frame = spark.sql("SELECT * FROM events WHERE id > 850 AND name LIKE '%1'")
    before = _broadcasts(spark)
    assert _reads_columns(frame)
    assert _broadcasts(spark) == before + 1  # the broadcast of the count
    assert len(rows(frame)) == 15
    assert _broadcasts(spark) > before + 2


WAYS = {
    "columns": ({}, True),
    "rows": ({"spark.sql.parquet.enableVectorizedReader": "false"}, False),
    "no code is generated": ({"spark.sql.codegen.wholeStage": "false"}, False),
    "too many columns for code": ({"spark.sql.codegen.maxFields": "3"}, False),
    "structs by rows": ({"spark.sql.parquet.enableNestedColumnVectorizedReader": "false"}, False),
    "code in the interpreter": ({"spark.sql.codegen.factoryMode": "NO_CODEGEN"}, True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("events")
def test_row_and_column_readers_are_those_of_spark(
    spark: SparkSession, way: str, same: Callable[[str], DataFrame]
) -> None:
    confs, columns = WAYS[way]
    for key, value in confs.items():
        spark.conf.set(key, value)
    sql = "SELECT id, day, name, item FROM events WHERE id BETWEEN 95 AND 205 AND amount > 150"
    frame = same(sql)
    assert kept(frame) == [2]
    assert _reads_columns(frame) is columns
    spark.conf.set("spark.tamis.enabled", "false")
    assert _reads_columns(spark.sql(sql)) is columns
    for key in confs:
        spark.conf.unset(key)  # the interpreter cannot list tables


VECTORIZED, WHOLE_STAGE = "spark.sql.parquet.enableVectorizedReader", "spark.sql.codegen.wholeStage"


@pytest.mark.parametrize(
    ("key", "planned"),
    # disabling the vectorized reader in between fails without tamis, too
    [(VECTORIZED, "false"), (WHOLE_STAGE, "true"), (WHOLE_STAGE, "false")],
)
@pytest.mark.usefixtures("events")
def test_conf_set_after_planning_has_no_effect(spark: SparkSession, key: str, planned: str) -> None:
    """A plan for columns reads columns, and a plan for rows reads rows."""
    spark.conf.set(key, planned)
    frame = spark.sql("SELECT id, name FROM events WHERE id BETWEEN 95 AND 205 AND name LIKE '%5'")
    assert _reads_columns(frame) is (planned == "true")
    spark.conf.set(key, "false" if planned == "true" else "true")
    assert rows(frame) == [repr((i, f"n{i:04d}")) for i in [*range(105, 206, 10), 95]]


def test_only_partition_columns_are_read(
    spark: SparkSession, tmp_path: Path, same: Callable[[str], DataFrame]
) -> None:
    spark.range(40).selectExpr("id", "id % 4 AS p").write.partitionBy("p").parquet(
        str(tmp_path / "t")
    )
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("t")
    assert kept(same("SELECT p, count(*) FROM t WHERE p > 1 GROUP BY p")) == [2]
