"""x + y and x - y of numbers."""

from __future__ import annotations

from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.flags import any_of
from tamis.evaluation.domain.interval import result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import (
    at_scale,
    fits,
    numbers,
    rounded,
    same_type,
)
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call

__all__ = ["ENTRIES", "add", "subtract"]


def add(call: Call, statistics: Statistics) -> Bounds | None:
    return _sum(call, statistics, 1)


def subtract(call: Call, statistics: Statistics) -> Bounds | None:
    return _sum(call, statistics, -1)


def _sum(call: Call, statistics: Statistics, sign: int) -> Bounds | None:
    """x + y in [xl + yl, xu + yu], x - y in [xl - yu, xu - yl]."""
    operands = numbers(call, statistics, 2)
    if operands is None:
        return None
    x, y = operands
    near, far = (y.lower, y.upper) if sign > 0 else (y.upper, y.lower)
    if call.type.is_floating:
        if not same_type(call, x, y):
            return None
        with np.errstate(all="ignore"):
            lower, upper = x.lower + sign * near, x.upper + sign * far
        # Infinity minus infinity is NaN: possible where one addend may be Infinity and the other
        # -Infinity.
        opposite = (np.isposinf(x.upper) & np.isneginf(sign * near)) | (
            np.isneginf(x.lower) & np.isposinf(sign * far)
        )
        # An edge is NaN only in such a case. Other values may then be infinite: use no bound.
        lower = np.where(np.isnan(lower), -np.inf, lower)
        upper = np.where(np.isnan(upper), np.inf, upper)
        nan = any_of((x.can_be_nan, y.can_be_nan, opposite))
        edges = rounded(call.type, lower), rounded(call.type, upper)
        return result(call.type, *edges, x, y, can_be_nan=nan)
    scaled = at_scale(call, x, y)
    if scaled is None:
        return None
    (xl, xu), (yl, yu), aligned = scaled
    if sign > 0:
        (lower, low_exact), (upper, high_exact) = (
            int64_overflow.add(xl, yl),
            int64_overflow.add(xu, yu),
        )
    else:
        (lower, low_exact), (upper, high_exact) = (
            int64_overflow.subtract(xl, yu),
            int64_overflow.subtract(xu, yl),
        )
    proven = aligned & low_exact & high_exact & fits(call.type, lower, upper)
    return result(call.type, lower, upper, x, y, proven=proven)


ENTRIES: Final = (
    FunctionEntry("Add", "+", Knowledge.INTERVAL, add),
    FunctionEntry("Subtract", "-", Knowledge.INTERVAL, subtract),
)
