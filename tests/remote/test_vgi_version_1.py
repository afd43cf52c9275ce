"""Reading from unmodified workers of VGI 1, whose filters have the encoding V1."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    Opaque,
    Or,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import BINARY, BOOLEAN, DATE, DOUBLE, LONG, STRING, decimal
from tamis.remote.contract import Applied, JoinKeys, ReadRequest, RemoteError
from tamis.remote.vgi.filters.filter_document import Mode, NotEncodable
from tamis.remote.vgi.filters.filter_list import FilterList
from tamis.remote.vgi.filters.sendable_filters import sendable
from tamis.remote.vgi.functions.arguments import json_arguments
from tamis.remote.vgi.protocol.framing import batch_of
from tamis.remote.vgi.source import VgiSource
from tests.launch.processes import free_port, running, shell
from tests.remote.vgi_filters import run
from tests.remote.vgi_version_1 import RELEASES, WORKER, python_of, worker_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOKEN = "secret-of-alice"
N, X, S = Column(("n",), LONG), Column(("x",), DOUBLE), Column(("s",), STRING)
FLAG, DAY, INNER = Column(("f",), BOOLEAN), Column(("d",), DATE), Column(("p", "q"), LONG)
OTHER = Column(("m",), LONG)
SCHEMA = pa.schema(
    {
        "n": pa.int64(),
        "m": pa.int64(),
        "x": pa.float64(),
        "s": pa.string(),
        "f": pa.bool_(),
        "d": pa.date32(),
        "p": pa.struct({"o": pa.int64(), "q": pa.int64()}),
        "k": pa.dictionary(pa.int32(), pa.string()),
        "u": pa.uint64(),
        "c": pa.decimal128(9, 2),
        "b": pa.binary(),
    }
)


def compared(op: str, value: Any, column: Column = N) -> Compare:
    return Compare(Comparison(op), column, Literal(value, column.type))


# --- the encoding -----------------------------------------------------------------------------


def spec_of(*predicates: Expr, places: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Return the list of filters."""
    filters = FilterList(SCHEMA)
    for each in predicates:
        filters.add(each, Mode.REQUIRED)
    body = filters.encoded(places)
    assert body is not None
    spec: list[dict[str, Any]] = json.loads(batch_of(body, "it").column(0)[0].as_py())
    return spec


def test_list_has_the_form_that_clients_of_duckdb_send() -> None:
    filters = FilterList(SCHEMA)
    filters.add(And((compared(">=", 3), In(S, ("a", "b")))), Mode.REQUIRED)
    filters.add(compared("<", 9), Mode.ADVISORY)
    filters.add_keys("m", pa.array([5, 6], pa.int64()))
    body = filters.encoded([3, 1, 0])
    assert body is not None
    batch = batch_of(body, "it")
    assert batch.schema.names == ["filter_spec", "_val_0", "_val_1"]
    assert batch.schema.field(0).metadata == {b"vgi_filter_version": b"1"}
    assert [batch.column(n)[0].as_py() for n in (1, 2)] == [3, 9]
    n = {"column_name": "n", "column_index": 2}
    both = [
        {**n, "type": "constant", "op": "ge", "value_ref": 0},
        {**n, "type": "constant", "op": "lt", "value_ref": 1},
    ]
    assert json.loads(batch.column(0)[0].as_py()) == [
        {**n, "type": "and", "children": both},
        {"column_name": "s", "column_index": 0, "type": "join_keys", "keys_column": "s"},
        {"column_name": "m", "column_index": 1, "type": "join_keys", "keys_column": "m"},
    ]
    keys = [batch_of(each, "the keys") for each in filters.join_keys]
    assert [each.to_pydict() for each in keys] == [{"s": ["a", "b"]}, {"m": [5, 6]}]
    assert {each.schema.metadata[b"vgi_join_keys_version"] for each in keys} == {b"2"}
    assert (len(filters), filters.paths) == (3, {"n", "s", "m"})


