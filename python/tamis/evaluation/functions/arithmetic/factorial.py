"""factorial(n): a BIGINT for n from 0 to 20, NULL for any other n."""

from __future__ import annotations

import math

import numpy as np

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.interval import result
from tamis.evaluation.functions.arithmetic.number_bounds import numbers
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import INTEGER, LONG

__all__ = ["ENTRIES", "factorial"]

#: 20! is the greatest factorial that fits BIGINT.
_LAST = 20
_FACTORIALS = np.array([math.factorial(n) for n in range(_LAST + 1)], np.int64)


def factorial(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of factorial: non-decreasing from 0 to 20, and NULL outside this range."""
    arguments = numbers(call, statistics, 1)
    if arguments is None or arguments[0].type != INTEGER or call.type != LONG:
        return None
    (n,) = arguments
    # An n outside of 0 to 20 gives NULL. Any other n in [lower, upper] lies between the clipped
    # edges too, so its factorial lies between theirs.
    low, high = (_FACTORIALS[np.clip(edge, 0, _LAST)] for edge in (n.lower, n.upper))
    return result(LONG, low, high, n, can_be_null=(n.lower < 0) | (n.upper > _LAST))


ENTRIES = (
    FunctionEntry(
        "Factorial",
        "factorial",
        Knowledge.MONOTONE,
        factorial,
        note="NULL beyond 20",
        never_raises=True,
    ),
)
