"""Reading from the unmodified reference worker, over HTTP with a token and as a process."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.types import LongType
from pyspark import cloudpickle

import tamis
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    decimal,
)
from tamis.remote import arrow_form, executor
from tamis.remote.contract import Applied, JoinKeys, Order, ReadRequest, RemoteError
from tamis.remote.vgi.executor_modules import EXECUTOR_MODULES
from tamis.remote.vgi.functions import splits
from tamis.remote.vgi.functions.arguments import json_arguments
from tamis.remote.vgi.functions.scan_task import VgiTask
from tamis.remote.vgi.source import VgiSource
from tests.launch.processes import free_port, running, shell
from tests.publish.lakes import without_catalog
from tests.remote.vgi_filters import run
from tests.remote.vgi_forms import counted
from tests.remote.vgi_reference import WORKER, reference_python, worker_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.programs

TOKEN = "secret-of-alice"
N, S, FLAG = Column(("n",), LONG), Column(("s",), STRING), Column(("flag",), BOOLEAN)


def compared(op: str, value: int) -> Expr:
    return Compare(Comparison(op), N, Literal(value, LONG))


def write_lakes(folder: Path) -> tuple[str, str]:
    """Write a Delta and an Iceberg table with deleted rows, and with a renamed column."""
    delta = folder / "delta"
    rows = pa.table({"n": [100, 101, 102, 103], "s": ["p", "p", "q", "q"]})
    write_deltalake(delta, rows, partition_by="s")
    DeltaTable(delta).delete("n = 101")
    catalog = load_catalog("x", type="sql", uri="sqlite://", warehouse=f"file://{folder}/lake")
    catalog.create_namespace("db")
    schema = pa.schema({"before": pa.int32(), "s": pa.string()})
    iceberg = catalog.create_table("db.t", schema)
    iceberg.append(pa.table({"before": [1, 2, 3, 4], "s": ["p"] * 4}, schema))
    with iceberg.update_schema() as update:
        update.rename_column("before", "n")
        update.update_column("before", LongType())
    iceberg.append(pa.table({"n": [5, 6, 7, 8]}))
    iceberg.delete("n = 3")
    return str(delta), str(without_catalog(iceberg))


@pytest.fixture(scope="module")
def branches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Write the files of tables with branches; return the tables."""
    folder = tmp_path_factory.mktemp("branches")
    table = pa.table({"n": pa.array(range(1000, 1010), pa.int64()), "s": ["p"] * 10})
    pq.write_table(table, folder / "new.parquet")
    pq.write_table(table.slice(0, 5), folder / "half.parquet")
    columns = str(folder / "columns.arrow")
    with pa.ipc.new_file(columns, pa.schema({"n": pa.int64(), "s": pa.string()})) as writer:
        writer.write_table(table)
    with pa.ipc.new_file(folder / "rows.arrow", pa.schema({"n": pa.int32()})) as writer:
        writer.write_table(pa.table({"n": pa.array([None, 1, 2000, 2001], pa.int32())}))

    def rows_of(path: str, **more: Any) -> dict[str, Any]:
        return {"function": "rows_of", "arguments": [path], "schema_path": ["main"], **more}

    new, half, narrow = (
        str(folder / each) for each in ("new.parquet", "half.parquet", "rows.arrow")
    )
    delta, iceberg = write_lakes(folder)
    parquet = {"format_name": "parquet", "format_locations": [new, half]}
    return {
        name: {"columns": columns, "branches": parts}
        for name, parts in {
            "plain": [rows_of(columns)],
            "mixed": [
                rows_of(narrow, branch_filter="n < 1000 OR n >= 2001"),
                rows_of(columns, branch_filter="n < 1002"),
                {**parquet, "branch_filter": "n >= 1002"},
            ],
            "native": [{"function": "read_parquet", "arguments": [new]}],
            "pruned": [rows_of("/no/such/file", branch_filter="n < 0"), parquet],
            "unread": [{**rows_of(columns), "function": "plain_rows_of", "branch_filter": "s > 'p'"}],
            "empty": [],
            "lakes": [
                {"format_name": "ICEBERG", "format_locations": [iceberg]},
                {"format_name": "delta", "format_locations": [delta], "branch_filter": "n < 103"},
            ],
            "scanned": [
                {"function": "iceberg_scan", "arguments": [iceberg], "branch_filter": "s = 'p'"},
                {"function": "delta_scan", "arguments": [delta]},
            ],
            "iceberg": [{"format_name": "iceberg", "format_locations": [str(folder)]}],
            "iceberg_of_delta": [{"format_name": "iceberg", "format_locations": [delta]}],
            "iceberg_elsewhere": [{"format_name": "iceberg", "format_locations": ["s3://b/t"]}],
            "iceberg_twice": [{"format_name": "iceberg", "format_locations": [iceberg, iceberg]}],
            "csv": [{"function": "read_csv", "arguments": ["x"]}],
            "elsewhere": [{"source_catalog": "lake", "source_schema_path": ["main"], "source_table": "t"}],
            "complex": [{**parquet, "branch_filter": "n + 1 < 2"}],
            "listed": [
                rows_of(columns, branch_filter="n IN (1001, 1002) OR s IS NULL"),
                {"format_name": "parquet", "format_locations": [str(folder / "*.parquet")], "branch_filter": "n BETWEEN 1003 AND 1004 AND s LIKE 'p%'"},
            ],
            "liar": [{**rows_of(columns, branch_filter="n NOT BETWEEN 1002 AND 1009"), "function": "lying_rows_of"}],
            "wide": [rows_of(columns), {**parquet, "format_locations": ["s3://bucket/x.parquet"]}],
        }.items()
    }  # fmt: skip


