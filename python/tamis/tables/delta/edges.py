"""Outer bounds from the minima and maxima of the log.

    recorded                        lower            upper              why
    a number                        it               it
    NaN                             unknown          unknown            NaN is not ordinary
    a double that was a float       next float down  next float up      0.1 is not 0.1f
    a decimal of over 15 digits     less by 2^-49    more by 2^-49      delta-rs writes doubles
    text with U+FFFD                up to a byte     the end of prefix  see `_upper_text`
    text of 32 bytes or more        it               the end of prefix  see `_upper_text`
    a timestamp                     it               999 us later       cut to milliseconds
    a timestamp before 1973         a minute before  a minute later     offsets may lack seconds
    a date before October 15, 1582  unknown          15 days later      another calendar
    a time before then              unknown          16 days later      the same

`values` decides which texts are numbers and dates at all.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.files.columns import Side
from tamis.tables.delta.columns import StatisticsColumn

__all__ = ["is_exact", "is_recorded", "outer_edge"]

Longs = npt.NDArray[np.int64]

#: Days and microseconds since 1970: October 15, 1582; the end of 9999; 1900; 1973.
_GREGORIAN_DAY: Final = -141_427
_LAST_DAY: Final = 2_932_896
_MICROSECONDS_PER_DAY: Final = 86_400_000_000
_SINCE_1900: Final = -25_567 * _MICROSECONDS_PER_DAY
_SINCE_1973: Final = 1_096 * _MICROSECONDS_PER_DAY
_MINUTE: Final = 60_000_000
#: The days of the Julian and the Gregorian calendar differ by at most ten in the years 0 to 1582.
#: If a writer has left out that a year is before Christ, the day is still earlier.
_CALENDARS: Final = 15

#: Every number of this many digits is the only one of so few digits next to its double.
_DIGITS_OF_DOUBLES: Final = 15
#: The greatest power of ten that is a double.
_GREATEST_POWER: Final = 22
#: Delta cuts strings after 32 characters.
_SHORTEST_CUT: Final = 32
_REPLACEMENT: Final = "\ufffd"
_LAST_CHARACTER: Final = "\U0010ffff"


def is_exact(column: StatisticsColumn) -> bool:
    """Return whether `outer_edge` keeps all values, so that tight bounds are values of rows.

    Dates have to pass `is_recorded`, too. Never said of floating-point numbers, whose zeros and
    NaNs writers treat in different ways.
    """
    data_type = column.type
    if data_type.is_decimal:
        return _is_short(column)
    return data_type.is_integral or data_type.name == "date"


def is_recorded(high: pa.Array) -> npt.NDArray[np.bool_]:
    """Return which maxima of dates `outer_edge` has kept as they were recorded."""
    return _filled(high.cast(pa.int32())) >= _GREGORIAN_DAY + _CALENDARS


def outer_edge(
    array: pa.Array, column: StatisticsColumn, side: Side, from_checkpoint: bool = False
) -> pa.Array:
    """Return outer bounds of a column. Strings become binary.

    Args:
        array: The recorded minima or maxima, of the type of `values.arrow_type`.
        column: The column.
        side: LOWER for minima.
        from_checkpoint: Whether they are values of Parquet. Times before 1900 may be stored there
            as local times of an unknown zone.
    """
    data_type = column.type
    if data_type.is_floating:
        return _float_edge(array, column, side)
    if data_type.is_decimal:
        return array if _is_short(column) else _decimal_edge(array, side)
    if data_type.name == "string":
        return _lower_text(array) if side is Side.LOWER else _upper_text(array)
    if data_type.name == "date":
        return _date_edge(array, side)
    if data_type.name in ("timestamp", "timestamp_ntz"):
        return _time_edge(array, side, from_checkpoint)
    return array


def _float_edge(array: pa.Array, column: StatisticsColumn, side: Side) -> pa.Array:
    values = np.asarray(array.to_numpy(zero_copy_only=False), np.float64)  # null: NaN
    if column.is_widened and column.type.name == "double":
        with np.errstate(over="ignore"):
            floats = values.astype(np.float32)
            towards = np.float32(-np.inf if side is Side.LOWER else np.inf)
            values = np.nextafter(floats, towards).astype(np.float64)
    return pa.array(values, mask=np.isnan(values))


def _is_short(column: StatisticsColumn) -> bool:
    return (column.type.precision or 0) <= _DIGITS_OF_DOUBLES


def _decimal_edge(array: pa.Array, side: Side) -> pa.Array:
    """Widen decimals of more than 15 digits by the error of delta-rs, a few units of a double."""
    scale = array.type.scale
    limit = Decimal((0, (1, *(0,) * _DIGITS_OF_DOUBLES), -scale))
    is_long = pc.greater_equal(pc.abs(array), pa.scalar(limit, array.type))
    if scale > _GREATEST_POWER:
        is_long = array.is_valid()
    is_long = pc.fill_null(is_long, False)
    if not pc.any(is_long).as_py():
        return array
    widened = [_widened(each, scale, side) for each in array.filter(is_long).to_pylist()]
    return pc.replace_with_mask(array, is_long, pa.array(widened, array.type))


def _widened(value: Decimal, scale: int, side: Side) -> Decimal | None:
    sign, digits, _ = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    error = (abs(unscaled) >> 49) + 1
    unscaled += -error if side is Side.LOWER else error
    if abs(unscaled) >= 10**38:
        return None
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _date_edge(array: pa.Array, side: Side) -> pa.Array:
    days = _filled(array.cast(pa.int32()))
    is_old = days < _GREGORIAN_DAY
    known = days <= _LAST_DAY
    if side is Side.LOWER or not is_old.any():
        return _masked(array, known & ~is_old)
    edges = np.where(is_old, days + _CALENDARS, days).astype(np.int32)
    return pa.array(edges, mask=~known | _nulls(array)).cast(array.type)


def _lower_text(array: pa.Array) -> pa.Array:
    """Return minima as bytes, up to the first U+FFFD, and a byte that is less than what was there.

    Bytes that are not UTF-8 may have become this character, which is greater than some of them. The
    first of them is no ASCII character.
    """
    if pc.any(pc.match_substring(array, _REPLACEMENT)).as_py():
        array = pc.replace_substring_regex(array, f"(?s){_REPLACEMENT}.*", "\x7f")
    return array.cast(pa.large_string()).cast(pa.large_binary())


def _upper_text(array: pa.Array) -> pa.Array:
    """Return bytes that are not less than any string that a maximum was made of.

    Writers cut long strings and append a character. Delta appended U+FFFD before, which is less
    than the characters above U+FFFF in UTF-8; it also cut these in halves, which become a question
    mark. Some versions of delta-kernel-rs append nothing. Delta and others replace bytes that are
    not UTF-8 by U+FFFD. In all cases the string begins with what is left of the maximum, and is
    less than these bytes with a greater last one.
    """
    ends = pc.match_substring_regex(array, f"[{_REPLACEMENT}{_LAST_CHARACTER}]")
    if pc.any(ends).as_py():
        pattern = rf"(?s)\??[{_REPLACEMENT}{_LAST_CHARACTER}].*"
        rest = pc.replace_substring_regex(array, pattern, "")
    else:
        rest = array
    is_prefix = pc.or_(ends, pc.greater_equal(pc.binary_length(rest), _SHORTEST_CUT))
    unknown = pc.and_(ends, pc.equal(pc.binary_length(rest), 0))
    rest = pc.if_else(unknown, pa.scalar(None, rest.type), rest)
    binary = rest.cast(pa.large_string()).cast(pa.large_binary())
    return _with_greater_ends(binary, _flags(is_prefix) & ~_nulls(binary))


def _with_greater_ends(array: pa.Array, chosen: npt.NDArray[np.bool_]) -> pa.Array:
    """Increase the last bytes of some texts of UTF-8, where no byte is the greatest."""
    if not chosen.any():
        return array
    array = pa.concat_arrays([array])  # without an offset
    validity, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64, len(array) + 1)[1:][chosen]
    content = np.frombuffer(data, np.uint8).copy()
    content[ends - 1] += 1
    buffers = [validity, offsets, pa.py_buffer(content)]
    return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count, array.offset)


def _time_edge(array: pa.Array, side: Side, from_checkpoint: bool) -> pa.Array:
    """Widen timestamps by what writers cut.

    Delta writes milliseconds. Until 1972 offsets of time zones had seconds, which may be omitted.
    """
    micros = _filled(array.cast(pa.int64()))
    first = _SINCE_1900 if from_checkpoint else _GREGORIAN_DAY * _MICROSECONDS_PER_DAY
    is_unsure = micros < first
    known = micros < (_LAST_DAY + 1) * _MICROSECONDS_PER_DAY
    is_old = micros < _SINCE_1973
    if side is Side.LOWER:
        edges = np.where(is_old, micros - _MINUTE, micros)
        known &= ~is_unsure
    else:
        cut = np.where(micros % 1000 == 0, 999, 1)
        edges = np.where(is_old, micros + _MINUTE, micros + cut)
        calendars = (_CALENDARS + 1) * _MICROSECONDS_PER_DAY  # and time zones
        edges = np.where(is_unsure, micros + calendars, edges)
    return pa.array(edges, mask=~known | _nulls(array)).cast(array.type)


def _filled(array: pa.Array) -> Longs:
    values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    return np.asarray(values).astype(np.int64)


def _masked(array: pa.Array, known: npt.NDArray[np.bool_]) -> pa.Array:
    if known.all():
        return array
    return pc.if_else(pa.array(known), array, pa.scalar(None, array.type))


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _flags(array: Any) -> npt.NDArray[np.bool_]:
    filled = pc.fill_null(array, False)
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.bool_)
