"""What one file contributes to COUNT, MIN and MAX, where its statistics tell for certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import Bounds, Edge, Flags
from tamis.evaluate.certain import UNKNOWN, certain_of
from tamis.evaluate.statistics import Statistics
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
    COUNT = "count"  # rows whose value is not NULL; of no column: rows
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`column` None: COUNT of rows."""

    function: Function
    column: Column | None


def contributions(
    aggregates: Sequence[Aggregate], statistics: Statistics, records: Longs
) -> tuple[Flags, pa.Table]:
    """Where all contributions are certain, and these: `rows`, and a column an aggregate."""
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
    """Where the bound that MIN or MAX goes by is for certain the value of some row."""
    bounds = statistics.bounds(column)
    certain, _ = _extreme(function, statistics, column, bounds, np.zeros(n, np.int64))
    return certain & ~has_only_null(bounds, n)


def nulls_of(statistics: Statistics, column: Column, bounds: Bounds, records: Longs) -> Longs:
    """How many of the rows of each container are NULL; UNKNOWN where that is not certain."""
    n = len(records)
    nulls = np.broadcast_to(certain_of(statistics, column).nulls, n)
    # A flag is False only where there is no such row.
    nulls = np.where(has_only_null(bounds, n), records, nulls)
    return np.where(np.broadcast_to(bounds.can_be_null, n), nulls, 0)


def has_only_null(bounds: Bounds, n: int) -> Flags:
    """Where no row of a container holds anything but NULL."""
    return np.broadcast_to(~(bounds.can_be_value | bounds.can_be_nan), n)


def _extreme(
    function: Function, statistics: Statistics, column: Column, bounds: Bounds, records: Longs
) -> tuple[Flags, pa.Array]:
    """Where MIN or MAX of each container is certain, and what it is; null: it has only NULL."""
    n = len(records)
    is_min = function is Function.MIN
    edge = as_array(bounds.lower if is_min else bounds.upper, n, column.type)
    known = bounds.lower_known if is_min else bounds.upper_known
    found = np.asarray(edge.is_valid().to_numpy(zero_copy_only=False))
    found = found & (True if known is None else np.broadcast_to(known, n))
    found = found & certain_of(statistics, column).attained
    if column.type.is_floating:
        # NaN is the greatest value of Spark's, and of no bound. Of -0.0 and 0.0, which are equal,
        # Spark gives the one that it meets first, and a bound does not tell which they are.
        zero = pc.fill_null(pc.equal(edge, 0.0), True).to_numpy(zero_copy_only=False)
        found = found & ~bounds.can_be_nan & ~np.asarray(zero)
    only_null = has_only_null(bounds, n)
    found = found & ~only_null
    values = pc.if_else(pa.array(found), edge, pa.scalar(None, edge.type))
    return found | only_null, values


def as_array(edge: Edge | None, n: int, data_type: DataType) -> pa.Array:
    """An edge of n containers; all null where nothing is known."""
    if edge is None:
        return pa.nulls(n, _arrow(data_type))
    if isinstance(edge, np.ndarray):
        return pa.array(np.ascontiguousarray(np.broadcast_to(edge, n)), _arrow(data_type))
    return edge if len(edge) == n else edge.take(pa.array(np.zeros(n, np.int64)))


def _arrow(data_type: DataType) -> pa.DataType:
    """How the edges of a type are held, in Arrow."""
    if data_type.is_text:
        return pa.large_binary()
    if data_type.is_floating:
        return pa.float64()
    if data_type.is_discrete:
        return pa.int64()
    return pa.decimal128(38, data_type.scale or 0)
