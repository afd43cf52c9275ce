"""Convert raw statistics columns, in any Arrow type that fits, to the edges that Bounds holds.

A statistic that does not fit exactly is widened, the lower edge downwards and the upper edge
upwards. So nanoseconds can bound microseconds, and decimals of a larger scale those of a smaller
one. An Arrow type that does not fit the column's type raises NotLossless, and the caller treats the
column as not known.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import YES
from tamis.evaluation.domain.edge_values import known
from tamis.expr.types import DataType

__all__ = [
    "NotLossless",
    "Side",
    "bytes_edge",
    "count_array",
    "count_column",
    "decimal_edge",
    "number_edge",
    "plain",
]

Longs = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


class NotLossless(ValueError):
    """A statistic has an Arrow type that does not fit the type of its column."""


class Side(Enum):
    LOWER = "lower"
    UPPER = "upper"


#: Units of Arrow timestamps that are multiples of a microsecond. Nanoseconds are not.
_MICROSECONDS_PER: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}
_MILLISECONDS_PER_DAY: Final = 86_400_000


def plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one contiguous array without dictionary or run-end encoding."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(array, pa.ChunkedArray):  # combine_chunks of zero chunks
        array = pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    elif pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    return array


def count_column(array: pa.Array | None) -> tuple[Longs, Booleans] | None:
    """Return a column of counts and where they are known, or None if it is not an integer column.

    If all are known, the flags are a single True.
    """
    if array is None or not pa.types.is_integer(array.type):
        return None
    counts = array.cast(pa.int64(), safe=False)
    valid = known(array)
    if valid is None:
        return np.asarray(counts.to_numpy(zero_copy_only=False)), YES
    return np.asarray(pc.fill_null(counts, -1).to_numpy(zero_copy_only=False)), valid


def count_array(counts: Longs) -> pa.Array:
    """Return counts as a column of statistics. Negative ones are not known, and become null.

    >>> count_array(np.array([3, -1])).to_pylist()
    [3, None]
    """
    unknown = counts < 0
    return pa.array(counts, mask=unknown) if unknown.any() else pa.array(counts)


def number_edge(array: pa.Array, data_type: DataType, side: Side) -> tuple[Any, Booleans | None]:
    """Return one edge of a column that Bounds holds in numpy, and where it is known.

    Cells that are not known hold 0. The caller replaces them by the extreme value of the type.
    Values that do not fit 64 bits are not known.

    Returns:
        The values, and one flag per cell, or None if all cells are known.

    Raises:
        NotLossless: The Arrow type does not fit the type of the column.
    """
    if data_type.is_floating:
        return _floats(array, data_type, side)
    if data_type.is_decimal:
        return _unscaled(array, data_type, side)
    if data_type.name == "boolean":
        _require(pa.types.is_boolean(array.type), array, data_type)
        return _filled(array.cast(pa.int8())).astype(np.int64, copy=False), known(array)
    if data_type.is_integral:
        return _whole_numbers(array, data_type)
    if data_type.name == "date":
        return _days(array, data_type, side)
    return _microseconds(array, data_type, side)


def _require(condition: bool, array: pa.Array, data_type: DataType) -> None:
    if not condition:
        raise NotLossless(f"{array.type} does not fit {data_type}")


def _filled(array: pa.Array) -> npt.NDArray[Any]:
    """Return the values, 0 where null."""
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, array.type))
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _whole_numbers(array: pa.Array, data_type: DataType) -> tuple[Longs, Booleans | None]:
    _require(pa.types.is_integer(array.type), array, data_type)
    valid = known(array)
    values = _filled(array)
    if array.type == pa.uint64():
        valid = _both(valid, values <= np.iinfo(np.int64).max)
    return values.astype(np.int64, copy=False), valid


def _floats(array: pa.Array, data_type: DataType, side: Side) -> tuple[Any, Booleans | None]:
    if pa.types.is_integer(array.type) and array.type.bit_width <= 32:
        array = array.cast(pa.float64())  # exact, because 53 bits hold every 32-bit integer
    _require(pa.types.is_floating(array.type), array, data_type)
    values = _filled(array).astype(np.float64, copy=False)
    if data_type.name == "float" and array.type == pa.float64():
        values = _outward_floats(values, side)
    return values, known(array)


def _outward_floats(values: npt.NDArray[np.float64], side: Side) -> npt.NDArray[np.float64]:
    """Return the nearest 32-bit floats that are not inside. Usually they equal the values."""
    with np.errstate(over="ignore", invalid="ignore"):
        floats = values.astype(np.float32)
        if side is Side.LOWER:
            outside = np.where(floats > values, np.nextafter(floats, np.float32(-np.inf)), floats)
        else:
            outside = np.where(floats < values, np.nextafter(floats, np.float32(np.inf)), floats)
    return outside.astype(np.float64)


def _days(array: pa.Array, data_type: DataType, side: Side) -> tuple[Longs, Booleans | None]:
    if array.type == pa.date32():
        return _filled(array.cast(pa.int32())).astype(np.int64, copy=False), known(array)
    _require(array.type == pa.date64(), array, data_type)
    milliseconds = _filled(array.cast(pa.int64()))
    return _divided(milliseconds, _MILLISECONDS_PER_DAY, side), known(array)


def _microseconds(
    array: pa.Array, data_type: DataType, side: Side
) -> tuple[Longs, Booleans | None]:
    # A timestamp without time zone also bounds `timestamp`: Spark reads such Parquet columns as the
    # same number of microseconds. Spark rejects the reverse, and so does this.
    _require(pa.types.is_timestamp(array.type), array, data_type)
    _require(data_type.name == "timestamp" or array.type.tz is None, array, data_type)
    values, valid = _filled(array.cast(pa.int64())), known(array)
    if array.type.unit == "ns":
        return _divided(values, 1_000, side), valid
    return _multiplied(values, _MICROSECONDS_PER[array.type.unit], valid)


def _unscaled(array: pa.Array, data_type: DataType, side: Side) -> tuple[Longs, Booleans | None]:
    """Return the unscaled values of a decimal of at most 18 digits, at the scale of its type."""
    assert data_type.scale is not None
    if pa.types.is_integer(array.type):
        values, valid = _whole_numbers(array, data_type)
        return _multiplied(values, 10**data_type.scale, valid)
    _require(pa.types.is_decimal(array.type), array, data_type)
    valid = known(array)
    values, fits = _low_words(array)
    valid = _both(valid, fits)
    rescale = data_type.scale - array.type.scale
    if rescale >= 0:
        return _multiplied(values, 10**rescale, valid)
    return _divided(values, 10**-rescale, side), valid


def _low_words(array: pa.Array) -> tuple[Longs, Booleans]:
    """Return the unscaled values, and where they fit 64 bits."""
    words = array.type.bit_width // 64
    if words == 0:  # decimal32
        array, words = array.cast(pa.decimal64(18, array.type.scale)), 1
    data = np.frombuffer(array.buffers()[1] or b"", np.int64)
    table = data[: (array.offset + len(array)) * words].reshape(-1, words)[array.offset :]
    low = table[:, 0]
    # Two's complement: a value fits if the higher words repeat the sign of the lowest.
    return np.where(_nulls(array), 0, low), (table[:, 1:] == (low >> 63)[:, None]).all(axis=1)


def _nulls(array: pa.Array) -> Booleans:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False))


def _both(valid: Booleans | None, other: Booleans) -> Booleans | None:
    if other.all():
        return valid
    return other if valid is None else valid & other


def _divided(values: Longs, divisor: int, side: Side) -> Longs:
    """Divide outwards: the lower edge rounds down and the upper edge up, also below zero."""
    floor = values // divisor
    return floor if side is Side.LOWER else floor + (values % divisor != 0)


def _multiplied(
    values: Longs, factor: int, valid: Booleans | None
) -> tuple[Longs, Booleans | None]:
    if factor == 1:
        return values, valid
    limit = np.iinfo(np.int64).max // factor
    fits = (values <= limit) & (values >= -limit)
    return np.where(fits, values, 0) * np.int64(min(factor, 10**18)), _both(valid, fits)


def bytes_edge(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return one edge of a string or binary column as large_binary. Strings compare as UTF-8."""
    fits = (
        pa.types.is_string(array.type)
        or pa.types.is_large_string(array.type)
        or pa.types.is_string_view(array.type)
        or pa.types.is_binary(array.type)
        or pa.types.is_large_binary(array.type)
        or pa.types.is_binary_view(array.type)
        or (pa.types.is_fixed_size_binary(array.type) and data_type.name == "binary")
    )
    _require(fits, array, data_type)
    if pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    return array.cast(pa.large_binary())


def decimal_edge(array: pa.Array, data_type: DataType, side: Side) -> pa.Array:
    """Return one edge of a decimal of more than 18 digits as decimal128 at the type's scale."""
    wanted = pa.decimal128(38, data_type.scale)
    if pa.types.is_integer(array.type):
        array = array.cast(pa.decimal128(20, 0))
    _require(pa.types.is_decimal(array.type), array, data_type)
    # Rounding outwards to fewer digits is not implemented: Arrow rejects a loss of digits, and so
    # does this.
    _require(array.type.scale <= (data_type.scale or 0), array, data_type)
    return array.cast(wanted)
