"""The parts of the VGI client: filters, arguments, statistics, and the filters of branches."""

from __future__ import annotations

import datetime
import itertools
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    Value,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    DataType,
)
from tamis.remote import executor
from tamis.remote.arrow_form import readable_type
from tamis.remote.contract import ColumnStatistics
from tamis.remote.file_pruning import ruled_out
from tamis.remote.parquet_task import ParquetTask
from tamis.remote.vgi.filters.filter_document import FilterDocument, Mode, NotEncodable
from tamis.remote.vgi.filters.sendable_filters import sendable
from tamis.remote.vgi.functions.arguments import (
    Arguments,
    UnusableArguments,
    argument_bytes,
    flat_arguments,
    json_arguments,
)
from tamis.remote.vgi.functions.column_statistics import column_statistics
from tamis.remote.vgi.protocol.framing import MalformedMessage, batch_of, stream_bytes
from tamis.remote.vgi.tables.branch_filter import (
    UnknownPredicate,
    parse_branch_filter,
    row_filter_of,
)
from tamis.remote.vgi.tables.branch_paths import matching_files
from tamis.remote.vgi.tables.branch_task import BranchTask, Check
from tamis.remote.vgi.tables.row_filter import passing_rows
from tamis.remote.vgi.tables.table_scan import _fits

N, S, X, B, D, T, U = (
    Column((name,), kind)
    for name, kind in {
        "n": LONG, "s": STRING, "x": DOUBLE, "b": BOOLEAN, "d": DATE, "t": TIMESTAMP, "u": SHORT,
    }.items()
)  # fmt: skip
INNER = Column(("p", "q"), LONG)
SCHEMA = pa.schema(
    {
        "n": pa.int64(), "s": pa.string(), "x": pa.float64(), "b": pa.bool_(), "d": pa.date32(),
        "t": pa.timestamp("us", "UTC"), "u": pa.uint8(), "p": pa.struct({"q": pa.int64()}),
        "k": pa.dictionary(pa.int8(), pa.string()), "Twice": pa.int64(), "twice": pa.int64(),
    }
)  # fmt: skip


def over(column: Column, value: Value, op: str = ">") -> Compare:
    return Compare(Comparison(op), column, Literal(value, column.type))


def call(name: str, column: Column, *values: str, kind: DataType = BOOLEAN, **options: str) -> Call:
    literals = [Literal(each, STRING) for each in values]
    return Call(name, (column, *literals), tuple(options.items()), kind)


def like(pattern: str) -> Call:
    return call("Like", S, pattern, escapeChar="\\")


UNKNOWN = Opaque("f(n)")
YEAR = Compare(Comparison.EQUAL, call("Year", D, kind=INTEGER), Literal(1995, INTEGER))

EXACT: list[Expr] = [
    over(N, 1),
    over(N, None),
    over(N, 1, "<=>"),
    Compare(Comparison.LESS, Literal(1, LONG), N),
    Compare(Comparison.EQUAL, N, N),
    Not(over(N, 1)),
    In(N, (1, 2)),
    Not(In(N, (1,), has_null=True)),
    IsNull(X),
    IsNull(over(N, 1)),
    Compare(Comparison.EQUAL, IsNull(N), Literal(True, BOOLEAN)),
    over(X, float("nan")),
    over(X, -0.0, "="),
    call("IsNaN", X),
    B,
    Not(B),
    over(INNER, 1),
    over(S, "", "="),
    over(D, 0),
    over(T, -1),
    over(U, 255),
    call("StartsWith", S, "a"),
    like("a%"),
    like("%a%"),
    like("%"),
    like("abc"),
    Or((over(N, 1), And((B, IsNull(S))))),
]

#: What is sent as advisory.
WEAKER: list[tuple[Expr, str]] = [
    (And((over(N, 1), UNKNOWN)), "n > 1L"),
    (Or((And((over(N, 1), UNKNOWN)), B)), "n > 1L OR b"),
    (Not(Or((over(N, 1), UNKNOWN))), "n <= 1L"),
    (YEAR, "d >= DATE '1995-01-01' AND d <= DATE '1995-12-31'"),
    (like("a%b_"), "startswith(s, 'a') AND contains(s, 'b')"),
    (like("a%a"), "startswith(s, 'a') AND endswith(s, 'a')"),
]

