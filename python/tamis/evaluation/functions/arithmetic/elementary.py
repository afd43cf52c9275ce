"""Elementary functions of doubles: sqrt, ln, exp, power and others, most of them monotone.

Only sqrt is correctly rounded. The others are within one unit in the last place of the true value
in Java (sinh and tanh: two and a half), and within about one in numpy, but both need not agree. So
each edge is widened by four units.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import YES, Bounds
from tamis.evaluation.domain.flags import any_of
from tamis.evaluation.domain.interval import Interval, Numbers, result
from tamis.evaluation.functions.arithmetic.number_bounds import has_infinity, numbers
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.interpreter import ValueRule
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import DOUBLE

__all__ = [
    "ENTRIES",
    "is_rising",
    "logarithm_of",
    "logarithm_to_base",
    "power",
    "signum",
    "sqrt",
    "wave",
]

#: Units in the last place.
_UNITS = 4


def _widened(lower: Numbers, upper: Numbers) -> tuple[Numbers, Numbers]:
    for _ in range(_UNITS):
        lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
    return lower, upper


def is_rising(function: Callable[[Numbers], Numbers]) -> ValueRule:
    """Return the rule of a function that is increasing everywhere, such as exp, cbrt or atan."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        arguments = numbers(call, statistics, 1)
        if arguments is None or arguments[0].type != DOUBLE or call.type != DOUBLE:
            return None
        x = arguments[0]
        with np.errstate(all="ignore"):
            edges = _widened(function(x.lower), function(x.upper))
        return result(DOUBLE, *edges, x)

    return rule


