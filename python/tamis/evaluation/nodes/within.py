"""A column between two limits, evaluated as one predicate.

The ordinary values of a container lie in [l, u]. One of them may lie in [a, b] only if a <= u and
l <= b. One may lie outside of [a, b] only if l < a or b < u. If b is exclusive, the conditions on b
are l < b and b <= u.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Edge, Flags
from tamis.evaluation.domain.edge_values import edge_of
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.order import may_be_less, may_be_less_equal, with_keys
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.node_cache import once_a_node
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Value, Within
from tamis.expr.types import DataType

__all__ = ["within"]


def within(expr: Within, statistics: Statistics) -> TruthSet:
    """True for values inside, false for values outside, NULL for NULL.

    NaN counts as inside if `expr.nan`, else as outside.
    """
    x = statistics.bounds(expr.value)
    limits = _limits(expr)
    if limits is None or x.type != expr.value.type:
        return TruthSet.anything()
    low, high = limits
    return TruthSet(
        lambda: any_of(
            (
                all_of((x.can_be_value, _may_be_inside(x, low, high, expr.upper_open))),
                x.can_be_nan if expr.nan else NO,
            )
        ),
        lambda: any_of(
            (
                all_of((x.can_be_value, _may_be_outside(x, low, high, expr.upper_open))),
                NO if expr.nan else x.can_be_nan,
            )
        ),
        x.can_be_null,
    )


def _may_be_inside(x: Bounds, low: Bounds, high: Bounds, upper_open: bool) -> Flags:
    not_above = may_be_less if upper_open else may_be_less_equal
    tests = [lambda: may_be_less_equal(low, x), lambda: not_above(x, high)]
    if _lies_above(x, high):
        tests.reverse()
    first = tests[0]()
    if not first.any():  # files are often sorted: a whole block lies on one side of the limits
        return first
    second = tests[1]()
    if len(first) == len(second) > 1:  # both arrays are temporary: reuse one for the result
        return np.logical_and(first, second, out=first)
    return all_of((first, second))


def _lies_above(x: Bounds, high: Bounds) -> bool:
    """Return whether the middle container lies above the limits; False if that is not known."""
    if not (isinstance(x.lower, np.ndarray) and isinstance(high.lower, np.ndarray)):
        return False
    return len(x.lower) > 0 and bool(x.lower[len(x.lower) // 2] > high.lower[0])


def _may_be_outside(x: Bounds, low: Bounds, high: Bounds, upper_open: bool) -> Flags:
    too_low = NO if low.lower is None else may_be_less(x, low)
    if high.lower is None:
        return too_low
    too_high = may_be_less_equal(high, x) if upper_open else may_be_less(high, x)
    return any_of((too_low, too_high))


@once_a_node
def _limits(expr: Within) -> tuple[Bounds, Bounds] | None:
    """Return the limits as constants, or None if one of them is not a value of the type."""
    try:
        return _limit(expr.lower, expr.value.type), _limit(expr.upper, expr.value.type)
    except (TypeError, ValueError, ArithmeticError):
        return None


def _limit(value: Value, data_type: DataType) -> Bounds:
    """Return a limit as the bounds of a constant, without edges if there is no limit."""
    edge: Edge | None = None
    if value is not None and data_type.is_floating:
        # The limits of a FLOAT are doubles too. Rounding one to a FLOAT would change the limit.
        edge = np.array([value], np.float64)
    elif value is not None:
        edge = edge_of([value], data_type)
    return with_keys(Bounds(data_type, edge, edge, NO, NO, YES))
