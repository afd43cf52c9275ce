"""Bounds that were recorded of an expression, together with what a rule finds for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.interpreter import FUNCTIONS, truth, value
from tamis.evaluation.statistics import Members, Subject
from tamis.expr.nodes import Call, Column, Expr, Literal, Opaque
from tamis.expr.types import BOOLEAN, DOUBLE, FLOAT, LONG, STRING, DataType
from tests.evaluation.given import Given, between

LEAST, GREATEST = LONG.domain


@dataclass(frozen=True, slots=True)
class Recording(Given):
    """The bounds of every column, and of every expression that has a key."""

    recorded: Bounds | None = None

    def expression(self, key: str) -> Bounds | None:
        return self.recorded

    def members(self, subject: Subject) -> Members | None:
        return None


def plus_one(key: str | None = "k") -> Call:
    return Call(
        "Add", (Column(("c",), LONG), Literal(1, LONG)), (("evalMode", "LEGACY"),), LONG, key
    )


def edges(bounds: Bounds | None) -> tuple[Any, Any]:
    assert bounds is not None
    low, high = (None if e is None else e.tolist() for e in (bounds.lower, bounds.upper))
    return low, high


def one_sided(lower: int | None, upper: int | None) -> Bounds:
    low, high = (None if each is None else np.array([each]) for each in (lower, upper))
    return Bounds(LONG, low, high, NO, NO, YES)


#: Bounds of c, recorded bounds of c + 1, and the edges of c + 1.
TOGETHER: list[tuple[Bounds, Bounds | None, tuple[Any, Any]]] = [
    (between(LONG, 0, 9), None, ([1], [10])),
    (between(LONG, 0, 9), between(LONG, 3, 5), ([3], [5])),
    (between(LONG, 0, 9), between(LONG, -3, 50), ([1], [10])),
    (between(LONG, 0, 9), between(LONG, 3, 50), ([3], [10])),
    (between(LONG, 0, 9), one_sided(3, None), ([3], [10])),
    (between(LONG, 0, 9), one_sided(None, 3), ([1], [3])),
    (between(LONG, 0, 9), between(LONG, 30, 50), (None, None)),
    (Bounds.unknown(LONG), between(LONG, 3, 5), ([3], [5])),
]


@pytest.mark.parametrize(("of_column", "recorded", "expected"), TOGETHER)
def test_bounds_of_rule_and_recording_are_intersected(
    of_column: Bounds, recorded: Bounds | None, expected: tuple[Any, Any]
) -> None:
    assert edges(value(plus_one(), Recording(of_column, 1, recorded))) == expected


@pytest.mark.parametrize(
    ("ruled", "recorded", "expected"),
    [
        (one_sided(1, None), one_sided(None, 5), ([1], [5])),
        (one_sided(None, 5), one_sided(1, None), ([1], [5])),
        (one_sided(1, None), one_sided(3, None), ([3], None)),
        (one_sided(None, 5), one_sided(None, 3), (None, [3])),
        (one_sided(3, None), one_sided(1, 9), ([3], [9])),
        (one_sided(None, 5), one_sided(1, 9), ([1], [5])),
        (one_sided(None, None), one_sided(1, 9), ([1], [9])),
    ],
)
def test_edges_of_rule_and_recording_complement_each_other(
    ruled: Bounds, recorded: Bounds, expected: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule of a function that is its argument."""
    monkeypatch.setitem(FUNCTIONS, "Same", lambda call, files: value(call.arguments[0], files))
    call = Call("Same", (Column(("c",), LONG),), (), LONG, "k")
    assert edges(value(call, Recording(ruled, 1, recorded))) == expected


def test_value_may_be_null_only_if_rule_and_recording_allow_it() -> None:
    maybe_null = Bounds(LONG, np.array([0]), np.array([9]), YES, NO, YES)
    for of_column, recorded, nullable in (
        (maybe_null, between(LONG, 3, 5), False),
        (between(LONG, 0, 9), maybe_null, False),
        (maybe_null, maybe_null, True),
    ):
        bounds = value(plus_one(), Recording(of_column, 1, recorded))
        assert bounds is not None
        assert bounds.can_be_null.tolist() == [nullable]


def test_recording_of_another_type_replaces_the_bounds_of_the_rule() -> None:
    root = Call("Sqrt", (Column(("c",), DOUBLE),), (), FLOAT, "k")
    recorded = between(FLOAT, 5.0, 6.0)
    bounds = value(root, Recording(between(DOUBLE, 4.0, 9.0), 1, recorded))
    assert bounds is recorded


def test_expression_without_a_rule_has_its_recorded_bounds() -> None:
    recorded = between(LONG, 3, 5)
    opaque = Opaque("f(c)", (("c",),), key="k")
    assert value(opaque, Recording(between(LONG, 0, 9), 1, recorded)) is recorded
    assert value(opaque, Recording(between(LONG, 0, 9), 1, None)) is None


#: A predicate, its recorded bounds, and whether it can be true, false or NULL.
CONDITIONS: list[tuple[Expr, Bounds, tuple[bool, bool, bool]]] = [
    (Call("P", (), (), BOOLEAN, "k"), between(BOOLEAN, 1, 1), (True, False, False)),
    (Call("P", (), (), BOOLEAN, "k"), between(BOOLEAN, 0, 0), (False, True, False)),
    (Call("P", (), (), BOOLEAN, "k"), between(BOOLEAN, 0, 1), (True, True, False)),
    (Opaque("p", (), key="k"), between(BOOLEAN, 1, 1), (True, False, False)),
    (Opaque("p", (), key="k"), between(LONG, 0, 0), (True, True, True)),
    (Opaque("p", (), key="k"), between(LONG, 5, 6), (True, True, True)),
    (Call("P", (), (), BOOLEAN, "k"), between(LONG, 5, 6), (True, True, True)),
]


@pytest.mark.parametrize(("predicate", "recorded", "expected"), CONDITIONS)
def test_truth_of_a_predicate_follows_from_rule_and_recording(
    predicate: Expr, recorded: Bounds, expected: tuple[bool, bool, bool]
) -> None:
    truths = truth(predicate, Recording(between(LONG, 0, 9), 1, recorded))
    flags = (truths.can_be_true, truths.can_be_false, truths.can_be_null)
    assert tuple(bool(each.any()) for each in flags) == expected


@pytest.mark.parametrize(
    ("prefix", "expected"), [("a", ([1], [1])), ("b", ([0], [0])), ("ab", ([0], [1]))]
)
def test_predicate_is_a_boolean_value(prefix: str, expected: tuple[Any, Any]) -> None:
    call = Call("StartsWith", (Column(("s",), STRING), Literal(prefix, STRING)), (), BOOLEAN)
    bounds = value(call, Given(between(STRING, "a", "ac")))
    assert bounds is not None
    assert bounds.type == BOOLEAN
    assert edges(bounds) == expected


@pytest.mark.parametrize("data_type", [LONG, STRING, BOOLEAN])
def test_call_without_a_rule_is_any_value_of_its_type(data_type: DataType) -> None:
    bounds = value(Call("NoSuchFunction", (), (), data_type), Given(between(LONG, 0, 9)))
    assert bounds is not None
    assert (bounds.type, bounds.lower, bounds.upper) == (data_type, None, None)
