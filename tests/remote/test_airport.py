"""Reading a table of an Airport server: the requests, the rows, and everything that can fail."""

from __future__ import annotations

import decimal
import hashlib
import json
import pickle
import re
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.types import StructType

import tamis
from tamis.remote.airport.connection import Connection
from tamis.remote.airport.flight_task import FlightTask
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import ReadRequest, RemoteError
from tamis.remote.datasource import AirportDataSource
from tamis.remote.planning import planned_reader, spark_schema
from tests.remote.airport_server import (
    SAME_SERVER,
    AirportServer,
    Served,
    compressed,
    serving,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = [
    pa.table({"id": [1, 2], "name": ["a", None]}),
    pa.table({"id": [3], "name": ["c"]}),
]


def source(server: AirportServer, **more: str) -> AirportSource:
    return AirportSource({"uri": server.uri, "schema": "main", "table": "orders", **more})


def tasks_of(server: AirportServer, **more: str) -> Sequence[FlightTask]:
    read = source(server, **more)
    return read.tasks(ReadRequest(tuple(read.schema().names)))


def rows_of(server: AirportServer, **more: str) -> list[dict[str, Any]]:
    tasks = tasks_of(server, **more)
    return [row for task in tasks for batch in task.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("layout", ["inline", "shared"])
def test_every_endpoint_is_read(layout: str) -> None:
    tables = {("main", "orders"): Served(ORDERS), ("other", "orders"): Served([ORDERS[1]])}
    with serving(tables, layout) as server:
        assert source(server).schema() == ORDERS[0].schema
        assert [row["id"] for row in rows_of(server)] == [1, 2, 3]
        assert len(tasks_of(server)) == 2
    assert server.endpoints()[0] == {
        "json_filters": "",
        "column_ids": [0, 1],
        "table_function_parameters": "",
        "table_function_input_schema": "",
        "at_unit": "",
        "at_value": "",
    }
    assert "flight_info" not in dict(server.requests)


def test_task_reads_several_endpoints() -> None:
    with serving({("main", "orders"): Served(ORDERS * 3)}) as server:
        tasks = source(server).tasks(ReadRequest(("id", "name"), tasks=2))
        ids = [[row["id"] for b in task.batches() for row in b.to_pylist()] for task in tasks]
    assert ids == [[1, 2, 3, 1, 2], [3, 1, 2, 3]]


def test_endpoints_of_other_servers_are_not_combined() -> None:
    with serving({("main", "orders"): Served(ORDERS)}) as other:
        locations = [SAME_SERVER, other.uri, other.uri, SAME_SERVER]
        served = Served(ORDERS * 2, locations=locations)
        with serving({("main", "orders"): served}) as server:
            tasks = source(server).tasks(ReadRequest(("id", "name"), tasks=1))
            assert [len(task.tickets) for task in tasks] == [1, 2, 1]
            assert [task.location for task in tasks] == [server.uri, other.uri, server.uri]


def test_row_identifiers_are_not_a_column() -> None:
    rowid = pa.field("rowid", pa.int64(), metadata={b"is_rowid": b"1"})
    schema = pa.schema([pa.field("id", pa.int64()), rowid])
    part = pa.table([[1], [7]], schema=schema)
    with serving({("main", "orders"): Served([part])}) as server:
        assert source(server).schema().names == ["id"]
        tasks_of(server)
    assert server.endpoints()[0]["column_ids"] == [0]


def test_all_columns_are_requested_if_row_identifiers_precede_them() -> None:
    rowid = pa.field("rowid", pa.int64(), metadata={b"is_rowid": b"1"})
    schema = pa.schema([pa.field("id", pa.int64()), rowid, pa.field("name", pa.string())])
    part = pa.table([[1], [7], ["a"]], schema=schema)
    with serving({("main", "orders"): Served([part])}) as server:
        for columns in (("id",), ("name",), ("name", "id")):
            source(server).tasks(ReadRequest(columns))
    assert [each["column_ids"] for each in server.endpoints()] == [[0], [], []]


def test_time_travel_asks_for_the_schema_of_the_version() -> None:
    with serving({("main", "orders"): Served(ORDERS)}) as server:
        assert len(rows_of(server, atUnit="version", atValue="3")) == 3
    (asked,) = [request for name, request in server.requests if name == "flight_info"]
    assert (asked["at_unit"], asked["at_value"]) == ("VERSION", "3")
    assert (server.endpoints()[0]["at_unit"], server.endpoints()[0]["at_value"]) == ("VERSION", "3")


def test_table_without_endpoints_is_empty() -> None:
    with serving({("main", "orders"): Served([], schema=ORDERS[0].schema)}) as server:
        assert rows_of(server) == []


def test_token_is_sent_and_shown_nowhere() -> None:
    with serving({("main", "orders"): Served(ORDERS)}, token="secret-1") as server:
        read = source(server, token="secret-1")
        (task, *_) = read.tasks(ReadRequest(("id",)))
        assert len(rows_of(server, token="secret-1")) == 3
        shown = [repr(read), str(vars(read)), repr(task), str(task)]
        with pytest.raises(RemoteError, match="Check the option token") as refused:
            source(server, token="secret-2").schema()
        with pytest.raises(RemoteError, match="Check the option token"):
            source(server).schema()
    shown.append(str(refused.value))
    assert not any("secret" in text for text in shown)


def test_token_is_not_sent_to_another_host() -> None:
    elsewhere = "grpc://localhost:1"  # the server is at 127.0.0.1
    with serving(
        {("main", "orders"): Served(ORDERS, location=elsewhere)}, token="secret"
    ) as server:
        (task, _) = tasks_of(server, token="secret")
    assert b"secret" not in pickle.dumps(task)


@pytest.mark.parametrize(
    ("uri", "location", "is_sent"),
    [
        ("grpc://a:1", "grpc://a:2", True),
        ("grpc://a:1", "grpc+tls://A:1", True),
        ("grpc+tls://a:1", "grpc+tls://a:2", True),
        ("grpc+tls://a:1", "grpc://a:1", False),
        ("grpc+tls://a:1", "grpc+tcp://a:1", False),
        ("grpc+tls://a:1", "grpc+tls://b:1", False),
        ("grpc://a:1", "grpc+unix:///a", False),
        ("grpc://a:1", "grpc://:1", False),
    ],
)
def test_token_is_sent_to_the_same_host_and_not_without_tls(
    uri: str, location: str, is_sent: bool
) -> None:
    headers = Connection(uri, "lake", "secret").headers_to(location)
    assert ((b"authorization", b"Bearer secret") in headers) == is_sent
    assert (b"airport-catalog", b"lake") in headers


@pytest.mark.parametrize(("action", "is_hint"), [("list_schemas", True), ("endpoints", False)])
def test_unknown_catalog_is_an_error(action: str, is_hint: bool) -> None:
    answers = {action: KeyError("not found")}
    with (
        serving({("main", "orders"): Served(ORDERS)}, answers=answers) as server,
        pytest.raises(RemoteError, match=f"{action} of the table main.orders .*not found") as error,
    ):
        tasks_of(server)
    assert ("Check the option catalog" in str(error.value)) == is_hint


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"uri": ""}, "reading the options failed: the option uri is missing"),
        ({"table": ""}, "the option table is missing"),
        ({"tabel": "x"}, "tabel is not one of uri, schema, table, catalog"),
        ({"atUnit": "VERSION"}, "both of the options atUnit and atValue"),
        ({"tlsRoots": "/no/such.pem"}, "the file of the option tlsRoots cannot be read"),
        ({"schema": "mian"}, "mian.orders failed: there is no schema mian. The schemas are main"),
        ({"table": "order"}, "main.order failed: there is no such table. The tables are orders"),
        ({"uri": "grpc://127.0.0.1:1"}, "list_schemas of the table main.orders failed: .*Check"),
        ({"uri": "no uri"}, "list_schemas of the table main.orders failed"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], says: str) -> None:
    with (
        serving({("main", "orders"): Served(ORDERS)}) as server,
        pytest.raises(RemoteError, match=says),
    ):
        source(server, **options).schema()


