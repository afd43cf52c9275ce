"""Tables of Airport servers that refer to Parquet files."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgpack
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import flight

import tamis
from tamis.expr.nodes import Column, Compare, Comparison, Literal
from tamis.expr.types import LONG
from tamis.remote.airport.file_locations import file_uris
from tamis.remote.airport.messages import MalformedAnswer
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import ReadRequest, RemoteError
from tamis.remote.file_pruning import surviving_files
from tests.remote.airport_server import SAME_SERVER, Served, parquet, read_parquet, serving
from tests.remote.s3_server import serving_bucket

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def endpoints(*locations: str) -> list[flight.FlightEndpoint]:
    return [flight.FlightEndpoint(b"{}", [each]) for each in locations]


@pytest.mark.parametrize(
    ("locations", "files"),
    [
        ([parquet("/a"), parquet("s3://b/c d")], ["/a", "s3://b/c d"]),
        ([read_parquet("/a")], ["/a"]),
        ([parquet("/x=1/day/day=")], ["/x=1/day/day="]),
        ([read_parquet("/Day=1/a", hive_partitioning=False)], ["/Day=1/a"]),
        ([read_parquet(["/a", "/b"], hive_partitioning=False, union_by_name=True)], ["/a", "/b"]),
        ([parquet("/a"), "grpc://h:1"], None),
        (["grpc://h:1"], None),
        ([], None),
    ],
)
def test_locations_of_endpoints_become_files(locations: list[str], files: list[str] | None) -> None:
    assert file_uris(endpoints(*locations), ["day"]) == files


def encoded(kind: str, content: Any) -> str:
    return f"data:application/{kind};base64," + base64.b64encode(msgpack.packb(content)).decode()


@pytest.mark.parametrize(
    ("location", "says"),
    [
        (encoded("msgpack", {"format": "ipc-file", "uri": "/a"}), "files of the format ipc-file"),
        (encoded("x-msgpack-duckdb-function-call", {"function_name": "read_csv", "data": b""}), "function read_csv"),
        (read_parquet("/a", hive_partitioning=True), "the argument hive_partitioning"),
        (read_parquet("/a", encryption_config="x"), "the argument encryption_config"),
        (read_parquet("/a/*.parquet"), "by a glob pattern"),
        (read_parquet("/Day=1/a"), "in the folder Day=1, from which DuckDB reads the column Day"),
        (parquet("s3://b/day=/a"), "in the folder day="),
        (encoded("x-msgpack-duckdb-function-call", {"function_name": "read_parquet", "data": b"x"}), "arguments of the function are malformed"),
        ("data:application/msgpack;base64,!", "not base64"),
        ("data:text/plain,x", "cannot read from the location data:text/plain"),
        (encoded("msgpack", [1]), "not a map"),
    ],
)  # fmt: skip
def test_locations_that_are_refused(location: str, says: str) -> None:
    with pytest.raises(MalformedAnswer, match=says):
        file_uris(endpoints(location), ["day"])


def over(name: str, bound: int) -> Compare:
    return Compare(Comparison.GREATER, Column((name,), LONG), Literal(bound, LONG))


def files_of(folder: Path, **columns: Any) -> list[str]:
    paths = []
    for k in range(3):
        path = folder / f"part {k} %20.parquet"
        values = {
            name: pa.array(range(10 * k, 10 * k + 10), kind) for name, kind in columns.items()
        }
        pq.write_table(pa.table(values), path)
        paths.append(str(path))
    return paths


def test_footers_rule_files_out(tmp_path: Path) -> None:
    files = files_of(tmp_path, n=pa.int64())
    assert surviving_files(files, [over("n", 15)]) == files[1:]
    assert surviving_files([f"file://{each}" for each in files], [over("n", 25)]) == [
        f"file://{files[2]}"
    ]
    assert surviving_files(files, [over("n", 15), over("m", 0)]) == []  # m is NULL in every file
    assert surviving_files(files, []) == files
    assert surviving_files([*files, "/nowhere"], [over("n", 29)]) == ["/nowhere"]
    assert surviving_files(["s3://bucket/a"], [over("n", 29)]) == ["s3://bucket/a"]


def test_footers_in_object_storage_rule_files_out(tmp_path: Path) -> None:
    files = files_of(tmp_path, n=pa.int64())
    uris = [f"s3a://lake/{Path(each).name}" for each in files]
    with serving_bucket(tmp_path) as bucket:
        assert surviving_files(uris, [over("n", 15)], bucket.settings) == uris[1:]
        assert bucket.keys == {"the-access-key"}
        mixed = [*uris, *files, "s3a://lake/nowhere", "s3a://other/a", "x://y/z"]
        kept = ["s3a://lake/nowhere", "s3a://other/a", "x://y/z"]
        assert surviving_files(mixed, [over("n", 29)], bucket.settings) == kept
        assert surviving_files(uris, [over("n", 15)]) == uris
        assert surviving_files(uris, [], bucket.settings) == uris


def test_files_whose_footers_are_not_read_in_time_are_kept(tmp_path: Path) -> None:
    files = files_of(tmp_path, n=pa.int64())
    uris = [f"s3a://lake/{Path(each).name}" for each in files]
    with serving_bucket(tmp_path) as bucket:
        bucket.pause = 30
        assert surviving_files([*files, *uris], [over("n", 15)], bucket.settings, 1.0) == [
            *files[1:],
            *uris,
        ]
    assert surviving_files(files, [over("n", 15)], seconds=0) == files


def test_footers_of_many_files_rule_files_out(tmp_path: Path) -> None:
    files = files_of(tmp_path, n=pa.int64())
    assert len(surviving_files(files * 300, [over("n", 25)])) == 300


def test_column_whose_case_differs_rules_out_only_what_both_readings_do(tmp_path: Path) -> None:
    files = files_of(tmp_path, N=pa.int64())
    assert surviving_files(files, [over("n", 15)]) == files[1:]


def test_ambiguous_column_rules_nothing_out(tmp_path: Path) -> None:
    files = files_of(tmp_path, N=pa.int64(), n=pa.int64())
    assert surviving_files(files, [over("n", 100)]) == files


@pytest.mark.spark
def test_spark_reads_the_files(spark: SparkSession, tmp_path: Path) -> None:
    files = files_of(tmp_path, n=pa.int64(), m=pa.int32())
    schema = pq.read_schema(files[0])
    parts = [pa.table({})] * 3
    served = Served(parts, schema, locations=[parquet(each) for each in files])
    with serving({("main", "t"): served}) as server:
        frame = tamis.read_airport(spark, server.uri, "main", "t")
        late = frame.where("n > 15")
        mode = spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
        plan = late._jdf.queryExecution().explainString(mode)
        assert "(2 paths)" in plan
        assert sorted(map(tuple, late.collect())) == [(n, n) for n in range(16, 30)]
        assert (frame.count(), frame.where("n > 99").count()) == (30, 0)
        assert frame.where("n < 3").join(frame.where("m < 2"), "n").count() == 2
        assert sorted(row.n for row in frame.select("n").limit(40).collect()) == list(range(30))


@pytest.mark.spark
def test_planner_reads_footers_with_the_settings_of_the_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark has no connector for S3 here, so its own scan fails, with an error that says where."""
    (file, *_) = files_of(tmp_path, n=pa.int64())
    schema = pq.read_schema(file)
    with serving_bucket(tmp_path) as bucket:
        for name, value in bucket.settings.items():
            spark.conf.set(f"spark.hadoop.{name}", value)
        locations = [parquet(f"s3://lake/{Path(file).name}")]
        served = Served([pa.table({})], schema, locations=locations)
        # a name of its own: the planner may know a table of another test at the same address
        with serving({("main", "in_s3"): served}) as server:
            frame = tamis.read_airport(spark, server.uri, "main", "in_s3")
            assert frame.where("n > 15").count() == 0
            assert bucket.keys == {"the-access-key"}
            says = (
                f"the table main.in_s3 of the Airport server {server.uri}: cannot list the "
                "Parquet files that the server refers to"
            )
            with pytest.raises(Exception, match=re.escape(says)) as error:
                frame.where("n > 5").count()
    assert "the-secret-key" not in str(error.value)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["_hidden.parquet", "nowhere.parquet"])
