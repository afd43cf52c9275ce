"""x % y and pmod(x, y) of whole numbers, decimals and floating-point numbers.

    x % y       has the sign of x; its absolute value is at most |x| and less than |y|
    pmod(x, y)  is in [0, y) if y > 0, and in (y, -y) if y < 0

For a constant divisor, the remainder rises with x as long as x stays between two consecutive
multiples of it. Decimals are computed as whole numbers once both operands have the scale of the
result. Division by zero, and a result of pmod beyond its decimal type, give NULL (LEGACY, TRY) or
raise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.domain.flags import any_of
from tamis.evaluation.domain.interval import Interval, Numbers, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import (
    at_scale,
    by_zero,
    fits,
    has_infinity,
    numbers,
    same_type,
)
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call

__all__ = ["ENTRIES", "pmod", "remainder"]

_LEAST = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class _Operands:
    """Both intervals, whole or floating-point; `size`: the greatest absolute value of a divisor."""

    x: Interval
    y: Interval
    low: Numbers
    high: Numbers
    size: Numbers
    #: The absolute value of the constant divisor; 1 where the divisor is not constant.
    divisor: Numbers
    is_constant: Flags
    #: `proven`: where nothing overflows and no row raises. `null`: where division by zero may give
    #: NULL.
    proven: Flags
    null: Flags

    def bounds(self, call: Call, lower: Numbers, upper: Numbers, can_be_nan: Flags = NO) -> Bounds:
        nan = None
        if call.type.is_floating:
            # The remainder of infinity is NaN.
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
    operands = numbers(call, statistics, 2)
    if operands is None:
        return None
    x, y = operands
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
    # The negation of the least number overflows.
    proven = quiet & aligned & (first > _LEAST) & (low > _LEAST)
    first, last = (np.where(proven, each, 1) for each in (first, last))
    size = np.maximum(np.maximum(np.abs(first), np.abs(last)), 1)
    is_constant = (first == last) & (first != 0) & proven
    divisor = np.where(is_constant, np.abs(first), 1)
    return _Operands(x, y, low, high, size, divisor, is_constant, proven, null)


def remainder(call: Call, statistics: Statistics) -> Bounds | None:
    operands = _operands(call, statistics)
    if operands is None:
        return None
    low, high, size = operands.low, operands.high, operands.size
    # |x % y| < |y|, so for whole numbers |x % y| <= |y| - 1.
    farthest = size if call.type.is_floating else size - 1
    least = np.where(low >= 0, 0, np.maximum(low, -farthest))
    greatest = np.where(high <= 0, 0, np.minimum(high, farthest))
    if call.type.is_floating:
        return operands.bounds(call, least, greatest)
    divisor = operands.divisor
    multiples = [int64_overflow.toward_zero(each, divisor) for each in (low, high)]
    # Rounded toward zero, small quotients on both sides of zero are 0, so x must keep one sign.
    same = operands.is_constant & ((low >= 0) | (high <= 0)) & (multiples[0] == multiples[1])
    return operands.bounds(
        call,
        np.where(same, low - multiples[0] * divisor, least),
        np.where(same, high - multiples[1] * divisor, greatest),
    )


def pmod(call: Call, statistics: Statistics) -> Bounds | None:
    operands = _operands(call, statistics)
    if operands is None:
        return None
    low, high, size, divisor = operands.low, operands.high, operands.size, operands.divisor
    positive = operands.y.lower > 0
    # A floating-point sum is rounded and may reach the divisor itself.
    farthest = size if call.type.is_floating else size - 1
    # For x >= 0 the result is x % y, which is at most x.
    above = low >= 0
    least = np.where(positive | above, 0, -farthest)
    greatest = np.where(above, np.minimum(high, farthest), farthest)
    if call.type.is_floating:
        # For a negative remainder r the result is (r + y) % y, which is NaN if r + y is infinite.
        largest = np.finfo(np.float32 if call.type.name == "float" else np.float64).max
        return operands.bounds(call, least, greatest, can_be_nan=~above & (size > largest / 2))
    # If y < 0, y is added to a negative remainder. Require |y| to be too small to overflow.
    small = size < (call.type.domain[1] if call.type.is_integral else 1 << 62) // 2
    same = operands.is_constant & positive & (low // divisor == high // divisor)
    least, greatest = np.where(same, low % divisor, least), np.where(same, high % divisor, greatest)
    # Catalyst gives the result the digits of x % y, which has no more digits before the point than
    # x has. pmod(-1.5, 1000) has three, 998.5: beyond its type it is NULL, or raises.
    proven = operands.proven & (positive | small) & fits(call.type, least, greatest)
    return replace(operands, proven=proven).bounds(call, least, greatest)


ENTRIES: Final = (
    FunctionEntry("Remainder", "%, mod", Knowledge.PIECEWISE, remainder),
    FunctionEntry("Pmod", "pmod", Knowledge.PIECEWISE, pmod),
)