NOT_SENT: list[Expr] = [
    UNKNOWN,
    Not(UNKNOWN),
    Or((over(N, 1), UNKNOWN)),
    Literal(None, BOOLEAN),
    Literal(True, BOOLEAN),
    In(N, ()),
    over(Column(("n",), INTEGER), 1),
    over(Column(("nowhere",), LONG), 1),
    over(Column(("n", "q"), LONG), 1),
    over(Column(("k",), STRING), "a"),
    over(Column(("twice",), LONG), 1),
    over(U, -1),
    over(T, 1 << 62),
    over(D, 1 << 30),
    Compare(Comparison.EQUAL, N, Column(("u",), SHORT)),
    Compare(Comparison.EQUAL, N, Literal(1, INTEGER)),
    Compare(Comparison.LESS, Literal(1, LONG), Literal(2, LONG)),
    Call("StartsWith", (S, Call("Upper", (S,), (), STRING)), (), BOOLEAN),
]


@pytest.mark.parametrize("predicate", EXACT, ids=to_sql)
def test_form_is_sent_as_required(predicate: Expr) -> None:
    sent = sendable(predicate, SCHEMA)
    assert sent is not None
    assert sent.is_exact


@pytest.mark.parametrize(("predicate", "weaker"), WEAKER, ids=[w for _, w in WEAKER])
def test_weaker_form_is_sent_as_advisory(predicate: Expr, weaker: str) -> None:
    sent = sendable(predicate, SCHEMA)
    assert sent is not None
    assert (to_sql(sent.predicate), sent.is_exact) == (weaker, False)


@pytest.mark.parametrize("predicate", NOT_SENT, ids=to_sql)
def test_forms_that_are_not_sent(predicate: Expr) -> None:
    assert sendable(predicate, SCHEMA) is None


def test_document_has_the_form_of_the_specification() -> None:
    document = FilterDocument(SCHEMA)
    document.add(And((over(U, 3), In(N, (1,), has_null=True))), Mode.REQUIRED)
    document.add(over(INNER, 5), Mode.ADVISORY)
    document.add_keys("s", pa.array(["x"]))
    body = document.encoded()
    assert body is not None
    batch = batch_of(body, "it")
    assert batch.schema.metadata == {
        b"vgi_filter_encoding": b"vgi.filters.v2",
        b"vgi_filter_version": b"2",
        b"vgi_evaluation_context": b"vgi.none.v1",
    }
    assert [str(each.type) for each in batch.schema][1:] == ["uint8", "list<item: int64>", "int64"]
    assert batch.slice(0, 1).to_pylist()[0] | {"filter_spec": ""} == {
        "filter_spec": "", "value_0": 3, "value_1": [1, None], "value_2": 5,
    }  # fmt: skip
    spec = json.loads(batch.column(0)[0].as_py())
    assert spec.keys() == {"encoding", "semantics", "kind", "predicates"}
    first, second, third = spec["predicates"]
    assert {key: first[key] for key in ("id", "revision", "mode", "source")} == {
        "id": "query:0", "revision": 0, "mode": "required", "source": "query",
    }  # fmt: skip
    assert second["expression"]["left"] == {
        "node": "field_ref",
        "expression": {"node": "column_ref", "column_index": 7, "column_name": "p"},
        "field_index": 0,
        "field_name": "q",
    }
    assert (third["mode"], third["source"]) == ("advisory", "join")
    assert third["expression"]["set"]["kind"] == "external"
    assert document.paths == {"u", "n", "p", "s"}


def test_document_that_is_full_stays_as_it_is() -> None:
    document = FilterDocument(SCHEMA)
    document.add(over(N, 1), Mode.REQUIRED)
    before = document.encoded()
    large = In(S, tuple("x" * 1000 + str(n) for n in range(15_000)))
    deep: Expr = over(N, 1)
    for _ in range(70):
        deep = Not(deep)
    for predicate in (large, deep, Or(tuple(over(N, n) for n in range(10_000)))):
        with pytest.raises(NotEncodable):
            document.add(predicate, Mode.ADVISORY)
    assert document.encoded() == before
    while len(document) < 1000:
        document.add(over(N, 1), Mode.ADVISORY)
    with pytest.raises(NotEncodable):
        document.add(over(N, 1), Mode.ADVISORY)


