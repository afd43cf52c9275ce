"""Expression documents of Catalyst: what is understood; no document raises an error."""

from __future__ import annotations

import base64
import json
import math
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tamis.expr.nodes import (
    And,
    CalendarInterval,
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
    type_of,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
)
from tamis.wire.catalyst import decode, decode_conjuncts
from tests.differential.generate import random_case, random_predicate

A = {"n": "col", "p": ["a"], "t": "long", "nullable": False}
FIVE = {"n": "lit", "t": "long", "v": 5}
a = Column(("a",), LONG, nullable=False)
five = Literal(5, LONG)


def call(name: str, *arguments: Any, data_type: str = "boolean", **options: Any) -> dict[str, Any]:
    return {"n": "call", "f": name, "t": data_type, "a": list(arguments), "o": options}


@pytest.mark.parametrize(
    ("document", "expr"),
    [
        (A, a),
        ({"n": "col", "p": ["s", "x.y"], "t": "string"}, Column(("s", "x.y"), STRING)),
        (FIVE, five),
        ({"n": "lit", "t": "boolean", "v": None}, Literal(None, BOOLEAN)),
        ({"n": "lit", "t": "double", "v": 5}, Literal(5.0, DOUBLE)),
        ({"n": "lit", "t": "float", "v": "-Infinity"}, Literal(-math.inf, FLOAT)),
        ({"n": "lit", "t": "decimal(4,2)", "v": "12.30"}, Literal(Decimal("12.30"), decimal(4, 2))),
        ({"n": "lit", "t": "binary", "v": "AP8="}, Literal(b"\0\xff", BINARY)),
        ({"n": "lit", "t": "date", "v": -1}, Literal(-1, DATE)),
        (call("EqualTo", A, FIVE), Compare(Comparison.EQUAL, a, five)),
        (call("EqualNullSafe", A, FIVE), Compare(Comparison.NULL_SAFE_EQUAL, a, five)),
        (call("LessThan", A, FIVE), Compare(Comparison.LESS, a, five)),
        (call("LessThanOrEqual", A, FIVE), Compare(Comparison.LESS_EQUAL, a, five)),
        (call("GreaterThan", A, FIVE), Compare(Comparison.GREATER, a, five)),
        (call("GreaterThanOrEqual", A, FIVE), Compare(Comparison.GREATER_EQUAL, a, five)),
        (call("IsNull", A), IsNull(a)),
        (call("IsNotNull", A), Not(IsNull(a))),
        (call("Not", call("IsNull", A)), Not(IsNull(a))),
        (call("And", call("IsNull", A), FIVE, A), And((IsNull(a), five, a))),
        (call("Or", A, A), Or((a, a))),
        (call("In", A, FIVE, A), Or(tuple(Compare(Comparison.EQUAL, a, x) for x in (five, a)))),
        ({"n": "in", "a": A, "t": "long", "v": [1, 2], "null": True}, In(a, (1, 2), True)),
        ({"n": "in", "a": A, "t": "long", "v": [1, None], "null": False}, In(a, (1,), True)),
        (
            call("Year", {"n": "col", "p": ["ts"], "t": "timestamp"}, data_type="integer", z="UTC"),
            Call("Year", (Column(("ts",), TIMESTAMP),), (("z", "UTC"),), INTEGER),
        ),
        ({"n": "opaque", "sql": "f(a)", "cols": [["a"]], "t": "map"}, Opaque("f(a)", (("a",),))),
    ],
)
def test_document_is_understood(document: dict[str, Any], expr: Expr) -> None:
    assert decode(document) == expr
    assert decode(json.loads(json.dumps(document))) == expr


