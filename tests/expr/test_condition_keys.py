"""Keys of conditions: equal for the same condition in another form, different for all others."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from tamis.expr.condition_keys import condition_key
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
from tamis.expr.rewrites import simplify
from tamis.expr.types import BOOLEAN, DOUBLE, INTEGER, LONG, STRING, decimal

A, B, S = Column(("a",), LONG), Column(("b",), LONG), Column(("s",), STRING)
FIVE, SIX = Literal(5, LONG), Literal(6, LONG)
LESS = Compare(Comparison.LESS, A, FIVE)
LIKE = Call("Contains", (S, Literal("x", STRING)), (), BOOLEAN, key="like")
NOT_EMPTY = Compare(Comparison.NOT_EQUAL, S, Literal("", STRING))

EQUAL: list[tuple[Expr, Expr]] = [
    (LESS, Compare(Comparison.GREATER, FIVE, A)),
    (LESS, Compare(Comparison.LESS, replace(A, nullable=False), FIVE)),
    (NOT_EMPTY, Not(Compare(Comparison.EQUAL, S, Literal("", STRING)))),
    (Compare(Comparison.EQUAL, A, B), Compare(Comparison.EQUAL, B, A)),
    (Or((LESS, NOT_EMPTY)), Or((NOT_EMPTY, LESS))),
    (In(A, (1, 2)), In(A, (2, 1))),
    (Or((LESS, LIKE)), Or((LESS, Opaque("another form", key="like")))),
    (LIKE, Opaque("another form", key="like")),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_same_condition_has_the_same_key(one: Expr, other: Expr) -> None:
    keys = {condition_key(simplify(each)) for each in (one, other)}
    assert len(keys) == 1
    assert keys != {None}


DIFFERENT: list[Expr] = [
    LESS,
    Compare(Comparison.LESS, FIVE, A),
    Compare(Comparison.LESS_EQUAL, A, FIVE),
    Compare(Comparison.LESS, A, SIX),
    Compare(Comparison.LESS, B, FIVE),
    Compare(Comparison.LESS, Column(("a",), INTEGER), Literal(5, INTEGER)),
    Compare(Comparison.LESS, Column(("a",), DOUBLE), Literal(5.0, DOUBLE)),
    Compare(Comparison.LESS, Column(("a",), decimal(9, 0)), Literal(5, decimal(9, 0))),
    Compare(Comparison.LESS, Column(("a", "b"), LONG), FIVE),
    Compare(Comparison.LESS, Column(("a.b",), LONG), FIVE),
    NOT_EMPTY,
    Compare(Comparison.NOT_EQUAL, S, Literal("a", STRING)),
    IsNull(A),
    Not(IsNull(A)),
    In(A, (5,)),
    In(A, (5, 6)),
    In(A, (5, 6), has_null=True),
    Not(In(A, (5, 6))),
    Or((LESS, NOT_EMPTY)),
    Or((LESS, And((NOT_EMPTY, LIKE)))),
    Or((LESS, NOT_EMPTY, LIKE)),
    Or((LESS, LIKE)),
    Not(LIKE),
    LIKE,
    replace(LIKE, key="not like"),
]


def test_different_conditions_have_different_keys() -> None:
    keys = [condition_key(each) for each in DIFFERENT]
    assert None not in keys
    same = [
        (one, other) for one, other in combinations(range(len(keys)), 2) if keys[one] == keys[other]
    ]
    assert same == []


@pytest.mark.parametrize(
    "condition",
    [
        Not(replace(LIKE, key=None)),
        Or((LESS, Opaque("rand() < 0.5"))),
        Opaque("rand() < 0.5"),
        And((LESS, NOT_EMPTY)),  # scans have its parts as conjuncts
        Column(("b",), BOOLEAN),
        In(A, tuple(range(1000))),
    ],
)
def test_condition_without_a_key(condition: Expr) -> None:
    assert condition_key(condition) is None