def test_second_list_of_a_column_is_an_or() -> None:
    first, second = In(N, (1, 2)), In(N, (2, 3))
    (spec,) = spec_of(first, second)
    assert [each["type"] for each in spec["children"]] == ["join_keys", "or"]
    filters = FilterList(SCHEMA)
    filters.add(first, Mode.ADVISORY)
    with pytest.raises(NotEncodable):
        filters.add(In(N, tuple(range(200))), Mode.ADVISORY)
    with pytest.raises(NotEncodable):
        filters.add_keys("n", pa.array([1], pa.int64()))
    assert len(filters) == len(filters.join_keys) == 1


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("n", pa.array([1, 2**53 + 1], pa.int64())),
        ("u", pa.array([1], pa.uint64())),
        ("c", pa.array([Decimal("1.50")], pa.decimal128(9, 2))),
        ("b", pa.array([b"a"], pa.binary())),
    ],
)
def test_keys_on_which_workers_differ_are_not_sent(column: str, keys: pa.Array) -> None:
    filters = FilterList(SCHEMA)
    with pytest.raises(NotEncodable):
        filters.add_keys(column, keys)
    assert not filters.join_keys
    filters.add_keys("m", pa.array([1, 2**53], pa.int64()))
    assert len(filters.join_keys) == 1


def test_list_that_is_full_stays_as_it_is() -> None:
    filters = FilterList(SCHEMA)
    filters.add(compared("=", 1), Mode.ADVISORY)
    before = filters.encoded()
    large = In(S, tuple("x" * 1000 + str(n) for n in range(15_000)))
    wide = Or(tuple(And((compared(">", n), compared("<", n + 9))) for n in range(3_000)))
    deep: Expr = compared("=", 1)
    for n in range(40):
        deep = Or((compared("<", n), And((compared(">", n), deep))))
    for predicate in (large, wide, deep):
        with pytest.raises(NotEncodable):
            filters.add(predicate, Mode.ADVISORY)
    assert filters.encoded() == before
    assert FilterList(SCHEMA).encoded() is None


UNKNOWN = Opaque("f(n)", (("n",),))
EXACT = [
    compared("=", 3),
    compared(">", 2**53),
    Compare(Comparison.LESS, Literal(3, LONG), N),
    compared("<=>", 3),
    compared("<=>", None),
    compared("<", 1.5, X),
    compared("<>", 1.5, X),
    compared(">=", "é", S),
    compared("=", "\U0001f600", S),
    compared(">", 9000, DAY),
    FLAG,
    Not(FLAG),
    IsNull(N),
    IsNull(Column(("c",), decimal(9, 2))),
    In(N, (1, 2), has_null=True),
    Not(In(N, (1, 2))),
    And((compared("=", 3), compared("=", 4, OTHER))),
    Or((compared("=", 3), compared(">", 4))),
    Or((In(N, (1, 2)), And((compared(">", 4), compared("<", 9))))),
    Not(And((compared(">", 3), compared("<", 9)))),
    Call("Like", (S, Literal("abc", STRING)), (("escapeChar", "\\"),), BOOLEAN),
    Call("StartsWith", (S, Literal("ab", STRING)), (), BOOLEAN),
    Call("Like", (S, Literal("ab%", STRING)), (("escapeChar", "\\"),), BOOLEAN),
]
WEAKER = [
    (And((compared(">", 1), UNKNOWN)), "n > 1L"),
    (And((compared(">", 1.5, X), compared("<", 9.5, X))), "x < 9.5D"),
    (Or((And((compared("=", 1), UNKNOWN)), compared("=", 2))), "n = 1L OR n = 2L"),
    (
        Call("Like", (S, Literal("ab_c%", STRING)), (("escapeChar", "\\"),), BOOLEAN),
        "s >= 'ab' AND s < 'ac'",
    ),
]
NOT_SENT = [
    compared(">", 1.5, X),  # NaN > 1.5 in Spark
    Not(compared("<=", 1.5, X)),
    compared("=", math.nan, X),
    compared("=", math.inf, X),
    compared("<", 0.0, X),
    In(X, (1.5, 0.0)),
    compared("<", "\ue000", S),  # UTF-16 orders U+1F600 before it
    compared("<", True, FLAG),
    compared(">", 2**53 + 1),  # some workers compare as doubles
    In(N, (1, -(2**53) - 1)),
    compared("=", 3, Column(("u",), decimal(20, 0))),
    compared("=", Decimal("1.50"), Column(("c",), decimal(9, 2))),
    In(Column(("b",), BINARY), (b"a", b"b")),
    compared("<", 3, INNER),  # some workers evaluate fields of a struct that is NULL
    IsNull(INNER),
    Not(IsNull(INNER)),
    In(INNER, (1, 2)),
    In(Column(("u",), decimal(20, 0)), (Decimal(1), Decimal(2))),
    Or((compared("=", 3), IsNull(N))),
    Or((compared("=", 3), compared("=", 4, OTHER))),
    Or((compared("=", 3, INNER), compared("=", 4, Column(("p", "o"), LONG)))),
    Compare(Comparison.EQUAL, N, OTHER),
    Compare(Comparison.EQUAL, IsNull(N), Literal(True, BOOLEAN)),
    Not(compared("<=>", 3)),
    Not(In(N, (1, 2), has_null=True)),
    Not(In(N, tuple(range(200)))),
    In(N, ()),
    Call("StartsWith", (S, Literal("\ud7ff", STRING)), (), BOOLEAN),
    Call("StartsWith", (S, Literal("a\U0010ffff", STRING)), (), BOOLEAN),
    Call("StartsWith", (S, Literal("", STRING)), (), BOOLEAN),
    Call("EndsWith", (S, Literal("a", STRING)), (), BOOLEAN),
    Call("IsNaN", (X,), (), BOOLEAN),
    compared("=", "a", Column(("k",), STRING)),
    compared("=", 1, Column(("N",), LONG)),
    Literal(True, BOOLEAN),
    UNKNOWN,
]


