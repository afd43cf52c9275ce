"""Prove that no partial sum of Spark leaves the range in which it adds exactly.

The order in which Spark adds values and combines partial sums is not known. Each partial sum is the
sum of some of the rows. So it is at most the sum P of all positive values, and at least the sum N
of all negative ones:

    values    3, 5, -2       P = 8, N = -2; the partial sums 3, 8, 6, 1, -2, … are between

If P and -N are below the limit of the type, no order overflows, and the total is what every order
gives. P and N of rows that pass a filter are not beyond those of all rows. For files that Spark
reads, P and N are those that were recorded, or the number of rows times the farthest bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.types import MAX_LONG_DIGITS, DataType
from tamis.files.segments import Segment
from tamis.plan.goals.aggregate_functions import Aggregate
from tamis.plan.goals.group_contributions import container_totals, recorded
from tamis.plan.goals.minmax_skipping import chosen
from tamis.plan.goals.wide_sums import LIMBS

__all__ = ["may_exceed"]

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Floating-point sums are rounded. This is far more than the error of adding 2**31 numbers.
_MARGIN: Final = 1 + 1e-6


def may_exceed(
    aggregate: Aggregate,
    positive: int,
    negative: int,
    segments: Sequence[Segment],
    left: Flags,
    num_records: Longs,
) -> bool:
    """Return whether a partial sum may reach the limit of a SUM.

    Args:
        aggregate: The SUM.
        positive: The sum of the positive values of the covered rows.
        negative: The magnitude of the sum of the negative ones.
        segments: The statistics of the files.
        left: One flag per file, set if Spark reads it.
        num_records: The number of rows of each file, -1 where it is not known.
    """
    if max(positive, negative) >= aggregate.limit:
        return True
    beyond = [0.0, 0.0]
    left = left.copy()
    for segment in segments:
        for ordinals, statistics in chosen(segment, left):
            left[ordinals] = False
            for k, most in enumerate(_most(aggregate, statistics, num_records[ordinals])):
                beyond[k] += float(most.sum())
    # a file without statistics may have any values
    if left.any():
        return True
    # whole numbers are compared exactly
    return not all(
        more * _MARGIN < aggregate.limit - known
        for known, more in zip((positive, negative), beyond, strict=True)
    )


def _most(aggregate: Aggregate, statistics: Statistics, records: Longs) -> tuple[Floats, Floats]:
    """Return the greatest possible sums of positive and negative values of each file."""
    rows = np.where(records < 0, np.inf, records.astype(np.float64))
    known, totals = container_totals(aggregate, "", statistics, records)
    sums = []
    for sign, most in zip("pn", _farthest(aggregate, statistics, len(records)), strict=True):
        # a file without rows has no sum, whatever its bounds are
        product = np.where(rows == 0, 0.0, rows * np.where(rows == 0, 0.0, most))
        if totals:
            limbs = (totals[f".{sign}{j}"].to_numpy() * 2.0 ** (32 * j) for j in range(LIMBS))
            product = np.where(known, np.minimum(sum(limbs, np.zeros(1)), product), product)
        sums.append(product)
    return sums[0], sums[1]


def _farthest(aggregate: Aggregate, statistics: Statistics, n: int) -> tuple[Floats, Floats]:
    """Return the magnitudes of the greatest and the least possible value of each file."""
    assert aggregate.argument is not None
    found = (recorded(grouped, aggregate) for grouped in statistics.grouped())
    data_type = aggregate.type or next((each.type for each in found if each is not None), None)
    if data_type is None:
        return np.full(n, np.inf), np.full(n, np.inf)
    farthest = np.full(n, _magnitude(data_type, aggregate.column is not None))
    bounds = value(aggregate.argument, statistics)
    if bounds is None or bounds.type != data_type:
        return farthest, farthest
    upper = _edge(bounds, bounds.upper, bounds.upper_known, n)
    lower = _edge(bounds, bounds.lower, bounds.lower_known, n)
    return (
        np.where(np.isnan(upper), farthest, np.maximum(upper, 0.0)),
        np.where(np.isnan(lower), farthest, np.maximum(-lower, 0.0)),
    )


def _magnitude(data_type: DataType, is_column: bool) -> float:
    """Return the greatest magnitude of an unscaled value of a type."""
    if data_type.is_integral:
        return float(-data_type.domain[0])
    precision = data_type.precision or 38
    if not is_column:
        return 10.0**precision
    # files may hold more digits than their type allows
    return 2.0**63 if precision <= MAX_LONG_DIGITS else 2.0**127


def _edge(bounds: Bounds, edge: Any, known: Flags | None, n: int) -> Floats:
    """Return an edge as floating-point numbers, unscaled; NaN where it is not known."""
    if edge is None:
        return np.full(n, np.nan)
    if isinstance(edge, np.ndarray):
        numbers = np.broadcast_to(edge.astype(np.float64), n)
        return numbers if known is None else np.where(np.broadcast_to(known, n), numbers, np.nan)
    scaled = pc.cast(edge, pa.float64()).to_numpy(zero_copy_only=False)
    return np.broadcast_to(scaled * 10.0 ** (bounds.type.scale or 0), n)
