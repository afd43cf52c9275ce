"""Arithmetic of numbers: interval arithmetic, with the overflow of whole numbers and decimals.

Whole numbers wrap around at the end of their type (evalMode LEGACY), raise (ANSI), or give NULL
(TRY). Where the bounds leave room for that, nothing is known; elsewhere the mode does not matter.
Decimals have the type that Catalyst gave the result; a result of more digits than that is unknown.
Floating results are rounded, and rounding is monotone, so the rounded edges are the edges.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.evaluate import exact
from tamis.evaluate.bounds import NO, YES, Bounds, Flags
from tamis.evaluate.flags import any_of
from tamis.evaluate.interpreter import value
from tamis.evaluate.interval import Interval, Numbers, interval, result
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import DataType

__all__ = [
    "absolute",
    "add",
    "divide",
    "fits",
    "integral_divide",
    "multiply",
    "negate",
    "numbers",
    "pmod",
    "remainder",
    "subtract",
]

Exactly = tuple[Numbers, Flags]


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


def _same_type(call: Call, x: Interval, y: Interval) -> bool:
    """Catalyst gives whole and floating operands and the result one type."""
    return x.type == y.type == call.type


def add(call: Call, statistics: Statistics) -> Bounds | None:
    return _sum(call, statistics, 1)


def subtract(call: Call, statistics: Statistics) -> Bounds | None:
    return _sum(call, statistics, -1)


def _sum(call: Call, statistics: Statistics, sign: int) -> Bounds | None:
    """x + y in [xl + yl, xu + yu], x - y in [xl - yu, xu - yl]."""
    found = numbers(call, statistics, 2)
    if found is None:
        return None
    x, y = found
    near, far = (y.lower, y.upper) if sign > 0 else (y.upper, y.lower)
    if call.type.is_floating:
        if not _same_type(call, x, y):
            return None
        with np.errstate(all="ignore"):
            lower, upper = x.lower + sign * near, x.upper + sign * far
        # Infinity minus infinity is NaN: possible where one operand reaches up and the other down.
        opposite = (np.isposinf(x.upper) & np.isneginf(sign * near)) | (
            np.isneginf(x.lower) & np.isposinf(sign * far)
        )
        # An edge that is NaN itself is such a case: the other values reach all the way.
        lower = np.where(np.isnan(lower), -np.inf, lower)
        upper = np.where(np.isnan(upper), np.inf, upper)
        nan = any_of((x.can_be_nan, y.can_be_nan, opposite))
        edges = rounded(call.type, lower), rounded(call.type, upper)
        return result(call.type, *edges, x, y, can_be_nan=nan)
    scaled = _at_scale(call, x, y)
    if scaled is None:
        return None
    (xl, xu), (yl, yu), aligned = scaled
    if sign > 0:
        (lower, low_exact), (upper, high_exact) = exact.add(xl, yl), exact.add(xu, yu)
    else:
        (lower, low_exact), (upper, high_exact) = exact.subtract(xl, yu), exact.subtract(xu, yl)
    proven = aligned & low_exact & high_exact & fits(call.type, lower, upper)
    return result(call.type, lower, upper, x, y, proven=proven)


Pair = tuple[Numbers, Numbers]


def _at_scale(call: Call, x: Interval, y: Interval) -> tuple[Pair, Pair, Flags] | None:
    """Whole operands as they are; decimal ones unscaled at the result's scale."""
    if call.type.is_integral:
        if not _same_type(call, x, y):
            return None
        return (x.lower, x.upper), (y.lower, y.upper), YES
    if not (call.type.is_decimal and x.type.is_decimal and y.type.is_decimal):
        return None
    pairs, aligned = [], YES
    for each in (x, y):
        factor = exact.power_of_ten((call.type.scale or 0) - (each.type.scale or 0))
        if factor is None:
            return None  # the result is rounded: more digits than 38 in all
        (low, low_exact), (high, high_exact) = (
            exact.multiply(edge, np.array([factor])) for edge in (each.lower, each.upper)
        )
        pairs.append((low, high))
        aligned = aligned & low_exact & high_exact
    return pairs[0], pairs[1], aligned


