"""Derive from the raw statistics of a column what is certain about it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Edge, Flags
from tamis.evaluation.domain.exact_counts import UNKNOWN, Certain
from tamis.evaluation.domain.flags import simplified
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds
from tamis.files.columns import count_column, plain

__all__ = ["certain_columns", "is_true"]


def certain_columns(
    data_type: DataType,
    columns: Mapping[str, pa.Array],
    num_records: pa.Array,
    listed: Flags | None = None,
) -> Certain:
    """Return what the statistics of a column prove for certain, with one entry per container.

    Bounds of numbers, dates and timestamps are values of rows: Parquet allows writers to truncate
    only the bounds of byte arrays. So bounds of text are certain only where `attained` is true. The
    caller has to check for NaN and signed zeros. Statistics that contradict each other (min > max,
    more NULLs than rows) prove nothing.

    Args:
        data_type: The type of the column.
        columns: The available columns among `min`, `max`, `null_count`, `nan_count` and `attained`.
            Bounds have the Arrow type in which the index stores them.
        num_records: The number of rows of each container.
        listed: Flags of the containers in which all distinct values are known as well.

    >>> from tamis.expr.types import LONG
    >>> longs = {"min": pa.array([3, 9]), "max": pa.array([7, 8]), "null_count": pa.array([1, 1])}
    >>> certain_columns(LONG, longs, pa.array([10, 10])).nulls.tolist()
    [1, -1]
    """
    low, high = columns.get("min"), columns.get("max")
    counts, nans = columns.get("null_count"), columns.get("nan_count")
    bounds = column_bounds(data_type, low, high, counts, nans, num_records)
    corrupt = _refused(low, bounds.lower, bounds.lower_known)
    corrupt = corrupt | _refused(high, bounds.upper, bounds.upper_known)
    nulls = np.array([UNKNOWN], np.int64)
    counted, records = count_column(counts), count_column(num_records)
    if counted is not None and records is not None:
        fits = counted[1] & (counted[0] >= 0) & records[1] & (counted[0] <= records[0])
        nulls = np.where(fits & ~corrupt, counted[0], UNKNOWN)
        if len(nulls) and (nulls == nulls[0]).all():
            nulls = nulls[:1]
    attained = YES
    if data_type.is_text:
        attained = NO if "attained" not in columns else is_true(columns["attained"])
        attained = attained if listed is None else attained | listed
    return Certain(nulls, simplified(attained & ~corrupt))


def _refused(raw: pa.Array | None, edge: Edge | None, known: Flags | None) -> Flags:
    """Return where a bound was given but is not trusted."""
    if raw is None or pa.types.is_null(raw.type):
        return NO
    given: Flags = np.asarray(raw.is_valid().to_numpy(zero_copy_only=False))
    if edge is None:
        return given
    if known is not None:
        return given & ~known
    return NO


def is_true(array: pa.Array) -> Flags:
    """Return where a cell is true. A null cell counts as false."""
    return np.asarray(plain(array).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
