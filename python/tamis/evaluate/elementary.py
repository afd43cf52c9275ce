"""sqrt, ln, exp, power and their like: monotone functions of doubles.

Only sqrt is rounded to the nearest double. The others are within one unit in the last place of the
true value, in Java as in numpy, but not always the same one: each edge is widened by four units.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.evaluate.arithmetic import numbers
from tamis.evaluate.bounds import Bounds
from tamis.evaluate.flags import any_of
from tamis.evaluate.interpreter import ValueRule
from tamis.evaluate.interval import Numbers, result
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import DOUBLE

__all__ = ["is_rising", "logarithm_of", "power", "signum", "sqrt"]

_UNITS = 4


def _widened(lower: Numbers, upper: Numbers) -> tuple[Numbers, Numbers]:
    for _ in range(_UNITS):
        lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
    return lower, upper


def is_rising(function: Callable[[Numbers], Numbers]) -> ValueRule:
    """The rule of a function that rises everywhere: exp, cbrt, atan, degrees and the like."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        found = numbers(call, statistics, 1)
        if found is None or found[0].type != DOUBLE or call.type != DOUBLE:
            return None
        x = found[0]
        with np.errstate(all="ignore"):
            edges = _widened(function(x.lower), function(x.upper))
        return result(DOUBLE, *edges, x)

    return rule


def sqrt(call: Call, statistics: Statistics) -> Bounds | None:
    """Below zero it is NaN."""
    found = numbers(call, statistics, 1)
    if found is None or found[0].type != DOUBLE:
        return None
    x = found[0]
    with np.errstate(all="ignore"):
        edges = np.sqrt(np.maximum(x.lower, 0.0)), np.sqrt(np.maximum(x.upper, 0.0))
    return result(DOUBLE, *edges, x, can_be_nan=any_of((x.can_be_nan, x.lower < 0)))


def logarithm_of(function: Callable[[Numbers], Numbers], pole: float) -> ValueRule:
    """The rule of a logarithm: NULL of what is not above its pole."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        found = numbers(call, statistics, 1)
        if found is None or found[0].type != DOUBLE:
            return None
        x = found[0]
        with np.errstate(all="ignore"):
            low, high = (function(np.maximum(each, pole)) for each in (x.lower, x.upper))
        # Only values above the pole have a logarithm: none if the upper edge is not.
        edges = _widened(low, high)
        return result(DOUBLE, *edges, x, can_be_null=x.lower <= pole)

    return rule


def power(call: Call, statistics: Statistics) -> Bounds | None:
    """x to a constant power above zero, of an x that is not below zero: rises."""
    found = numbers(call, statistics, 2)
    match call.arguments:
        case (_, Literal(value=float(exponent))) if found is not None:
            x = found[0]
        case _:
            return None
    if x.type != DOUBLE or not 0 < exponent < np.inf:
        return None
    with np.errstate(all="ignore"):
        edges = [np.maximum(each, 0.0) ** exponent for each in (x.lower, x.upper)]
    low, high = _widened(edges[0], edges[1])
    return result(DOUBLE, np.maximum(low, 0.0), high, x, found[1], proven=x.lower >= 0)


def signum(call: Call, statistics: Statistics) -> Bounds | None:
    found = numbers(call, statistics, 1)
    if found is None or found[0].type != DOUBLE or call.type != DOUBLE:
        return None
    return result(DOUBLE, np.sign(found[0].lower), np.sign(found[0].upper), found[0])