# --- arguments --------------------------------------------------------------------------------

DECLARED: dict[str, tuple[Any, Any, Any]] = {
    "int": (pa.int64(), 5, 5),
    "uint64": (pa.uint64(), 2**64 - 1, 2**64 - 1),
    "float": (pa.float64(), 3, 3.0),
    "infinity": (pa.float64(), float("-inf"), float("-inf")),
    "bool": (pa.bool_(), True, True),
    "text": (pa.string(), "é", "é"),
    "binary": (pa.binary(), b"\xff\0", b"\xff\0"),
    "decimal": (pa.decimal128(9, 2), Decimal("1.50"), Decimal("1.50")),
    "date": (pa.date32(), datetime.date(2026, 1, 2), datetime.date(2026, 1, 2)),
    "moment": (
        pa.timestamp("us"), datetime.datetime(2026, 1, 2, 3), datetime.datetime(2026, 1, 2, 3),
    ),
    "instant": (
        pa.timestamp("us", "UTC"),
        datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        datetime.datetime(2026, 1, 2, 2, tzinfo=datetime.UTC),
    ),
    "duration": (
        pa.duration("us"), datetime.timedelta(days=-1, seconds=2), datetime.timedelta(days=-1, seconds=2),
    ),
    "interval": (pa.month_day_nano_interval(), (1, 2, 3), pa.MonthDayNano([1, 2, 3])),
    "list": (pa.list_(pa.date32()), [datetime.date(2026, 1, 2), None], [datetime.date(2026, 1, 2), None]),
    "struct": (pa.struct({"a": pa.binary()}), {"a": b"x"}, {"a": b"x"}),
    "null": (pa.int64(), None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", DECLARED)
def test_arguments_take_the_declared_type(name: str) -> None:
    data_type, value, expected = DECLARED[name]
    named = pa.field("a", data_type, metadata={b"vgi_arg": b"named"})
    arguments = Arguments.parse(json_arguments({"positional": [value], "named": {"a": value}}))
    body = argument_bytes(arguments, pa.schema([pa.field("p", data_type), named]))
    (row,) = batch_of(body, "it").column("args").to_pylist()
    assert row == {"positional_0": expected, "named_a": expected}


VARIADIC = pa.schema(
    [pa.field("p", pa.int64()), pa.field("q", pa.string(), metadata={b"vgi_varargs": b"true"})]
)
ANY = pa.schema([pa.field("p", pa.null(), metadata={b"vgi_type": b"any"})])
DEFAULTED = pa.schema(
    [pa.field("p", pa.int64()), pa.field("q", pa.int64(), metadata={b"vgi_default": b"3"})]
)


@pytest.mark.parametrize(
    ("declared", "given_arguments", "row"),
    [
        (pa.schema([]), [], {}),
        (VARIADIC, [1], {"positional_0": 1}),
        (VARIADIC, [1, "a", "b"], {"positional_0": 1, "positional_1": "a", "positional_2": "b"}),
        (ANY, ["x"], {"positional_0": "x"}),
        (DEFAULTED, [1], {"positional_0": 1}),
    ],
)
def test_arguments_are_read_in_every_form(
    declared: pa.Schema, given_arguments: list[Any], row: dict[str, Any]
) -> None:
    body = argument_bytes(Arguments(given_arguments), declared)
    assert batch_of(body, "it").column("args").to_pylist() == [row]


TABLE_ARGUMENT = pa.field("p", pa.null(), metadata={b"vgi_type": b"table"})


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (pa.int64(), 1.5), (pa.int64(), True), (pa.int64(), "1"), (pa.int8(), 128),
        (pa.bool_(), 1), (pa.uint8(), -1), (pa.string(), 1), (pa.binary(), "not base64!"),
        (pa.decimal128(3, 2), 1.5), (pa.decimal128(3, 2), "10.00"), (pa.date32(), "2026-13-01"),
        (pa.timestamp("us"), "2026-01-01T00:00:00Z"), (pa.interval() if hasattr(pa, "interval") else pa.month_day_nano_interval(), 3),
        (pa.list_(pa.int64()), 3), (pa.struct({"a": pa.int64()}), 3), (pa.duration("us"), "x"),
    ],
)  # fmt: skip
def test_values_of_other_types_are_refused(data_type: Any, value: Any) -> None:
    with pytest.raises(
        UnusableArguments,
        match=f"the argument p is not of the type {data_type}".replace("[", r"\[")
        .replace("(", r"\(")
        .replace(")", r"\)"),
    ):
        argument_bytes(Arguments([value]), pa.schema([pa.field("p", data_type)]))


