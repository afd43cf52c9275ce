"""The abstract interpreter: every node is evaluated once, over all containers at a time.

`truth` of a predicate returns a TruthSet, `value` of any other expression returns Bounds. Rules are
looked up by the class of the node, and rules of functions by name. evaluation/nodes/operators.py
registers them. The value of a node without a rule is unknown, which is sound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from tamis.evaluation.domain.bounds import NO, Bounds
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.row_statistics import recorded_bounds
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Expr, type_of
from tamis.expr.types import BOOLEAN

__all__ = ["FUNCTIONS", "PREDICATES", "TRUTHS", "VALUES", "truth", "value"]

TruthRule: TypeAlias = Callable[[Any, Statistics], TruthSet]
ValueRule: TypeAlias = Callable[[Any, Statistics], Bounds | None]

#: Node class -> its rule as a predicate.
TRUTHS: Final[dict[type, TruthRule]] = {}
#: Node class -> its rule as a value.
VALUES: Final[dict[type, ValueRule]] = {}
#: Name of a call -> its rule as a value.
FUNCTIONS: Final[dict[str, ValueRule]] = {}
#: Name of a call that returns a boolean -> its rule as a predicate.
PREDICATES: Final[dict[str, TruthRule]] = {}


def truth(expr: Expr, statistics: Statistics) -> TruthSet:
    """Return which truth values a predicate may take in each container.

    >>> from tamis.files.example import FILES
    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal
    >>> from tamis.expr.types import LONG
    >>> above = Compare(Comparison.GREATER, Column(("c",), LONG), Literal(5, LONG))
    >>> truth(above, FILES).can_be_true.tolist()
    [False, True, True, True]
    """
    recorded = recorded_bounds(expr, statistics)
    if recorded is None or recorded.type != BOOLEAN:
        return _truth(expr, statistics)
    return truth_of_bounds(_both(bounds_of_truth(_truth(expr, statistics)), recorded))


def _truth(expr: Expr, statistics: Statistics) -> TruthSet:
    rule = PREDICATES.get(expr.name) if type(expr) is Call else TRUTHS.get(type(expr))
    if rule is not None:
        return rule(expr, statistics)
    if type_of(expr) == BOOLEAN:
        bounds = _value_rule(expr, statistics)
        if bounds is not None and bounds.type == BOOLEAN:
            return truth_of_bounds(bounds)
    return TruthSet.anything()


def value(expr: Expr, statistics: Statistics) -> Bounds | None:
    """Return the bounds of an expression; None if nothing is known, not even its type."""
    recorded = recorded_bounds(expr, statistics)
    bounds = _value(expr, statistics)
    if recorded is None:
        return bounds
    return recorded if bounds is None else _both(bounds, recorded)


def _value(expr: Expr, statistics: Statistics) -> Bounds | None:
    bounds = _value_rule(expr, statistics)
    if bounds is not None:
        return bounds
    data_type = type_of(expr)
    if data_type is None:
        return None
    if type(expr) in TRUTHS or (type(expr) is Call and expr.name in PREDICATES):
        return bounds_of_truth(truth(expr, statistics))
    return Bounds.unknown(data_type)


def _value_rule(expr: Expr, statistics: Statistics) -> Bounds | None:
    rule = FUNCTIONS.get(expr.name) if type(expr) is Call else VALUES.get(type(expr))
    return None if rule is None else rule(expr, statistics)


def _both(ruled: Bounds, recorded: Bounds) -> Bounds:
    """Return the intersection of the bounds of a rule and those recorded in an index.

    Both are true bounds, so their intersection is too.
    """
    if ruled.lower is None and ruled.upper is None and ruled.type == recorded.type:
        return recorded
    return recorded if ruled.type != recorded.type else intersect(ruled, recorded)


def truth_of_bounds(bounds: Bounds) -> TruthSet:
    """Return the truth set of a boolean value, whose edges are 0 for false and 1 for true."""
    lower, upper = bounds.lower, bounds.upper
    may_be_one = NO if upper is None else upper >= 1
    may_be_zero = NO if lower is None else lower <= 0
    return TruthSet(
        bounds.can_be_value if upper is None else all_of((bounds.can_be_value, may_be_one)),
        bounds.can_be_value if lower is None else all_of((bounds.can_be_value, may_be_zero)),
        bounds.can_be_null,
    )


def bounds_of_truth(truths: TruthSet) -> Bounds:
    """Return the bounds of a predicate that is used as a value, as in `(a > 5) = (b > 5)`."""
    return Bounds(
        BOOLEAN,
        np.where(truths.can_be_false, 0, 1),
        np.where(truths.can_be_true, 1, 0),
        truths.can_be_null,
        NO,
        any_of((truths.can_be_true, truths.can_be_false)),
    )
