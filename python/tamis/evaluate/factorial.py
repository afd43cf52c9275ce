"""factorial(n): a BIGINT for 0 to 20, NULL for every other n."""

from __future__ import annotations

import math

import numpy as np

from tamis.evaluate.arithmetic import numbers
from tamis.evaluate.bounds import Bounds
from tamis.evaluate.interval import result
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.taught import Knowledge, Taught
from tamis.expr.nodes import Call
from tamis.expr.types import INTEGER, LONG

__all__ = ["TAUGHT", "factorial"]

#: 20! is the last that fits BIGINT.
_LAST = 20
_FACTORIALS = np.array([math.factorial(n) for n in range(_LAST + 1)], np.int64)


def factorial(call: Call, statistics: Statistics) -> Bounds | None:
    """Never falls from 0 to 20, so the edges map to edges; beyond them it is NULL."""
    found = numbers(call, statistics, 1)
    if found is None or found[0].type != INTEGER or call.type != LONG:
        return None
    (n,) = found
    # Only an n from 0 to 20 has a factorial, and it lies between these two.
    low, high = (_FACTORIALS[np.clip(edge, 0, _LAST)] for edge in (n.lower, n.upper))
    return result(LONG, low, high, n, can_be_null=(n.lower < 0) | (n.upper > _LAST))


TAUGHT = (Taught("Factorial", "factorial", Knowledge.MONOTONE, factorial, note="NULL beyond 20"),)
