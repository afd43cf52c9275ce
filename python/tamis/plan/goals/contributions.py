"""Compute what each file contributes to an aggregate where its statistics are certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.domain.exact_counts import UNKNOWN
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column
from tamis.files.arrow_edges import as_array
from tamis.plan.goals.aggregate_filters import counting, of_counting
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tamis.plan.goals.group_contributions import container_totals
from tamis.plan.goals.signed_zeros import is_zero

__all__ = [
    "contributions",
    "has_only_null",
    "is_attained",
    "nulls_of",
]

Longs = npt.NDArray[np.int64]


def contributions(
    aggregates: Sequence[Aggregate], statistics: Statistics, records: Longs
) -> tuple[Flags, pa.Table]:
    """Return which containers contribute for certain, and what they contribute.

    Args:
        records: The number of rows of each container.

    Returns:
        One flag per container, set where the contributions to all aggregates are certain, and a
        table with the columns `rows` and one per aggregate, named by its ordinal. Its rows mean
        nothing where the flag is not set.
    """
    sure = np.ones(len(records), np.bool_)
    columns: dict[str, Any] = {"rows": pa.array(records)}
    for ordinal, each in enumerate(aggregates):
        certain, cells = _of_bounds(each, str(ordinal), statistics, records)
        if not certain.all():
            known, totals = container_totals(each, str(ordinal), statistics, records)
            for cell, total in totals.items():
                cells[cell] = (
                    pc.if_else(pa.array(certain), cells[cell], total) if cell in cells else total
                )
            certain = certain | known
        if each.filter is not None:
            counts, decided = counting(each.filter, statistics)
            cells = of_counting(each, str(ordinal), cells, counts)
            # no row counts: the contribution is that of no rows, whatever is recorded of all rows
            certain = decided & (certain | ~counts)
        sure &= certain
        columns |= cells
    return sure, pa.table(columns)


def _of_bounds(
    aggregate: Aggregate, name: str, statistics: Statistics, records: Longs
) -> tuple[Flags, dict[str, pa.Array]]:
    """Return which contributions are certain from bounds and counts, and these contributions."""
    column = aggregate.column
    if aggregate.argument is None:
        return np.ones(len(records), np.bool_), {name: pa.array(records)}
    if column is None or aggregate.function.is_recorded:
        return np.zeros(len(records), np.bool_), {}
    bounds = statistics.bounds(column)
    if aggregate.function is Function.COUNT:
        nulls = nulls_of(statistics, column, bounds, records)
        return nulls != UNKNOWN, {name: pa.array(records - nulls)}
    certain, values = _extreme(aggregate.function, statistics, column, bounds, records)
    return certain, {name: values}


def is_attained(function: Function, statistics: Statistics, column: Column, n: int) -> Flags:
    """Return where the bound that MIN or MAX uses is for certain the value of some row."""
    bounds = statistics.bounds(column)
    certain, _ = _extreme(function, statistics, column, bounds, np.zeros(n, np.int64))
    return certain & ~has_only_null(bounds, n)


def nulls_of(statistics: Statistics, column: Column, bounds: Bounds, records: Longs) -> Longs:
    """Return the number of NULLs in each container, UNKNOWN where that is not certain."""
    n = len(records)
    nulls = np.broadcast_to(statistics.certain(column).nulls, n)
    # The flags of bounds are False only where no such row exists, so they decide all or none.
    nulls = np.where(has_only_null(bounds, n), records, nulls)
    return np.where(np.broadcast_to(bounds.can_be_null, n), nulls, 0)


def has_only_null(bounds: Bounds, n: int) -> Flags:
    """Return where all rows of a container are NULL."""
    return np.broadcast_to(~(bounds.can_be_value | bounds.can_be_nan), n)


def _extreme(
    function: Function, statistics: Statistics, column: Column, bounds: Bounds, records: Longs
) -> tuple[Flags, pa.Array]:
    """Return where MIN or MAX of a container is certain, and its value.

    The value is null for a container that has only NULLs, and where it is not certain.
    """
    n = len(records)
    is_min = function is Function.MIN
    edge = as_array(bounds.lower if is_min else bounds.upper, n, column.type)
    known = bounds.lower_known if is_min else bounds.upper_known
    certain = np.asarray(edge.is_valid().to_numpy(zero_copy_only=False))
    certain = certain & (True if known is None else np.broadcast_to(known, n))
    certain = certain & statistics.certain(column).attained
    if column.type.is_floating:
        # NaN is the greatest value in Spark, but bounds do not include it.
        certain = certain & ~bounds.can_be_nan & ~is_zero(edge)
    only_null = has_only_null(bounds, n)
    certain = certain & ~only_null
    values = pc.if_else(pa.array(certain), edge, pa.scalar(None, edge.type))
    return certain | only_null, values
