"""Comparisons and subtractions, narrowed by the recorded relation of their operands.

With the bounds of the difference d = a - b, `a < b + 3` is d - 3 < 0, and datediff(b, a) is -d, in
whatever form the difference was recorded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.domain.interval import Numbers, decimal_edge
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import fits
from tamis.evaluation.interpreter import TruthRule, ValueRule, truth_of_bounds
from tamis.evaluation.pairs.recorded_differences import GREATEST, LEAST, SIGNS, cannot_wrap
from tamis.evaluation.pairs.relations import (
    EQUALITIES,
    Pair,
    Subtraction,
    comparison_of,
    is_exact,
    subtraction_of,
)
from tamis.evaluation.pairs.terms import proven
from tamis.evaluation.statistics import Relation, RelationKind, Statistics
from tamis.expr.nodes import Call, Compare, Comparison, Literal
from tamis.expr.types import BOOLEAN, LONG

__all__ = ["narrowed_comparison", "narrowed_subtraction"]


#: The least positive number of 32 bits.
_LEAST_FLOAT: Final = 2.0**-149


def narrowed_comparison(rule: TruthRule) -> TruthRule:
    """Return the rule of comparisons, together with what recorded relations prove."""

    def narrowed(expr: Compare, statistics: Statistics) -> TruthSet:
        truths = rule(expr, statistics)
        if isinstance(expr.left, Literal) or isinstance(expr.right, Literal):
            return truths
        pair = comparison_of(expr)
        if pair is None:
            return truths
        difference = _recorded(pair.relation(RelationKind.DIFFERENCE), statistics)
        if difference is not None:
            truths = _both(truths, _by_difference(pair, difference, statistics))
        if pair.is_plain and pair.op in EQUALITIES:
            equality = _recorded(pair.relation(RelationKind.EQUALITY), statistics)
            if equality is not None:
                truths = _both(truths, _by_equality(pair, equality))
        return truths

    return narrowed


def _recorded(relation: Relation, statistics: Statistics) -> Bounds | None:
    bounds = statistics.expression(relation)
    expected = LONG if relation.kind is RelationKind.DIFFERENCE else BOOLEAN
    return bounds if bounds is not None and bounds.type == expected else None


def _both(left: TruthSet, right: TruthSet) -> TruthSet:
    """Return the truth values that both allow. Each flag holds, so their conjunction does."""
    return TruthSet(
        lambda: all_of((left.can_be_true, right.can_be_true)),
        lambda: all_of((left.can_be_false, right.can_be_false)),
        lambda: all_of((left.can_be_null, right.can_be_null)),
    )


def _by_difference(pair: Pair, difference: Bounds, statistics: Statistics) -> TruthSet:
    lower, upper = difference.lower, difference.upper
    if lower is None or upper is None:
        return TruthSet.anything()
    unsure = ~all_of((proven(pair.left, statistics), proven(pair.right, statistics)))
    least, most = (max(LEAST, min(GREATEST, each)) for each in pair.shift)
    low = np.where(lower == LEAST, LEAST, int64_overflow.clipped_add(lower, np.array([least])))
    high = np.where(
        upper == GREATEST, GREATEST, int64_overflow.clipped_add(upper, np.array([most]))
    )
    # left - right lies between low and high in every row in which neither side is NULL.
    signs = {-1: low < 0, 0: (low <= 0) & (high >= 0), 1: high > 0}
    when_true = SIGNS[pair.op]
    true = any_of(signs[sign] for sign in sorted(when_true))
    false = any_of(signs[sign] for sign in sorted({-1, 0, 1} - when_true))
    true = all_of((difference.can_be_value, true))
    false = all_of((difference.can_be_value, false))
    null = difference.can_be_null
    if pair.op is Comparison.NULL_SAFE_EQUAL:
        # It is not NULL where a side is: then it is true or false.
        true, false, null = any_of((true, null)), any_of((false, null)), NO
    return TruthSet(true | unsure, false | unsure, null | unsure)


def _by_equality(pair: Pair, equality: Bounds) -> TruthSet:
    truths = truth_of_bounds(equality)
    if pair.op is Comparison.NOT_EQUAL:
        return truths.negated()
    if pair.op is Comparison.EQUAL:
        return truths
    return TruthSet(
        any_of((truths.can_be_true, truths.can_be_null)),
        any_of((truths.can_be_false, truths.can_be_null)),
        NO,
    )


def narrowed_subtraction(rule: ValueRule) -> ValueRule:
    """Return the rule of a subtraction, together with what recorded relations prove."""

    def narrowed(call: Call, statistics: Statistics) -> Bounds | None:
        ruled = rule(call, statistics)
        pair = subtraction_of(call)
        if pair is None:
            return ruled
        difference = _recorded(pair.relation(), statistics)
        if difference is None:
            return ruled
        found = _subtracted(pair, difference, statistics)
        if found is None or ruled is None or ruled.type != found.type:
            return ruled if found is None else found
        return intersect(ruled, found)

    return narrowed


def _subtracted(pair: Subtraction, difference: Bounds, statistics: Statistics) -> Bounds | None:
    lower, upper = difference.lower, difference.upper
    if lower is None or upper is None:
        return None
    sure = all_of((proven(pair.left, statistics), proven(pair.right, statistics)))
    if not is_exact(pair.left):
        return _signed(pair, difference, lower, upper)
    # value * unit = difference + shift, and the value is a whole number at its scale
    factor = 10 ** (pair.type.scale or 0) / (pair.unit * 10**pair.scale)
    least, most = pair.shift
    low, low_known = _inward(lower, least, factor, LEAST)
    high, high_known = _inward(upper, most, factor, GREATEST)
    low_known, high_known = (
        low_known & fits(pair.type, low, low),
        high_known & fits(pair.type, high, high),
    )
    # If both edges are values of the type, the value cannot have wrapped around.
    sure = all_of((sure, any_of((low_known & high_known, cannot_wrap(pair, statistics)))))
    null, has_value = difference.can_be_null | ~sure, difference.can_be_value | ~sure
    low_known, high_known = low_known & sure, high_known & sure
    if not pair.type.is_discrete:
        edges = [
            decimal_edge(*_broadcast(edge, known), pair.type)
            for edge, known in ((low, low_known), (high, high_known))
        ]
    else:
        first, last = pair.type.domain
        edges = [np.where(low_known, low, first), np.where(high_known, high, last)]
    return Bounds(pair.type, edges[0], edges[1], null, NO, has_value)


def _inward(edge: Numbers, plus: int, factor: Fraction, unknown: int) -> tuple[Numbers, Flags]:
    """Return (edge + plus) * factor, rounded up for a lower edge, and where it is known."""
    if abs(plus) > GREATEST or factor.numerator > GREATEST or factor.denominator > GREATEST:
        return edge, NO
    total, known = int64_overflow.add(edge, np.array([plus]))
    known = known & (edge != unknown)
    if factor.numerator != 1:
        total, exact = int64_overflow.multiply(total, np.array([factor.numerator]))
        known = known & exact
    if factor.denominator != 1:
        is_lower = unknown == LEAST
        total = (
            int64_overflow.ceil_divide(total, factor.denominator)
            if is_lower
            else total // factor.denominator
        )
    return total, known


def _broadcast(edge: Numbers, known: Flags) -> tuple[Numbers, Flags]:
    numbers, flags = np.broadcast_arrays(edge, known)
    return numbers, flags


def _signed(pair: Subtraction, difference: Bounds, lower: Numbers, upper: Numbers) -> Bounds:
    """Return the bounds of a floating-point difference, whose sign is known.

    An ordinary difference is positive if and only if the left side is greater, and then at least
    the least positive number.
    """
    least = _LEAST_FLOAT if pair.type.name == "float" else math.ulp(0.0)
    low = np.where(lower >= 1, least, np.where(lower == 0, 0.0, -np.inf))
    high = np.where(upper <= -1, -least, np.where(upper == 0, 0.0, np.inf))
    return Bounds(pair.type, low, high, difference.can_be_null, YES, difference.can_be_value)