def test_arguments_that_do_not_fit_the_function() -> None:
    with pytest.raises(UnusableArguments, match="takes a table"):
        argument_bytes(Arguments([]), pa.schema([TABLE_ARGUMENT]))
    with pytest.raises(TypeError, match="an argument cannot be a object"):
        json_arguments([object()])


def test_scan_functions_get_their_arguments() -> None:
    row = pa.record_batch({"arg_0": [7], "arg_1": ["x"], "limit": [3], "arg_x": [1]})
    (args,) = batch_of(flat_arguments(row), "it").column("args").to_pylist()
    assert args == {"positional_0": 7, "positional_1": "x", "named_limit": 3, "named_arg_x": 1}


# --- statistics -------------------------------------------------------------------------------


def statistics_bytes(name: str, lower: pa.Array, upper: pa.Array, **more: Any) -> bytes:
    def union(value: pa.Array) -> pa.Array:
        return pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [value], ["0"], [0])

    columns = {
        "column_name": pa.array([name]), "min": union(lower), "max": union(upper),
        **{key: pa.array([value]) for key, value in more.items()},
    }  # fmt: skip
    return stream_bytes(pa.record_batch(columns))


def known(
    data_type: Any, lower: Any, upper: Any, bound_type: Any = None, **more: Any
) -> ColumnStatistics:
    bounds = [pa.array([each], bound_type or data_type) for each in (lower, upper)]
    body = statistics_bytes("c", *bounds, **more)
    return column_statistics(body, pa.schema({"c": data_type}), ["c"])["c"]


BOUNDS: list[tuple[Any, Any, Any, Any, Any]] = [
    # column, reported bounds, bounds for Spark
    (pa.int64(), 1, 9, 1, 9),
    (pa.uint8(), 1, 255, 1, 255),
    (pa.int64(), 9, 1, None, None),
    (pa.int64(), None, 9, None, 9),
    (pa.float64(), 1.5, 9.5, 1.5, None),
    (pa.float64(), float("nan"), 1.0, None, None),
    (pa.string(), "a", "b", "a", "b"),
    (pa.string(), "abcdefgh", "abcdefgz", "abcdefgh", None),
    (pa.dictionary(pa.int8(), pa.string()), "a", "b", "a", "b"),
    (pa.timestamp("ms"), 1, 2, datetime.datetime(1970, 1, 1, 0, 0, 0, 1000), datetime.datetime(1970, 1, 1, 0, 0, 0, 2000)),
]  # fmt: skip


@pytest.mark.parametrize(("data_type", "lower", "upper", "least", "greatest"), BOUNDS)
def test_bounds_are_converted_to_the_type(
    data_type: Any, lower: Any, upper: Any, least: Any, greatest: Any
) -> None:
    plain = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
    statistics = known(data_type, lower, upper, plain)
    bounds = [None if b is None else b.as_py() for b in (statistics.minimum, statistics.maximum)]
    assert bounds == [least, greatest]


def test_bounds_of_another_type_are_dropped() -> None:
    assert known(pa.int64(), 1, 9, pa.int32()).minimum is None
    assert known(pa.timestamp("us"), 1, 9, pa.timestamp("us", "UTC")).minimum is None
    assert known(pa.timestamp("ns"), 1, 9).minimum is None


def test_maximum_of_texts_that_cannot_be_cut_is_kept() -> None:
    statistics = known(pa.string(), "a", "abcdefgh", max_string_length=8, contains_unicode=False)
    assert statistics.maximum == pa.scalar("abcdefgh")
    assert known(pa.string(), "a", "abcdefgh", max_string_length=8).maximum is None


def test_contradictions_prove_nothing() -> None:
    statistics = known(pa.int64(), 1, 9, has_not_null=False, has_null=False, distinct_count=-1)
    assert statistics == ColumnStatistics(None, None, False, None, None)


