"""x * y, x / y and x div y of numbers: monotone in each operand where the other keeps its sign, so
that the extremes are among the four corners.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.evaluate import exact
from tamis.evaluate.arithmetic import (
    aligned_decimals,
    by_zero,
    corners,
    fits,
    has_infinity,
    has_zero,
    numbers,
    rounded,
    same_type,
)
from tamis.evaluate.bounds import NO, YES, Bounds, Flags
from tamis.evaluate.flags import any_of
from tamis.evaluate.interval import Interval, Numbers, result
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Call

__all__ = ["divide", "integral_divide", "multiply"]

_LEAST = np.iinfo(np.int64).min


def multiply(call: Call, statistics: Statistics) -> Bounds | None:
    """x * y is monotone in each of them, whatever the sign of the other: the corners."""
    found = numbers(call, statistics, 2)
    if found is None:
        return None
    x, y = found
    if call.type.is_floating:
        if not same_type(call, x, y):
            return None
        return _floating_corners(call, x, y, np.multiply, _zero_times_infinity(x, y))
    if call.type.is_integral:
        if not same_type(call, x, y):
            return None
    elif not (x.type.is_decimal and y.type.is_decimal and call.type.is_decimal):
        return None
    elif (x.type.scale or 0) + (y.type.scale or 0) != call.type.scale:
        return None  # rounded: more digits than 38 in all
    lower, upper, proven = corners(x, y, exact.multiply)
    return result(call.type, lower, upper, x, y, proven=proven & fits(call.type, lower, upper))


def _zero_times_infinity(x: Interval, y: Interval) -> Flags:
    return (has_zero(x) & has_infinity(y)) | (has_zero(y) & has_infinity(x))


def _floating_corners(
    call: Call,
    x: Interval,
    y: Interval,
    operation: Callable[[Numbers, Numbers], Numbers],
    nan: Flags,
    proven: Flags = YES,
    can_be_null: Flags = NO,
) -> Bounds:
    with np.errstate(all="ignore"):
        lower, upper, _ = corners(x, y, lambda a, b: (operation(a, b), YES))
    # A corner that is NaN (0 * infinity) says nothing of its neighbours.
    unclear = np.isnan(lower) | np.isnan(upper)
    edges = np.where(unclear, -np.inf, lower), np.where(unclear, np.inf, upper)
    return result(
        call.type,
        rounded(call.type, edges[0]),
        rounded(call.type, edges[1]),
        x,
        y,
        proven=proven,
        can_be_null=can_be_null,
        can_be_nan=any_of((x.can_be_nan, y.can_be_nan, nan)),
    )


def divide(call: Call, statistics: Statistics) -> Bounds | None:
    """x / y of floating numbers: monotone in each on either side of zero, so y must not reach it.

    By zero it is NULL (LEGACY, TRY) or raises. Decimals: the quotient is rounded half up, which is
    monotone, where the divisor keeps one sign.
    """
    found = numbers(call, statistics, 2)
    if found is None:
        return None
    x, y = found
    quiet, null = by_zero(call, y)
    if call.type.is_floating and same_type(call, x, y):
        one_side = (y.lower > 0) | (y.upper < 0)
        nan = has_infinity(x) & has_infinity(y)
        return _floating_corners(call, x, y, np.divide, nan, quiet & one_side, null)
    if call.type.is_decimal and x.type.is_decimal and y.type.is_decimal:
        return _decimal_quotient(call, x, y)
    return None


def _decimal_quotient(call: Call, x: Interval, y: Interval) -> Bounds | None:
    """Unscaled: x * 10 ** k / y, where k makes up for the scales, rounded half up."""
    shift = (call.type.scale or 0) - (x.type.scale or 0) + (y.type.scale or 0)
    factor = exact.power_of_ten(shift)
    if factor is None:
        return None
    scale = np.array([factor])
    (low, low_exact), (high, high_exact) = (
        exact.multiply(each, scale) for each in (x.lower, x.upper)
    )
    one_side = (y.lower > 0) | ((y.upper < 0) & (y.lower > _LEAST))
    divisors = [np.where(one_side, each, 1) for each in (y.lower, y.upper)]
    # The quotient lies between the corners, and its rounding between their floor and ceiling.
    floors = np.broadcast_arrays(*(a // b for a in (low, high) for b in divisors))
    ceilings = np.broadcast_arrays(*(-(-a // b) for a in (low, high) for b in divisors))
    lower, upper = np.minimum.reduce(floors), np.maximum.reduce(ceilings)
    proven = one_side & low_exact & high_exact & fits(call.type, lower, upper)
    return result(call.type, lower, upper, x, y, proven=proven)


def integral_divide(call: Call, statistics: Statistics) -> Bounds | None:
    """x div y of whole numbers and decimals, toward zero: monotone in each where y keeps one sign.

    Decimals of one scale divide as their unscaled values do.
    """
    found = numbers(call, statistics, 2)
    if found is None or not call.type.is_integral:
        return None
    x, y = found
    if x.type.is_integral and y.type.is_integral:
        xs, ys, aligned = (x.lower, x.upper), (y.lower, y.upper), YES
    else:
        scaled = aligned_decimals(x, y, max(x.type.scale or 0, y.type.scale or 0))
        if scaled is None:
            return None
        xs, ys, aligned = scaled
    one_side = (ys[0] > 0) | (ys[1] < -1)  # -1 overflows at the least number
    safe = [np.where(one_side & aligned, each, 1) for each in ys]
    quotients = [_toward_zero(a, b) for a in xs for b in safe]
    values = np.broadcast_arrays(*quotients)
    lower, upper = np.minimum.reduce(values), np.maximum.reduce(values)
    # A quotient beyond 64 bits there is none; a result of fewer bits has operands of as many.
    proven = one_side & aligned & (xs[0] > _LEAST) & fits(call.type, lower, upper)
    return result(call.type, lower, upper, x, y, proven=proven)


def _toward_zero(x: Numbers, y: Numbers) -> Numbers:
    quotient: Numbers = x // y
    quotient += (quotient < 0) & (quotient * y != x)
    return quotient
