"""x % y and pmod(x, y) of whole numbers, decimals and floating numbers.

    x % y       has the sign of x, is no farther from zero than x, and less than |y|
    pmod(x, y)  of y above zero is in [0, y); of y below zero it is in (y, -y)

Of a constant divisor, x within one multiple of it gives a remainder that rises with x. Decimals are
whole numbers once both have the scale of the result. By zero it is NULL (LEGACY, TRY) or raises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tamis.evaluate import exact
from tamis.evaluate.arithmetic import at_scale, by_zero, has_infinity, numbers, same_type
from tamis.evaluate.bounds import NO, Bounds, Flags
from tamis.evaluate.flags import any_of
from tamis.evaluate.interval import Interval, Numbers, result
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Call

__all__ = ["pmod", "remainder"]

_LEAST = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class _Operands:
    """Both intervals, whole or floating; `size`: no divisor is farther from zero."""

    x: Interval
    y: Interval
    low: Numbers
    high: Numbers
    size: Numbers
    #: The constant divisor without its sign; 1 where it is none.
    divisor: Numbers
    is_constant: Flags
    #: Where nothing overflows and no row raises, and where division by zero may give NULL.
    proven: Flags
    null: Flags

    def bounds(self, call: Call, lower: Numbers, upper: Numbers, can_be_nan: Flags = NO) -> Bounds:
        nan = None
        if call.type.is_floating:
            # Infinity has no remainder.
            has_nan = any_of((self.x.can_be_nan, self.y.can_be_nan))
            nan = any_of((has_nan, has_infinity(self.x), can_be_nan))
        return result(
            call.type,
            lower,
            upper,
            self.x,
            self.y,
            proven=self.proven,
            can_be_null=self.null,
            can_be_nan=nan,
        )


def _operands(call: Call, statistics: Statistics) -> _Operands | None:
    found = numbers(call, statistics, 2)
    if found is None:
        return None
    x, y = found
    quiet, null = by_zero(call, y)
    if call.type.is_floating:
        if not same_type(call, x, y):
            return None
        size = np.maximum(np.abs(y.lower), np.abs(y.upper))
        none = np.zeros(1, np.bool_)
        return _Operands(x, y, x.lower, x.upper, size, np.ones(1), none, quiet, null)
    scaled = at_scale(call, x, y)
    if scaled is None:
        return None
    (low, high), (first, last), aligned = scaled
    # The least number has no opposite.
    proven = quiet & aligned & (first > _LEAST) & (low > _LEAST)
    first, last = (np.where(proven, each, 1) for each in (first, last))
    size = np.maximum(np.maximum(np.abs(first), np.abs(last)), 1)
    is_constant = (first == last) & (first != 0) & proven
    divisor = np.where(is_constant, np.abs(first), 1)
    return _Operands(x, y, low, high, size, divisor, is_constant, proven, null)


def remainder(call: Call, statistics: Statistics) -> Bounds | None:
    found = _operands(call, statistics)
    if found is None:
        return None
    low, high, size = found.low, found.high, found.size
    # Whole numbers are at least one nearer to zero than the divisor.
    farthest = size if call.type.is_floating else size - 1
    least = np.where(low >= 0, 0, np.maximum(low, -farthest))
    greatest = np.where(high <= 0, 0, np.minimum(high, farthest))
    if call.type.is_floating:
        return found.bounds(call, least, greatest)
    divisor = found.divisor
    multiples = [exact.toward_zero(each, divisor) for each in (low, high)]
    # Toward zero the multiples -0 and 0 are one: not on both sides of zero.
    same = found.is_constant & ((low >= 0) | (high <= 0)) & (multiples[0] == multiples[1])
    return found.bounds(
        call,
        np.where(same, low - multiples[0] * divisor, least),
        np.where(same, high - multiples[1] * divisor, greatest),
    )


def pmod(call: Call, statistics: Statistics) -> Bounds | None:
    found = _operands(call, statistics)
    if found is None:
        return None
    low, high, size, divisor = found.low, found.high, found.size, found.divisor
    positive = found.y.lower > 0
    # A sum that is rounded may reach the divisor itself.
    farthest = size if call.type.is_floating else size - 1
    # x % y of an x from zero on is the answer already, and not above x.
    above = low >= 0
    least = np.where(positive | above, 0, -farthest)
    greatest = np.where(above, np.minimum(high, farthest), farthest)
    if call.type.is_floating:
        # Of a negative remainder r it is (r + y) % y: NaN where that sum is infinite.
        largest = np.finfo(np.float32 if call.type.name == "float" else np.float64).max
        return found.bounds(call, least, greatest, can_be_nan=~above & (size > largest / 2))
    # Below zero the divisor is added to a negative remainder: not where that might overflow.
    small = size < (call.type.domain[1] if call.type.is_integral else 1 << 62) // 2
    found = replace(found, proven=found.proven & (positive | small))
    same = found.is_constant & positive & (low // divisor == high // divisor)
    return found.bounds(
        call, np.where(same, low % divisor, least), np.where(same, high % divisor, greatest)
    )
