"""-x and abs(x)."""

from __future__ import annotations

import numpy as np

from tamis.evaluate.arithmetic import numbers
from tamis.evaluate.bounds import YES, Bounds
from tamis.evaluate.interval import result
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Call

__all__ = ["absolute", "negate"]


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
