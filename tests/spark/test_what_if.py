"""The estimated savings of a layout, compared with a table in that layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tamis
from tamis.errors import TamisError
from tests.spark.conftest import kept, read_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 10
ROWS = 40_000


@pytest.fixture(scope="module")
def mixed_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 40,000 rows to 10 files, ordered only by id, with an index."""
    path = str(tmp_path_factory.mktemp("what_if") / "mixed")
    rows = spark_session.range(ROWS).selectExpr(
        "id",
        f"(id * 7919) % {ROWS} AS key",
        "concat('n', lpad(CAST((id * 31) % 1000 AS STRING), 4, '0')) AS name",
        "CASE WHEN id % 10 = 0 THEN NULL WHEN id % 97 = 0 THEN double('NaN') ELSE (id * 13) % 5000 / 7 END AS price",
        "date_add(DATE '2020-01-01', CAST((id * 17) % 365 AS INT)) AS day",
        "named_struct('sku', (id * 7) % 500) AS item",
        "array(id) AS tags",
    )
    rows.repartitionByRange(FILES, "id").write.parquet(path)
    tamis.index(spark_session, path).build()
    return path


@pytest.fixture
def mixed(spark: SparkSession, mixed_path: str) -> DataFrame:
    frame = read_parquet(spark, mixed_path)
    frame.createOrReplaceTempView("mixed")
    return frame


# The sample depends on the number of cores. No condition ends exactly where a file ends: there, the
# estimate may be off by one file at both ends.
PREDICATES = [
    # columns, filter
    (["key"], "key = 500"),
    (["key"], "key BETWEEN 8000 AND 12000"),
    (["key"], "key < 100 OR key > 39900"),
    (["name"], "name LIKE 'n015%'"),
    (["price"], "price > 600"),
    (["price"], "price IS NULL"),
    (["day"], "year(day) = 2020 AND month(day) = 3"),
    (["day", "key"], "day = DATE '2020-03-01' AND key < 20000"),
    (["item.sku"], "item.sku = 7"),
    (["key"], "id < 100 AND key > 5"),
]


@pytest.mark.parametrize(("columns", "condition"), PREDICATES, ids=[each[1] for each in PREDICATES])
def test_estimate_is_close_to_the_real_layout(
    spark: SparkSession, mixed: DataFrame, folder: str, columns: list[str], condition: str
) -> None:
    frame = mixed.where(condition)
    estimate = tamis.what_if(frame, cluster_by=columns).to_dict()
    (scan,) = estimate["scans"]
    assert estimate["cluster_by"] == columns
    assert (scan["files_total"], scan["rows_total"]) == (FILES, ROWS)
    assert [scan["files_now"]] == kept(frame)
    assert 15_000 < scan["rows_sampled"] < 25_000
    # One sorted partition cut by rows: range partitioning samples, so its files vary in size.
    ordered = mixed.coalesce(1).sortWithinPartitions(*columns)
    ordered.write.option("maxRecordsPerFile", ROWS // FILES).parquet(folder + "/then")
    # The pieces of the sample do not show which of them hold NaN.
    tamis.index(spark, folder + "/then").build(fill_gaps=False)
    then = spark.read.parquet(folder + "/then").where(condition)
    (truth,) = kept(then)
    assert abs(scan["files_then"] - truth) <= 1
    assert scan["bytes_then"] <= scan["bytes_total"]


def test_text_is_labeled_as_an_estimate(mixed: DataFrame) -> None:
    text = str(tamis.what_if(mixed.where("key = 500"), cluster_by="key"))
    assert "now                   10 of 10 files" in text
    assert "after sorting, about  1 of 10 files" in text
    assert "estimated from " in text
    assert f"of {ROWS:,} rows, sorted and cut into 10 pieces" in text


def test_small_table_is_sampled_completely(events: DataFrame) -> None:
    (scan,) = tamis.what_if(events.where("item.sku = 5"), ["item.sku"]).to_dict()["scans"]
    assert (scan["rows_sampled"], scan["rows_total"], scan["files_then"]) == (1000, 1000, 1)


def test_layout_keeps_partitions(spark: SparkSession, mixed: DataFrame, folder: str) -> None:
    mixed.selectExpr("key", "id", "id % 4 AS part").repartition(8, "id").write.partitionBy(
        "part"
    ).parquet(folder + "/p")
    frame = spark.read.parquet(folder + "/p").where("part = 1 AND key = 500 * 4 + 1")
    (scan,) = tamis.what_if(frame, ["key"]).to_dict()["scans"]
    assert scan["files_total"] == 32
    assert (scan["files_now"], scan["files_then"]) == (8, 1)
    every = spark.read.parquet(folder + "/p").where("key BETWEEN 0 AND 99")
    (scan,) = tamis.what_if(every, ["key"]).to_dict()["scans"]
    assert (scan["files_now"], scan["files_then"]) == (32, 4)  # one in each partition


def test_no_layout_helps_without_a_filter(mixed: DataFrame) -> None:
    result = tamis.what_if(mixed, ["key"])
    (scan,) = result.to_dict()["scans"]
    assert (scan["files_now"], scan["files_then"], scan["filters"]) == (FILES, FILES, [])
    assert "no filter" in str(result)


def test_columns_are_resolved_as_in_spark(mixed: DataFrame) -> None:
    (scan,) = tamis.what_if(mixed.where("key = 500"), ["KEY"]).to_dict()["scans"]
    assert scan["files_then"] == 1


def test_join_estimates_only_tables_with_the_column(
    spark: SparkSession, mixed: DataFrame, events: DataFrame
) -> None:
    frame = spark.sql(
        "SELECT count(*) FROM mixed m JOIN events e ON m.id = e.id WHERE m.key < 500 AND e.amount > 3"
    )
    result = tamis.what_if(frame, ["key"]).to_dict()
    assert [scan["files_total"] for scan in result["scans"]] == [FILES]
    assert "mixed" in result["scans"][0]["table"]


def test_what_if_does_not_run_the_query(spark: SparkSession, mixed: DataFrame) -> None:
    frame = mixed.where("key = 500 AND raise_error('run') IS NULL")
    assert tamis.what_if(frame, ["key"]).to_dict()["scans"][0]["files_then"] == 1


REFUSED = [
    (["kye"], "has no column kye: did you mean key?"),
    (["nothing_like_it"], "has all of these columns: nothing_like_it"),
    (["item.colour"], "there is no field colour of item; the fields are sku"),
    (["tags"], "rows cannot be sorted by tags: its values have no order"),
    (["item"], "rows cannot be sorted by item"),
    ([], "names no column"),
]


@pytest.mark.parametrize(("columns", "message"), REFUSED)
def test_unknown_column_is_a_clear_error(
    mixed: DataFrame, columns: list[str], message: str
) -> None:
    with pytest.raises(TamisError) as refused:
        tamis.what_if(mixed.where("key = 500"), columns)
    assert message in str(refused.value)


def test_query_without_a_scan_is_rejected(spark: SparkSession) -> None:
    with pytest.raises(TamisError, match="tamis does not plan any scan of this query"):
        tamis.what_if(spark.range(3).toDF("a"), ["a"])