ROOT = {"contents": {"sha256": "", "url": None, "serialized": None}, "schemas": []}
KEPT_ELSEWHERE = {"sha256": "0" * 64, "url": "https://elsewhere/x", "serialized": None}
NO_PAIRS = {"sha256": hashlib.sha256(b"\x05").hexdigest(), "url": None, "serialized": b"\x05"}
CHANGED = {"sha256": "0" * 64, "url": None, "serialized": b"changed"}


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"list_schemas": b"\xc1"}, "the catalog is not msgpack"),
        ({"list_schemas": b""}, "the catalog is not msgpack"),
        ({"list_schemas": msgpack.packb([1, 2, 3])}, "the catalog is not compressed content"),
        ({"list_schemas": msgpack.packb([8, b"x" * 8])}, "the catalog cannot be decompressed"),
        ({"list_schemas": msgpack.packb([-1, b"x"])}, "the catalog is not compressed content"),
        ({"list_schemas": compressed(msgpack.packb([]))}, "the catalog is not a map"),
        ({"list_schemas": compressed(msgpack.packb(ROOT))}, "The schemas are none"),
        (
            {
                "list_schemas": compressed(
                    msgpack.packb(ROOT | {"schemas": [{"name": "main", "contents": CHANGED}]})
                )
            },
            "the schema main does not have its SHA-256 digest",
        ),
        (
            {
                "list_schemas": compressed(
                    msgpack.packb(
                        ROOT | {"schemas": [{"name": "main", "contents": KEPT_ELSEWHERE}]}
                    )
                )
            },
            "the server keeps this schema at a URL",
        ),
        (
            {"list_schemas": compressed(msgpack.packb(ROOT | {"contents": NO_PAIRS}))},
            "an entry of the catalog is not an array",
        ),
        (
            {"endpoints": b"\xc1"},
            "endpoints of the table main.orders failed: the answer to endpoints is not",
        ),
        ({"endpoints": msgpack.packb([1])}, "the answer to endpoints is not an array of strings"),
        ({"endpoints": msgpack.packb([b"\xff\xff"])}, "endpoints of the table main.orders failed"),
    ],
)
def test_malformed_answers_are_errors(answers: Mapping[str, bytes], says: str) -> None:
    with (
        serving({("main", "orders"): Served(ORDERS)}, answers=answers) as server,
        pytest.raises(RemoteError, match=says),
    ):
        tasks_of(server)


