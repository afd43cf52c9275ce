"""Zeros of floating-point columns, as results of MIN and MAX.

-0.0 and 0.0 are equal, and Spark returns the one that it meets first: within a task in the order of
its rows, and then in the order in which the results of tasks arrive. That depends on the sizes of
files, on settings, and on which task ends first.

A bound or a recorded value does not show which zeros a file has. So a zero is never taken from
statistics: a file whose least value is a zero is not covered for MIN. Nor is it skipped if the
result is a zero (see `minmax_skipping`): then every value of a covered file is greater than zero,
so `best` is, and the bound of a witness is at least zero, which a zero does not exceed. So Spark
reads every row that can decide the sign, and returns a zero that it may return without tamis.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Flags

__all__ = ["is_zero"]


def is_zero(values: pa.Array) -> Flags:
    """Return where a floating-point value is a zero.

    >>> is_zero(pa.array([-0.0, 0.0, 1.5, None])).tolist()
    [True, True, False, False]
    """
    zero = pc.fill_null(pc.equal(values, 0.0), False)
    return np.asarray(zero.to_numpy(zero_copy_only=False), np.bool_)