@pytest.fixture(scope="module")
def worker(
    branches: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Yield the options of a server."""
    folder = tmp_path_factory.mktemp("worker")
    port = free_port()
    command = [reference_python(), str(WORKER), "--http", "--port", str(port), "--prefix", "/api"]
    environment = shell(
        folder, VGI_BEARER_TOKENS=f"{TOKEN}=alice", VGI_TEST_BRANCHES=json.dumps(branches)
    )
    with running([*command, "--quiet"], folder, environment) as process:
        process.wait_for_port(port)
        yield {"uri": f"http://127.0.0.1:{port}/api", "token": TOKEN}


def source(worker: dict[str, str], function: str, arguments: Any = (), **more: str) -> VgiSource:
    return VgiSource(
        {**worker, "function": function, "arguments": json_arguments(arguments), **more}
    )


def rows_of(read: VgiSource, columns: Sequence[str] = (), **more: Any) -> list[dict[str, Any]]:
    """Return the rows of all tasks, with these columns."""
    names = tuple(columns or read.schema().names)
    tasks = read.tasks(ReadRequest(names, **more))
    rows = [row for task in tasks for batch in task.batches() for row in batch.to_pylist()]
    return [{name: row[name] for name in names} for row in rows]


def starts_with(text: str) -> Expr:
    return Call("StartsWith", (S, Literal(text, STRING)), (), BOOLEAN)


# predicate, what the worker shows, the rows
ECHOED: list[tuple[Expr, str, list[int]]] = [
    (compared(">=", 8), "n >= 8", [8, 9]),
    (In(N, (3, 4)), "n IN (3, 4)", [3, 4]),
    (Not(IsNull(N)), "", list(range(10))),
    (Or((compared("<", 2), starts_with("row_9"))), "starts_with", [0, 1, 9]),
    (Not(Or((compared("<", 8), starts_with("row_9")))), "", [8]),
    (Compare(Comparison.NULL_SAFE_EQUAL, N, Literal(5, LONG)), "", [5]),
]


@pytest.mark.parametrize(("predicate", "shown", "kept"), ECHOED, ids=lambda each: str(each)[:30])
def test_worker_applies_required_filters(
    worker: dict[str, str], predicate: Expr, shown: str, kept: list[int]
) -> None:
    read = source(worker, "filter_echo", [10])
    assert read.applied([predicate]) == [Applied.EXACTLY]
    rows = rows_of(read, ["n", "pushed_filters"], required=(predicate,))
    assert [row["n"] for row in rows] == kept
    assert all(shown.lower() in row["pushed_filters"].lower() for row in rows)


def test_worker_gets_optional_filters_and_columns(worker: dict[str, str]) -> None:
    read = source(worker, "filter_echo", [10])
    rows = rows_of(read, ["pushed_filters"], filters=(compared(">", 7), starts_with("row_9")))
    assert len(rows) == 1
    ((task),) = read.tasks(ReadRequest(("pushed_filters",), filters=(compared(">", 7),)))
    assert {tuple(batch.schema.names) for batch in task.batches()} == {("pushed_filters", "n")}
    flags = source(worker, "bool_filter_echo", [4])
    assert {row["flag"] for row in rows_of(flags, ["n", "flag"], required=(FLAG,))} == {True}
    assert {row["flag"] for row in rows_of(flags, ["n", "flag"], required=(Not(FLAG),))} == {False}
    dynamic = source(
        worker, "dynamic_filter_echo", {"positional": [30], "named": {"batch_size": 10}}
    )
    assert sorted(row["n"] for row in rows_of(dynamic, ["n"], required=(compared("<", 3),))) == [
        0,
        1,
        2,
    ]


def test_join_keys_are_sent_to_the_reference_worker(worker: dict[str, str]) -> None:
    read = source(worker, "filter_echo", [1000])
    keys = JoinKeys(N, (3, None, 4, 5000, 4))
    rows = rows_of(read, ["n", "pushed_filters"], keys=(keys,))
    assert [row["n"] for row in rows] == [3, 4]


def test_limit_stops_after_one_batch(worker: dict[str, str]) -> None:
    read = source(worker, "sequence", [1_000_000])
    (task,) = read.tasks(ReadRequest(("n",), limit=7))
    assert [batch.num_rows for batch in task.batches()] == [2048]
    (ordered,) = read.tasks(ReadRequest(("n",), limit=7, order=(Order("n"),)))
    assert isinstance(ordered, VgiTask)
    assert ordered.limit is None


def test_order_does_not_end_a_scan_early(worker: dict[str, str]) -> None:
    read = source(worker, "sequence", [5000])
    assert len(rows_of(read, ["n"], limit=7, order=(Order("n", is_descending=True),))) == 5000


SPLIT_FUNCTIONS = {"split_sequence": 4, "split_skewed": 4, "split_many": 4, "split_paginated": 4, "split_empty_ranges": 8, "split_short_ttl": 4}  # fmt: skip


@pytest.mark.parametrize(("function", "tasks"), SPLIT_FUNCTIONS.items())
def test_splits_together_are_the_rows(worker: dict[str, str], function: str, tasks: int) -> None:
    read = source(worker, function, {"n": 40})
    assert len(read.tasks(ReadRequest(("n",)))) == tasks
    assert sorted(row["n"] for row in rows_of(read)) == list(range(40))


def test_plans_without_splits_and_without_end(
    worker: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "_MOST_PAGES", 20)
    assert rows_of(source(worker, "split_zero", {"n": 40})) == []
    with pytest.raises(RemoteError, match="the plan has more than 20 pages"):
        rows_of(source(worker, "split_endless_cursor", {"n": 40}))


def test_plan_gets_filters_and_columns(worker: dict[str, str]) -> None:
    read = source(worker, "split_echo_filters", {"splits": 2})
    ordinal = Compare(Comparison.GREATER_EQUAL, Column(("split_ordinal",), LONG), Literal(0, LONG))
    assert {row["saw_filters"] for row in rows_of(read, filters=(ordinal,))} == {True}
    assert {row["saw_filters"] for row in rows_of(read)} == {False}


def test_arguments_have_the_declared_types(worker: dict[str, str]) -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC)
    named = {
        "ts": moment,
        "iv": datetime.timedelta(milliseconds=2500),
        "blob": b"\x00\xff",
        "ub": 2**63 - 1,
        "f": float("inf"),
    }
    (row,) = rows_of(source(worker, "typed_probe", {"positional": [1], "named": named}))
    assert row["ts_us"] == int(moment.timestamp()) * 1_000_000 + 6
    assert (row["iv_ms"], row["ub"], row["f"]) == (2500, 2**63 - 1, float("inf"))
    assert row["payload"].startswith(b"\x00\xff")
    assert len(rows_of(source(worker, "typed_probe", [3]))) == 3


REFUSED = [
    ({"function": "nowhere"}, "there is no such table function. The table functions are bool_"),
    ({"function": "filter_echo"}, "the positional argument count is missing"),
    ({"function": "filter_echo", "arguments": '["x"]'}, "count is not of the type int64"),
    ({"function": "filter_echo", "arguments": "[true]"}, "count is not of the type int64"),
    ({"function": "filter_echo", "arguments": "[1, 2]"}, "2 positional arguments were given"),
    (
        {"function": "filter_echo", "arguments": '{"positional": [1], "named": {"x": 1}}'},
        "there is no named argument x. The named arguments are batch_size",
    ),
    ({"function": "filter_echo", "arguments": "[-1]"}, "bind of the table function filter_echo"),
    ({"table": "nowhere"}, "the schema main of the catalog example has no such table"),
    ({"table": "echo", "catalog": "nowhere"}, "catalog_attach of the table echo failed"),
    ({"table": "echo", "token": "other"}, "refuses access.*Check the option token"),
    ({"table": "echo", "token": ""}, "refuses access.*Check the option token"),
    ({"table": "echo", "uri": "/wrong"}, "Check that the option uri names a VGI worker"),
]


@pytest.mark.parametrize(("options", "says"), REFUSED)
def test_what_cannot_be_read_is_named(
    worker: dict[str, str], options: dict[str, str], says: str
) -> None:
    uri = worker["uri"] + options.get("uri", "")
    with pytest.raises(RemoteError, match=says) as refused:
        VgiSource({**worker, **options, "uri": uri}).schema()
    assert TOKEN not in str(refused.value)


# --- tables -----------------------------------------------------------------------------------


def table(worker: dict[str, str], name: str, **more: str) -> VgiSource:
    return VgiSource({**worker, "table": name, **more})


def test_table_is_read_by_its_function(worker: dict[str, str]) -> None:
    read = table(worker, "echo")
    known = read.statistics(["n", "s"]).columns["n"]
    assert (known.minimum, known.maximum, known.has_nulls) == (
        pa.scalar(0, pa.int64()), pa.scalar(99, pa.int64()), False,
    )  # fmt: skip
    assert read.applied([compared(">", 96)]) == [Applied.EXACTLY]
    rows = rows_of(read, ["n", "pushed_filters"], required=(compared(">", 96),))
    assert [(row["n"], row["pushed_filters"]) for row in rows] == [
        (n, "n > 96") for n in (97, 98, 99)
    ]


TABLES: list[tuple[str, tuple[Expr, ...], list[int]]] = [
    ("plain", (), list(range(1000, 1010))),
    ("empty", (), []),
    ("native", (), list(range(1000, 1010))),
    ("mixed", (), sorted([1, *range(1000, 1010), *range(1002, 1005), 2001])),
    ("mixed", (compared("=", 1003),), [1003, 1003]),
    ("mixed", (compared(">", 1007),), [1008, 1009, 2001]),
    ("pruned", (compared(">=", 1004),), [1004, 1004, *range(1005, 1010)]),
    ("unread", (), []),
    ("listed", (), [1001, 1002, 1003, 1003, 1004, 1004]),
    ("listed", (compared(">", 1003),), [1004, 1004]),
    ("lakes", (), [1, 2, 4, 5, 6, 7, 8, 100, 102]),
    ("lakes", (compared(">", 5),), [6, 7, 8, 100, 102]),
    ("scanned", (), [1, 2, 4, 100, 102, 103]),
    ("scanned", (compared("<", 0),), []),
]


@pytest.mark.parametrize(("name", "filters", "expected"), TABLES)
def test_branches_together_are_the_rows(
    worker: dict[str, str], name: str, filters: tuple[Expr, ...], expected: list[int]
) -> None:
    read = table(worker, name)
    assert all(each is Applied.PARTLY for each in read.applied(filters))
    whole = And(filters) if len(filters) > 1 else filters[0] if filters else None
    passing = [
        row["n"]
        for row in rows_of(read, filters=filters)
        if whole is None or _passes(whole, row["n"])
    ]
    assert sorted(passing) == expected


def _passes(predicate: Expr, n: int) -> bool:
    from tests.differential.rows import row_value

    return row_value(predicate, {("n",): n}) is True


def test_branches_that_cannot_have_rows_are_not_opened(worker: dict[str, str]) -> None:
    read = table(worker, "mixed")
    assert len(read.tasks(ReadRequest(("n",)))) == 4
    # n > 1007 contradicts n < 1002, and the footer of the second file
    tasks = read.tasks(ReadRequest(("n",), filters=(compared(">", 1007),)))
    assert len(tasks) == 2
    with pytest.raises(RemoteError, match="/no/such/file"):
        rows_of(table(worker, "pruned"))
    lakes = table(worker, "lakes")
    assert [
        len(lakes.tasks(ReadRequest(("n",), filters=(compared(op, value),))))
        for op, value in ((">", 0), (">", 4), (">", 8), (">", 100), ("<", 3), ("<", 0))
    ] == [4, 3, 2, 1, 1, 0]
    # s is NULL in the second file of the Iceberg table, and a partition value of the Delta table
    q = Compare(Comparison.EQUAL, S, Literal("q", STRING))
    assert len(lakes.tasks(ReadRequest(("n",), filters=(q,)))) == 1


def test_filter_of_a_branch_that_the_worker_does_not_apply_is_found(
    worker: dict[str, str],
) -> None:
    liar = table(worker, "liar")
    assert len(rows_of(liar)) == 10  # what the conf is for
    with pytest.raises(
        RuntimeError, match=r"liar .*: reading failed: .* branch 1 \(lying_rows_of\)"
    ):
        rows_of(liar, verify=True)
    for honest in ("mixed", "listed"):
        assert rows_of(table(worker, honest), verify=True) == rows_of(table(worker, honest))
    advisory = table(worker, "liar", filters="advisory")
    assert [row["n"] for row in rows_of(advisory, verify=True)] == [1000, 1001]


REFUSED_TABLES = [
    ("iceberg", r"branch 1 \(iceberg\): .* is not a table of the format iceberg"),
    ("iceberg_of_delta", r"branch 1 \(iceberg\): .*delta is not a table of the format iceberg"),
    ("iceberg_elsewhere", "branch 1 reads s3://b/t: tamis reads only local files"),
    ("iceberg_twice", "branch 1 has 2 locations for one table of the format iceberg"),
    ("csv", "branch 1 has the format read_csv"),
    ("elsewhere", "branch 1 is the table lake.t of another catalog"),
    ("complex", r"branch 1 has the filter 'n \+ 1 < 2': the syntax at"),
    ("wide", "branch 2 reads s3://bucket/x.parquet: tamis reads only local files"),
]


@pytest.mark.parametrize(("name", "says"), REFUSED_TABLES)
def test_branches_that_tamis_does_not_read_are_named(
    worker: dict[str, str], name: str, says: str
) -> None:
    with pytest.raises(RemoteError, match=says):
        rows_of(table(worker, name))


# --- filters ----------------------------------------------------------------------------------


def test_random_filters_return_the_rows_of_spark() -> None:
    """Also the test of a worker that is a process: each scan runs on its standard streams."""
    sent, wrong = run(worker_command(), seed=3, count=120)
    assert wrong == []
    assert sent["required"] > 30
    assert sent["advisory"] > 15


def test_more_than_twice_as_many_forms_are_sent() -> None:
    counts = counted(seed=2, count=500)
    assert counts["tamis"] >= 2 * counts["others"] > 100
    assert counts["exactly"] > counts["others"]


WIDENED = [
    (pa.uint8(), SHORT, [0, 7, 255]),
    (pa.uint16(), INTEGER, [0, 7, 65535]),
    (pa.uint32(), LONG, [0, 7, 2**32 - 1]),
    (pa.uint64(), decimal(20, 0), [0, 7, 2**64 - 1]),
    (pa.large_string(), STRING, ["", "a", "é"]),
    (pa.large_binary(), BINARY, [b"", b"a", b"\xff"]),
    (pa.timestamp("s"), TIMESTAMP_NTZ, [-86_400, 0, 4 * 10**9]),
    (pa.timestamp("ms", "UTC"), TIMESTAMP, [-1, 0, 4 * 10**12]),
    (pa.timestamp("us", "Europe/Berlin"), TIMESTAMP, [-1, 0, 4 * 10**15]),
]


def test_types_that_spark_widens_are_filtered_exactly(
    worker: dict[str, str], tmp_path: Path
) -> None:
    values = {f"c{n}": pa.array([*each[2], None], each[0]) for n, each in enumerate(WIDENED)}
    with pa.ipc.new_file(
        tmp_path / "rows.arrow", pa.schema({k: v.type for k, v in values.items()})
    ) as writer:
        writer.write_table(pa.table(values))
    read = source(worker, "rows_of", [str(tmp_path / "rows.arrow")])
    for n, (arrow, data_type, drawn) in enumerate(WIDENED):
        scale = {"s": 1_000_000, "ms": 1000}.get(getattr(arrow, "unit", ""), 1)
        middle = drawn[1] * scale if isinstance(drawn[1], int) else drawn[1]
        constant = Decimal(middle) if data_type.is_decimal else middle
        column = Column((f"c{n}",), data_type)
        predicate = Compare(Comparison.GREATER_EQUAL, column, Literal(constant, data_type))
        assert read.applied([predicate]) == [Applied.EXACTLY], arrow
        rows = rows_of(read, [f"c{n}"], required=(predicate,))
        assert [row[f"c{n}"] for row in rows] == values[f"c{n}"].slice(1, 2).to_pylist(), arrow


# --- with Spark -------------------------------------------------------------------------------


def test_executors_need_no_tamis(worker: dict[str, str], tmp_path: Path) -> None:
    """What Spark pickles for executors is loaded by a Python that cannot import tamis."""
    pickled = tmp_path / "pickled"
    modules = (arrow_form, executor, *EXECUTOR_MODULES)
    try:
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        tasks = [
            *source(worker, "sequence", [10]).tasks(ReadRequest(("n",))),
            *table(worker, "mixed").tasks(ReadRequest(("n",))),
            *table(worker, "lakes").tasks(ReadRequest(("s",))),
        ]
        pickled.write_bytes(cloudpickle.dumps(tasks))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    script = (
        "import pickle, sys; sys.modules['tamis'] = None; sys.modules['msgpack'] = None\n"
        f"tasks = pickle.load(open({str(pickled)!r}, 'rb'))\n"
        "print([sum(b.num_rows for b in t.batches()) for t in tasks])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    counts = json.loads(done.stdout or "[]")
    assert counts[:5] == [10, 2, 2, 8, 3], done.stderr
    assert sorted(counts[5:]) == [1, 1, 3, 4]  # in the order of their random names


def test_spark_reads_functions_and_tables(spark: SparkSession, worker: dict[str, str]) -> None:
    uri, token = worker["uri"], worker["token"]
    numbers = tamis.read_vgi(spark, uri, "filter_echo", [100], token=token)
    assert dict(numbers.dtypes) == {"n": "bigint", "s": "string", "pushed_filters": "string"}
    assert numbers.where("n >= 98 AND s LIKE 'row%'").selectExpr("n").collect() == [(98,), (99,)]
    assert numbers.count() == 100
    assert len(numbers.limit(7).collect()) == 7
    mixed = spark.read.format("tamis.vgi").options(uri=uri, token=token, table="mixed").load()
    assert mixed.where("n > 1007").count() == 3
    lakes = spark.read.format("tamis.vgi").options(uri=uri, token=token, table="lakes").load()
    assert sorted(row.n for row in lakes.collect()) == [1, 2, 4, 5, 6, 7, 8, 100, 102]
    assert sorted(lakes.where("n BETWEEN 8 AND 99 OR s = 'q'").collect()) == [(8, None), (102, "q")]
    assert lakes.where("s IS NULL").count() == 4
    with pytest.raises(Exception, match="the positional argument count is missing"):
        tamis.read_vgi(spark, uri, "filter_echo", token=token)