def sqrt(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of sqrt(x), which is NaN for x < 0."""
    arguments = numbers(call, statistics, 1)
    if arguments is None or arguments[0].type != DOUBLE:
        return None
    x = arguments[0]
    with np.errstate(all="ignore"):
        edges = np.sqrt(np.maximum(x.lower, 0.0)), np.sqrt(np.maximum(x.upper, 0.0))
    return result(DOUBLE, *edges, x, can_be_nan=any_of((x.can_be_nan, x.lower < 0)))


def logarithm_of(function: Callable[[Numbers], Numbers], pole: float) -> ValueRule:
    """Return the rule of a logarithm, which is NULL for x <= pole."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        arguments = numbers(call, statistics, 1)
        if arguments is None or arguments[0].type != DOUBLE:
            return None
        x = arguments[0]
        with np.errstate(all="ignore"):
            low, high = (function(np.maximum(each, pole)) for each in (x.lower, x.upper))
        # Only values above the pole have a logarithm. If x.upper is not above it there are none,
        # and any edges are true bounds.
        edges = _widened(low, high)
        return result(DOUBLE, *edges, x, can_be_null=x.lower <= pole)

    return rule


def logarithm_to_base(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of log(base, x) for a constant base.

    This is ln(x) / ln(base), which is decreasing in x if the base is below one.
    """
    arguments = numbers(call, statistics, 2)
    match call.arguments:
        case (Literal(value=float(base)), _) if arguments is not None:
            x = arguments[1]
        case _:
            return None
    if x.type != DOUBLE or not 0 < base < np.inf or base == 1:
        return None
    with np.errstate(all="ignore"):
        edges = [np.log(np.maximum(each, 0.0)) / np.log(base) for each in (x.lower, x.upper)]
    low, high = edges if base > 1 else reversed(edges)
    # Twice, because two logarithms and a division add up their errors.
    low, high = _widened(*_widened(low, high))
    return result(DOUBLE, low, high, arguments[0], x, can_be_null=x.lower <= 0)


def power(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of power(x, constant) or power(constant, x)."""
    arguments = numbers(call, statistics, 2)
    if arguments is None or any(each.type != DOUBLE for each in arguments):
        return None
    match call.arguments:
        case (_, Literal(value=float(exponent))) if exponent != 0 and np.isfinite(exponent):
            return _to_power(arguments[0], exponent)
        case (Literal(value=float(base)), _) if 0 < base < np.inf and base != 1:
            x = arguments[1]
            with np.errstate(all="ignore"):
                edges = [np.power(base, each) for each in (x.lower, x.upper)]
            low, high = edges if base > 1 else reversed(edges)
            low, high = _widened(low, high)
            return result(DOUBLE, np.maximum(low, 0.0), high, x)
    return None


def _to_power(x: Interval, exponent: float) -> Bounds:
    """Return the bounds of x to the power of a constant exponent.

    A positive exponent is increasing for x >= 0. For x < 0 the result mirrors that of -x (even
    exponent), continues to increase (odd exponent), or is NaN, except Infinity for x = -Infinity
    (fractional exponent). A negative exponent is decreasing for x > 0, and unknown otherwise.
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
    """Return the bounds of sin or cos: -1 and 1. The result is NaN for an infinite argument."""
    arguments = numbers(call, statistics, 1)
    if arguments is None or arguments[0].type != DOUBLE:
        return None
    x = arguments[0]
    end = np.ones(1)
    return result(DOUBLE, -end, end, x, can_be_nan=any_of((x.can_be_nan, has_infinity(x))))


def signum(call: Call, statistics: Statistics) -> Bounds | None:
    arguments = numbers(call, statistics, 1)
    if arguments is None or arguments[0].type != DOUBLE or call.type != DOUBLE:
        return None
    return result(DOUBLE, np.sign(arguments[0].lower), np.sign(arguments[0].upper), arguments[0])


ENTRIES: Final = (
    FunctionEntry("Signum", "sign", Knowledge.MONOTONE, signum, never_raises=True),
    FunctionEntry("Sqrt", "sqrt", Knowledge.MONOTONE, sqrt, never_raises=True),
    FunctionEntry("Cbrt", "cbrt", Knowledge.MONOTONE, is_rising(np.cbrt), never_raises=True),
    FunctionEntry("Exp", "exp", Knowledge.MONOTONE, is_rising(np.exp), never_raises=True),
    FunctionEntry("Log", "ln", Knowledge.MONOTONE, logarithm_of(np.log, 0.0), never_raises=True),
    FunctionEntry(
        "Log10", "log10", Knowledge.MONOTONE, logarithm_of(np.log10, 0.0), never_raises=True
    ),
    FunctionEntry(
        "Log2", "log2", Knowledge.MONOTONE, logarithm_of(np.log2, 0.0), never_raises=True
    ),
    FunctionEntry(
        "Log1p", "log1p", Knowledge.MONOTONE, logarithm_of(np.log1p, -1.0), never_raises=True
    ),
    FunctionEntry(
        "Logarithm", "log(base, x)", Knowledge.MONOTONE, logarithm_to_base, note="constant base"
    ),
    FunctionEntry("Expm1", "expm1", Knowledge.MONOTONE, is_rising(np.expm1), never_raises=True),
    FunctionEntry("Atan", "atan", Knowledge.MONOTONE, is_rising(np.arctan), never_raises=True),
    FunctionEntry("Sinh", "sinh", Knowledge.MONOTONE, is_rising(np.sinh), never_raises=True),
    FunctionEntry("Tanh", "tanh", Knowledge.MONOTONE, is_rising(np.tanh), never_raises=True),
    FunctionEntry(
        "ToDegrees", "degrees", Knowledge.MONOTONE, is_rising(np.degrees), never_raises=True
    ),
    FunctionEntry(
        "ToRadians", "radians", Knowledge.MONOTONE, is_rising(np.radians), never_raises=True
    ),
    FunctionEntry("Rint", "rint", Knowledge.MONOTONE, is_rising(np.rint), never_raises=True),
    FunctionEntry("Sin", "sin", Knowledge.INTERVAL, wave, never_raises=True),
    FunctionEntry("Cos", "cos", Knowledge.INTERVAL, wave, never_raises=True),
    FunctionEntry(
        "Pow", "power", Knowledge.INTERVAL, power, note="one constant argument", never_raises=True
    ),
)
