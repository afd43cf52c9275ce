"""width_bucket(x, first, last, count): the bucket of x if `count` equal buckets divide a range.

The buckets have the numbers 1 to count. Values before `first` have the number 0, values from `last`
on the number count + 1. If first > last, the numbers rise as x falls.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.interval import Numbers, result
from tamis.evaluation.functions.arithmetic.number_bounds import numbers
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import DOUBLE, LONG

__all__ = ["ENTRIES", "width_bucket"]

#: Quotients of up to 2 ** 50 buckets are rounded by less than 1.
_MOST = 1 << 50


def width_bucket(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of width_bucket: monotone if `first` and `last` are constant."""
    arguments = numbers(call, statistics, 4)
    if arguments is None or call.type != LONG:
        return None
    x, first, last, count = arguments
    if any(each.type != DOUBLE for each in (x, first, last)) or count.type != LONG:
        return None
    start, end = first.lower, last.lower
    constant = (start == first.upper) & (end == last.upper) & np.isfinite(start) & np.isfinite(end)
    start, end = np.where(constant, start, 0.0), np.where(constant, end, 0.0)
    # A count below 1 gives NULL, so only counts from 1 on have a bucket.
    fewest, most = (np.clip(edge, 1, _MOST) for edge in (count.lower, count.upper))
    falls = start > end
    low = _bucket(np.where(falls, x.upper, x.lower), start, end, fewest)
    high = _bucket(np.where(falls, x.lower, x.upper), start, end, most)
    with np.errstate(over="ignore"):
        exact = np.isfinite(np.abs(end - start) * most)
    null = (start == end) | (count.lower < 1) | x.can_be_nan | first.can_be_nan | last.can_be_nan
    proven = constant & (count.upper <= _MOST) & exact
    return result(LONG, low, high, x, first, last, count, proven=proven, can_be_null=null)


def _bucket(x: Numbers, start: Numbers, end: Numbers, count: Numbers) -> Numbers:
    """Return the bucket of x, with the operations of Spark and with their rounding.

    Where start > end, Spark computes what it computes for -x, -start and -end.

    For constant start < end, the result does not decrease in x or in count:

    - Inside the range it is 1 + trunc(count * (x - start) / (end - start)). Each operation is
      monotone in its operand, because rounding is, and neither a factor nor a divisor is negative.
      So it is at least 1, and 0 is the result for x < start.
    - Inside the range, x - start <= end - start = d, after rounding too. d is positive: unequal
      doubles have a difference that does not round to 0. If count * d does not overflow, then it
      is exact (if subnormal) or rounded by at most one part in 2 ** 53, as is the quotient by d.
      So the quotient is less than count + 1 for count <= 2 ** 50, and the result at most count + 1,
      the result for x >= end.
    """
    sign = np.where(start > end, -1.0, 1.0)
    x, start, end = sign * x, sign * start, sign * end
    with np.errstate(all="ignore"):
        inside = count.astype(np.float64) * (np.clip(x, start, end) - start) / (end - start)
        # Where start = end the result is NULL, and where the product overflows it is not used.
        number = np.where(np.isfinite(inside), inside, 0.0).astype(np.int64) + 1
    return np.where(x < start, 0, np.where(x >= end, count + 1, number))


ENTRIES = (
    FunctionEntry(
        "WidthBucket",
        "width_bucket",
        Knowledge.MONOTONE,
        width_bucket,
        note="numbers; a constant range",
        never_raises=True,
    ),
)
