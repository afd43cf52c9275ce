"""Convert raw statistics to Bounds. No other module does this.

A null cell means "not known", never "no bound" and never 0. A container is *corrupt* if its
statistics contradict each other: min > max, a NaN bound, negative counts, more NULLs than rows, a
bound of a column that has only NULLs, or a bound outside the type. Nothing is known about that
column in a corrupt container, so the column neither rules it out nor makes it fully matching.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.edge_values import known
from tamis.evaluation.domain.flags import simplified
from tamis.expr.types import DataType
from tamis.files.columns import (
    NotLossless,
    Side,
    bytes_edge,
    count_column,
    decimal_edge,
    number_edge,
    plain,
)

__all__ = ["column_bounds", "constant_bounds"]


def column_bounds(
    data_type: DataType,
    minimum: pa.Array | None,
    maximum: pa.Array | None,
    null_count: pa.Array | None,
    nan_count: pa.Array | None,
    num_records: pa.Array | None,
) -> Bounds:
    """Return the bounds of one column, with one entry per container.

    Never raises: a type that does not fit, or an Arrow failure, gives unknown bounds. An argument
    is None if there is no such statistics column. Minima and maxima may be wider than the data
    (truncated strings); counts are exact.

    >>> from tamis.expr.types import LONG
    >>> low, high = pa.array([3, None]), pa.array([7, 9])
    >>> bounds = column_bounds(LONG, low, high, pa.array([0, None]), None, pa.array([10, 10]))
    >>> bounds.lower.tolist(), bounds.can_be_null.tolist()
    ([3, -9223372036854775808], [False, True])
    """
    arrays = (minimum, maximum, null_count, nan_count, num_records)
    try:
        return _column_bounds(
            data_type, *(None if each is None else plain(each) for each in arrays)
        )
    except (NotLossless, pa.ArrowException, ValueError, OverflowError, TypeError):
        return Bounds.unknown(data_type)


def constant_bounds(data_type: DataType, values: pa.Array) -> Bounds:
    """Return the bounds of a column that has the value values[i] in every row of container i.

    A null cell here means that every row is NULL. Hive partition columns are of this kind. Never
    raises: a type that does not fit gives unknown bounds.

    >>> from tamis.expr.types import LONG
    >>> constant_bounds(LONG, pa.array([5, None])).can_be_null.tolist()
    [False, True]
    """
    values = plain(values)
    ones = pa.array(np.ones(len(values), np.int64))
    null_count = pa.array(_nulls(values).astype(np.int64))
    if not data_type.is_floating:
        return column_bounds(data_type, values, values, null_count, None, ones)
    try:
        is_nan = pc.fill_null(pc.is_nan(values), False)
    except pa.ArrowException:
        return Bounds.unknown(data_type)
    nan_count = is_nan.cast(pa.int64())
    edge = pc.if_else(is_nan, pa.scalar(None, values.type), values)
    return column_bounds(data_type, edge, edge, null_count, nan_count, ones)


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False))


def _column_bounds(
    data_type: DataType,
    minimum: pa.Array | None,
    maximum: pa.Array | None,
    null_count: pa.Array | None,
    nan_count: pa.Array | None,
    num_records: pa.Array | None,
) -> Bounds:
    counts = _count_flags(
        count_column(null_count),
        count_column(nan_count) if data_type.is_floating else (NO.astype(np.int64), YES),
        count_column(num_records),
    )
    if data_type.is_discrete or data_type.is_floating:
        return _numpy_bounds(data_type, minimum, maximum, *counts)
    return _arrow_bounds(data_type, minimum, maximum, *counts)


Counts = tuple[npt.NDArray[np.int64], Flags] | None


def _count_flags(nulls: Counts, nans: Counts, records: Counts) -> tuple[Flags, Flags, Flags, Flags]:
    """Return can_be_null, can_be_nan, can_be_value, and where the counts contradict each other."""
    if records is not None:
        orderly = _orderly_flags(nulls, nans, records)
        if orderly is not None:
            return orderly
    corrupt: Flags = NO
    can_be_null, can_be_nan, can_be_value = YES, YES, YES
    null_total: npt.NDArray[np.int64] | int = 0
    nan_total: npt.NDArray[np.int64] | int = 0
    if nulls is not None:
        values, valid = nulls
        corrupt = corrupt | (valid & (values < 0))
        can_be_null = ~(valid & (values == 0))
        null_total = np.where(valid, values, 0)  # at least this many
    if nans is not None:
        values, valid = nans
        corrupt = corrupt | (valid & (values < 0))
        can_be_nan = ~(valid & (values == 0))
        nan_total = np.where(valid, values, 0)
    if records is not None:
        values, valid = records
        valid = valid & (values >= 0)  # a negative number of rows means not known
        # NULLs and NaNs together must not exceed `values`. Negative counts are corrupt already.
        too_many = (null_total > values) | (nan_total > values - null_total)
        corrupt = corrupt | (valid & too_many)
        # If NULLs and NaNs fill the container, no ordinary value is left. An unknown count is 0 in
        # its total, so the totals fill the container only if the known counts do.
        can_be_value = ~(valid & (null_total + nan_total == values))
        if nulls is not None:
            can_be_nan = can_be_nan & ~(valid & (null_total == values))
        if nans is not None:
            can_be_null = can_be_null & ~(valid & (nan_total == values))
    return can_be_null, can_be_nan, can_be_value, corrupt


def _orderly_flags(
    nulls: Counts, nans: Counts, records: tuple[npt.NDArray[np.int64], Flags]
) -> tuple[Flags, Flags, Flags, Flags] | None:
    """Return the flags of _count_flags if the counts leave an ordinary value in every container.

    That is the case for most files, and takes five passes instead of about twenty. None if some
    count is not known, is negative, or leaves no ordinary value.
    """
    left = records[0]
    for counts in (records, nulls, nans):
        if counts is None:
            continue
        values, valid = counts
        if len(values) == 0 or not valid.all() or values.min() < 0:
            return None
        # This does not overflow, because neither side is negative: both were checked above.
        if counts is not records and values.any():
            left = left - values
            if left.min() < 0:
                return None
    if left.min() <= 0:
        return None
    can_be_null = YES if nulls is None else nulls[0] != 0
    can_be_nan = YES if nans is None else nans[0] != 0
    return can_be_null, can_be_nan, YES, NO


def _numpy_bounds(
    data_type: DataType,
    minimum: pa.Array | None,
    maximum: pa.Array | None,
    can_be_null: Flags,
    can_be_nan: Flags,
    can_be_value: Flags,
    corrupt: Flags,
) -> Bounds:
    lower, lower_known = _edge(minimum, data_type, Side.LOWER)
    upper, upper_known = _edge(maximum, data_type, Side.UPPER)
    least, greatest = (-np.inf, np.inf) if data_type.is_floating else data_type.domain
    if (
        corrupt is NO
        and can_be_value is YES
        and (lower is not None and lower_known is YES and upper is not None and upper_known is YES)
        and _are_orderly(lower, upper, least, greatest)
    ):
        flags = (simplified(can_be_null), simplified(can_be_nan), YES)
        return Bounds(data_type, lower, upper, *flags)
    for values, valid in ((lower, lower_known), (upper, upper_known)):
        if values is not None:
            # NaN compares false with everything, so it also counts as outside.
            inside = (values >= least) & (values <= greatest)
            corrupt = corrupt | ~(inside | ~valid) | (valid & ~can_be_value)
    if lower is not None and upper is not None:
        corrupt = corrupt | (lower_known & upper_known & (lower > upper))
    trusted = ~corrupt
    trusted_lower, trusted_lower_known = _trusted_edge(lower, lower_known, trusted, least)
    trusted_upper, trusted_upper_known = _trusted_edge(upper, upper_known, trusted, greatest)
    return Bounds(
        data_type,
        trusted_lower,
        trusted_upper,
        simplified(can_be_null | corrupt),
        simplified(can_be_nan | corrupt) if data_type.is_floating else NO,
        simplified(can_be_value | corrupt),
        trusted_lower_known,
        trusted_upper_known,
    )


def _are_orderly(lower: Any, upper: Any, least: float, greatest: float) -> bool:
    """Return whether every pair of edges is an interval within the type. NaN is in no interval."""
    if len(lower) == 0 or len(lower) != len(upper):
        return False
    return bool(lower.min() >= least and upper.max() <= greatest and (lower <= upper).all())


def _edge(array: pa.Array | None, data_type: DataType, side: Side) -> tuple[Any, Flags]:
    if array is None or pa.types.is_null(array.type):
        return None, NO
    values, valid = number_edge(array, data_type, side)
    return values, YES if valid is None else valid


def _trusted_edge(
    values: Any, valid: Flags, trusted: Flags, extreme: float
) -> tuple[Any, Flags | None]:
    if values is None:
        return None, None
    valid = valid & trusted
    if valid.all():
        return values, None
    return np.where(valid, values, extreme).astype(values.dtype), valid


def _arrow_bounds(
    data_type: DataType,
    minimum: pa.Array | None,
    maximum: pa.Array | None,
    can_be_null: Flags,
    can_be_nan: Flags,
    can_be_value: Flags,
    corrupt: Flags,
) -> Bounds:
    lower = _arrow_edge(minimum, data_type, Side.LOWER)
    upper = _arrow_edge(maximum, data_type, Side.UPPER)
    for edge in (lower, upper):
        if edge is not None:
            corrupt = corrupt | (~_nulls(edge) & ~can_be_value)
    if lower is not None and upper is not None:
        crossed = pc.fill_null(pc.greater(lower, upper), False)
        corrupt = corrupt | np.asarray(crossed.to_numpy(zero_copy_only=False))
    return Bounds(
        data_type,
        _without(lower, corrupt),
        _without(upper, corrupt),
        simplified(can_be_null | corrupt),
        NO,
        simplified(can_be_value | corrupt),
        None if lower is None else known(_without(lower, corrupt)),
        None if upper is None else known(_without(upper, corrupt)),
    )


def _arrow_edge(array: pa.Array | None, data_type: DataType, side: Side) -> pa.Array | None:
    if array is None or pa.types.is_null(array.type):
        return None
    if data_type.is_decimal:
        return decimal_edge(array, data_type, side)
    return bytes_edge(array, data_type)


def _without(edge: pa.Array | None, corrupt: Flags) -> pa.Array | None:
    """Return the edge with nulls where it cannot be trusted."""
    if edge is None or not corrupt.any():
        return edge
    mask = np.broadcast_to(corrupt, (len(edge),))
    return pc.if_else(pa.array(mask), pa.scalar(None, edge.type), edge)