def malformed(data_type: Any, length: int, *buffers: Any) -> pa.Array:
    """Return an array of these buffers, whose content no component checks."""
    return pa.Array.from_buffers(
        data_type, length, [None, *(pa.py_buffer(bytes(each)) for each in buffers)]
    )


def int32s(*values: int) -> bytes:
    return np.array(values, np.int32).tobytes()


LONG_OFFSET = malformed(pa.string(), 2, int32s(0, 1_000_000, 2), b"abcdefgh")
MALFORMED = {
    "offset beyond the end": LONG_OFFSET,
    "descending offsets": malformed(pa.string(), 2, int32s(0, 3, 2), b"abcdefgh"),
    "not UTF-8": malformed(pa.string(), 2, int32s(0, 1, 2), b"\xff\xfe"),
    "a character in two values": malformed(pa.string(), 2, int32s(0, 1, 2), "é".encode()),
    "descending offsets in ASCII": malformed(pa.string(), 3, int32s(0, 3, 2, 8), b"abcdefgh"),
    "not UTF-8 after ASCII": malformed(
        pa.string(), 1, int32s(0, 2**21), b"a" * (2**21 - 1) + b"\xff"
    ),
    "index beyond the dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, 1_000_000], pa.int32()), pa.array(["a"]), safe=False
    ),
    "list beyond its elements": pa.ListArray.from_buffers(
        pa.list_(pa.int64()),
        3,
        [None, pa.py_buffer(int32s(0, 1, 1_000_000, 1))],
        children=[pa.array([1])],
    ),
    "field of a struct": pa.StructArray.from_arrays([LONG_OFFSET], ["a"]),
    "digits beyond the precision": malformed(
        pa.decimal128(2, 0), 1, (10**30).to_bytes(16, "little")
    ),
}