def _corners(
    x: Interval, y: Interval, combine: Callable[[Numbers, Numbers], Exactly]
) -> tuple[Numbers, Numbers, Flags]:
    """The least and the greatest of the four corners, for what is monotone in each operand."""
    corners = [combine(a, b) for a in (x.lower, x.upper) for b in (y.lower, y.upper)]
    values = np.broadcast_arrays(*(corner for corner, _ in corners))
    proven = YES
    for _, flags in corners:
        proven = proven & flags
    return np.minimum.reduce(values), np.maximum.reduce(values), proven


def multiply(call: Call, statistics: Statistics) -> Bounds | None:
    """x * y is monotone in each of them, whatever the sign of the other: the corners."""
    found = numbers(call, statistics, 2)
    if found is None:
        return None
    x, y = found
    if call.type.is_floating:
        if not _same_type(call, x, y):
            return None
        return _floating_corners(call, x, y, np.multiply, _zero_times_infinity(x, y))
    if call.type.is_integral:
        if not _same_type(call, x, y):
            return None
    elif not (x.type.is_decimal and y.type.is_decimal and call.type.is_decimal):
        return None
    elif (x.type.scale or 0) + (y.type.scale or 0) != call.type.scale:
        return None  # rounded: more digits than 38 in all
    lower, upper, proven = _corners(x, y, exact.multiply)
    return result(call.type, lower, upper, x, y, proven=proven & fits(call.type, lower, upper))


def _zero_times_infinity(x: Interval, y: Interval) -> Flags:
    return (_has_zero(x) & _has_infinity(y)) | (_has_zero(y) & _has_infinity(x))


def _has_zero(x: Interval) -> Flags:
    return (x.lower <= 0) & (x.upper >= 0)


def _has_infinity(x: Interval) -> Flags:
    return np.isinf(x.lower) | np.isinf(x.upper)


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
        lower, upper, _ = _corners(x, y, lambda a, b: (operation(a, b), YES))
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


def _by_zero(call: Call, y: Interval) -> tuple[Flags, Flags]:
    """Where division is proven not to raise, and where it may give NULL: zero in the divisor."""
    zero = _has_zero(y) & y.can_be_value
    if call.option("evalMode") in ("LEGACY", "TRY"):
        return YES, zero
    return ~zero, NO


def divide(call: Call, statistics: Statistics) -> Bounds | None:
    """x / y of floating numbers: monotone in each on either side of zero, so y must not reach it.

    By zero it is NULL (LEGACY, TRY) or raises. Decimals: the quotient is rounded half up, which is
    monotone; evaluated for a constant divisor of one sign through whole numbers.
    """
    found = numbers(call, statistics, 2)
    if found is None:
        return None
    x, y = found
    quiet, null = _by_zero(call, y)
    if call.type.is_floating and _same_type(call, x, y):
        one_side = (y.lower > 0) | (y.upper < 0)
        nan = _has_infinity(x) & _has_infinity(y)
        return _floating_corners(call, x, y, np.divide, nan, quiet & one_side, null)
    if call.type.is_decimal and x.type.is_decimal and y.type.is_decimal:
        return _decimal_quotient(call, x, y)
    return None


