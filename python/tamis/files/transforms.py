"""Derive bounds of a source column from the values of a partition field, for each transform."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Buckets, Flags
from tamis.evaluation.domain.buckets import is_hashed
from tamis.evaluation.domain.edge_values import known
from tamis.evaluation.domain.flags import simplified
from tamis.expr.decimals import from_unscaled, unscaled
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds
from tamis.files.columns import NotLossless, Side, bytes_edge, decimal_edge, number_edge
from tamis.files.columns import plain as plain_array
from tamis.files.partition import Transform, TransformKind

__all__ = ["partition_bounds"]

Longs = npt.NDArray[np.int64]

MICROSECONDS_PER_DAY: Final = 86_400_000_000
MICROSECONDS_PER_HOUR: Final = 3_600_000_000

#: The greatest day all of whose microseconds fit 64 bits, with a day to spare at either end.
_GREATEST_DAY: Final = (1 << 63) // MICROSECONDS_PER_DAY - 1
#: The same in hours.
_GREATEST_HOUR: Final = _GREATEST_DAY * 24


def partition_bounds(data_type: DataType, transform: Transform, values: pa.Array) -> Bounds:
    """Return the bounds of a source column of `data_type`, given the values of a partition field.

    Null cells are not known. Never raises: values of a wrong type or out of range are not known
    either.

    >>> from tamis.expr.types import DATE
    >>> month = partition_bounds(DATE, Transform.parse("month"), pa.array([1], pa.int32()))
    >>> month.lower.tolist(), month.upper.tolist()  # February 1970
    ([31], [58])
    """
    try:
        return _RULES[transform.kind](data_type, transform.parameter, plain_array(values))
    except (NotLossless, pa.ArrowException, ValueError, OverflowError, TypeError):
        return Bounds.unknown(data_type)


def _void(data_type: DataType, _: int | None, values: pa.Array) -> Bounds:
    return Bounds.unknown(data_type)  # the partition value is always NULL


def _identity(data_type: DataType, _: int | None, values: pa.Array) -> Bounds:
    """Return bounds for `identity`: every row has the value itself. For NaN, every row is NaN."""
    unknown = values.is_null()
    nan = _nan_cells(values) if data_type.is_floating else None
    ordinary = values if nan is None else pc.if_else(nan, pa.scalar(None, values.type), values)
    one = pa.array(np.ones(len(values), np.int64))
    nulls = pc.if_else(unknown, pa.scalar(None, pa.int64()), pa.scalar(0, pa.int64()))
    nans = None
    if nan is not None:
        nans = pc.if_else(unknown, pa.scalar(None, pa.int64()), nan.cast(pa.int64()))
    # The bounds are those of a container with a single row that has this value.
    return column_bounds(data_type, ordinary, ordinary, nulls, nans, one)


def _nan_cells(values: pa.Array) -> pa.Array:
    return pc.fill_null(pc.is_nan(values), False)


def _bucket(data_type: DataType, buckets: int | None, values: pa.Array) -> Bounds:
    """Return bounds for `bucket`: no edges, but the values are not NULL and hash to that bucket."""
    if not is_hashed(data_type):
        raise NotLossless(f"{data_type} has no such transform")
    ordinals, valid = _ordinals(values)
    assert buckets is not None
    valid = valid & (ordinals >= 0) & (ordinals < buckets)
    known_buckets = Buckets(buckets, np.where(valid, ordinals, -1))
    return Bounds(data_type, None, None, simplified(~valid), NO, YES, buckets=(known_buckets,))


def _ordinals(values: pa.Array) -> tuple[Longs, Flags]:
    if not pa.types.is_integer(values.type):
        raise NotLossless(f"{values.type} is not a type of ordinals")
    valid = known(values)
    filled = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return np.asarray(filled), np.ones(len(values), np.bool_) if valid is None else valid


def earliest(ordinals: Longs) -> Longs:
    """Return the first period whose values a writer may have stored under an ordinal.

    Ordinals are rounded down, also before 1970. Iceberg up to 0.10 rounded toward zero: it stored
    the evening of 1969-12-31 under day 0. So an ordinal up to 0 may also have values of the
    previous period. Iceberg's own projections allow for that
    (ProjectionUtil.fixInclusiveTimeProjection).

    >>> earliest(np.array([-1, 0, 1])).tolist()
    [-2, -1, 1]
    """
    return ordinals - (ordinals <= 0)


def _time(first_day: Callable[[Longs], Longs], greatest: int, is_day: bool = False) -> Any:
    """Return the rule of a transform whose ordinals count periods of whole days since 1970-01-01.

    Args:
        first_day: Maps an ordinal o to the first day of its period. The last day of the period is
            the one before first_day(o + 1).
        greatest: Ordinals beyond this, on either side of 0, are not known.
        is_day: Whether the transform is `day`. Some writers store its ordinals as dates.
    """

    def rule(data_type: DataType, _: int | None, values: pa.Array) -> Bounds:
        if is_day and values.type == pa.date32():
            values = values.cast(pa.int32())
        ordinals, valid = _ordinals(values)
        valid = valid & (ordinals >= -greatest) & (ordinals <= greatest)
        ordinals = np.where(valid, ordinals, 0)
        is_same = is_day and data_type.name == "date"  # `day` of a date rounds nothing
        first = first_day(ordinals if is_same else earliest(ordinals))
        after = first_day(ordinals + 1)
        if data_type.name == "date":
            return _between(data_type, first, after - 1, valid)
        if data_type.name in ("timestamp", "timestamp_ntz"):
            # 64 bits of microseconds cover 292,000 years. Ordinals beyond that are not known.
            valid = valid & (first >= -_GREATEST_DAY) & (after <= _GREATEST_DAY)
            first, after = np.where(valid, first, 0), np.where(valid, after, 0)
            return _between(
                data_type, first * MICROSECONDS_PER_DAY, after * MICROSECONDS_PER_DAY - 1, valid
            )
        raise NotLossless(f"{data_type} has no such transform")

    return rule


def _month_to_day(months: Longs) -> Longs:
    """Return the first day of each month since 1970, in the proleptic Gregorian calendar."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _hour(data_type: DataType, _: int | None, values: pa.Array) -> Bounds:
    if data_type.name not in ("timestamp", "timestamp_ntz"):
        raise NotLossless(f"{data_type} has no hours")
    ordinals, valid = _ordinals(values)
    valid = valid & (ordinals >= -_GREATEST_HOUR) & (ordinals <= _GREATEST_HOUR)
    ordinals = np.where(valid, ordinals, 0)
    lower = earliest(ordinals) * MICROSECONDS_PER_HOUR
    upper = ordinals * MICROSECONDS_PER_HOUR + (MICROSECONDS_PER_HOUR - 1)
    return _between(data_type, lower, upper, valid)


