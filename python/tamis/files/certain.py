"""From the raw statistics of a column to what they say for certain."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tamis.evaluate.bounds import NO, YES, Edge, Flags
from tamis.evaluate.certain import UNKNOWN, Certain
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds, simplified
from tamis.files.columns import count_column, plain

__all__ = ["certain_columns", "is_true"]


def certain_columns(
    data_type: DataType,
    columns: Mapping[str, pa.Array],
    num_records: pa.Array,
    listed: Flags | None = None,
) -> Certain:
    """What `min`, `max`, `null_count`, `nan_count` and `attained` of n containers say for certain.

    columns: those that there are, bounds in the Arrow type in which the index keeps them.  listed:
    where all distinct values are known as well. Contradictions (min > max, more NULLs than rows)
    leave nothing that is certain.

    Numbers, dates and timestamps are written as they are: Parquet lets writers cut the bounds of
    bytes short, and of nothing else. So bounds of text count only where `attained` says so; NaN and
    signed zeros are for the caller to look at.

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
    """Where a bound was given, and is not believed."""
    if raw is None or pa.types.is_null(raw.type):
        return NO
    given: Flags = np.asarray(raw.is_valid().to_numpy(zero_copy_only=False))
    if edge is None:
        return given
    if known is not None:
        return given & ~known
    return NO


def is_true(array: pa.Array) -> Flags:
    """Where a cell is true; null is not."""
    return np.asarray(plain(array).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