@pytest.mark.parametrize("predicate", EXACT, ids=to_sql)
def test_form_is_sent(predicate: Expr) -> None:
    sent = sendable(predicate, SCHEMA, FilterList)
    assert sent is not None
    assert sent.is_exact


@pytest.mark.parametrize(("predicate", "weaker"), WEAKER, ids=[w for _, w in WEAKER])
def test_weaker_form_is_sent(predicate: Expr, weaker: str) -> None:
    sent = sendable(predicate, SCHEMA, FilterList)
    assert sent is not None
    assert (to_sql(sent.predicate), sent.is_exact) == (weaker, False)


@pytest.mark.parametrize("predicate", NOT_SENT, ids=to_sql)
def test_forms_that_are_not_sent(predicate: Expr) -> None:
    assert sendable(predicate, SCHEMA, FilterList) is None


# --- workers ----------------------------------------------------------------------------------

ROWS = {
    "n": pa.array([1, 2, None, 4, 5], pa.int64()),
    "m": pa.array([10, None, 30, 40, 50], pa.int64()),
    "x": pa.array([0.5, math.nan, 2.5, None, -0.0]),
    "s": pa.array(["a", None, "c", "\U0001f600", "\ue000"]),
    "p": pa.array([{"q": 1}, None, {"q": None}, {"q": 4}, {"q": 5}], pa.struct({"q": pa.int64()})),
}


@pytest.fixture(scope="module")
def rows_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("rows") / "rows.arrow"
    table = pa.table(ROWS)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    pq.write_table(pa.table({"n": [6, 7], "s": ["x", "y"]}), path.with_suffix(".parquet"))
    return str(path)


@pytest.fixture(scope="module")
def environment(rows_file: str) -> str:
    """Return the tables of the workers."""
    own = {"function": "rows_of", "arguments": [rows_file]}
    branches = {
        "plain": [own],
        "exact": [{**own, "function": "exact_rows_of"}],
        "mixed": [
            {**own, "branch_filter": "n < 4"},
            {**own, "function": "exact_rows_of", "branch_filter": "n >= 4"},
            {"function": "read_parquet", "arguments": [rows_file.replace(".arrow", ".parquet")]},
        ],
    }
    return json.dumps({k: {"columns": rows_file, "branches": v} for k, v in branches.items()})


