"""Spark reads no index file, in whatever form the paths of a table are given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "orc", "csv", "json")
SCHEMA = "id LONG, name STRING"
#: Parts with row statistics have files of their own.
RECORDED: dict[str, Any] = {"columns": {"id": ["bounds", "bloom", "values"]}}


def build(spark: SparkSession, kind: str, path: str, schema: str = SCHEMA) -> None:
    reader = None if kind == "parquet" else spark.read.format(kind).schema(schema)
    tamis.index(spark, path, reader=reader).build(**RECORDED)
    assert Path(path, "_tamis").is_dir()


@pytest.fixture(scope="module", params=FORMATS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def rows_of(spark: SparkSession) -> DataFrame:
    return spark.range(100).selectExpr("id", "concat('n', id) AS name", "id % 2 AS part")


@pytest.fixture(scope="module")
def flat(spark_session: SparkSession, kind: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of 100 rows in 4 files of one directory, with an index."""
    path = str(tmp_path_factory.mktemp(kind) / "flat")
    rows = rows_of(spark_session).select("id", "name")
    rows.repartition(4).write.format(kind).save(path)
    build(spark_session, kind, path)
    return path


@pytest.fixture(scope="module")
def partitioned(
    spark_session: SparkSession, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Return the path of 100 rows in 2 partitions, with an index."""
    path = str(tmp_path_factory.mktemp(kind) / "partitioned")
    rows_of(spark_session).write.format(kind).partitionBy("part").save(path)
    build(spark_session, kind, path, f"{SCHEMA}, part INT")
    return path


def ids(frame: DataFrame) -> list[int]:
    return sorted(row[0] for row in frame.select("id").collect())


@pytest.mark.parametrize("glob", ["", "/*", "/{*,_tamis/*}", "/{*,*/*,*/*/*}"])
@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_glob_over_files_skips_the_index(
    spark: SparkSession, flat: str, kind: str, glob: str, schema: str | None
) -> None:
    reader = spark.read.format(kind)
    if schema is None and kind == "csv":
        frame = (
            reader.option("inferSchema", "true").load(flat + glob).withColumnRenamed("_c0", "id")
        )
    else:
        frame = (reader if schema is None else reader.schema(schema)).load(flat + glob)
    assert ids(frame) == list(range(100))


@pytest.mark.parametrize("glob", ["", "/*", "/*/*", "/{*/*,*/*/*}"])
def test_glob_over_partitions_skips_the_index(
    spark: SparkSession, partitioned: str, kind: str, glob: str
) -> None:
    assert ids(spark.read.format(kind).schema(SCHEMA).load(partitioned + glob)) == list(range(100))


def test_base_path_skips_the_index(spark: SparkSession, partitioned: str, kind: str) -> None:
    reader = spark.read.format(kind).schema(SCHEMA).option("basePath", partitioned)
    frame = reader.load(f"{partitioned}/*")
    assert ids(frame.where("part = 1")) == list(range(1, 100, 2))


@pytest.mark.parametrize("glob", ["", "/*", "/*/*"])
def test_recursive_lookup_skips_the_index(
    spark: SparkSession, partitioned: str, kind: str, glob: str
) -> None:
    reader = spark.read.format(kind).schema(SCHEMA).option("recursiveFileLookup", "true")
    assert ids(reader.load(partitioned + glob)) == list(range(100))


@pytest.mark.parametrize("glob", ["", "/*"])
def test_path_glob_filter_skips_the_index(
    spark: SparkSession, flat: str, kind: str, glob: str
) -> None:
    reader = spark.read.format(kind).schema(SCHEMA)
    assert ids(reader.option("pathGlobFilter", "*").load(flat + glob)) == list(range(100))
    assert ids(reader.option("pathGlobFilter", "*.stats").load(flat + glob)) == []


def test_glob_over_tables_skips_the_index(spark: SparkSession, flat: str, kind: str) -> None:
    frame = spark.read.format(kind).schema(SCHEMA).load(f"{Path(flat).parent}/*/*")
    assert ids(frame) == list(range(100))


def test_stream_over_a_glob_skips_the_index(
    spark: SparkSession, flat: str, kind: str, tmp_path: Path
) -> None:
    stream = spark.readStream.format(kind).schema(SCHEMA).load(f"{flat}/*")
    query = (
        stream.writeStream.format("memory")
        .queryName("streamed")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert ids(spark.table("streamed")) == list(range(100))


def test_index_at_a_location_is_not_read_as_data(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.tamis.index.location", str(tmp_path / "all" / "indexes"))
    path = str(tmp_path / "all" / "table")
    rows_of(spark).write.json(path)
    tamis.index(spark, path, reader=spark.read.format("json").schema(SCHEMA)).build()
    assert list((tmp_path / "all" / "indexes").iterdir())
    frame = spark.read.schema(SCHEMA).json(f"{tmp_path}/all/*/*")
    assert ids(frame) == list(range(100))