def converted_rows(server: AirportServer, *names: str) -> list[dict[str, Any]]:
    """Return what executors send to Spark, without Spark."""
    options = {"uri": server.uri, "schema": "main", "table": "orders"}
    columns = spark_schema("tamis.airport", options)
    wanted = [each for each in columns if not names or each.name in names]
    reader = planned_reader("tamis.airport", options, StructType(wanted))
    batches = [batch for task in reader.partitions() for batch in reader.read(task)]
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("column", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_batch_is_an_error(column: pa.Array) -> None:
    table = pa.table([pa.array(range(len(column))), column], names=["id", "name"])
    with (
        serving({("main", "orders"): Served([table])}) as server,
        pytest.raises(RuntimeError) as error,
    ):
        converted_rows(server)
    assert f"the table main.orders of the Airport server {server.uri}: reading" in str(error.value)


def test_columns_outside_the_schema_are_an_error() -> None:
    part = pa.table({"more": [0], "name": ["a"], "id": [1]})
    with serving({("main", "orders"): Served([part], schema=ORDERS[0].schema)}) as server:
        says = (
            f"the table main.orders of the Airport server {server.uri}: reading failed: a batch has "
            "the column more, which the table does not have"
        )
        with pytest.raises(RuntimeError, match=re.escape(says)):
            converted_rows(server, "id")


def test_columns_that_the_query_does_not_need_are_left_out() -> None:
    rowid = pa.field("rowid", pa.int64(), metadata={b"is_rowid": b"1"})
    part = pa.table([[7], [1], ["a"]], schema=pa.schema([rowid, *ORDERS[0].schema]))
    with serving({("main", "orders"): Served([part])}) as server:
        assert converted_rows(server, "name") == [{"name": "a"}]


def test_file_that_is_not_parquet_is_refused() -> None:
    location = "data:application/msgpack;base64,gQ=="
    with (
        serving({("main", "orders"): Served(ORDERS, location=location)}) as server,
        pytest.raises(RemoteError, match=r"endpoints of the table main\.orders failed: a location"),
    ):
        tasks_of(server)


# --- with Spark -------------------------------------------------------------------------------


def read(spark: SparkSession, server: AirportServer, **more: Any) -> Any:
    return tamis.read_airport(spark, server.uri, "main", "orders", **more)


def test_spark_reads_the_rows(spark: SparkSession) -> None:
    with serving({("main", "orders"): Served(ORDERS)}, token="secret") as server:
        frame = read(spark, server, token="secret")
        assert frame.rdd.getNumPartitions() == 2
        assert sorted(map(tuple, frame.where("id <> 2").collect())) == [(1, "a"), (3, "c")]
        assert frame.where("name IS NULL").select("id").collect() == [(2,)]
        assert frame.count() == 3
        assert frame.alias("a").join(frame.alias("b"), "id").count() == 3
        plan = frame._jdf.queryExecution().toString()
    assert "secret" not in plan


@pytest.mark.parametrize(
    ("rows", "tasks"),
    [(12, 4), (-1, 8), (0, 8), (10**9, 8)],
    ids=["few rows", "unknown", "zero stands for unknown", "many rows"],
)
def test_spark_combines_parts_to_tasks(spark: SparkSession, rows: int, tasks: int) -> None:
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", "2")
    try:
        with serving({("main", "orders"): Served(ORDERS * 4, rows=rows)}) as server:
            frame = read(spark, server)
            assert frame.rdd.getNumPartitions() == tasks
            assert sorted(row.id for row in frame.collect()) == sorted([1, 2, 3] * 4)
            assert len(frame.limit(3).collect()) == 3
    finally:
        spark.conf.unset("spark.sql.leafNodeDefaultParallelism")


def test_format_is_found_without_registration(spark: SparkSession) -> None:
    with serving({("main", "orders"): Served(ORDERS)}) as server:
        options = {"uri": server.uri, "schema": "main", "table": "orders"}
        assert spark.read.format("tamis.airport").options(**options).load().count() == 3


def test_values_of_every_type_are_read(spark: SparkSession) -> None:
    identifier = uuid.UUID(int=7)
    moment = 1_577_836_800_123_456
    columns = {
        "small": pa.array([255], pa.uint8()),
        "large": pa.array([2**64 - 1], pa.uint64()),
        "half": pa.array([1.5], pa.float16()),
        "amount": pa.array([decimal.Decimal("-1.50")], pa.decimal128(9, 2)),
        "day": pa.array([-86_400_000], pa.date64()),
        "clock": pa.array([moment], pa.timestamp("us")),
        "second": pa.array([-1], pa.timestamp("s", "UTC")),
        "text": pa.array(["é"], pa.large_string()),
        "view": pa.array(["x"], pa.string_view()),
        "code": pa.array([b"ab"], pa.binary(2)),
        "kind": pa.array(["k"]).dictionary_encode(),
        "list": pa.array([[1, None]], pa.large_list(pa.int32())),
        "pair": pa.array([{"a": 1}], pa.struct({"a": pa.uint16()})),
        "map": pa.array([[("k", 2)]], pa.map_(pa.string(), pa.int64())),
        "uuid": pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([identifier.bytes], pa.binary(16))
        ),
        "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"])),
    }
    with serving({("main", "orders"): Served([pa.table(columns)])}) as server:
        frame = read(spark, server)
        (row,) = frame.selectExpr("*", "unix_seconds(second) AS s").collect()
    types = dict(frame.dtypes)
    assert (row.small, row.large, row.half) == (255, 2**64 - 1, 1.5)
    assert types["large"] == "decimal(20,0)"
    assert (str(row.amount), str(row.day), str(row.clock)) == (
        "-1.50", "1969-12-31", "2020-01-01 00:00:00.123456",
    )  # fmt: skip
    assert (types["clock"], types["second"], row.s) == ("timestamp_ntz", "timestamp", -1)
    assert (row.text, row.view, bytes(row.code), row.kind) == ("é", "x", b"ab", "k")
    assert (row.list, row.pair.a, row.map) == ([1, None], 1, {"k": 2})
    assert (row.uuid, row.json) == (str(identifier), "{}")


