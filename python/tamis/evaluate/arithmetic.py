"""What the rules of arithmetic share: operands, their scales, corners, and division by zero.

The operators are in evaluate.sums, evaluate.products, evaluate.remainders and evaluate.signs.
Whole numbers wrap around at the end of their type (evalMode LEGACY), raise (ANSI), or give NULL
(TRY). Where the bounds leave room for that, nothing is known; elsewhere the mode does not matter.
Decimals have the type that Catalyst gave the result; a result of more digits than that is unknown.
Floating results are rounded, and rounding is monotone, so the rounded edges are the edges.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.evaluate import exact
from tamis.evaluate.bounds import NO, YES, Flags
from tamis.evaluate.interpreter import value
from tamis.evaluate.interval import Interval, Numbers, interval
from tamis.evaluate.statistics import Statistics
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
    """The intervals of exactly so many arguments, each of them a number; None if one is not."""
    if len(call.arguments) != count:
        return None
    found = []
    for argument in call.arguments:
        each = interval(value(argument, statistics))
        if each is None or not is_number(each.type):
            return None
        found.append(each)
    return tuple(found)


def is_number(data_type: DataType) -> bool:
    """Whether arithmetic takes values of the type."""
    return data_type.is_integral or data_type.is_floating or data_type.is_decimal


def fits(data_type: DataType, lower: Numbers, upper: Numbers) -> Flags:
    """Where whole or unscaled numbers are values of the type.

    >>> from tamis.expr.types import BYTE
    >>> fits(BYTE, np.array([-1, 0]), np.array([127, 128])).tolist()
    [True, False]
    """
    if data_type.is_decimal:
        limit = exact.power_of_ten(data_type.precision or 0)
        if limit is None:
            return YES  # 64 bits hold fewer digits than the type
        return (lower > -limit) & (upper < limit)
    least, greatest = data_type.domain
    return (lower >= least) & (upper <= greatest)


def rounded(data_type: DataType, edge: Numbers) -> Numbers:
    """A floating edge as the type holds it. Of one operation on two floats the rounding to double
    in between changes nothing: a double has more than twice the digits of a float.
    """
    return edge.astype(np.float32).astype(np.float64) if data_type.name == "float" else edge


def same_type(call: Call, x: Interval, y: Interval) -> bool:
    """Catalyst gives whole and floating operands and the result one type."""
    return x.type == y.type == call.type


def at_scale(call: Call, x: Interval, y: Interval) -> tuple[Pair, Pair, Flags] | None:
    """Whole operands as they are; decimal ones unscaled at the result's scale."""
    if call.type.is_integral:
        if not same_type(call, x, y):
            return None
        return (x.lower, x.upper), (y.lower, y.upper), YES
    return aligned_decimals(x, y, call.type.scale or 0) if call.type.is_decimal else None


def aligned_decimals(x: Interval, y: Interval, scale: int) -> tuple[Pair, Pair, Flags] | None:
    """Two decimals unscaled at one scale, and where both fit 64 bits there."""
    if not (x.type.is_decimal and y.type.is_decimal):
        return None
    pairs, aligned = [], YES
    for each in (x, y):
        factor = exact.power_of_ten(scale - (each.type.scale or 0))
        if factor is None:
            return None  # the result is rounded: more digits than 38 in all
        (low, low_exact), (high, high_exact) = (
            exact.multiply(edge, np.array([factor])) for edge in (each.lower, each.upper)
        )
        pairs.append((low, high))
        aligned = aligned & low_exact & high_exact
    return pairs[0], pairs[1], aligned


def corners(
    x: Interval, y: Interval, combine: Callable[[Numbers, Numbers], Exactly]
) -> tuple[Numbers, Numbers, Flags]:
    """The least and the greatest of the four corners, for what is monotone in each operand."""
    corners = [combine(a, b) for a in (x.lower, x.upper) for b in (y.lower, y.upper)]
    values = np.broadcast_arrays(*(corner for corner, _ in corners))
    proven = YES
    for _, flags in corners:
        proven = proven & flags
    return np.minimum.reduce(values), np.maximum.reduce(values), proven


def has_zero(x: Interval) -> Flags:
    return (x.lower <= 0) & (x.upper >= 0)


def has_infinity(x: Interval) -> Flags:
    return np.isinf(x.lower) | np.isinf(x.upper)


def by_zero(call: Call, y: Interval) -> tuple[Flags, Flags]:
    """Where division is proven not to raise, and where it may give NULL: zero in the divisor."""
    zero = has_zero(y) & y.can_be_value
    if call.option("evalMode") in ("LEGACY", "TRY"):
        return YES, zero
    return ~zero, NO
