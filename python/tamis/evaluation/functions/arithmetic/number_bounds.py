"""Shared parts of the arithmetic rules: operands, scales, corners, and division by zero.

The operators are in the modules sums, products, remainders and signs of this package.
On overflow, integers wrap around (evalMode LEGACY), raise (ANSI) or become NULL (TRY). Where the
bounds allow an overflow the result is unknown; elsewhere the mode does not matter. Decimal results
have the type that Catalyst assigned; a result with more digits than that type holds is unknown.
Floating-point results are rounded. Rounding is monotone, so the rounded edges are true edges.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Flags
from tamis.evaluation.domain.interval import Interval, Numbers, interval
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import DataType

__all__ = [
    "Pair",
    "aligned_decimals",
    "at_scale",
    "by_zero",
    "corners",
    "fits",
    "has_infinity",
    "has_zero",
    "is_number",
    "numbers",
    "rounded",
    "same_type",
]

Exactly = tuple[Numbers, Flags]
Pair = tuple[Numbers, Numbers]


def numbers(call: Call, statistics: Statistics, count: int) -> tuple[Interval, ...] | None:
    """Return the intervals of the arguments.

    Returns:
        One interval per argument; None if there are not exactly `count` arguments or one of them
        is not a number.
    """
    if len(call.arguments) != count:
        return None
    intervals = []
    for argument in call.arguments:
        x = interval(value(argument, statistics))
        if x is None or not is_number(x.type):
            return None
        intervals.append(x)
    return tuple(intervals)


def is_number(data_type: DataType) -> bool:
    """Return whether the type is integral, floating-point or decimal."""
    return data_type.is_integral or data_type.is_floating or data_type.is_decimal


def fits(data_type: DataType, lower: Numbers, upper: Numbers) -> Flags:
    """Return where both edges, integers or unscaled decimals, are values of the type.

    >>> from tamis.expr.types import BYTE
    >>> fits(BYTE, np.array([-1, 0]), np.array([127, 128])).tolist()
    [True, False]
    """
    if data_type.is_decimal:
        limit = int64_overflow.power_of_ten(data_type.precision or 0)
        if limit is None:
            return YES  # the type holds every 64-bit unscaled value
        return (lower > -limit) & (upper < limit)
    least, greatest = data_type.domain
    return (lower >= least) & (upper <= greatest)


def rounded(data_type: DataType, edge: Numbers) -> Numbers:
    """Return a floating-point edge, rounded to the precision of the type.

    For one operation on two floats, rounding to double first does not change the result: a double
    has more than twice the significant bits of a float.
    """
    if data_type.name != "float":
        return edge
    with np.errstate(over="ignore"):  # beyond the type it is infinite, as in Spark
        return edge.astype(np.float32).astype(np.float64)


def same_type(call: Call, x: Interval, y: Interval) -> bool:
    """Return whether operands and result have one type, as Catalyst ensures except for decimals."""
    return x.type == y.type == call.type


def at_scale(call: Call, x: Interval, y: Interval) -> tuple[Pair, Pair, Flags] | None:
    """Return the edges of both operands at the scale of the result, and where they are exact.

    Integral operands are returned as they are, decimal ones as unscaled values at the scale of the
    result. None for other types, and where the scales cannot be aligned.
    """
    if call.type.is_integral:
        if not same_type(call, x, y):
            return None
        return (x.lower, x.upper), (y.lower, y.upper), YES
    return aligned_decimals(x, y, call.type.scale or 0) if call.type.is_decimal else None


def aligned_decimals(x: Interval, y: Interval, scale: int) -> tuple[Pair, Pair, Flags] | None:
    """Return the edges of two decimals, unscaled at one scale, and where both fit 64 bits."""
    if not (x.type.is_decimal and y.type.is_decimal):
        return None
    pairs, aligned = [], YES
    for each in (x, y):
        factor = int64_overflow.power_of_ten(scale - (each.type.scale or 0))
        if factor is None:
            # The result has a lower scale (it would need more than 38 digits, so it is rounded),
            # or the factor does not fit 64 bits.
            return None
        (low, low_exact), (high, high_exact) = (
            int64_overflow.multiply(edge, np.array([factor])) for edge in (each.lower, each.upper)
        )
        pairs.append((low, high))
        aligned = aligned & low_exact & high_exact
    return pairs[0], pairs[1], aligned


def corners(
    x: Interval, y: Interval, combine: Callable[[Numbers, Numbers], Exactly]
) -> tuple[Numbers, Numbers, Flags]:
    """Return the least and the greatest of the four corners, and where both are exact.

    These bound the result of an operation that is monotone in each operand.
    """
    results = [combine(a, b) for a in (x.lower, x.upper) for b in (y.lower, y.upper)]
    values = np.broadcast_arrays(*(corner for corner, _ in results))
    proven = YES
    for _, flags in results:
        proven = proven & flags
    return np.minimum.reduce(values), np.maximum.reduce(values), proven


def has_zero(x: Interval) -> Flags:
    return (x.lower <= 0) & (x.upper >= 0)


def has_infinity(x: Interval) -> Flags:
    return np.isinf(x.lower) | np.isinf(x.upper)


def by_zero(call: Call, y: Interval) -> tuple[Flags, Flags]:
    """Return where division is proven not to raise, and where it may be NULL.

    Both depend on whether the divisor y may be zero and on the evalMode.
    """
    zero = has_zero(y) & y.can_be_value
    if call.option("evalMode") in ("LEGACY", "TRY"):
        return YES, zero
    return ~zero, NO
