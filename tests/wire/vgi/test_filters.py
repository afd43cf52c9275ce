"""Filter documents of VGI: what is read, what is ignored, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tamis.expr.sql import to_sql
from tamis.wire.vgi import Filters, Malformed
from tests.wire.vgi.documents import (
    METADATA,
    Node,
    batch,
    column,
    comparison,
    delta,
    is_null,
    literal,
    predicate,
    serialized,
    snapshot,
    upsert,
)

SCHEMA = pa.schema(
    {
        "n": pa.int64(),
        "s": pa.string(),
        "p": pa.struct({"a": pa.int32()}),
        "l": pa.list_(pa.int64()),
        "x": pa.float64(),
        "d": pa.decimal128(10, 2),
        "tz": pa.timestamp("us", "UTC"),
        "b": pa.bool_(),
    }
)
N, S = column(0, "n"), column(1, "s")
FIVE = {"value_0": pa.array([5])}
ABOVE = comparison("gt", N, literal(0))
SESSION = {
    **METADATA,
    "vgi_evaluation_context": "vgi.duckdb.session.v1",
    "vgi_time_zone": "UTC",
    "vgi_calendar": "gregorian",
    "vgi_default_collation": "binary",
    "vgi_ieee_floating_point_ops": "true",
    "vgi_integer_division": "false",
}


def read(content: bytes) -> Filters:
    keys = pa.record_batch({"a": pa.array([1, 2]), "key": pa.array([3, 3])})
    return Filters.snapshot(content, SCHEMA, [keys])


def texts(filters: Filters) -> dict[str, str]:
    return {
        name: "ignored" if each.expr is None else to_sql(each.expr)
        for name, each in filters.predicates.items()
    }


def field(expression: Node, index: int, name: str) -> Node:
    return {
        "node": "field_ref",
        "expression": expression,
        "field_index": index,
        "field_name": name,
    }


def within(expression: Node, options: Node, negated: bool = False) -> Node:
    return {"node": "in", "expression": expression, "set": options, "negated": negated}


def call(function: Any, *arguments: Node, **more: Any) -> Node:
    return {"node": "call", "function": function, "arguments": list(arguments), **more}


def cast(expression: Node) -> Node:
    return {"node": "cast", "expression": expression, "type_ref": 0}


def arithmetic(op: str) -> Node:
    return {"node": "arithmetic", "op": op, "left": N, "right": literal(0)}


LIST = {"kind": "literal", "value_ref": 0}
KEYS = {"kind": "external", "batch_index": 0, "column_index": 1, "column_name": "key"}
SPATIAL = {"namespace": "duckdb.spatial", "name": "intersects_extent", "version": 1}
BLOOM = {"namespace": "duckdb.runtime_filter", "name": "bloom", "version": 1}
RUNTIME = {
    "node": "runtime_filter",
    "algorithm": BLOOM,
    "input": N,
    "artifact_ref": 0,
    "null_handling": "pass",
}

UNDERSTOOD: list[tuple[Node, dict[str, pa.Array], str]] = [
    (ABOVE, FIVE, "n > 5L"),
    (ABOVE, {"value_0": pa.array([5], pa.int8())}, "n > 5L"),
    (ABOVE, {"value_0": pa.nulls(1, pa.int64())}, "n > NULL"),
    (ABOVE, {"value_0": pa.array([5]).dictionary_encode()}, "n > 5L"),
    (is_null(N, negated=True), {}, "n IS NOT NULL"),
    (is_null(field(column(2, "p"), 0, "a")), {}, "p.a IS NULL"),
    (within(N, LIST), {"value_0": pa.array([[1, None]])}, "n IN (1L, NULL)"),
    (within(N, LIST), {"value_0": pa.array([[]], pa.list_(pa.int64()))}, "false"),
    (within(N, KEYS, negated=True), {}, "n NOT IN (3L, 3L)"),
    (call("contains", S, literal(0)), {"value_0": pa.array(["é"])}, "contains(s, 'é')"),
    (column(7, "b"), {}, "b"),
    (literal(0), {"value_0": pa.array([False])}, "false"),
    (comparison("eq", cast(N), literal(0)), {**FIVE, "type_0": pa.nulls(1, pa.int64())}, "n = 5L"),
    (comparison("lt", arithmetic("add"), literal(0)), FIVE, "n + 5L < 5L"),
]


@pytest.mark.parametrize(("node", "payloads", "sql"), UNDERSTOOD, ids=lambda each: str(each)[:40])
def test_supported_filters_are_decoded(
    node: Node, payloads: Mapping[str, pa.Array], sql: str
) -> None:
    content = batch(snapshot(predicate(node)), payloads)
    assert texts(read(content)) == {"query:0": sql}


#: Predicates that only the values of rows decide.
BY_ROW: list[tuple[Node, dict[str, pa.Array]]] = [
    (comparison("lt", column(4, "x"), column(5, "d")), {}),
    (comparison("lt", column(3, "l"), column(3, "l")), {}),
    (comparison("eq", column(2, "p"), column(2, "p")), {}),
    (comparison("eq", cast(S), N), {"type_0": pa.nulls(1, pa.int64())}),
    (comparison("eq", cast(N), S), {"type_0": pa.nulls(1, pa.string())}),
    (comparison("gt", {**arithmetic("add"), "left": column(5, "d")}, N), FIVE),
    (cast(N), {"type_0": pa.nulls(1, pa.bool_())}),
    (is_null(arithmetic("multiply")), {"value_0": pa.array([0.5])}),
    (within(column(4, "x"), LIST), {"value_0": pa.array([[Decimal("0.1")]])}),
    (within(column(3, "l"), LIST), {"value_0": pa.array([[[1], None]])}),
    (call("list_contains", column(3, "l"), column(4, "x")), {}),
]


@pytest.mark.parametrize(("node", "payloads"), BY_ROW, ids=lambda each: str(each)[:40])
def test_values_of_rows_decide(node: Node, payloads: Mapping[str, pa.Array]) -> None:
    for mode in ("required", "advisory"):
        read_filters = read(batch(snapshot(predicate(node, mode=mode)), payloads))
        assert "RowTruth" in texts(read_filters)["query:0"]


#: Predicates that follow the rules, but that this package cannot evaluate exactly.
UNSUPPORTED: list[tuple[Node, dict[str, pa.Array]]] = [
    # DuckDB compares these only after a cast.
    (comparison("lt", N, S), {}),
    (comparison("eq", N, literal(0)), {"value_0": pa.array([5], pa.duration("s"))}),
    (comparison("eq", column(7, "b"), column(5, "d")), {}),
    (comparison("eq", column(3, "l"), N), {}),
    (within(S, LIST), {"value_0": pa.array([[1]])}),
    (comparison("eq", cast(column(4, "x")), S), {"type_0": pa.nulls(1, pa.string())}),
    (comparison("eq", cast(S), S), {"type_0": pa.nulls(1, pa.float32())}),
    (call(SPATIAL, N, literal(0), options={}), FIVE),
]


@pytest.mark.parametrize(("node", "payloads"), UNSUPPORTED, ids=lambda each: str(each)[:40])
def test_unsupported_is_ignored_if_advisory_and_refused_if_required(
    node: Node, payloads: Mapping[str, pa.Array]
) -> None:
    advisory = batch(snapshot(predicate(node, mode="advisory")), payloads)
    assert texts(read(advisory)) == {"query:0": "ignored"}
    with pytest.raises(Malformed, match="'query:0' cannot be evaluated"):
        read(batch(snapshot(predicate(node)), payloads))


def test_runtime_filters_are_ignored() -> None:
    artifact = {"artifact_0": pa.array([b"bits"])}
    content = batch(snapshot(predicate(RUNTIME, mode="advisory")), artifact)
    assert texts(read(content)) == {"query:0": "ignored"}


def test_filters_of_a_session_are_ignored_if_advisory_and_refused_if_required() -> None:
    advisory = batch(snapshot(predicate(ABOVE, mode="advisory")), FIVE, SESSION)
    assert texts(read(advisory)) == {"query:0": "ignored"}
    with pytest.raises(Malformed, match=r"vgi\.duckdb\.session\.v1 is not supported"):
        read(batch(snapshot(predicate(ABOVE)), FIVE, SESSION))


def without(node: Node, name: str) -> Node:
    return {key: value for key, value in node.items() if key != name}


DEEP: Node = N
for _ in range(60):
    DEEP = {"node": "negate", "expression": DEEP}

#: An expression, and a part of the message.
MALFORMED_EXPRESSIONS: list[tuple[Any, str]] = [
    (None, "unknown node"),
    ({"node": ["and"]}, "unknown node"),
    ({"node": "try_cast", "expression": N}, "unknown node"),
    ({**N, "extra": 1}, "unknown property 'extra'"),
    (without(ABOVE, "op"), "lacks 'op'"),
    (comparison("like", N, N), "unknown operator"),
    (comparison("eq", column(8, "n"), N), "out of range"),
    (comparison("eq", column(1, "n"), N), "does not match index 1"),
    (comparison("eq", {**N, "column_index": 0.0}, N), "not an unsigned integer"),
    (comparison("eq", {**N, "column_index": True}, N), "not an unsigned integer"),
    (comparison("eq", N, literal(3)), "no field value_3"),
    (comparison("eq", N, literal(-1)), "not an unsigned integer"),
    (is_null(field(N, 0, "a")), "struct type"),
    (is_null(field(column(2, "p"), 1, "a")), "out of range"),
    (is_null(field(column(2, "p"), 0, "b")), "does not match"),
    (is_null(N, negated=None), "not a boolean"),  # type: ignore[arg-type]
    ({"node": "and", "children": [ABOVE]}, "two children"),
    ({"node": "or", "children": ABOVE}, "two children"),
    ({"node": "not", "expression": N}, "not a predicate"),
    (N, "must resolve to BOOLEAN"),
    (within(N, LIST), "list scalar"),
    (within(N, {"kind": "range"}), "neither literal nor external"),
    (within(N, {**KEYS, "batch_index": 1}), "out of range"),
    (within(N, {**KEYS, "column_name": "a"}), "does not match"),
    (within(N, {**LIST, "extra": 1}), "unknown property"),
    (comparison("eq", cast(N), N), "no field type_0"),
    (comparison("eq", arithmetic("divide"), N), r"requires vgi\.duckdb\.session\.v1"),
    (call("not_registered", N), "unknown standard filter function"),
    (call("starts_with", N, literal(0)), "does not bind"),
    (call("starts_with", S), "does not bind"),
    (call("starts_with", S, S, options={}), "unknown property"),
    (call("list_contains", N, literal(0)), "does not bind"),
    (call({**SPATIAL, "version": 2}, N, N), "unknown filter function"),
    (call("contains", *[S] * 300), "more than 256 arguments"),
    (RUNTIME, "not the root of an advisory predicate"),
    ({"node": "not", "expression": RUNTIME}, "not the root of an advisory predicate"),
    (comparison("lt", DEEP, N), "levels"),
    ({"node": "or", "children": [ABOVE] * 5000}, "nodes"),
]


@pytest.mark.parametrize(
    ("expression", "message"), MALFORMED_EXPRESSIONS, ids=lambda each: str(each)[:40]
)
def test_malformed_expressions_are_refused(expression: Any, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        read(batch(snapshot(predicate(expression)), FIVE))


def test_malformed_advisory_predicate_is_refused() -> None:
    wrong = comparison("eq", column(0, "m"), N)
    with pytest.raises(Malformed, match="does not match"):
        read(batch(snapshot(predicate(wrong, mode="advisory"))))


GOOD = predicate(ABOVE)
MALFORMED_DOCUMENTS: list[tuple[Node | str, str]] = [
    ("", "not JSON"),
    ("[]", "not a JSON object"),
    ("[" * 100_000, "not JSON"),
    ('{"a": NaN}', "NaN is not JSON"),
    ('{"kind": "snapshot", "kind": "snapshot"}', "'kind' occurs twice"),
    (" " * (1 << 20) + "{}", "longer than"),
    (snapshot(encoding="vgi.filters.v1"), "encoding"),
    (snapshot(semantics="vgi.duckdb.standard.v2"), "semantics"),
    (snapshot(kind="delta"), "not a snapshot"),
    (snapshot(extra=1), "unknown property 'extra'"),
    (snapshot(predicates={}), "not an array"),
    (snapshot("n > 5"), "not an object"),
    (snapshot(GOOD, GOOD), "duplicate predicate ID"),
    (snapshot({**GOOD, "id": ""}), "1 to 128 bytes"),
    (snapshot({**GOOD, "id": "é" * 65}), "1 to 128 bytes"),
    (snapshot({**GOOD, "id": "\ud800"}), "not UTF-8"),
    (snapshot({**GOOD, "revision": -1}), "unsigned"),
    (snapshot({**GOOD, "revision": 1 << 64}), "unsigned"),
    (snapshot({**GOOD, "mode": "optional"}), "unknown mode"),
    (snapshot({**GOOD, "mode": ["required"]}), "unknown mode"),
    (snapshot({**GOOD, "source": "user"}), "unknown source"),
    (snapshot(*({**GOOD, "id": str(i)} for i in range(1025))), "more than 1024 predicates"),
]


@pytest.mark.parametrize(
    ("document", "message"), MALFORMED_DOCUMENTS, ids=lambda each: str(each)[:40]
)
def test_malformed_documents_are_refused(document: Node | str, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        read(batch(document, FIVE))


TEXT = pa.field("filter_spec", pa.string(), nullable=False)
EMPTY = pa.array([json.dumps(snapshot())])


def container(*fields: pa.Field, metadata: Mapping[str, str] = METADATA, rows: int = 1) -> bytes:
    """Return a batch with an empty snapshot and NULL in the other fields."""
    arrays = [EMPTY if each is TEXT else pa.nulls(1, each.type) for each in fields]
    arrays = [pa.concat_arrays([each] * rows) for each in arrays]
    return serialized(arrays, pa.schema(list(fields), metadata=metadata))


def tagged(name: str, extension: str) -> pa.Field:
    return pa.field(name, pa.binary(), metadata={"ARROW:extension:name": extension})


MALFORMED_CONTAINERS: list[tuple[bytes, str]] = [
    (b"", "not an Arrow IPC stream"),
    (b"garbage" * 100, "not an Arrow IPC stream"),
    (container(TEXT, rows=2), "does not have one row"),
    (container(), "does not have one row"),
    (container(pa.field("value_0", pa.int64()), TEXT), "is not filter_spec"),
    (container(TEXT.with_nullable(True)), "not utf8 not null"),
    (container(TEXT.with_type(pa.large_string())), "not utf8 not null"),
    (container(TEXT, pa.field("value_00", pa.int64())), "unexpected field"),
    (container(TEXT, pa.field("value_0", pa.int64()), pa.field("value_0", pa.int8())), "unexpec"),
    (container(TEXT, pa.field("note", pa.int64())), "unexpected field"),
    (container(TEXT, tagged("value_0", "acme.money")), "unknown extension type"),
    (container(TEXT, pa.field("type_0", pa.list_(tagged("item", "acme.money")))), "unknown ext"),
    (container(TEXT, metadata={}), "not marked as"),
    (container(TEXT, metadata={**METADATA, "vgi_filter_version": "1"}), "not marked as"),
    (container(TEXT, metadata={**METADATA, "vgi_time_zone": "UTC"}), "does not allow settings"),
    (container(TEXT, metadata={**METADATA, "vgi_evaluation_context": "x"}), "no known evaluation"),
    (container(TEXT, metadata=without(SESSION, "vgi_calendar")), "needs vgi_calendar"),
    (container(TEXT, metadata={**SESSION, "vgi_integer_division": "True"}), "neither true nor"),
]


@pytest.mark.parametrize(("content", "message"), MALFORMED_CONTAINERS, ids=lambda e: str(e)[-40:])
def test_malformed_containers_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        read(content)


def test_every_truncation_and_flipped_byte_is_refused_or_read() -> None:
    content = batch(snapshot(GOOD), FIVE)
    for place in range(0, len(content), 3):
        for broken in (content[:place], content[:place] + b"\xff" + content[place + 1 :]):
            with suppress(Malformed):
                read(broken)


def test_payload_that_is_too_large_is_refused() -> None:
    with pytest.raises(Malformed, match="payloads"):
        read(batch(snapshot(), {"value_0": pa.array([b"x" * ((16 << 20) + 1)])}))


FALSE = literal(2)
LOW = comparison("gt", N, literal(0))
HIGH = comparison("gt", N, literal(1))
TWO = {"value_0": pa.array([1]), "value_1": pa.array([2]), "value_2": pa.array([False])}

#: The updates of deltas, one after the other, and the filters in force after them.
DELTAS: list[tuple[list[list[Node]], dict[str, str]]] = [
    ([[]], {"keep": "n > 1L"}),
    ([[upsert(HIGH, "keep", 1)]], {"keep": "n > 2L"}),
    ([[upsert(HIGH, "keep", 0)]], {"keep": "n > 1L"}),
    ([[upsert(HIGH, "new", 0)]], {"keep": "n > 1L", "new": "n > 2L"}),
    ([[{"operation": "remove", "id": "keep", "revision": 1}]], {}),
    ([[{"operation": "remove", "id": "keep", "revision": 0}]], {"keep": "n > 1L"}),
    (
        [
            [{"operation": "remove", "id": "keep", "revision": 5}],
            [upsert(HIGH, "keep", 5)],
            [upsert(HIGH, "keep", 4), upsert(LOW, "new", 1)],
        ],
        {"new": "n > 1L"},
    ),
    ([[upsert({"node": "no"}, "keep", 0)]], {"keep": "n > 1L"}),  # stale, so it is not checked
]


@pytest.mark.parametrize(("deltas", "expected"), DELTAS, ids=str)
def test_deltas_change_the_filters_that_they_name(
    deltas: list[list[Node]], expected: dict[str, str]
) -> None:
    filters = read(batch(snapshot(predicate(LOW, "keep", "advisory")), TWO))
    for updates in deltas:
        filters = filters.delta(batch(delta(*updates), TWO))
    assert texts(filters) == expected


MALFORMED_DELTAS: list[tuple[Node, Mapping[str, str], str]] = [
    (snapshot(), METADATA, "not a delta"),
    (delta(), SESSION, "context changes"),
    (delta(upsert(HIGH, "fixed", 7)), METADATA, "is required and cannot change"),
    (delta({"operation": "remove", "id": "fixed", "revision": 1}), METADATA, "is required"),
    (delta(upsert(HIGH, "a", 1), upsert(HIGH, "a", 2)), METADATA, "duplicate update ID"),
    (delta(upsert(HIGH, "a", 1, mode="required")), METADATA, "not advisory"),
    (delta({"operation": "replace", "id": "a", "revision": 1}), METADATA, "unknown operation"),
    (delta(upsert(LOW, "keep", 1), upsert({"node": "no"}, "a", 1)), METADATA, "unknown node"),
    (delta(*(upsert(FALSE, str(i), 1) for i in range(4096))), METADATA, "more than 4096"),
]


@pytest.mark.parametrize(
    ("document", "metadata", "message"), MALFORMED_DELTAS, ids=lambda each: str(each)[-40:]
)
def test_malformed_deltas_change_nothing(
    document: Node, metadata: Mapping[str, str], message: str
) -> None:
    keep, fixed = predicate(LOW, "keep", "advisory"), predicate(LOW, "fixed")
    filters = read(batch(snapshot(keep, fixed), TWO))
    with pytest.raises(Malformed, match=message):
        filters.delta(batch(document, TWO, metadata))
    assert texts(filters) == {"keep": "n > 1L", "fixed": "n > 1L"}
    assert dict(filters.revisions) == {"keep": 0, "fixed": 0}
