"""Compute what each file contributes to COUNT, MIN and MAX where its statistics are certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Edge, Flags
from tamis.evaluation.domain.exact_counts import UNKNOWN
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import DataType

__all__ = [
    "Aggregate",
    "Function",
    "as_array",
    "contributions",
    "has_only_null",
    "is_attained",
    "nulls_of",
]

Longs = npt.NDArray[np.int64]


class Function(StrEnum):
    COUNT = "count"  # rows whose value is not NULL; all rows if there is no column
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function of a column. COUNT(*) has no column."""

    function: Function
    column: Column | None


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
        if each.column is None:
            columns[str(ordinal)] = pa.array(records)
            continue
        bounds = statistics.bounds(each.column)
        if each.function is Function.COUNT:
            nulls = nulls_of(statistics, each.column, bounds, records)
            sure &= nulls != UNKNOWN
            columns[str(ordinal)] = pa.array(records - nulls)
            continue
        certain, values = _extreme(each.function, statistics, each.column, bounds, records)
        sure &= certain
        columns[str(ordinal)] = values
    return sure, pa.table(columns)


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
        # NaN is the greatest value in Spark, but bounds do not include it. -0.0 and 0.0 are equal:
        # Spark returns the one that it meets first, and a bound does not show which one that is.
        zero = pc.fill_null(pc.equal(edge, 0.0), True).to_numpy(zero_copy_only=False)
        certain = certain & ~bounds.can_be_nan & ~np.asarray(zero)
    only_null = has_only_null(bounds, n)
    certain = certain & ~only_null
    values = pc.if_else(pa.array(certain), edge, pa.scalar(None, edge.type))
    return certain | only_null, values


def as_array(edge: Edge | None, n: int, data_type: DataType) -> pa.Array:
    """Return an edge as an array of n entries, which are null if the edge is not known."""
    if edge is None:
        return pa.nulls(n, _arrow(data_type))
    if isinstance(edge, np.ndarray):
        return pa.array(np.ascontiguousarray(np.broadcast_to(edge, n)), _arrow(data_type))
    return edge if len(edge) == n else edge.take(pa.array(np.zeros(n, np.int64)))


def _arrow(data_type: DataType) -> pa.DataType:
    """Return the Arrow type in which the edges of a type are stored."""
    if data_type.is_text:
        return pa.large_binary()
    if data_type.is_floating:
        return pa.float64()
    if data_type.is_discrete:
        return pa.int64()
    return pa.decimal128(38, data_type.scale or 0)