@pytest.fixture(scope="module", params=RELEASES)
def worker(
    request: pytest.FixtureRequest, environment: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Yield the options of a server of each release."""
    folder, port = tmp_path_factory.mktemp("worker"), free_port()
    python = python_of(request.param)
    command = [python, str(WORKER), "--http", "--port", str(port), "--prefix", "/api", "--quiet"]
    settings = shell(folder, VGI_BEARER_TOKENS=f"{TOKEN}=alice", VGI_TEST_BRANCHES=environment)
    with running(command, folder, settings) as process:
        process.wait_for_port(port)
        yield {"uri": f"http://127.0.0.1:{port}/api", "token": TOKEN}


def source(worker: dict[str, str], function: str, arguments: Any = (), **more: str) -> VgiSource:
    return VgiSource(
        {**worker, "function": function, "arguments": json_arguments(arguments), **more}
    )


def rows_of(read: VgiSource, *names: str, **more: Any) -> list[tuple[Any, ...]]:
    """Return the rows of all tasks, with these columns."""
    tasks = read.tasks(ReadRequest(names, **more))
    rows = [row for task in tasks for batch in task.batches() for row in batch.to_pylist()]
    return [tuple(row[name] for name in names) for row in rows]


@pytest.mark.programs
def test_worker_evaluates_filters(worker: dict[str, str]) -> None:
    read = source(worker, "filter_echo", [10])
    assert read.applied([compared(">", 7), UNKNOWN]) == [Applied.PARTLY, Applied.IGNORED]
    assert rows_of(read, "n", filters=()) == [(n,) for n in range(10)]
    assert rows_of(read, "pushed_filters", filters=(compared(">", 7),)) == [("n > 7",)] * 2
    shown = rows_of(read, "pushed_filters", "n", filters=(In(N, (3, 4)), compared(">", 3)))
    assert [n for _, n in shown] == [4]
    keys = JoinKeys(N, (3, None, 4, 5000, 4))
    assert rows_of(read, "n", keys=(keys,)) == [(3,), (4,)]
    off = source(worker, "filter_echo", [10], filters="off")
    assert len(rows_of(off, "n", filters=(compared(">", 7),))) == 10


@pytest.mark.programs
@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (compared("<", 2.0, X), [1, 5]),
        (compared("<>", 0.5, X), [2, None, 5]),
        (Or((compared("=", 1), compared(">", 4))), [1, 5]),
        (compared(">=", "b", S), [None, 4, 5]),
        (Not(In(N, (1, 2))), [4, 5]),
    ],
    ids=lambda each: to_sql(each) if not isinstance(each, list) else "",
)
def test_columns_are_found_in_any_projection(
    worker: dict[str, str], rows_file: str, predicate: Expr, expected: list[int | None]
) -> None:
    for function in ("rows_of", "whole_rows_of"):
        read = source(worker, function, [rows_file])
        for names in (("n",), ("m", "n"), ("s", "x", "n")):
            assert [row[-1] for row in rows_of(read, *names, filters=(predicate,))] == expected


@pytest.mark.programs
def test_filters_are_exact_only_where_the_function_declares_it(
    worker: dict[str, str], rows_file: str
) -> None:
    over = compared(">", 1)
    for function in ("rows_of", "whole_rows_of", "lying_rows_of"):
        assert source(worker, function, [rows_file]).applied([over]) == [Applied.PARTLY]
    plain = source(worker, "plain_rows_of", [rows_file])
    assert plain.applied([over]) == [Applied.IGNORED]
    assert len(rows_of(plain, "n", filters=(over,))) == 5
    exact = source(worker, "exact_rows_of", [rows_file])
    weak = And((over, UNKNOWN))
    assert exact.applied([over, weak, UNKNOWN]) == [
        Applied.EXACTLY, Applied.PARTLY, Applied.IGNORED,
    ]  # fmt: skip
    assert rows_of(exact, "n", required=(over,)) == [(2,), (4,), (5,)]
    advisory = source(worker, "exact_rows_of", [rows_file], filters="advisory")
    assert advisory.applied([over]) == [Applied.PARTLY]
    with pytest.raises(RemoteError, match="a filter can no longer be sent"):
        rows_of(source(worker, "rows_of", [rows_file]), "n", required=(over,))


@pytest.mark.programs
def test_splits_tables_and_statistics(worker: dict[str, str]) -> None:
    read = source(worker, "split_sequence", {"n": 40})
    assert len(read.tasks(ReadRequest(("n",)))) == 4
    assert sorted(rows_of(read, "n")) == [(n,) for n in range(40)]
    (task,) = source(worker, "sequence", [1_000_000]).tasks(ReadRequest(("n",), limit=7))
    assert len(list(task.batches())) == 1
    echo = VgiSource({**worker, "table": "echo"})
    assert echo.statistics(["n"]).columns["n"].maximum == pa.scalar(99, pa.int64())
    assert rows_of(echo, "n", filters=(compared(">", 97),)) == [(98,), (99,)]


@pytest.mark.programs
def test_branches_are_functions_of_the_worker_or_of_duckdb(worker: dict[str, str]) -> None:
    def table(name: str) -> VgiSource:
        return VgiSource({**worker, "table": name})

    over = compared(">", 1)
    assert table("plain").applied([over]) == [Applied.PARTLY]
    assert table("exact").applied([over]) == [Applied.EXACTLY]
    assert rows_of(table("plain"), "n", filters=(over,)) == [(2,), (4,), (5,)]
    assert rows_of(table("exact"), "n", required=(over,)) == [(2,), (4,), (5,)]
    # The executor applies the filter of the first branch, and the worker that of the second.
    assert rows_of(table("mixed"), "n", "s") == [
        (1, "a"), (2, None), (4, "\U0001f600"), (5, "\ue000"), (6, "x"), (7, "y"),
    ]  # fmt: skip
    assert rows_of(table("mixed"), "n", filters=(compared(">", 4),)) == [(5,), (6,), (7,)]


@pytest.mark.programs
@pytest.mark.parametrize("version", RELEASES)
def test_random_filters_return_the_rows_of_spark(version: str) -> None:
    """Also the test of workers that are processes."""
    sent, wrong = run(worker_command(version), seed=3, count=300, version=version)
    assert wrong == []
    assert sent["required"] > 20
    assert sent["advisory"] > 20


@pytest.mark.programs
def test_location_without_a_worker_is_named(worker: dict[str, str]) -> None:
    wrong = {**worker, "uri": f"{worker['uri']}/wrong"}
    with pytest.raises(RemoteError, match="Check that the option uri names a VGI worker"):
        source(wrong, "sequence", [1]).schema()
    with pytest.raises(RemoteError, match=r"refuses access.*Check the option token"):
        source({**worker, "token": "other"}, "sequence", [1]).schema()


@pytest.mark.programs
def test_spark_reads_the_rows_that_pass(
    spark: SparkSession, worker: dict[str, str], rows_file: str
) -> None:
    conditions = [
        "n > 1", "x > 0", "x >= 2.5 OR x IS NULL", "n = 1 OR m = 30", "n IN (1, 4, 7)",
        "s LIKE '%c%'", "NOT (n < 4)", "p.q = 4 OR p.q IS NULL", "x = 0", "n + 1 = 2",
    ]  # fmt: skip
    plain = tamis.read_vgi(spark, worker["uri"], "plain_rows_of", [rows_file], token=TOKEN)
    for function in ("rows_of", "exact_rows_of", "lying_rows_of"):
        read = tamis.read_vgi(spark, worker["uri"], function, [rows_file], token=TOKEN)
        for condition in conditions:
            kept, expected = (
                sorted(map(str, each.where(condition).select("m", "x").collect()))
                for each in (read, plain)
            )
            assert kept == expected, (function, condition)
