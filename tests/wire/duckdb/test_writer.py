"""Written documents are read back with the meaning of the original expression."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import WireError
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
    walk,
)
from tamis.expr.types import BOOLEAN, INTEGER, LONG, STRING, decimal
from tamis.wire.duckdb import from_duckdb, to_duckdb
from tests.differential.generate import random_case, random_predicate
from tests.differential.rows import row_value

NAMES = ["a", "s", "c"]


@given(st.integers(0, 1 << 32))
def test_round_trip_keeps_the_meaning(seed: int) -> None:
    random = Random(seed)
    case = random_case(random, containers=6)
    predicate = random_predicate(random, case.columns)
    while any(isinstance(each, Opaque | Call) for each in walk(predicate)):
        predicate = random_predicate(random, case.columns)
    document = to_duckdb([predicate], NAMES)
    for written in (document, json.dumps(document)):
        (back,) = from_duckdb(written)
        for row in (row for rows in case.containers for row in rows):
            assert row_value(back, row) == row_value(predicate, row)


a, s = Column(("a",), INTEGER), Column(("c",), STRING)
five = Literal(5, INTEGER)


@pytest.mark.parametrize(
    "expr",
    [
        Literal(None, BOOLEAN),
        Compare(Comparison.EQUAL, a, five),
        Not(Compare(Comparison.NULL_SAFE_EQUAL, Column(("s", "x", "y"), STRING), s)),
        In(a, (1, 2), True),
        Not(In(a, (1, 2))),
        Not(IsNull(a)),
        Or((And((IsNull(a), Column(("c",), BOOLEAN))), Not(IsNull(s)))),
        Compare(Comparison.EQUAL, Call("Coalesce", (a, five), (), INTEGER), five),
        Call("StartsWith", (s, Literal("R", STRING)), (), BOOLEAN),
        Call("EndsWith", (s, Literal("R", STRING)), (), BOOLEAN),
        Call("Contains", (s, s), (), BOOLEAN),
    ],
)
def test_round_trip_gives_the_same_nodes(expr: Expr) -> None:
    assert from_duckdb(to_duckdb([expr], NAMES)) == [expr]


def test_operands_of_different_types_are_cast_to_one_type() -> None:
    wide = Compare(Comparison.LESS, a, Literal(1 << 40, LONG))
    document = to_duckdb([wide], NAMES)
    assert document["filters"][0]["left"]["expression_class"] == "BOUND_CAST"
    (back,) = from_duckdb(document)
    assert [row_value(back, {("a",): each}) for each in (1, None)] == [True, None]


@pytest.mark.parametrize(
    "expr",
    [
        Opaque("f(a)"),
        And((Compare(Comparison.EQUAL, a, five), Opaque("f(a)"))),
        Column(("elsewhere",), BOOLEAN),
        Compare(Comparison.EQUAL, a, s),
        Compare(Comparison.EQUAL, a, Opaque("f(a)")),
        Compare(Comparison.EQUAL, a, Literal(5, decimal(9, 2))),
        In(Opaque("f(a)"), (1,)),
        Call("Year", (a,), (), INTEGER),
    ],
)
def test_expressions_that_duckdb_cannot_express_are_rejected(expr: Expr) -> None:
    with pytest.raises(WireError):
        to_duckdb([expr], NAMES)
