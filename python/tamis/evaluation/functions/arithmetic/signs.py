"""-x and abs(x)."""

from __future__ import annotations

from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import YES, Bounds
from tamis.evaluation.domain.interval import result
from tamis.evaluation.functions.arithmetic.number_bounds import numbers
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call

__all__ = ["ENTRIES", "absolute", "negate"]


def negate(call: Call, statistics: Statistics) -> Bounds | None:
    """-x is in [-xu, -xl]. The negation of the least whole number overflows."""
    operands = numbers(call, statistics, 1)
    if operands is None or operands[0].type != call.type:
        return None
    x = operands[0]
    if call.type.is_floating:
        return result(call.type, -x.upper, -x.lower, x)
    inside = x.lower > call.type.domain[0]
    return result(call.type, -x.upper, -x.lower, x, proven=inside)


def absolute(call: Call, statistics: Statistics) -> Bounds | None:
    """|x| is between |xl| and |xu|, or between zero and the greater of them if xl < 0 < xu."""
    operands = numbers(call, statistics, 1)
    if operands is None or operands[0].type != call.type:
        return None
    x = operands[0]
    inside = YES if call.type.is_floating else x.lower > call.type.domain[0]
    sizes = np.abs(x.lower), np.abs(x.upper)
    least = np.where((x.lower < 0) & (x.upper > 0), 0, np.minimum(*sizes))
    return result(call.type, least, np.maximum(*sizes), x, proven=inside)


ENTRIES: Final = (
    FunctionEntry("UnaryMinus", "-", Knowledge.MONOTONE, negate),
    FunctionEntry("Abs", "abs", Knowledge.INTERVAL, absolute),
)