def _between(data_type: DataType, lower: Longs, upper: Longs, valid: Flags) -> Bounds:
    """Return bounds of values that are not NULL and in [lower, upper], clipped to the domain.

    They are unknown where not valid.
    """
    least, greatest = data_type.domain
    # A period that lies entirely outside the type is corrupt.
    valid = valid & (upper >= least) & (lower <= greatest)
    lower = np.where(valid, np.maximum(lower, least), least)
    upper = np.where(valid, np.minimum(upper, greatest), greatest)
    some_known = None if valid.all() else valid
    nulls = simplified(~valid)
    return Bounds(data_type, lower, upper, nulls, NO, YES, some_known, some_known)


def _truncate(data_type: DataType, width: int | None, values: pa.Array) -> Bounds:
    assert width is not None
    if data_type.is_text:
        return _prefix(data_type, width, values)
    if data_type.is_decimal and not data_type.is_discrete:
        return _truncated_decimal(data_type, width, values)
    if not (data_type.is_integral or data_type.is_decimal):
        raise NotLossless(f"{data_type} has no such transform")
    lower, cells = number_edge(values, data_type, Side.LOWER)
    # v = floor(x / width) * width, also below zero, so v <= x <= v + width - 1. A value that is not
    # a multiple of the width is corrupt, or wrapped around at the end of the type.
    valid = (YES if cells is None else cells) & (lower % width == 0)
    greatest = data_type.domain[1]
    upper = np.where(lower > greatest - (width - 1), greatest, lower + np.int64(width - 1))
    return _between(data_type, lower, upper, np.broadcast_to(valid, lower.shape))