@pytest.mark.parametrize(
    "document",
    [
        None,
        5,
        [],
        {},
        {"n": ["lit"]},
        {"n": "lit", "t": "long"} | {"v": True},
        {"n": "lit", "t": "long", "v": 1 << 63},
        {"n": "lit", "t": "byte", "v": 128},
        {"n": "lit", "t": "long", "v": 5.0},
        {"n": "lit", "t": "boolean", "v": 1},
        {"n": "lit", "t": "double", "v": "nan"},
        {"n": "lit", "t": "double", "v": 10**400},
        {"n": "lit", "t": "decimal(4,2)", "v": "123.45"},
        {"n": "lit", "t": "decimal(4,2)", "v": "1.234"},
        {"n": "lit", "t": "decimal(4,2)", "v": "1E+999999999"},
        {"n": "lit", "t": "decimal(4,2)", "v": "NaN"},
        {"n": "lit", "t": "decimal(39,2)", "v": "1"},
        {"n": "lit", "t": "string", "v": "\ud800"},
        {"n": "lit", "t": "binary", "v": "%%"},
        {"n": "lit", "t": "string collate UNICODE_CI", "v": "a"},
        {"n": "lit", "t": "interval", "v": 1},
        {"n": "col", "p": [], "t": "long"},
        {"n": "col", "p": "a", "t": "long"},
        {"n": "col", "p": ["a"], "t": "array"},
        {"n": "col", "p": ["a"], "t": {"type": "struct"}},
        {"n": "in", "a": A, "t": "string", "v": ["a"], "null": False},
        {"n": "in", "a": A, "t": "long", "v": ["a"], "null": False},
        {"n": "in", "a": A, "t": "long", "v": 1, "null": False},
        call("EqualTo", A),
        call("EqualTo", A, FIVE, data_type="long"),
        call("And"),
        call("Year", A, data_type="interval"),
        {"n": "call", "f": "IsNull", "t": "boolean", "a": A},
        {"n": "call", "f": None, "t": "boolean", "a": []},
        call("Year", A, data_type="integer", o=[1]),
    ],
)
def test_malformed_document_is_opaque(document: Any) -> None:
    assert isinstance(decode(document), Opaque)


def test_opaque_part_leaves_the_other_conjuncts_usable() -> None:
    strange = {"n": "col", "p": ["b"], "t": "string collate UTF8_LCASE"}
    decoded = decode(call("And", call("IsNull", A), call("IsNull", strange)))
    assert decoded == And((IsNull(a), IsNull(Opaque("<not understood>", (("b",),)))))


def test_opaque_expressions_keep_their_columns() -> None:
    document = call("EqualTo", A, {"n": "opaque", "sql": "x", "cols": [["s", "x"]]}, FIVE)
    assert decode(document) == Opaque("<not understood>", (("a",), ("s", "x")))


def test_depth_is_bounded() -> None:
    document: Any = A
    for _ in range(100_000):
        document = call("Not", document)
    node = decode(document)
    while isinstance(node, Not):
        node = node.child
    assert isinstance(node, Opaque)


def test_zones_are_sent_once_for_all_documents_of_a_request() -> None:
    hour = call("Hour", A, data_type="integer", timeZoneId="Asia/Tokyo")
    comparison = call("EqualTo", hour, {"n": "lit", "t": "integer", "v": 5})
    first, second = decode_conjuncts([comparison | {"zones": {"Asia/Tokyo": "32400;"}}, comparison])
    assert first == second
    assert isinstance(first, Compare)
    assert isinstance(first.left, Call)
    assert first.left.option("zoneTable") == "32400;"


@pytest.mark.parametrize(
    "zones", [None, 5, [], {"Asia/Tokyo": 5}, {"x": "y"}, {"Asia/Tokyo": None}]
)
def test_malformed_zones_are_ignored(zones: Any) -> None:
    hour = call("Hour", A, data_type="integer", timeZoneId="Asia/Tokyo")
    assert decode(hour | {"zones": zones}) == decode(hour)


def test_calendar_interval_is_accepted_as_constant_but_not_as_result() -> None:
    written = {"n": "lit", "t": "interval", "v": [1, -2, 3]}
    assert decode(written) == Literal(CalendarInterval(1, -2, 3), CALENDAR_INTERVAL)
    for wrong in ([1, 2], [1, 2, "3"], [1 << 31, 0, 0], [0, 0, 1 << 63], {}, 5):
        assert isinstance(decode(written | {"v": wrong}), Opaque)
    assert isinstance(decode(call("Add", A, data_type="interval")), Opaque)