def _decimal_quotient(call: Call, x: Interval, y: Interval) -> Bounds | None:
    """Unscaled: x * 10 ** k / y, where k makes up for the scales; y greater than zero."""
    shift = (call.type.scale or 0) - (x.type.scale or 0) + (y.type.scale or 0)
    factor = exact.power_of_ten(shift)
    if factor is None:
        return None
    scale = np.array([factor])
    (low, low_exact), (high, high_exact) = (
        exact.multiply(each, scale) for each in (x.lower, x.upper)
    )
    positive = (y.lower > 0) & (y.upper >= y.lower)
    divisors = np.where(positive, y.lower, 1), np.where(positive, y.upper, 1)
    # Toward zero the greatest divisor brings it nearest; one more each way for the rounding.
    lower = np.minimum(low // divisors[0], low // divisors[1])
    upper = np.maximum(*(exact.ceil_divide(high, each) for each in divisors))
    proven = positive & low_exact & high_exact & fits(call.type, lower, upper)
    return result(call.type, lower, upper, x, y, proven=proven)


def integral_divide(call: Call, statistics: Statistics) -> Bounds | None:
    """x div y of whole numbers, toward zero: monotone in each where y keeps one sign."""
    found = numbers(call, statistics, 2)
    if found is None:
        return None
    x, y = found
    if not (call.type.is_integral and x.type.is_integral and y.type.is_integral):
        return None
    one_side = (y.lower > 0) | (y.upper < -1)  # -1 overflows at the least number
    safe = np.where(one_side, y.lower, 1), np.where(one_side, y.upper, 1)
    corners = [_toward_zero(a, b) for a in (x.lower, x.upper) for b in safe]
    values = np.broadcast_arrays(*corners)
    return result(
        call.type,
        np.minimum.reduce(values),
        np.maximum.reduce(values),
        x,
        y,
        proven=one_side & (x.lower > np.iinfo(np.int64).min),
    )


def _toward_zero(x: Numbers, y: Numbers) -> Numbers:
    quotient: Numbers = x // y
    quotient += (quotient < 0) & (quotient * y != x)
    return quotient


def remainder(call: Call, statistics: Statistics) -> Bounds | None:
    """x % y has the sign of x and is less than |y|, and no farther from zero than x."""
    found = _whole_divisor(call, statistics)
    if found is None:
        return None
    x, y, size, positive = found
    single = x.is_point & y.is_point & positive
    # Within one multiple of a constant divisor, it rises with x.
    divisor = np.where(positive & y.is_point, y.lower, 1)
    one_sign = (x.lower >= 0) | (x.upper <= 0)
    same = positive & y.is_point & one_sign
    same = same & (_toward_zero(x.lower, divisor) == _toward_zero(x.upper, divisor))
    least = np.where(x.lower >= 0, 0, np.maximum(x.lower, 1 - size))
    greatest = np.where(x.upper <= 0, 0, np.minimum(x.upper, size - 1))
    low = x.lower - _toward_zero(x.lower, divisor) * divisor
    high = x.upper - _toward_zero(x.upper, divisor) * divisor
    return result(
        call.type,
        np.where(same | single, low, least),
        np.where(same | single, high, greatest),
        x,
        y,
        proven=positive,
    )


def pmod(call: Call, statistics: Statistics) -> Bounds | None:
    """pmod(x, y) of a positive y is in [0, y)."""
    found = _whole_divisor(call, statistics)
    if found is None:
        return None
    x, y, size, positive = found
    divisor = np.where(positive & y.is_point, y.lower, 1)
    same = positive & y.is_point & (x.lower // divisor == x.upper // divisor)
    return result(
        call.type,
        np.where(same, x.lower % divisor, 0),
        np.where(same, x.upper % divisor, size - 1),
        x,
        y,
        proven=positive,
    )


def _whole_divisor(
    call: Call, statistics: Statistics
) -> tuple[Interval, Interval, Numbers, Flags] | None:
    """Two whole numbers, the greatest size of the second, and where that is above zero."""
    found = numbers(call, statistics, 2)
    if found is None:
        return None
    x, y = found
    if not (call.type.is_integral and _same_type(call, x, y)):
        return None
    positive = y.lower > 0
    return x, y, np.where(positive, y.upper, 1), positive


def negate(call: Call, statistics: Statistics) -> Bounds | None:
    """-x is in [-xu, -xl]; the least whole number has no opposite."""
    found = numbers(call, statistics, 1)
    if found is None or found[0].type != call.type:
        return None
    x = found[0]
    if call.type.is_floating:
        return result(call.type, -x.upper, -x.lower, x)
    inside = x.lower > call.type.domain[0]
    return result(call.type, -x.upper, -x.lower, x, proven=inside)


def absolute(call: Call, statistics: Statistics) -> Bounds | None:
    """|x| is between the edges' sizes, and from zero on where x may be zero."""
    found = numbers(call, statistics, 1)
    if found is None or found[0].type != call.type:
        return None
    x = found[0]
    inside = YES if call.type.is_floating else x.lower > call.type.domain[0]
    sizes = np.abs(x.lower), np.abs(x.upper)
    least = np.where((x.lower < 0) & (x.upper > 0), 0, np.minimum(*sizes))
    return result(call.type, least, np.maximum(*sizes), x, proven=inside)