def test_statistics_that_cannot_be_read() -> None:
    one = statistics_bytes("c", pa.array([1]), pa.array([2]))
    assert column_statistics(one, pa.schema({"d": pa.int64()}), ["d"]) == {}
    twice = pa.Table.from_batches([batch_of(one, "it")] * 2).combine_chunks().to_batches()[0]
    for body in (b"x", stream_bytes(pa.record_batch({"a": [1]})), stream_bytes(twice)):
        with pytest.raises(MalformedMessage):
            column_statistics(body, pa.schema({"c": pa.int64()}), ["c"])


# --- branches ---------------------------------------------------------------------------------

BRANCH = pa.schema({"n": pa.int64(), "Name": pa.string(), "day": pa.date32(), "at": pa.timestamp("us"), "amount": pa.decimal128(5, 2), "x": pa.float64(), "b": pa.bool_(), "i": pa.timestamp("us", "UTC"), "f": pa.float32(), "date": pa.int8(), "k": pa.dictionary(pa.int8(), pa.string())})  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "parsed"),
    [
        ("n < 50", "n < 50L"),
        ("50 <= N", "n >= 50L"),
        ("n != -1 or n = 1 AND (n > 3)", "n <> -1L OR n = 1L AND n > 3L"),
        ("\"Name\" = 'it''s'", "`Name` = 'it\\'s'"),
        ("name >= ''", "Name >= ''"),
        ("day >= DATE '2026-01-31' AND day < '2026-03-01'", "day >= DATE '2026-01-31' AND day < DATE '2026-03-01'"),
        ("at < TIMESTAMP '2026-01-31 12:00:00.5'", "at < TIMESTAMP_NTZ '2026-01-31 12:00:00.500000'"),
        ("amount = 1.5 AND x < 2", "amount = 1.50BD AND x < 2.0D"),
        ("b = true", "b = true"),
        ("n = NULL", "n = NULL"),
        ("date = 1", "date = 1Y"),
        ("((n = 1))", "n = 1L"),
        ("n IN (1, 2, NULL)", "n IN (1L, 2L, NULL)"),
        ("n NOT IN (1)", "n NOT IN (1L)"),
        ("n NOT BETWEEN 1 AND 2 AND b", "NOT (n >= 1L AND n <= 2L) AND b"),
        ("NOT n = 1 OR n IS NULL", "NOT (n = 1L) OR n IS NULL"),
        ("n IS NOT NULL", "n IS NOT NULL"),
        ("name LIKE 'a%' OR name LIKE '%a' OR name NOT LIKE '%a%'", "startswith(Name, 'a') OR endswith(Name, 'a') OR NOT (contains(Name, 'a'))"),
        ("name LIKE '%' AND name LIKE 'abc'", "contains(Name, '') AND Name = 'abc'"),
        ("n < 1.5 AND n >= 1.5", "n < 2L AND n >= 2L"),
        ("n = 1.5", "n IS NULL AND NULL"),
        ("f < 1.1 AND x < 1e3", "f < 1.100000023841858F AND x < 1000.0D"),
        ("f < 1.1e0", "f < 1.1D"),
        ("day < TIMESTAMP '2026-01-01 12:00:00'", "day < DATE '2026-01-02'"),
        ("i < '2026-01-01 00:00:00+02'", "i < TIMESTAMP '2025-12-31 22:00:00Z'"),
        ("n = date", "n = date"),
        ("amount = 1.555", "amount IS NULL AND NULL"),
    ],
)  # fmt: skip
def test_filters_of_branches(sql: str, parsed: str) -> None:
    assert to_sql(parse_branch_filter(sql, BRANCH)).replace("`", "") == parsed.replace("`", "")


