"""Converting the values of the log to Arrow arrays, without a change of any value.

A value that does not have the form of the type of its column is null: not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.expr.types import DataType

__all__ = ["arrow_type", "from_checkpoint", "from_json"]

_INFINITIES: Final = {
    "Infinity": float("inf"),
    "+Infinity": float("inf"),
    "-Infinity": float("-inf"),
    "NaN": float("nan"),
}
_DATE: Final = r"^\d{4}-\d\d-\d\d$"
_TIME: Final = r"[T ]\d\d:\d\d:\d\d(\.\d{1,9})?"
#: A time of `timestamp` without an offset is one of an unknown time zone.
_TIMESTAMP: Final = rf"^\d{{4}}-\d\d-\d\d{_TIME}(Z|[+-]\d\d:\d\d)$"
#: delta-rs writes a Z also for local times. A date was one before its column was widened.
_LOCAL_TIMESTAMP: Final = rf"^\d{{4}}-\d\d-\d\d({_TIME}(Z|\+00:00)?)?$"
_MOST_DIGITS: Final = 38


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the type of the arrays of this module, which has room for all values of the log."""
    if data_type.is_integral:
        return pa.int64()
    if data_type.is_floating:
        return pa.float64()
    if data_type.is_decimal:
        return pa.decimal128(_MOST_DIGITS, data_type.scale)
    if data_type.name == "date":
        return pa.date32()
    if data_type.name == "timestamp":
        return pa.timestamp("us", "UTC")
    if data_type.name == "timestamp_ntz":
        return pa.timestamp("us")
    return pa.string()


def from_json(values: Sequence[Any], data_type: DataType) -> pa.Array:
    """Return values as `statistics_json` reads them from JSON. NaN is kept."""
    wanted = arrow_type(data_type)
    if data_type.is_integral:
        return _array(values, wanted, _long)
    if data_type.is_floating:
        return _array(values, wanted, _double)
    if data_type.is_decimal:
        scale = data_type.scale or 0
        return _array(values, wanted, lambda each: _decimal(each, scale))
    texts = _array(values, pa.string(), _text)
    if data_type.name == "date":
        return _parsed(texts, _DATE, wanted)
    if data_type.name == "timestamp":
        return _parsed(_to_microseconds(texts), _TIMESTAMP, wanted)
    if data_type.name == "timestamp_ntz":
        matching = _matching(_to_microseconds(texts), _LOCAL_TIMESTAMP)
        local = pc.replace_substring_regex(matching, r"(Z|\+00:00)$", "")
        return _parsed(local, _LOCAL_TIMESTAMP, wanted)
    return texts


def from_checkpoint(array: pa.Array, data_type: DataType) -> pa.Array | None:
    """Return values of `add.stats_parsed`; None if their type does not fit that of the column.

    Old checkpoints have the type that the column had before it was widened.
    """
    types, given = pa.types, array.type
    wanted = arrow_type(data_type)
    if data_type.is_integral:
        fits = types.is_signed_integer(given)
    elif data_type.is_floating:
        fits = types.is_floating(given) or (
            types.is_signed_integer(given) and given.bit_width <= 32 and data_type.name == "double"
        )
    elif data_type.is_decimal:
        fits = types.is_signed_integer(given) or (
            types.is_decimal(given) and given.scale <= (data_type.scale or 0)
        )
    elif data_type.name == "date":
        fits = types.is_date32(given)
    elif data_type.name == "timestamp":
        fits = types.is_timestamp(given)  # without a zone if it is stored as INT96
        if fits and given.tz is None:
            array = array.cast(pa.timestamp(given.unit, "UTC"))
    elif data_type.name == "timestamp_ntz":
        fits = types.is_date32(given) or (types.is_timestamp(given) and given.tz is None)
    else:
        fits = types.is_string(given) or types.is_large_string(given)
    if not fits:
        return None
    if types.is_timestamp(given) and given.unit == "ns":
        array = pc.floor_temporal(array, unit="microsecond")
    try:
        return array.cast(wanted)
    except pa.ArrowException:
        return None


def _array(values: Sequence[Any], wanted: pa.DataType, convert: Callable[[Any], Any]) -> pa.Array:
    """Return an array of values, each of them converted if some do not fit as they are."""
    try:
        return pa.array(values, wanted)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        converted = [None if each is None else convert(each) for each in values]
        return pa.array(converted, wanted)


def _text(value: str) -> str | None:
    try:
        value.encode()
    except UnicodeEncodeError:  # a surrogate without its other half
        return None
    return value


def _long(value: int) -> int | None:
    return value if -(1 << 63) <= value < 1 << 63 else None


def _double(value: float | str) -> float | None:
    return _INFINITIES.get(value) if isinstance(value, str) else value


def _decimal(value: Decimal, scale: int) -> Decimal | None:
    """Return a number with its digits at a scale. None if it has more digits than that."""
    if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
        return Decimal(0) if value == 0 else None
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)))
    if exponent >= -scale:
        unscaled *= 10 ** (exponent + scale)
    else:
        unscaled, rest = divmod(unscaled, 10 ** (-scale - exponent))
        if rest:
            return None
    if unscaled >= 10**_MOST_DIGITS:
        return None
    return Decimal((sign, tuple(map(int, str(unscaled))), -scale))


def _to_microseconds(texts: pa.Array) -> pa.Array:
    """Cut fractions of seconds after six digits, downwards also before 1970."""
    return pc.replace_substring_regex(texts, r"(\.\d{6})\d+", r"\1")


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    fits = pc.match_substring_regex(texts, pattern)
    return pc.if_else(fits, texts, pa.scalar(None, pa.string()))


def _parsed(texts: pa.Array, pattern: str, wanted: pa.DataType) -> pa.Array:
    """Return texts of a pattern as dates or timestamps."""
    matching = _matching(texts, pattern)
    try:
        return matching.cast(wanted)
    except pa.ArrowException:  # such as a February 30
        return pa.concat_arrays([_one(matching.slice(k, 1), wanted) for k in range(len(texts))])


def _one(text: pa.Array, wanted: pa.DataType) -> pa.Array:
    try:
        return text.cast(wanted)
    except pa.ArrowException:
        return pa.nulls(1, wanted)
