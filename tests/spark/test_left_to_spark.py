"""Plans that tamis must not change are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import tamis
from tests.spark.conftest import rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().optimizedPlan().toString())


def untouched(frame: DataFrame) -> bool:
    return "TamisTable" not in plan(frame) and "Tamis " not in plan(frame) and scans(frame) == []


def test_bucketed_table_without_a_filter_is_unchanged(
    spark: SparkSession, events: DataFrame
) -> None:
    """With a filter: see test_file_index_swap."""
    events.select("id", "name").write.bucketBy(4, "id").sortBy("id").saveAsTable("bucketed")
    frame = spark.table("bucketed")
    assert untouched(frame)
    assert frame.count() == 1000
    (alone,) = tamis.explain(frame).to_dict()["left_to_spark"]
    assert "bucketed" in alone["reason"]


def test_other_formats_are_unchanged(spark: SparkSession, events: DataFrame, folder: str) -> None:
    for kind in ("orc", "json", "csv"):
        events.select("id", "name").write.format(kind).save(f"{folder}/{kind}")
        frame = spark.read.format(kind).schema("id BIGINT, name STRING").load(f"{folder}/{kind}")
        assert untouched(frame.where("id < 10"))
        assert frame.where("id < 10").count() == 10


def test_unswappable_file_indexes_are_unchanged(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set("spark.tamis.fileIndexSwap.enabled", "false")
    frame = events.where("id < 150").selectExpr("_metadata.file_name AS f", "id")
    assert untouched(frame)
    assert frame.select("f").distinct().count() == 2
    assert untouched(events.where("_metadata.file_size > 0 AND id = 1"))


def test_streaming_is_unchanged(spark: SparkSession, events_path: str, folder: str) -> None:
    schema = spark.read.parquet(events_path).schema
    stream = spark.readStream.schema(schema).parquet(events_path).where("id < 150")
    query = (
        stream.writeStream.format("parquet")
        .option("checkpointLocation", folder + "/checkpoint")
        .trigger(availableNow=True)
        .start(folder + "/out")
    )
    query.awaitTermination()
    assert spark.read.parquet(folder + "/out").count() == 150
    # the output of a stream is an ordinary directory
    assert spark.read.parquet(folder + "/out").where("id = 149").count() == 1


def test_partition_column_that_is_also_in_the_files(spark: SparkSession, folder: str) -> None:
    path = f"{folder}/o"
    spark.range(5).selectExpr("id", "id AS p").write.parquet(f"{path}/p=7")
    frame = spark.read.parquet(path).where("p = 7")
    assert untouched(frame)
    assert frame.count() == 5


def test_variant_column(spark: SparkSession, folder: str) -> None:
    spark.sql("SELECT id, parse_json('{\"a\": 1}') AS v FROM range(3)").write.parquet(folder + "/v")
    assert untouched(spark.read.parquet(folder + "/v").where("id = 1"))


def test_filter_on_a_generated_column_is_left_to_spark(spark: SparkSession, folder: str) -> None:
    # Statistics describe a column without values. Spark's reader fills it with row positions.
    spark.range(10).coalesce(1).write.parquet(folder + "/g")
    tamis.index(spark, folder + "/g").build()
    schema = "id BIGINT, _tmp_metadata_row_index BIGINT"
    frame = spark.read.schema(schema).parquet(folder + "/g").where("id = _tmp_metadata_row_index")
    assert untouched(frame)
    assert frame.count() == 10


def test_field_ids_are_left_to_spark(spark: SparkSession, events_path: str) -> None:
    from pyspark.sql.types import LongType, StructType

    schema = StructType().add("other", LongType(), True, {"parquet.field.id": 1})
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    spark.conf.set("spark.sql.parquet.fieldId.read.ignoreMissing", "true")
    assert untouched(spark.read.schema(schema).parquet(events_path).where("other = 1"))


def test_writes_keep_the_plan_of_their_target(
    spark: SparkSession, events: DataFrame, same: Callable[[str], DataFrame]
) -> None:
    spark.sql("CREATE TABLE target (id BIGINT) USING parquet")
    spark.sql("INSERT INTO target SELECT id FROM events WHERE id < 5")
    spark.sql("INSERT OVERWRITE target SELECT id FROM events WHERE id >= 995")
    assert rows(spark.table("target")) == [f"({i},)" for i in range(995, 1000)]
    spark.sql("TRUNCATE TABLE target")
    assert spark.table("target").where("id > 0").count() == 0