def test_conjuncts_are_decoded_independently() -> None:
    assert decode_conjuncts([A, None]) == [a, Opaque("<not understood>")]
    assert decode_conjuncts({"not": "a list"}) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(
            st.sampled_from(["n", "t", "v", "p", "a", "f", "o", "sql", "cols"]), below
        )
    ),
    max_leaves=20,
)
names = st.sampled_from(["lit", "col", "in", "call", "opaque", "And", "In", "EqualTo", "x"])
types = st.sampled_from(["long", "string", "decimal(3,1)", "boolean", "date", "float", "binary"])


documents = st.dictionaries(st.sampled_from(["v", "p", "a", "o", "sql", "cols"]), json_values)


@given(documents, names, names, types)
def test_decoding_never_raises(document: dict[str, Any], node: str, name: str, type_: str) -> None:
    decode(document | {"n": node, "f": name, "t": type_})
    decode(call(name, document | {"n": node, "t": type_}))


@given(st.randoms(use_true_random=False))
def test_written_document_is_read_back(random: Random) -> None:
    predicate = random_predicate(random, random_case(random, containers=1).columns)
    assume("<>" not in repr(predicate))  # Catalyst writes <> as NOT (=)
    assert repr(decode(json.loads(json.dumps(encode(predicate))))) == repr(predicate)


_CALLS = {
    Comparison.EQUAL: "EqualTo",
    Comparison.NULL_SAFE_EQUAL: "EqualNullSafe",
    Comparison.LESS: "LessThan",
    Comparison.LESS_EQUAL: "LessThanOrEqual",
    Comparison.GREATER: "GreaterThan",
    Comparison.GREATER_EQUAL: "GreaterThanOrEqual",
}


def type_name(data_type: DataType | None) -> str:
    """Return Spark's name of a type; the fields of an interval type are not preserved."""
    intervals = {
        "calendar_interval": "interval",
        "day_time_interval": "interval day to second",
        "year_month_interval": "interval year to month",
    }
    return intervals.get(str(data_type), str(data_type))


def encode(expr: Expr) -> dict[str, Any]:
    """Return the document that the shim writes for an expression."""
    match expr:
        case Literal(value=value, type=data_type):
            return {"n": "lit", "t": type_name(data_type), "v": encode_value(value)}
        case Column(path=path, type=data_type, nullable=nullable):
            return {"n": "col", "p": list(path), "t": type_name(data_type), "nullable": nullable}
        case In(value=value, options=options, has_null=has_null):
            data_type = type_of(value)
            values = [encode_value(option) for option in options]
            return {
                "n": "in",
                "a": encode(value),
                "t": type_name(data_type),
                "v": values,
                "null": has_null,
            }
        case And(parts=parts):
            return call("And", *map(encode, parts))
        case Or(parts=parts):
            return call("Or", *map(encode, parts))
        case Not(child=child):
            return call("Not", encode(child))
        case IsNull(child=child):
            return call("IsNull", encode(child))
        case Compare(op=op, left=left, right=right):
            return call(_CALLS[op], encode(left), encode(right))
        case Call(name=name, arguments=arguments, options=options, type=data_type):
            written = call(name, *map(encode, arguments), data_type=type_name(data_type))
            return written | {"o": dict(options)}
        case Opaque(sql=sql, columns=columns):
            return {"n": "opaque", "sql": sql, "cols": [list(path) for path in columns]}
        case _:
            raise NotImplementedError(expr)


def encode_value(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
        case CalendarInterval(months=months, days=days, microseconds=microseconds):
            return [months, days, microseconds]
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case _:
            return value


def test_user_defined_function_is_a_call_with_a_prefix() -> None:
    column = {"n": "col", "p": ["x"], "t": "long"}
    document = {"n": "call", "f": "udf:tens", "t": "long", "sql": "tens(x)", "a": [column]}
    call = decode({**document, "o": {"body": "abc"}})
    assert call == Call("udf:tens", (Column(("x",), LONG),), (("body", "abc"),), LONG)
    assert to_sql(call) == "tens(x)"
    # A result type that tamis does not compare: opaque, with its text.
    assert decode({**document, "t": "array<int>"}) == Opaque("tens(x)", (("x",),))
