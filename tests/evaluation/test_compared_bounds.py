"""Comparisons of bounds that no ordinary table has: one-sided, of one edge, of no type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tamis.evaluation import verdicts
from tamis.evaluation.domain.bounds import NO, YES, Bounds, Buckets
from tamis.evaluation.domain.buckets import hashed
from tamis.evaluation.domain.edge_values import edge_of
from tamis.evaluation.interpreter import truth
from tamis.evaluation.nodes.comparison import equal
from tamis.expr.nodes import And, Call, Column, Compare, Comparison, Expr, Literal, Opaque
from tamis.expr.types import LONG, STRING, DataType
from tamis.files.verdicts import evaluate
from tests.cases.case import compare, statistics_of
from tests.evaluation.given import Given, between, texts
from tests.properties.test_recorded import RecordedFiles

c = Column(("c",), LONG)
FILES = statistics_of(c, [(1, 2), (8, 9)])

NOT_COMPARABLE: list[Expr] = [Opaque("f(c)", (("c",),)), Literal("5", STRING)]


@pytest.mark.parametrize("other", NOT_COMPARABLE, ids=str)
@pytest.mark.parametrize("op", list(Comparison))
def test_comparison_with_another_type_may_be_anything(op: Comparison, other: Expr) -> None:
    for sides in ((c, other), (other, c)):
        predicate = Compare(op, *sides)
        found = truth(predicate, Given(between(LONG, 1, 2)))
        assert found.can_be_true.all()
        assert found.can_be_false.all()
        assert found.can_be_null.all()
        # It does not keep the conjunct beside it from pruning.
        both = And((compare(">", c, 5), predicate))
        assert evaluate(both, FILES).to_pylist() == ["none", "some"]


def in_bucket_of(value: Any, data_type: DataType) -> Bounds:
    """Bounds of two containers: one holds the bucket of the value, one another bucket."""
    constant = hashed(edge_of([value], data_type), data_type)
    assert constant is not None
    (bucket,) = constant.buckets(1_000).tolist()
    ordinals = np.array([bucket, (bucket + 1) % 1_000])
    return replace(Bounds.unknown(data_type), can_be_null=NO, buckets=(Buckets(1_000, ordinals),))


#: Bounds that are one value in all containers, and bounds that are not.
OTHER_SIDES: list[tuple[DataType, Any, Bounds, bool]] = [
    (LONG, 5, between(LONG, 5, 5), True),
    (LONG, 5, between(LONG, 5, 6), False),
    (LONG, 5, between(LONG, 4, 5), False),
    (LONG, 5, between(LONG, [5, 6], [5, 6]), False),
    (LONG, 5, between(LONG, [5, 4], 5), False),
    (LONG, 5, between(LONG, 5, [5, 6]), False),
    (LONG, 5, Bounds(LONG, np.array([5]), None, NO, NO, YES), False),
    (LONG, 5, Bounds(LONG, None, np.array([5]), NO, NO, YES), False),
    (STRING, "a", between(STRING, "a", "a"), True),
    (STRING, "a", between(STRING, "a", "b"), False),
    (STRING, "b", between(STRING, "a", "b"), False),
    (STRING, "a", between(STRING, "a", None), False),
    (STRING, "a", between(STRING, None, "a"), False),
    (STRING, "a", between(STRING, None, None), False),
    (STRING, "a", Bounds(STRING, texts("a"), None, NO, NO, YES), False),
    (STRING, "a", Bounds(STRING, None, texts("a"), NO, NO, YES), False),
]


@pytest.mark.parametrize(("data_type", "value", "other", "is_one"), OTHER_SIDES)
def test_only_one_value_rules_out_a_bucket(
    data_type: DataType, value: Any, other: Bounds, is_one: bool
) -> None:
    x = in_bucket_of(value, data_type)
    expected = [True, not is_one]
    for found in (equal(x, other), equal(other, x)):
        assert np.broadcast_to(found.can_be_true, (2,)).tolist() == expected


def test_constant_outside_its_type_is_not_looked_up_in_value_lists() -> None:
    held = RecordedFiles("values", STRING, [["a"], ["b"]], [True, True])
    x = Column(("x",), STRING)
    for op in (Comparison.EQUAL, Comparison.NOT_EQUAL, Comparison.NULL_SAFE_EQUAL):
        for constant in (Literal(5, STRING), Literal(None, STRING)):
            for predicate in (Compare(op, x, constant), Compare(op, constant, x)):
                expected = [0, 0] if constant.value is None else [1, 1]
                if constant.value is None and op is Comparison.NULL_SAFE_EQUAL:
                    expected = [1, 1]
                assert verdicts(predicate, held).tolist() == expected


@pytest.mark.parametrize("kind", ["values", "both"])
def test_lists_of_values_prove_that_no_row_differs(kind: str) -> None:
    held = RecordedFiles(kind, STRING, [["a"], ["a", "b"], ["b"]], [True, True, True])
    for subject in (Column(("x",), STRING), Call("F", (), (), STRING, "g(x)")):
        predicate = Compare(Comparison.NOT_EQUAL, subject, Literal("a", STRING))
        found = truth(predicate, held)
        assert found.can_be_true.tolist() == [False, True, True]
        assert found.can_be_false.tolist() == [True, True, False]
