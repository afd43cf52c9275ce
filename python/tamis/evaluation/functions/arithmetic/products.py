"""x * y, x / y and x div y of numbers.

Each is monotone in one operand while the other keeps its sign. So the extremes are among the four
corners.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.flags import any_of
from tamis.evaluation.domain.interval import Interval, Numbers, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import (
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
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call

__all__ = ["ENTRIES", "divide", "integral_divide", "multiply"]

_LEAST = np.iinfo(np.int64).min


def multiply(call: Call, statistics: Statistics) -> Bounds | None:
    """x * y: monotone in each operand for any fixed value of the other, so use the corners."""
    operands = numbers(call, statistics, 2)
    if operands is None:
        return None
    x, y = operands
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
        return None  # the product has more than 38 digits, so Spark rounds it
    lower, upper, proven = corners(x, y, int64_overflow.multiply)
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
    # A corner that is NaN (0 * infinity) does not bound the values next to it.
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
    """x / y of floating-point numbers and decimals.

    Floating-point: monotone in each operand on either side of zero, so the range of y must not
    contain zero. Division by zero gives NULL (LEGACY, TRY) or raises. Decimals: while the divisor
    keeps one sign, the quotient is monotone, and so is rounding it half up.
    """
    operands = numbers(call, statistics, 2)
    if operands is None:
        return None
    x, y = operands
    quiet, null = by_zero(call, y)
    if call.type.is_floating and same_type(call, x, y):
        one_side = (y.lower > 0) | (y.upper < 0)
        nan = has_infinity(x) & has_infinity(y)
        return _floating_corners(call, x, y, np.divide, nan, quiet & one_side, null)
    if call.type.is_decimal and x.type.is_decimal and y.type.is_decimal:
        return _decimal_quotient(call, x, y)
    return None


def _decimal_quotient(call: Call, x: Interval, y: Interval) -> Bounds | None:
    """In unscaled values: x * 10 ** k / y, rounded half up, where k adjusts for the scales."""
    shift = (call.type.scale or 0) - (x.type.scale or 0) + (y.type.scale or 0)
    factor = int64_overflow.power_of_ten(shift)
    if factor is None:
        return None
    scale = np.array([factor])
    (low, low_exact), (high, high_exact) = (
        int64_overflow.multiply(each, scale) for each in (x.lower, x.upper)
    )
    one_side = (y.lower > 0) | ((y.upper < 0) & (y.lower > _LEAST))
    divisors = [np.where(one_side, each, 1) for each in (y.lower, y.upper)]
    # The quotient lies between the corners. The rounded quotient lies between the least floor and
    # the greatest ceiling of the corners.
    floors = np.broadcast_arrays(*(a // b for a in (low, high) for b in divisors))
    ceilings = np.broadcast_arrays(*(-(-a // b) for a in (low, high) for b in divisors))
    lower, upper = np.minimum.reduce(floors), np.maximum.reduce(ceilings)
    proven = one_side & low_exact & high_exact & fits(call.type, lower, upper)
    return result(call.type, lower, upper, x, y, proven=proven)


def integral_divide(call: Call, statistics: Statistics) -> Bounds | None:
    """x div y of whole numbers and decimals, rounded toward zero.

    Monotone in each operand while y keeps one sign. Decimals of the same scale divide as their
    unscaled values do.
    """
    operands = numbers(call, statistics, 2)
    if operands is None or not call.type.is_integral:
        return None
    x, y = operands
    if x.type.is_integral and y.type.is_integral:
        xs, ys, aligned = (x.lower, x.upper), (y.lower, y.upper), YES
    else:
        scaled = aligned_decimals(x, y, max(x.type.scale or 0, y.type.scale or 0))
        if scaled is None:
            return None
        xs, ys, aligned = scaled
    one_side = (ys[0] > 0) | (ys[1] < -1)  # the least number divided by -1 overflows
    safe = [np.where(one_side & aligned, each, 1) for each in ys]
    quotients = [_toward_zero(a, b) for a in xs for b in safe]
    values = np.broadcast_arrays(*quotients)
    lower, upper = np.minimum.reduce(values), np.maximum.reduce(values)
    # No quotient exceeds 64 bits; a result type of fewer bits has operands of as few.
    proven = one_side & aligned & (xs[0] > _LEAST) & fits(call.type, lower, upper)
    return result(call.type, lower, upper, x, y, proven=proven)


def _toward_zero(x: Numbers, y: Numbers) -> Numbers:
    quotient: Numbers = x // y
    quotient += (quotient < 0) & (quotient * y != x)
    return quotient


ENTRIES: Final = (
    FunctionEntry("Multiply", "*", Knowledge.INTERVAL, multiply),
    FunctionEntry("Divide", "/", Knowledge.INTERVAL, divide, note="divisors of one sign"),
    FunctionEntry(
        "IntegralDivide", "div", Knowledge.INTERVAL, integral_divide, note="divisors of one sign"
    ),
)