@pytest.mark.parametrize(
    "data_type", [pa.timestamp("ns"), pa.time64("us"), pa.decimal256(50, 2)], ids=str
)
def test_type_that_spark_lacks_is_refused(spark: SparkSession, data_type: Any) -> None:
    part = pa.table({"id": [1], "t": pa.nulls(1, data_type)})
    with (
        serving({("main", "orders"): Served([part])}) as server,
        pytest.raises(Exception, match="the column t has the type"),
    ):
        read(spark, server)


@pytest.mark.parametrize(
    ("streamed", "says"),
    [
        (pa.table({"id": [1.5], "name": ["a"]}), "the column id has the type double"),
        (pa.table({"name": ["a"]}), "a batch has no column named id"),
        (pa.table([[1], [2], ["a"]], names=["id", "id", "name"]), "2 columns named id"),
        (pa.table({"id": [1], "name": ["a"], "more": [0]}), "a batch has the column more, which"),
    ],
)
def test_table_that_changed_is_an_error(spark: SparkSession, streamed: pa.Table, says: str) -> None:
    served = Served([streamed], schema=ORDERS[0].schema)
    with (
        serving({("main", "orders"): served}) as server,
        pytest.raises(Exception, match=f"main.orders of the Airport server .*{says}"),
    ):
        read(spark, server).collect()


def test_further_declared_columns_are_ignored(spark: SparkSession) -> None:
    rowid = pa.field("rowid", pa.int64(), metadata={b"is_rowid": b"1"})
    part = pa.table([[7], ["a"], [1]], schema=pa.schema([rowid, *reversed(list(ORDERS[0].schema))]))
    with serving({("main", "orders"): Served([part])}) as server:
        frame = read(spark, server)
        assert list(map(tuple, frame.collect())) == [("a", 1)]
        assert list(map(tuple, frame.select("id").collect())) == [(1,)]