@pytest.mark.parametrize(
    "sql",
    [
        "", "n", "n <", "n < 1 AND", "n < 1 OR OR n > 2", "(n < 1", "n < 1)", "n < 1; DROP TABLE t",
        "n IN ()", "n IN (1, m)", "n BETWEEN 1", "NOT", "n IS 1", "n + 1 < 2", "abs(n) = 1",
        "n < 99999999999999999999", "n < '1'", "name = 1", "day < '2026-01-01 12:00:00'",
        "day < '2026-1-1'", "day < DATE '2026-02-30'", "f < 1.23456789", "f < 1e999", "i < DATE '2026-01-01'",
        "i < TIMESTAMP '2026-01-01 00:00:00Z'", "i < '2026-01-01'", "m.n < 1", "n <=> 1", "k = 'a'", "name LIKE 'a_'",
        "n LIKE 'a%'", "name LIKE 'a%b'", "day < '20260101'", "day < '2026-W01-1'", "b = 1", "n ILIKE 'a%'", "1 IN (n)", "n::int < 1", "n < 1 -- all", "1 < 2",
        "n < x", "other = 1", "CAST(n AS INT) = 1", "date '2026-01-01' <", "n == 1", "n < 1e3", "n < 0x10",
        "name = E'a'", "name = \"b\"", "n = 1 COLLATE x", "at < '2026-01-01T00:00:00Z'", "(" * 99,
    ],
)  # fmt: skip
def test_filters_that_are_not_understood_are_refused(sql: str) -> None:
    with pytest.raises(UnknownPredicate):
        parse_branch_filter(sql, BRANCH)


@given(st.text("nNx()<>=!'\"-. 01ANDORdate", max_size=30))
def test_every_text_is_parsed_or_refused(sql: str) -> None:
    with suppress(UnknownPredicate):
        parse_branch_filter(sql, BRANCH)


#: Values of columns of `BRANCH`, in every combination of which filters are compared with DuckDB.
NUMBERS: list[Any] = [None, 0, 1, 2]
FLOATS: list[Any] = [None, -0.0, 0.5, math.inf, math.nan]
TEXTS: list[Any] = [None, "", "a", "ab", "ba"]
ROWS = pa.table(
    list(zip(*itertools.product(NUMBERS, FLOATS, TEXTS, (None, False, True)), strict=True)),
    schema=pa.schema({"n": pa.int64(), "x": pa.float64(), "s": pa.string(), "b": pa.bool_()}),
)


@pytest.mark.parametrize(
    "sql",
    [
        "n <> 1", "n = 1 OR s = 'a'", "n IN (1, NULL)", "n NOT IN (1, NULL)", "n NOT IN (1, 2)",
        "NOT (n = 1 AND s > 'a')", "n IS NULL OR NOT b", "b", "NOT b = true", "b = NULL",
        "x < 0.5", "x <= 0.5", "x > 0.5", "x >= 0.5", "x = 0", "x <> 0.5", "NOT x < 0.5", "x IN (0, 0.5)",
        "x NOT IN (0, NULL)", "x BETWEEN -1 AND 1", "0.5 < x", "x = x", "x <= x", "n <= n", "n = 1.5",
        "n <> 1.5", "n > 0.5", "n NOT BETWEEN 1 AND 2", "s LIKE 'a%'", "s LIKE '%a'", "s LIKE '%a%'",
        "s NOT LIKE '%b%' AND n > 0", "s LIKE '%'", "s LIKE 'a'", "s IN ('a', '')", "s < 'aa' OR n = 2",
    ],
)  # fmt: skip
def test_filters_of_branches_keep_the_rows_that_duckdb_keeps(sql: str) -> None:
    row_filter = row_filter_of(parse_branch_filter(sql, ROWS.schema), ROWS.schema)
    assert row_filter is not None
    (rows,) = ROWS.append_column("row", pa.array(range(ROWS.num_rows))).to_batches()
    connection = duckdb.connect()
    connection.register("rows", pa.Table.from_batches([rows]))
    expected = connection.execute(f"SELECT row FROM rows WHERE {sql} ORDER BY row").fetchall()
    kept = passing_rows(rows, row_filter).column("row").to_pylist()
    assert kept == [row for (row,) in expected]


class _Rows(executor.Task):
    def __init__(self, *batches: pa.RecordBatch) -> None:
        self._batches = batches

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._batches


def test_row_that_the_worker_must_not_return_is_an_error() -> None:
    columns = pa.schema({"n": pa.int64()})
    rows = pa.record_batch({"n": pa.array([1, 2], pa.int64())})
    for number, is_right in ((0, True), (1, False)):
        expr = parse_branch_filter(f"n > {number}", columns)
        row_filter = row_filter_of(expr, columns)
        assert row_filter is not None
        check = Check(row_filter, "branch 1 (f)", to_sql(expr))
        task = BranchTask("the table t of w", _Rows(rows), columns, check=check)
        if is_right:
            assert [each.num_rows for each in task.batches()] == [2]
            continue
        with pytest.raises(
            RuntimeError, match=r"table t of w: reading failed: .* branch 1 \(f\), n"
        ):
            list(task.batches())


