"""Tables without an index are pruned, unless `spark.tamis.index.auto` is off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis import StatisticsIndexError
from tamis.conf import entry
from tests.spark.conftest import kept, rows
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    Same = Callable[[str], DataFrame]


@pytest.fixture(autouse=True)
def automatic(spark: SparkSession) -> None:
    spark.conf.set("spark.tamis.index.auto", "footers")


@pytest.fixture
def table(spark: SparkSession, folder: str) -> str:
    """Create the table `t` of ten files, clustered by id."""
    spark.range(1000).selectExpr("id", "id % 7 AS k", "CAST(id AS STRING) AS s").repartitionByRange(
        10, "id"
    ).write.parquet(f"{folder}/t")
    spark.sql(f"CREATE TABLE t USING parquet LOCATION '{folder}/t'")
    return f"{folder}/t"


QUERIES = {
    "SELECT * FROM t WHERE id = 250": [1],
    "SELECT count(*), max(id) FROM t WHERE id >= 120": [1],
    "SELECT * FROM t WHERE id < 0": [0],
    "SELECT id FROM t ORDER BY id DESC LIMIT 3": [1],
    "SELECT a.id FROM t a JOIN t b ON a.id = b.id WHERE b.id < 50 AND a.k > 2": [1, 1],
}


@pytest.mark.parametrize("statement", QUERIES)
def test_first_query_of_a_small_table_is_pruned(
    spark: SparkSession, table: str, same: Same, statement: str
) -> None:
    before = sorted(Path(table).iterdir())
    assert kept(same(statement)) == QUERIES[statement]
    assert sorted(Path(table).iterdir()) == before  # reading a table does not write to it


def test_automatic_indexes_are_turned_off(spark: SparkSession, table: str, same: Same) -> None:
    assert entry("spark.tamis.index.auto").default == "footers"
    spark.conf.set("spark.tamis.index.auto", "off")
    assert kept(same("SELECT * FROM t WHERE id = 250")) == [10]


def test_without_indexes_there_are_no_automatic_ones(
    spark: SparkSession, table: str, same: Same
) -> None:
    spark.conf.set("spark.tamis.index.enabled", "false")
    assert kept(same("SELECT * FROM t WHERE id = 250")) == [10]


def test_every_query_between_appends_is_pruned(spark: SparkSession, table: str, same: Same) -> None:
    for number in range(5):
        first = 1000 + 10 * number
        spark.range(first, first + 10).selectExpr("id", "id AS k", "'x' AS s").coalesce(
            1
        ).write.insertInto("t")
        assert kept(same(f"SELECT * FROM t WHERE id = {first}")) == [1]
        assert kept(same("SELECT * FROM t WHERE id = 250")) == [1]
        assert kept(same("SELECT count(*) FROM t WHERE id >= 0")) == []


def test_overwritten_table_is_pruned(spark: SparkSession, table: str, same: Same) -> None:
    same("SELECT * FROM t WHERE id = 250")
    spark.range(5000, 6000).selectExpr("id", "id AS k", "'x' AS s").repartitionByRange(
        4, "id"
    ).write.mode("overwrite").insertInto("t")
    assert kept(same("SELECT * FROM t WHERE id = 5001")) == [1]
    assert kept(same("SELECT * FROM t WHERE id = 250")) == [0]


def test_partitioned_table(spark: SparkSession, folder: str, same: Same) -> None:
    spark.range(100).selectExpr("id", "id % 4 AS p").repartition(1).sortWithinPartitions(
        "id"
    ).write.partitionBy("p").saveAsTable("parted", path=f"{folder}/parted")
    assert kept(same("SELECT * FROM parted WHERE id < 3")) == [3]
    spark.sql("INSERT INTO parted PARTITION (p = 9) SELECT 500")
    assert kept(same("SELECT * FROM parted WHERE id > 400")) == [1]
    part = spark.read.parquet(f"{folder}/parted/p=1").where("id > 97")
    assert kept(part) == [0]


def test_column_that_was_added_with_a_default(spark: SparkSession, table: str, same: Same) -> None:
    same("SELECT * FROM t WHERE id = 250")
    spark.sql("ALTER TABLE t ADD COLUMN extra INT DEFAULT 7")
    assert kept(same("SELECT * FROM t WHERE extra = 7")) == [10]
    spark.sql("INSERT INTO t VALUES (5000, 1, 'x', 8)")
    assert kept(same("SELECT * FROM t WHERE extra = 8")) == [11]
    assert kept(same("SELECT * FROM t WHERE extra = 8 AND id > 4000")) == [1]


def test_other_schema_of_the_same_files(spark: SparkSession, table: str) -> None:
    narrow = spark.read.schema("id LONG").parquet(table).where("id = 250")
    assert (len(rows(narrow)), kept(narrow)) == (1, [1])
    renamed = spark.read.schema("ID LONG, missing INT").parquet(table)
    assert kept(renamed.where("ID = 250 AND missing IS NULL")) == [1]
    assert rows(renamed.where("missing = 1")) == []


def test_index_of_the_table_is_used_for_the_files_that_it_has(
    spark: SparkSession, table: str, same: Same
) -> None:
    tamis.index(spark, table).build(columns={"k": "values"})
    spark.sql("INSERT INTO t VALUES (5000, 99, 'x')")
    assert kept(same("SELECT * FROM t WHERE k = 99")) == [1]
    assert kept(same("SELECT * FROM t WHERE id = 250")) == [1]


def test_corrupt_file_is_read_by_spark(spark: SparkSession, table: str) -> None:
    pq.write_table(pa.table({"id": [7], "k": [1], "s": ["x"]}), f"{table}/bad.parquet")
    Path(table, "bad.parquet").write_bytes(b"PAR1garbagePAR1")
    spark.catalog.refreshTable("t")
    frame = spark.table("t").where("id = 250")
    assert kept(frame) == [2]
    with pytest.raises(Exception, match=r"bad\.parquet|FAILED_READ_FILE"):
        frame.collect()


@pytest.mark.parametrize("value", ["all", "true", ""])
def test_other_values_are_refused(spark: SparkSession, value: str) -> None:
    with pytest.raises(Exception, match="one of footers, full, off"):
        spark.conf.set("spark.tamis.index.auto", value)


def test_description(spark: SparkSession, table: str, same: Same) -> None:
    index = tamis.index(spark, table)
    same("SELECT * FROM t WHERE id < 300")
    description = index.describe()
    assert description.is_automatic
    assert description.to_dict()["staleness"] == {"fresh": 10, "changed": 0, "added": 0, "gone": 0}
    assert ", automatic, built " in str(description)
    assert "the index lacks" not in str(description)

    index.build()
    spark.sql("INSERT INTO t VALUES (5000, 99, 'x')")
    same("SELECT * FROM t WHERE id = 5000")
    description = index.describe()
    assert not description.is_automatic
    assert description.automatic is not None
    assert description.automatic.files == 1
    assert f"the automatic index {description.automatic.uri} describes: 1" in str(description)

    index.refresh()
    assert "automatic" not in str(index.describe())


def test_description_counts_files_that_wait(spark: SparkSession, tmp_path: Path) -> None:
    files = 70  # more than are read while a query waits
    for number in range(files):
        pq.write_table(pa.table({"id": [number]}), tmp_path / f"{number}.parquet")
    index = tamis.index(spark, tmp_path).build()
    assert index.describe().waiting == 0
    for number in range(files):
        pq.write_table(pa.table({"id": [number, -1]}), tmp_path / f"{number}.parquet")
    assert spark.read.parquet(str(tmp_path)).where("id = 5").count() == 1
    description = index.describe()
    assert description.waiting == description.to_dict()["waiting"] == files
    assert f"files that wait for the automatic index: {files}" in str(description)
    wait_until(lambda: not index.describe().waiting)
    description = index.describe()
    assert description.automatic is not None
    assert description.automatic.files == files
    assert "wait" not in str(description)
    spark._jvm.io.tamis.Tamis.restart()
    assert index.describe().waiting is None


def test_description_of_an_automatic_index_that_lacks_files(
    spark: SparkSession, table: str, same: Same
) -> None:
    same("SELECT * FROM t WHERE id < 300")
    spark.conf.set("spark.tamis.index.auto", "off")
    spark.sql("INSERT INTO t VALUES (5000, 99, 'x')")
    with pytest.raises(StatisticsIndexError, match="no index"):
        tamis.index(spark, table).describe()
    spark.conf.set("spark.tamis.index.auto", "footers")
    text = str(tamis.index(spark, table).describe())
    assert (
        "files of the table that the index lacks: 1. The next query that has to read them adds"
        in text
    )