def test_stream_that_breaks_returns_nothing(spark: SparkSession) -> None:
    served = Served(ORDERS, problem="the disk is full")
    with (
        serving({("main", "orders"): served}) as server,
        pytest.raises(Exception, match="the disk is full"),
    ):
        read(spark, server).collect()


# --- what the extension hands over ------------------------------------------------------------

NUMBERS = pa.table(
    {
        "n": pa.array([None, -5, 0, 1, 2, 3, 40, 500], pa.int64()),
        "i": pa.array([1, 2, 3, None, -1, 0, 7, 8], pa.int32()),
        "x": pa.array([1.5, float("nan"), -0.0, 0.0, None, 2.5, float("inf"), -1.0]),
        "u": pa.array([1, 2, 3, 4, 5, 6, 7, None], pa.uint8()),
        "s": ["a", "", None, "ab", "é", "b%", "zz", "A"],
        "d": pa.array([0, -1, 1, None, 10957, 20000, 5, 6], pa.date32()),
        "t": pa.array([0, -1, 1, None, 10**15, 4 * 10**15, 5, 6], pa.timestamp("us")),
        "b": [True, False, None, True, False, True, False, None],
        "m": pa.array([decimal.Decimal("1.50"), *[None] * 7], pa.decimal128(9, 2)),
        'o"dd': [1, 2, 3, 4, 5, 6, 7, 8],
    }
)

# predicate, and the number of filters that the server gets beside IS NOT NULL: those that are sent
# as they are, and ranges that the predicate implies
PREDICATES = [
    ("n > 1", 1),
    ("n <> 2", 1),
    ("NOT (n = 2 OR n IS NULL)", 1),
    ("n IN (1, 2, 3)", 1),
    ("n NOT IN (1, 2)", 1),
    ("n NOT IN (1, NULL)", None),
    ("n BETWEEN 1 AND 40", 2),
    ("n IS NULL", 1),
    ("n = 1 OR s = 'zz'", 1),
    ("n = 1 OR s = ''", 0),
    ("n <=> 1", 0),
    ("n + i > 3", 1),
    ("n + 1 > 3", 1),
    ("i > 0 AND n > 1", 2),
    ("x > 1.0", 0),  # servers lose NaN
    ("x > 1.0 AND x < 9.0", 2),
    ("x <= 2.5", 1),
    ("x = 0.0", 0),
    ("x = double('NaN')", 0),
    ("u > 3", 0),
    ("s > 'a'", 1),
    ("s = ''", 0),
    ("s LIKE 'a%'", 1),
    ("s LIKE '%b'", 1),
    ("s LIKE '%b%'", 1),
    ("s LIKE 'a_'", 2),
    ("d > DATE '1970-01-01'", 0),
    ("d >= DATE '2000-01-01'", 1),
    ("d < DATE '1970-01-01' OR d = DATE '2000-01-01'", 0),
    ("t > TIMESTAMP_NTZ '1970-01-01 00:00:00.000001'", 1),
    ("t < TIMESTAMP_NTZ '2200-01-01 00:00:00'", 0),
    ("b", None),
    ("NOT b", None),
    ("m = 1.50", 0),
    ('`o"dd` > 3', 0),
    ("rand() < 2 AND n > 1", None),
    ("n > (SELECT min(id) + 2 FROM range(3))", 0),
]


@pytest.mark.parametrize(("predicate", "sent"), PREDICATES, ids=[p for p, _ in PREDICATES])
def test_rows_equal_those_without_push_down(
    spark: SparkSession, predicate: str, sent: int | None
) -> None:
    parts = [NUMBERS.slice(0, 3), NUMBERS.slice(3)]
    with serving({("main", "orders"): Served(parts, filters=True)}) as server:
        frame = read(spark, server)
        spark.conf.set("spark.tamis.enabled", "false")
        expected = Counter(map(str, frame.where(predicate).collect()))
        assert not any(each["json_filters"] for each in server.endpoints())
        spark.conf.set("spark.tamis.enabled", "true")
        assert Counter(map(str, frame.where(predicate).collect())) == expected
        document = server.endpoints()[-1]["json_filters"] if server.endpoints() else ""
    filters = json.loads(document)["filters"] if document else []
    if sent is not None:
        assert sum(each["type"] != "OPERATOR_IS_NOT_NULL" for each in filters) == sent