def test_wildcards_stand_for_the_files_that_duckdb_reads(tmp_path: Path) -> None:
    names = ("a.parquet", "é.parquet", ".h.parquet", "x/b.parquet", "x/y/c.parquet", ".d/e.parquet")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1]}), tmp_path / name)
    patterns = ("*.parquet", "?.parquet", "??.parquet", "*/*", "**/*.parquet", "x/**")
    for pattern in (*patterns, "x/**/c.parquet"):
        path = f"{tmp_path}/{pattern}"
        read = duckdb.execute("SELECT filename FROM read_parquet(?, filename = true)", [path])
        assert matching_files(path) == sorted(name for (name,) in read.fetchall()), pattern
    (tmp_path / "link").symlink_to(tmp_path / "x")
    assert matching_files(f"{tmp_path}/link/*") == [f"{tmp_path}/link/b.parquet"]
    (tmp_path / "n=1").mkdir()
    (tmp_path / "n=1" / "f.parquet").touch()
    for pattern, problem in {
        "**/b.parquet": "a symbolic link",
        "z*": "no file matches",
        "**/**/c.parquet": "does not expand",
        "a**": "does not expand",
        "n=1/*": "partitions",
        "n=1/f.parquet": "partitions",
    }.items():
        with pytest.raises(ValueError, match=problem):
            matching_files(f"{tmp_path}/{pattern}")


@pytest.mark.parametrize(
    ("of_branch", "of_table", "fits"),
    [
        (pa.int64(), pa.int32(), True),
        (pa.float32(), pa.float64(), True),
        (pa.float64(), pa.float32(), False),
        (pa.float32(), pa.float16(), False),
        (pa.float16(), pa.float16(), True),
        (pa.large_string(), pa.string(), True),
        (pa.uuid(), pa.string(), False),
        (pa.uuid(), pa.uuid(), True),
        (pa.string(), pa.int64(), False),
    ],
    ids=str,
)
def test_branch_may_have_types_whose_values_stay_the_same(
    of_branch: pa.DataType, of_table: pa.DataType, fits: bool
) -> None:
    assert _fits(of_branch, of_table) == fits


def test_columns_of_files_are_found_in_any_letter_case(tmp_path: Path) -> None:
    def read(*names: str) -> list[dict[str, Any]]:
        task = ParquetTask(
            "server", str(tmp_path / "a.parquet"), pa.schema([(n, pa.int64()) for n in names])
        )
        return [row for batch in task.batches() for row in batch.to_pylist()]

    pq.write_table(
        pa.table({"Name": [1], "x": [2], "X": [3], "yY": [4], "Yy": [5]}), tmp_path / "a.parquet"
    )
    assert read("name", "Name", "x", "X", "other") == [
        {"name": 1, "Name": 1, "x": 2, "X": 3, "other": None}
    ]
    with pytest.raises(RuntimeError, match="has 2 columns that differ from YY only in case"):
        read("YY")


def test_servers_are_not_believed_that_nested_values_are_not_null() -> None:
    required = pa.field("x", pa.int32(), nullable=False)
    for served, readable in (
        (pa.list_(required), pa.list_(pa.field("x", pa.int32()))),
        (pa.struct([required]), pa.struct([pa.field("x", pa.int32())])),
        (pa.map_(pa.string(), required), pa.map_(pa.string(), pa.int32())),
    ):
        assert readable_type(served) == readable


def test_footers_exclude_files_only_if_their_bounds_prove_it(tmp_path: Any) -> None:
    table = pa.table({"n": pa.array([1, 5, None], pa.int64()), "x": [1.0, 2.0, float("nan")]})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=2)
    metadata = pq.read_metadata(tmp_path / "f.parquet")
    for predicate, excluded in [
        (over(N, 5), True),
        (over(N, 4), False),
        (IsNull(N), False),
        (over(X, 100.0), False),  # NaN is above
        (Opaque("f(n)"), False),
    ]:
        assert ruled_out([metadata], [predicate])[0] == excluded, predicate
