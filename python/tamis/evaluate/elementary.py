"""sqrt, ln, exp, power and their like: monotone functions of doubles.

Only sqrt is rounded to the nearest double. The others are within one unit in the last place of the
true value, in Java as in numpy, but not always the same one: each edge is widened by four units.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.evaluate.arithmetic import has_infinity, numbers
from tamis.evaluate.bounds import YES, Bounds
from tamis.evaluate.flags import any_of
from tamis.evaluate.interpreter import ValueRule
from tamis.evaluate.interval import Interval, Numbers, result
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import DOUBLE

__all__ = [
    "is_rising",
    "logarithm_of",
    "logarithm_to_base",
    "power",
    "signum",
    "sqrt",
    "wave",
]

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


def logarithm_to_base(call: Call, statistics: Statistics) -> Bounds | None:
    """log(base, x) of a constant base: ln(x) / ln(base), which falls for bases below one."""
    found = numbers(call, statistics, 2)
    match call.arguments:
        case (Literal(value=float(base)), _) if found is not None:
            x = found[1]
        case _:
            return None
    if x.type != DOUBLE or not 0 < base < np.inf or base == 1:
        return None
    with np.errstate(all="ignore"):
        edges = [np.log(np.maximum(each, 0.0)) / np.log(base) for each in (x.lower, x.upper)]
    low, high = edges if base > 1 else reversed(edges)
    # Two logarithms and a division.
    low, high = _widened(*_widened(low, high))
    return result(DOUBLE, low, high, found[0], x, can_be_null=x.lower <= 0)


def power(call: Call, statistics: Statistics) -> Bounds | None:
    """power(x, constant) and power(constant, x)."""
    found = numbers(call, statistics, 2)
    if found is None or any(each.type != DOUBLE for each in found):
        return None
    match call.arguments:
        case (_, Literal(value=float(exponent))) if exponent != 0 and np.isfinite(exponent):
            return _to_power(found[0], exponent)
        case (Literal(value=float(base)), _) if 0 < base < np.inf and base != 1:
            x = found[1]
            with np.errstate(all="ignore"):
                edges = [np.power(base, each) for each in (x.lower, x.upper)]
            low, high = edges if base > 1 else reversed(edges)
            low, high = _widened(low, high)
            return result(DOUBLE, np.maximum(low, 0.0), high, x)
    return None


def _to_power(x: Interval, exponent: float) -> Bounds:
    """x to an exponent above zero rises from zero on. Below zero it mirrors (even exponents), goes
    on rising (odd ones), or is NaN, of -Infinity infinite (fractions). Below zero it falls, of an x
    above zero.
    """
    with np.errstate(all="ignore"):
        low, high = (np.power(each, exponent) for each in (x.lower, x.upper))
        sizes = np.maximum(np.abs(x.lower), np.abs(x.upper)) ** exponent
    nan = x.can_be_nan
    proven = YES
    if exponent < 0:
        low, high, proven = high, low, x.lower > 0
    elif exponent % 2 == 0:
        spans = (x.lower < 0) & (x.upper > 0)
        low, high = np.where(spans, 0.0, np.fmin(low, high)), sizes
    elif exponent % 1 != 0:
        nan = any_of((nan, x.lower < 0))
        low = np.where(x.lower > 0, low, 0.0)
        high = np.where(np.isneginf(x.lower), np.inf, np.where(x.upper >= 0, high, 0.0))
    low, high = _widened(low, high)
    low = np.where(x.lower >= 0, np.maximum(low, 0.0), low)
    return result(DOUBLE, low, high, x, proven=proven, can_be_nan=nan)


def wave(call: Call, statistics: Statistics) -> Bounds | None:
    """sin and cos: between -1 and 1; NaN of infinity."""
    found = numbers(call, statistics, 1)
    if found is None or found[0].type != DOUBLE:
        return None
    x = found[0]
    end = np.ones(1)
    return result(DOUBLE, -end, end, x, can_be_nan=any_of((x.can_be_nan, has_infinity(x))))


def signum(call: Call, statistics: Statistics) -> Bounds | None:
    found = numbers(call, statistics, 1)
    if found is None or found[0].type != DOUBLE or call.type != DOUBLE:
        return None
    return result(DOUBLE, np.sign(found[0].lower), np.sign(found[0].upper), found[0])