def test_only_the_columns_of_the_query_are_requested(spark: SparkSession) -> None:
    with serving({("main", "orders"): Served([NUMBERS])}) as server:
        frame = read(spark, server)
        frame.select("s").where("i > 0").collect()
        assert server.endpoints()[-1]["column_ids"] == [1, 4]
        assert frame.count() == 8
        assert server.endpoints()[-1]["column_ids"] == [0]
        assert frame.selectExpr("s", "n", "s AS again").first() == ("a", None, "a")


def test_limit_ends_the_stream(spark: SparkSession) -> None:
    many = pa.table({"id": pa.array(range(1_000_000))})
    batches = pa.Table.from_batches(many.to_batches(max_chunksize=1000))
    served = Served([batches], problem="the second batch was read", good_batches=1)
    with serving({("main", "orders"): served}) as server:
        frame = read(spark, server)
        assert frame.limit(7).count() == 7
        assert len(frame.limit(7).collect()) == 7
        assert len(frame.where("id >= 0").limit(3).select("id").take(2)) == 2


def test_each_scan_has_its_own_filters(spark: SparkSession) -> None:
    with serving({("main", "orders"): Served([NUMBERS], filters=True)}) as server:
        frame = read(spark, server)
        frame.createOrReplaceTempView("numbers")
        low, high = frame.where("n < 2"), frame.where("n > 2")
        assert sorted(row.n for row in low.union(high).collect()) == [-5, 0, 1, 3, 40, 500]
        joined = "SELECT a.n, b.n AS m FROM numbers a JOIN numbers b ON a.n + 1 = b.n WHERE a.n < 2"
        assert sorted(map(tuple, spark.sql(f"{joined} AND b.n > 1").collect())) == [(1, 2)]
        cached = frame.where("n > 1").cache()
        assert (cached.count(), cached.where("n < 40").count(), frame.count()) == (4, 2, 8)
        cached.unpersist()


def test_rows_are_requested_without_a_filter_that_the_server_refuses(spark: SparkSession) -> None:
    served = Served([NUMBERS], filters=True, refuses_filters=True)
    # Not "orders": a server of another test on the same port may have shown that table to be streamed.
    with serving({("main", "refusing"): served}) as server:
        assert tamis.read_airport(spark, server.uri, "main", "refusing").where("n > 1").count() == 4
        sent = [bool(each["json_filters"]) for each in server.endpoints()]
        assert sent == [True, True, False]  # the first request is that of planning


def test_plan_shows_the_filters_that_are_sent(spark: SparkSession) -> None:
    with serving({("main", "orders"): Served([NUMBERS])}, token="secret") as server:
        frame = read(spark, server, token="secret").where("n > 1 AND s = 'a' AND x = 0.0")
        text = frame._jdf.queryExecution().explainString(
            spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
        )
    assert "tamis.airport" in text
    (sent,) = re.findall(r"^Filters: (\[.*\])", text, re.MULTILINE)
    assert "(n > 1L), (s = 'a')" in sent
    assert "(x =" not in sent
    assert "secret" not in text


def test_executors_need_no_tamis(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark pickles for executors is loaded by a Python that cannot import tamis."""
    pickled = tmp_path / "pickled"
    with serving({("main", "orders"): Served(ORDERS)}) as server:
        options = {"uri": server.uri, "schema": "main", "table": "orders"}
        source = AirportDataSource(options)
        try:
            reader = source.reader(source.schema())
            pickled.write_bytes(cloudpickle.dumps((source, reader, reader.partitions())))
        finally:
            for module in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.unregister_pickle_by_value(sys.modules[module])
        script = (
            "import pickle, sys; sys.modules['tamis'] = None; sys.modules['msgpack'] = None\n"
            f"source, reader, tasks = pickle.load(open({str(pickled)!r}, 'rb'))\n"
            "print([b.num_rows for t in tasks for b in reader.read(t)])"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[2, 1]\n", done.stderr
