"""Constants: the same value in every row of every container."""

from __future__ import annotations

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.edge_values import edge_of, is_nan
from tamis.evaluation.domain.order import with_keys
from tamis.evaluation.node_cache import once_a_node
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Literal

__all__ = ["literal"]


def literal(expr: Literal, statistics: Statistics) -> Bounds:
    return _bounds(expr)


@once_a_node
def _bounds(expr: Literal) -> Bounds:
    if expr.value is None:
        return Bounds(expr.type, None, None, YES, NO, NO)
    if is_nan(expr.value) and expr.type.is_floating:
        return Bounds(expr.type, None, None, NO, YES, NO)
    try:
        edge = edge_of([expr.value], expr.type)
    except (TypeError, ValueError, ArithmeticError):
        # Not a value of its type, so nothing is known. (OverflowError is an ArithmeticError.)
        return Bounds.unknown(expr.type)
    return with_keys(Bounds(expr.type, edge, edge, NO, NO, YES))
