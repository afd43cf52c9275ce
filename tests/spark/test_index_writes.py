"""Files that this driver writes are indexed before they are read, with `spark.tamis.index.auto`."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.conftest import kept
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    Same = Callable[[str], DataFrame]

#: More than are indexed while a query waits.
FILES = 70
#: Seconds; a machine may be busy.


@pytest.fixture(autouse=True)
def automatic(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    # a query starts the sidecar, if an earlier test has stopped it
    other = str(tmp_path_factory.mktemp("other") / "t")
    spark.range(3).write.parquet(other)
    spark.read.parquet(other).where("id = 1").collect()
    spark.conf.set("spark.tamis.index.auto", "footers")
    many = f"SELECT /*+ REPARTITION_BY_RANGE({FILES}, id) */ id, id % 7 AS k, id DIV 500 AS p"
    spark.sql(f"CREATE TEMPORARY VIEW many AS {many} FROM range(1000)")
    spark.sql("CREATE TEMPORARY VIEW one AS SELECT 5000L AS id, 1L AS k, 3L AS p")


def deliver_events(spark: SparkSession) -> None:
    """Wait until tamis knows of all writes so far."""
    spark._jvm.io.tamis.report.ScanHistory.flush(spark._jsparkSession.sparkContext())


def warnings(spark: SparkSession) -> list[str]:
    found = [str(each) for each in spark._jvm.io.tamis.Tamis.warnings()]
    return [each for each in found if "could not be indexed" in each]


def indexed(spark: SparkSession, folder: str) -> Counter[str]:
    """Return the number of files in the automatic index of each directory in the folder."""
    cache = Path(spark.conf.get("spark.tamis.cache.location"))  # type: ignore[arg-type]
    files: Counter[str] = Counter()
    for pointer in cache.glob("automatic-*/*/*/_index.json"):
        index = json.loads(pointer.read_text())
        _, inside, name = index["root"].rpartition(f"{folder}/")
        if inside:
            files[name] += index["totals"]["files"]
    return files


def wait_for(spark: SparkSession, folder: str, **files: int) -> None:
    """Wait until automatic indexes have exactly these numbers of files."""
    wait_until(lambda: indexed(spark, folder) == Counter(files))


TABLE = "CREATE TABLE t (id LONG, k LONG, p LONG) USING parquet {how} LOCATION '{folder}/t'"
WRITES = {
    "CREATE TABLE AS": ["CREATE TABLE t USING parquet LOCATION '{folder}/t' AS SELECT * FROM many"],
    "CREATE partitioned TABLE AS": [
        "CREATE TABLE t USING parquet PARTITIONED BY (p) LOCATION '{folder}/t' AS SELECT * FROM many"
    ],
    "INSERT": [TABLE.replace("{how}", ""), "INSERT INTO t SELECT * FROM many"],
    "INSERT OVERWRITE": [
        TABLE.replace("{how}", ""),
        "INSERT INTO t SELECT * FROM one",
        "INSERT OVERWRITE t SELECT * FROM many",
    ],
    "INSERT into a partition": [
        TABLE.replace("{how}", "PARTITIONED BY (p)"),
        "INSERT INTO t PARTITION (p = 7) SELECT id, k FROM many",
    ],
    "several INSERT": [
        TABLE.replace("{how}", ""),
        "FROM many INSERT INTO t SELECT * INSERT INTO t SELECT id + 7000, k, p WHERE id < 0",
    ],
    "other columns than the table": [
        TABLE.replace("{how}", ""),
        "INSERT INTO t (p, id) SELECT 1, id FROM many",
    ],
}


@pytest.mark.parametrize("how", WRITES)
def test_first_query_of_a_written_table_is_pruned(
    spark: SparkSession, folder: str, same: Same, how: str
) -> None:
    for statement in WRITES[how]:
        spark.sql(statement.format(folder=folder))
    wait_until(lambda: indexed(spark, folder)["t"] >= FILES)
    # the sidecar may have looked for an index within the last second
    wait_until(lambda: kept(spark.sql("SELECT * FROM t WHERE id = 250")) == [1])
    assert kept(same("SELECT * FROM t WHERE id = 250")) == [1]


def test_writes_of_data_frames(spark: SparkSession, folder: str) -> None:
    many, one = spark.table("many"), spark.table("one")
    many.write.parquet(f"{folder}/a[1]")
    many.write.partitionBy("p").parquet(f"{folder}/b")
    one.write.mode("append").partitionBy("p").parquet(f"{folder}/b")
    many.write.option("path", f"{folder}/c").saveAsTable("c")
    one.write.insertInto("c")
    one.write.option("path", f"{folder}/c").mode("append").saveAsTable("c")
    many.write.option("path", f"{folder}/d").bucketBy(2, "k").saveAsTable("d")
    paths = {"a%5B1%5D": f"{folder}/a\\[1\\]", **{n: f"{folder}/{n}" for n in "bcd"}}
    frames = {name: spark.read.parquet(path) for name, path in paths.items()}
    wait_for(spark, folder, **{name: len(each.inputFiles()) for name, each in frames.items()})
    for name in ("a%5B1%5D", "b", "c"):
        wait_until(lambda frame=frames[name]: kept(frame.where("id = 250")) == [1])
        assert frames[name].where("id = 250").count() == 1


def test_overwritten_partition(spark: SparkSession, folder: str, same: Same) -> None:
    (create,) = WRITES["CREATE partitioned TABLE AS"]
    spark.sql(create.format(folder=folder))
    files = len(spark.table("t").inputFiles())
    wait_for(spark, folder, t=files)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql("INSERT OVERWRITE t SELECT id, k, 1 FROM one")
    wait_for(spark, folder, t=files + 1)
    assert kept(same("SELECT * FROM t WHERE id = 5000")) == [1]
    assert kept(same("SELECT * FROM t WHERE id = 750")) == [0]


def test_nothing_else_is_indexed(spark: SparkSession, folder: str) -> None:
    one = spark.table("one")
    for key, value in {
        "spark.tamis.index.auto": "off",
        "spark.tamis.enabled": "false",
        "spark.tamis.index.enabled": "false",
    }.items():
        before = spark.conf.get(key)
        spark.conf.set(key, value)
        one.write.parquet(f"{folder}/{key}")
        deliver_events(spark)
        spark.conf.set(key, before)  # type: ignore[arg-type]
    one.write.orc(f"{folder}/orc")
    one.write.format("csv").option("path", f"{folder}/csv").saveAsTable("csv")
    one.where("id < 0").write.format("json").save(f"{folder}/json")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql("SELECT id, 1 / (id - 5000) AS x FROM one").write.parquet(f"{folder}/failed")
    one.write.mode("ignore").parquet(f"{folder}/orc")  # it exists, so nothing is written
    one.write.parquet(f"{folder}/last")
    wait_for(spark, folder, last=1)
    assert warnings(spark) == []


def test_only_new_files_are_indexed(spark: SparkSession, folder: str) -> None:
    spark.conf.set("spark.tamis.index.auto", "off")
    spark.table("many").write.parquet(f"{folder}/t")
    deliver_events(spark)
    for file in Path(folder, "t").glob("*.parquet"):
        os.utime(file, (1_600_000_000, 1_600_000_000))
    spark.conf.set("spark.tamis.index.auto", "footers")
    spark.table("one").write.mode("append").parquet(f"{folder}/t")
    wait_for(spark, folder, t=1)


def test_tables_with_too_many_files_are_not_indexed(spark: SparkSession, folder: str) -> None:
    spark.conf.set("spark.tamis.index.auto.maxFiles", "5")
    spark.table("many").write.parquet(f"{folder}/t")
    spark.table("one").write.parquet(f"{folder}/last")
    wait_for(spark, folder, last=1)


def test_files_of_others_are_seen(spark: SparkSession, folder: str) -> None:
    """Indexing a write must not fill caches of Spark before the first query does."""
    spark.sql(f"CREATE TABLE t USING parquet LOCATION '{folder}/t' AS SELECT * FROM one")
    wait_for(spark, folder, t=1)
    (file,) = Path(folder, "t").glob("*.parquet")
    Path(folder, "t", "copy.parquet").write_bytes(file.read_bytes())
    assert spark.sql("SELECT * FROM t WHERE id = 5000").count() == 2


def test_tables_that_are_removed_at_once(spark: SparkSession, folder: str) -> None:
    for _ in range(3):
        spark.sql("CREATE TABLE gone USING parquet PARTITIONED BY (p) AS SELECT * FROM one")
        spark.sql("DROP TABLE gone")
        spark.table("one").write.parquet(f"{folder}/gone")
        shutil.rmtree(f"{folder}/gone")
    spark.table("one").write.parquet(f"{folder}/last")
    wait_until(lambda: indexed(spark, folder)["last"] == 1)
    assert warnings(spark) == []