def test_file_that_spark_does_not_list_is_an_error(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    files = files_of(tmp_path, n=pa.int64())
    Path(files[0]).rename(tmp_path / "_hidden.parquet")
    locations = [parquet(each) for each in (*files[1:], str(tmp_path / name))]
    served = Served([pa.table({})] * 3, pa.schema({"n": pa.int64()}), locations=locations)
    with serving({("main", "t"): served}) as server:
        frame = tamis.read_airport(spark, server.uri, "main", "t")
        says = rf"main\.t of the Airport server .*: cannot list the Parquet .*{name} does not exist"
        with pytest.raises(Exception, match=says):
            frame.where("n > 5").count()


def test_file_that_is_named_twice_is_an_error(tmp_path: Path) -> None:
    (file, *_) = files_of(tmp_path, n=pa.int64())
    served = Served([pa.table({"n": [1]})], location=read_parquet([file, f"{file}"]))
    with serving({("main", "t"): served}) as server:
        source = AirportSource({"uri": server.uri, "schema": "main", "table": "t"})
        with pytest.raises(RemoteError, match=r"main\.t failed: the server refers to a file twice"):
            source.files([])


def test_tasks_read_files_and_streams_of_one_table(tmp_path: Path) -> None:
    files = files_of(tmp_path, n=pa.int64())
    schema = pa.schema({"m": pa.string(), "n": pa.int64()})
    streamed = pa.table({"m": ["x"], "n": [99]}, schema)
    locations = [parquet(f"file://{files[0]}"), SAME_SERVER]
    served = Served([pa.table({}), streamed], schema, locations=locations)
    with serving({("main", "t"): served}) as server:
        source = AirportSource({"uri": server.uri, "schema": "main", "table": "t"})
        assert source.files([]) is None
        tasks = source.tasks(ReadRequest(("m", "n")))
        rows = [row for task in tasks for batch in task.batches() for row in batch.to_pylist()]
    assert rows == [{"m": None, "n": n} for n in range(10)] + [{"m": "x", "n": 99}]


def test_table_whose_rows_move_to_files_fails_once(tmp_path: Path) -> None:
    schema = pa.schema({"n": pa.int64()})
    file = "s3://bucket/a.parquet"
    streamed = Served([pa.table({"n": [1]}, schema)])
    with serving({("main", "t"): streamed}) as server:
        source = AirportSource({"uri": server.uri, "schema": "main", "table": "t"})
        assert source.files([]) is None
        server.tables = {("main", "t"): Served([pa.table({})], schema, location=parquet(file))}
        assert source.files([]) is None
        with pytest.raises(RemoteError, match="files that have no local path"):
            source.tasks(ReadRequest(("n",)))
        assert source.files([]) == [file.replace("s3", "s3a", 1)]


@pytest.mark.parametrize(
    ("location", "says"),
    [
        (parquet("/nowhere/a.parquet"), "reading /nowhere/a.parquet failed"),
        (parquet("s3://bucket/a"), "files that have no local path, .*tamis.configure"),
        (read_parquet("/a", hive_partitioning=True), "the argument hive_partitioning"),
    ],
)
def test_files_that_tasks_cannot_read(location: str, says: str) -> None:
    table = pa.table({"n": [1]})
    with serving({("main", "t"): Served([table], location=location)}) as server:
        source = AirportSource({"uri": server.uri, "schema": "main", "table": "t"})
        with pytest.raises((RemoteError, RuntimeError), match=f"the table main.t.*{says}"):
            _ = [list(task.batches()) for task in source.tasks(ReadRequest(("n",)))]


@pytest.mark.spark
def test_files_are_read_without_the_extension(spark: SparkSession, tmp_path: Path) -> None:
    files = files_of(tmp_path, n=pa.int64(), m=pa.int32())
    served = Served(
        [pa.table({})] * 3, pq.read_schema(files[0]), locations=[parquet(each) for each in files]
    )
    spark.conf.set("spark.tamis.enabled", "false")
    with serving({("main", "t"): served}) as server:
        frame = tamis.read_airport(spark, server.uri, "main", "t")
        assert frame.where("n > 15").selectExpr("sum(m)", "count(*)").first() == (315, 14)
