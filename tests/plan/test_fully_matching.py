"""Conjuncts that statistics may prove to be true for every row of a file."""

from __future__ import annotations

import pytest

from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, In, Literal, Not, Or
from tamis.expr.types import DOUBLE, LONG
from tamis.plan.goals.fully_matching import can_match_fully

c, d = Column(("c",), LONG), Column(("d",), DOUBLE)
ZERO = Compare(Comparison.EQUAL, d, Literal(0.0, DOUBLE))
ABOVE = Compare(Comparison.GREATER, c, Literal(5, LONG))


@pytest.mark.parametrize("conjunct", [ABOVE, Not(ABOVE), And((ABOVE, ABOVE)), In(d, (1.5,), False)])
def test_plain_conjuncts_can_match_fully(conjunct: Expr) -> None:
    assert can_match_fully(conjunct)


@pytest.mark.parametrize(
    "conjunct", [ZERO, Not(ZERO), Or((ABOVE, ZERO)), In(d, (-0.0, 1.5), False)]
)
def test_conjuncts_with_a_floating_zero_cannot_match_fully(conjunct: Expr) -> None:
    """Spark's Parquet reader distinguishes -0.0 from 0.0."""
    assert not can_match_fully(conjunct)
