"""Contracts of declared functions: what they cover, and which questions their functions get."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tamis.errors import DeclarationError
from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.interpreter import value
from tamis.evaluation.udf.declared_calls import bind
from tamis.evaluation.udf.images import Declared
from tamis.evaluation.udf.udf_contract import FAMILIES, Contract
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.expr.nodes import Call, Column, Expr, Literal
from tamis.expr.types import BOOLEAN, DOUBLE, FLOAT, INTEGER, LONG, STRING, DataType
from tests.evaluation.given import Given, between, texts

Known = tuple[Any, Any, bool, bool]


def known(
    contract: Contract,
    given: Bounds,
    result: DataType,
    *constants: Expr,
    watch: UdfGuard | None = None,
    declared: Declared | None = None,
) -> Known:
    """Lower edge, upper edge, whether NaN and whether ordinary values are possible."""
    arguments: list[Expr] = list(constants)
    arguments.insert(contract.argument, Column(("c",), given.type))
    call = Call("udf:f", tuple(arguments), (), result)
    expr = bind(call, {"f": [declared or Declared(contract)]}, watch or UdfGuard())
    count = 1 if given.lower is None else len(given.lower)
    bounds = value(expr, Given(given, count))
    assert bounds is not None
    assert bounds.type == result
    assert bounds.can_be_null.all()
    flags = (bool(each.any()) for each in (bounds.can_be_nan, bounds.can_be_value))
    return (_cells(bounds.lower), _cells(bounds.upper), *flags)


def _cells(edge: Any) -> Any:
    if edge is None:
        return None
    return edge.tolist() if isinstance(edge, np.ndarray) else edge.to_pylist()


def nothing(data_type: DataType) -> Known:
    """The bounds of an unknown number: the ends of its type."""
    ends = (-math.inf, math.inf) if data_type.is_floating else data_type.domain
    return [ends[0]], [ends[1]], data_type.is_floating, True


def test_contract_rises_in_its_first_argument() -> None:
    contract = Contract("f", monotone=lambda x, y: x + y)
    assert contract.increasing
    assert contract.argument == 0
    assert not contract.null_to_null
    assert known(contract, between(LONG, 1, 2), LONG, Literal(10, LONG))[:2] == ([11], [12])


def test_types_of_a_contract_are_a_list() -> None:
    for text in ("", "INT"):
        with pytest.raises(DeclarationError, match="types must be a list"):
            Contract("f", monotone=abs, types=text)


@pytest.mark.parametrize(
    ("types", "families"),
    [
        (["integral", " Floating "], ("integral", "floating")),
        (["decimal"], ("decimal",)),
        (["BIGINT", "int", "date"], ("integral", "date")),
        (FAMILIES, FAMILIES),
        ([], FAMILIES),
    ],
)
def test_types_of_a_contract_are_families(types: Any, families: tuple[str, ...]) -> None:
    assert Contract("f", monotone=abs, types=types).types == families


def of_whole(x: int) -> int:
    return x


def of_whole_or_null(x: int | None) -> int | None:
    return x


def of_whole_or_list(x: int | list[int]) -> Any:
    return x


def of_list(x: list[int]) -> Any:
    return x


@pytest.mark.parametrize(
    ("function", "families"),
    [
        (of_whole, ("integral",)),
        (of_whole_or_null, ("integral",)),
        (of_whole_or_list, FAMILIES),
        (of_list, FAMILIES),
    ],
)
def test_annotation_of_an_unknown_type_adds_no_family(
    function: Callable[..., Any], families: tuple[str, ...]
) -> None:
    assert Contract("f", monotone=function).types == families


@pytest.mark.parametrize(
    ("constants", "given", "covers"),
    [
        (None, (1, 2), True),
        ([], (), True),
        ([], (1,), False),
        ([[1, 2]], (1,), True),
        ([[1, 2]], (3,), False),
        ([[1, 2]], (), False),
        ([[1, 2]], (1, 1), False),
        ([[1], [2]], (1, 2), True),
        ([[1], [2]], (1, 1), False),
        ([[1], [2]], (2, 2), False),
        ([{1}], ([],), False),
    ],
)
def test_contract_covers_only_its_constants(
    constants: Any, given: tuple[Any, ...], covers: bool
) -> None:
    contract = Contract("f", monotone=abs, types=["INT"], constants=constants)
    assert contract.covers(LONG, given) is covers
    assert not contract.covers(DOUBLE, given)


def test_constant_null_is_given_as_none() -> None:
    contract = Contract("f", monotone=lambda x, y: x if y is None else -x)
    for data_type in (INTEGER, BOOLEAN, STRING):
        found = known(contract, between(LONG, 1, 2), LONG, Literal(None, data_type))
        assert found[:2] == ([1], [2])


def test_function_of_catalyst_is_not_the_declared_one_of_its_name() -> None:
    contract = Contract("f", monotone=lambda x: x)
    call = Call("f", (Column(("c",), LONG),), (), LONG)
    assert bind(call, {"f": [Declared(contract)]}, UdfGuard()) == call


@pytest.mark.parametrize("count", [0, 1])
def test_call_without_the_argument_that_varies_is_unknown(count: int) -> None:
    contract = Contract("f", monotone=lambda x, y: y, argument=1)
    call = Call("udf:f", (Column(("c",), LONG),) * count, (), LONG)
    bounds = value(bind(call, {"f": [Declared(contract)]}, UdfGuard()), Given(between(LONG, 1, 2)))
    assert bounds is not None
    assert bounds.lower is None
    assert bounds.upper is None


def test_cached_answers_are_not_used_after_the_time_limit() -> None:
    contract = Contract("f", monotone=lambda x: x, null_to_null=True)
    declared = Declared(contract)
    given = between(LONG, 1, 2)
    assert known(contract, given, LONG, declared=declared)[:2] == ([1], [2])
    late = known(contract, given, LONG, declared=declared, watch=UdfGuard(seconds=0))
    assert late == (None, None, False, True)


def test_image_is_not_called_with_an_unknown_edge() -> None:
    asked: list[Any] = []

    def image(lower: Any, upper: Any) -> tuple[str, str]:
        asked.append((lower, upper))
        return "a", "b"

    contract = Contract("f", image=image, null_to_null=True)
    for low, high in ((None, "x"), ("x", None), (None, None)):
        assert known(contract, between(STRING, low, high), STRING)[:2] == ([None], [None])
    assert asked == []
    assert known(contract, between(STRING, "x", "y"), STRING)[:2] == ([b"a"], [b"b"])
    assert asked == [("x", "y")]


#: Edges of strings, and those of a function that is the same string.
SAME: list[tuple[Any, Any, tuple[Any, Any]]] = [
    (texts("a", "b"), texts("c", "d"), ([b"a", b"b"], [b"c", b"d"])),
    (texts("a", "b"), None, ([b"a", b"b"], [None, None])),
    (None, texts("c", "d"), ([None, None], [b"c", b"d"])),
    (texts("a", "b"), texts("c"), ([b"a", b"b"], [b"c", b"c"])),
]


@pytest.mark.parametrize(("lower", "upper", "expected"), SAME)
def test_edges_are_known_on_the_sides_of_the_argument(
    lower: Any, upper: Any, expected: tuple[Any, Any]
) -> None:
    contract = Contract("f", monotone=lambda x: x, null_to_null=True)
    found = known(contract, Bounds(STRING, lower, upper, NO, NO, YES), STRING)
    assert found[:2] == expected


@pytest.mark.parametrize(
    ("lower", "upper", "warns"),
    [([1, 6], [2, 7], False), ([1, 4], [2, 7], True), ([4, 4], [7, 7], True)],
)
def test_one_container_that_contradicts_the_contract_causes_a_warning(
    lower: list[int], upper: list[int], warns: bool
) -> None:
    watch = UdfGuard()
    rest = Contract("f", monotone=lambda x: x % 5, null_to_null=True)
    known(rest, between(LONG, lower, upper), LONG, watch=watch)
    assert list(watch.warnings) == (["declaration_refuted:f"] if warns else [])


def test_image_is_called_for_only_nan_but_not_for_only_null() -> None:
    contract = Contract("f", image=lambda low, high: (1.0, 2.0))
    only_null = Bounds(DOUBLE, None, None, YES, NO, NO)
    assert known(contract, only_null, DOUBLE) == nothing(DOUBLE)
    only_nan = Bounds(DOUBLE, None, None, NO, YES, NO)
    assert known(contract, only_nan, DOUBLE) == ([1.0], [2.0], False, True)


def test_function_is_called_with_nan_only_if_nan_is_possible() -> None:
    asked: list[float] = []

    def same(x: float) -> float:
        asked.append(x)
        return x

    contract = Contract("f", monotone=same, null_to_null=True)
    known(contract, between(DOUBLE, 1.0, 2.0), DOUBLE)
    assert asked == [1.0, 2.0]
    known(contract, Bounds(DOUBLE, None, None, NO, YES, NO), DOUBLE)
    assert math.isnan(asked[2])
    assert len(asked) == 3


def test_image_that_returns_none_is_unknown() -> None:
    contract = Contract("f", image=lambda low, high: None, null_to_null=True)
    assert known(contract, between(FLOAT, 1.0, 2.0), LONG) == nothing(LONG)
