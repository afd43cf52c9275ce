"""Index builds by a Spark session, and their use by the next query of that session."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import tamis
from tamis.errors import StatisticsIndexError
from tamis.indexing.executor import executor_job
from tests.indexing.commands import use_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    """Return 20 files in partitions with special characters, clustered by id."""
    from pyspark.sql.functions import col, concat, expr, lit

    path = tmp_path / "a table ünï#1%"
    frame = spark.range(1000).select(
        "id",
        concat(lit("key "), col("id")).alias("s"),
        expr("CAST(id AS DECIMAL(12, 2))").alias("price"),
        expr("date_add(DATE'1995-01-01', CAST(id AS INT))").alias("d"),
        expr("named_struct('x', id, 'c.d', CAST(id AS FLOAT))").alias("st"),
        expr("CASE WHEN id < 500 THEN 'a b=1#%' ELSE 'ünï' END").alias("p"),
    )
    frame.repartitionByRange(10, "id").write.partitionBy("p").parquet(str(path))
    return path


def opened(path: Path, **options: Any) -> Any:
    from tamis.indexing.format.store import Store
    from tamis.indexing.read.open_indexes import open_index
    from tests.indexing.local import uri_of

    return open_index(Store.at(uri_of(path), options.get("location"), {}), str(path.parent / "c"))


def test_build_describe_refresh_drop(spark: SparkSession, table: Path) -> None:
    index = tamis.index(spark, str(table)).build()
    description = index.describe().to_dict()
    assert description["rows"] == 1000
    assert description["files"] == description["row_groups"] == len(list(table.rglob("*.parquet")))
    assert description["unreadable_files"] == 0
    by_name = {column["name"]: column["files_with_bounds"] for column in description["columns"]}
    assert set(by_name) == {"id", "s", "price", "d", "st.x", "st.c.d"}
    assert set(by_name.values()) == {description["files"]}

    spark.range(5).selectExpr("id", "'ünï' AS p").write.mode("append").partitionBy("p").parquet(
        str(table)
    )
    assert index.describe().staleness.added > 0
    index.refresh()
    assert index.describe().staleness.added == 0
    assert index.describe().to_dict()["rows"] == 1005
    index.drop()
    assert not (table / "_tamis").exists()


def test_next_query_uses_the_index(spark: SparkSession, table: Path) -> None:
    query = "id BETWEEN 120 AND 130 AND s > 'key 1'"
    frame = spark.read.parquet(str(table))
    before = sorted(frame.where(query).collect())
    tamis.index(spark, str(table)).build()
    after = spark.read.parquet(str(table)).where(query)
    assert sorted(after.collect()) == before
    scans = json.loads(spark._jvm.io.tamis.Tamis.scans(after._jdf))
    scans = scans["scans"] if isinstance(scans, dict) else scans
    assert scans[0]["files_kept"] < scans[0]["files_total"]


def test_index_of_a_table_by_name(spark: SparkSession, table: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS tamis_indexed")
    spark.range(10).write.saveAsTable("tamis_indexed")
    try:
        index = tamis.index(spark, "tamis_indexed").build()
        assert index.describe().to_dict()["rows"] == 10
    finally:
        spark.sql("DROP TABLE tamis_indexed")


def test_unreadable_files_do_not_stop_the_build(spark: SparkSession, table: Path) -> None:
    schema = spark.read.parquet(str(table)).schema
    (table / "p=ünï" / "zz.parquet").write_bytes(b"PAR1 nothing PAR1")
    spark.sql("DROP TABLE IF EXISTS tamis_broken")
    columns = ", ".join(
        f"{f.name} {f.dataType.simpleString()}" for f in schema if "." not in f.name
    )
    columns = columns.replace("c.d:", "`c.d`:")
    location = str(table).replace("'", "\\'")
    spark.sql(
        f"CREATE TABLE tamis_broken ({columns}) USING parquet PARTITIONED BY (p) "
        f"LOCATION '{location}'"
    )
    try:
        spark.catalog.recoverPartitions("tamis_broken")
        description = tamis.index(spark, "tamis_broken").build().describe().to_dict()
        assert description["unreadable_files"] == 1
        assert "zz.parquet" in description["problems"][0]
    finally:
        spark.sql("DROP TABLE tamis_broken")


def test_build_below_the_index_location_of_the_session(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    spark.conf.set("spark.tamis.index.location", f"file:{tmp_path}/indexes")
    tamis.index(spark, str(table)).build()
    assert not (table / "_tamis").exists()
    assert len(list((tmp_path / "indexes").glob("*/_index.json"))) == 1


def test_concurrent_builds_leave_a_valid_index(spark: SparkSession, table: Path) -> None:
    failures: list[BaseException] = []

    def build() -> None:
        try:
            tamis.index(spark, str(table)).build()
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert opened(table).num_records.sum() == 1000


def test_errors_state_a_fix(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StatisticsIndexError, match="cannot be listed"):
        tamis.index(spark, str(tmp_path / "nowhere")).build()
    with pytest.raises(StatisticsIndexError, match="use a classic session"):
        tamis.index(object(), str(tmp_path)).build()  # type: ignore[arg-type]


def test_command_line_builds_describes_and_drops(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tamis.indexing.cli import app

    confs_of_session = use_session(monkeypatch, spark)
    run = CliRunner().invoke
    built = run(app, ["build", str(table), "--column", "id", "--conf", "spark.x=a=b"])
    assert built.exit_code == 0, built.output
    assert "1,000 rows" in built.output
    assert confs_of_session == {"spark.x": "a=b"}
    described = json.loads(run(app, ["describe", str(table), "--json"]).output)
    assert [column["name"] for column in described["columns"]] == ["id"]
    assert run(app, ["refresh", str(table)]).exit_code == 0
    added = run(app, ["add", str(table), "--aggregate", "max(id)", "--by", "id"])
    assert added.exit_code == 0, added.output
    assert "max(id) by id" in added.output
    assert run(app, ["drop", str(table)]).exit_code == 0
    assert not (table / "_tamis").exists()


def test_executors_need_pyarrow_but_not_tamis(tmp_path: Path) -> None:
    """Pickled functions run in a Python that cannot import this package."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark import cloudpickle

    from tamis.indexing.build import jobs
    from tamis.indexing.executor.columns_schema import Leaf

    path = tmp_path / "a b.parquet"
    pq.write_table(pa.table({"c": [1, 2]}), path)
    leaves = [Leaf(("c",), "long")]
    harvest_stream = jobs.executor_job.harvest_stream
    (tmp_path / "job").write_bytes(
        cloudpickle.dumps(lambda stream: harvest_stream(stream, leaves, True, {}))
    )
    uri, size = f"file:{tmp_path}/a%20b.parquet", path.stat().st_size
    program = f"""
import pickle, pyarrow as pa
job = pickle.load(open({str(tmp_path / "job")!r}, "rb"))
batch = pa.record_batch({{"ordinal": [0], "uri": [{uri!r}], "size": [{size}]}})
sink = pa.BufferOutputStream()
with pa.ipc.new_stream(sink, batch.schema) as writer:
    writer.write(batch)
((files, _),) = job(sink.getvalue().to_pybytes())
files = pa.ipc.open_stream(files).read_all()
print(files.select(["min.c", "max.c", "null_count.c"]).to_pylist())
try:
    import tamis
    print("tamis is there")
except ModuleNotFoundError:
    pass
"""
    # -I: without PYTHONPATH and the current directory.
    process = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False
    )
    assert process.stderr == ""
    assert process.stdout.startswith("[{'min.c': 1, 'max.c': 2, 'null_count.c': 0}]")


def test_old_pyarrow_of_executors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_job.pa, "__version__", "18.1.0")
    with pytest.raises(
        ImportError, match=r"executors have pyarrow 18\.1\.0, but tamis needs .* 19"
    ):
        executor_job.harvest_stream(b"", [], True, {})