def _truncated_decimal(data_type: DataType, width: int, values: pa.Array) -> Bounds:
    """Return bounds for `truncate` of decimals of more than 18 digits, by their unscaled values."""
    lower = decimal_edge(values, data_type, Side.LOWER)
    scale = data_type.scale or 0

    def last(first: Decimal) -> Decimal | None:
        whole = unscaled(first, scale)
        # More than 38 digits do not fit the edge. Arrow raises, and the column is not known.
        return None if whole % width else from_unscaled(whole + width - 1, scale)

    upper = _each_distinct(lower, last, lower.type)
    lower = pc.if_else(upper.is_valid(), lower, pa.scalar(None, lower.type))
    return _of_arrow(data_type, lower, upper, None)


def _prefix(data_type: DataType, width: int, values: pa.Array) -> Bounds:
    """Return bounds for `truncate` of strings (`width` characters) and binary values (bytes).

    - If the partition value v is shorter than the width, every value x equals v.
    - If v has the full width, v <= x < next_prefix(v). The next prefix is v with its last byte that
      is not 0xFF incremented, and the bytes after it dropped. UTF-8 contains no byte 0xFF, so even
      U+10FFFF, F4 8F BF BF, has a next prefix among byte strings: F4 8F BF C0. If all bytes are
      0xFF, there is no upper bound.
    - If v is longer than the width, it is corrupt.
    """
    lower = bytes_edge(values, data_type)

    def length(value: bytes) -> int:
        return len(value.decode()) if data_type.name == "string" else len(value)

    lengths = np.asarray(
        pc.fill_null(_each_distinct(lower, length, pa.int64()), width + 1).to_numpy(
            zero_copy_only=False
        )
    )
    valid = lengths <= width
    full = lengths == width
    upper = pc.if_else(pa.array(full), _each_distinct(lower, next_prefix, pa.large_binary()), lower)
    keep = pa.array(valid)
    nothing = pa.scalar(None, pa.large_binary())
    return _of_arrow(
        data_type, pc.if_else(keep, lower, nothing), pc.if_else(keep, upper, nothing), full
    )


def next_prefix(prefix: bytes) -> bytes | None:
    """Return the least byte string above all that start with `prefix`, or None if there is none.

    >>> next_prefix(b"ab"), next_prefix(b"a\\xff"), next_prefix(b"\\xff")
    (b'ac', b'b', None)
    """
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None


def _each_distinct(array: pa.Array, function: Callable[[Any], Any], data_type: pa.DataType) -> Any:
    """Apply a Python function to each distinct value. There are few distinct partition values."""
    encoded = array.dictionary_encode()
    results = pa.array(
        [function(value) for value in encoded.dictionary.to_pylist()], type=data_type
    )
    return results.take(encoded.indices)


def _of_arrow(
    data_type: DataType, lower: pa.Array, upper: pa.Array, upper_open: Flags | None
) -> Bounds:
    valid = known(lower)
    nulls = NO if valid is None else simplified(~valid)
    return Bounds(data_type, lower, upper, nulls, NO, YES, valid, known(upper), upper_open)


def _day_to_day(days: Longs) -> Longs:
    return days


def _year_to_day(years: Longs) -> Longs:
    return _month_to_day(years * 12)


_RULES: Final[dict[TransformKind, Callable[[DataType, int | None, pa.Array], Bounds]]] = {
    TransformKind.IDENTITY: _identity,
    TransformKind.BUCKET: _bucket,
    TransformKind.TRUNCATE: _truncate,
    TransformKind.YEAR: _time(_year_to_day, 10_000_000),
    TransformKind.MONTH: _time(_month_to_day, 120_000_000),
    TransformKind.DAY: _time(_day_to_day, 1 << 31, is_day=True),
    TransformKind.HOUR: _hour,
    TransformKind.VOID: _void,
}
