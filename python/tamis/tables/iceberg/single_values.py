"""Decode bounds, which Iceberg stores in its single-value serialization, all at once.

A bound of another length than those of the type of its column, or of a type that it was promoted
from, is null: not known. Decimals are checked against their precision, and strings against UTF-8.

Source: Iceberg table specification, "Binary single-value serialization" and "Schema Evolution".
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.expr.types import DataType

__all__ = ["decode_bounds", "has_bounds"]

_CONTEXT: Final = Context(prec=50)

#: By the name of Spark's type: the lengths of a bound, and the numpy types of the values.
_NUMBERS: Final[Mapping[str, Mapping[int, str]]] = {
    "boolean": {1: "u1"},
    "integer": {4: "<i4"},
    "long": {4: "<i4", 8: "<i8"},
    "float": {4: "<f4"},
    "double": {4: "<f4", 8: "<f8"},
    "date": {4: "<i4"},
    "timestamp": {8: "<i8"},
    "timestamp_ntz": {8: "<i8"},
}


def has_bounds(data_type: DataType) -> bool:
    """Return whether bounds of a type are used. Those of binary values are not."""
    return data_type.name in _NUMBERS or data_type.is_decimal or data_type.name == "string"


def decode_bounds(values: pa.Array, data_type: DataType) -> pa.Array:
    """Return the values of bounds; null where they are not known.

    Args:
        values: The bounds, as binary. A null is not known.
        data_type: The type of the column, for which `has_bounds` holds.

    Returns:
        Numbers: int64 or float64, dates as days and timestamps as microseconds since 1970.
        Booleans: bool. Decimals: decimal128 of the type. Strings: large_binary, in UTF-8.

    >>> from tamis.expr.types import LONG, TIMESTAMP
    >>> raw = pa.array([b"\\x05\\0\\0\\0", b"\\x06" + bytes(7)])
    >>> decode_bounds(raw, LONG).to_pylist(), decode_bounds(raw, TIMESTAMP).to_pylist()
    ([5, 6], [None, 6])
    """
    if data_type.name == "string":
        return _strings(values)
    if data_type.is_decimal:
        return _decimals(values, data_type)
    forms = _NUMBERS[data_type.name]
    is_floating = data_type.is_floating
    out = np.zeros(len(values), np.float64 if is_floating else np.int64)
    known = np.zeros(len(values), np.bool_)
    for length, form in forms.items():
        places, data = _of_length(values, length)
        out[places] = data.view(form)[:, 0]
        known[places] = True
    if is_floating:
        known &= ~np.isnan(out)
    if data_type.name == "boolean":
        known &= out <= 1
        return pa.array(out == 1, mask=~known)
    return pa.array(out, mask=~known)


def _of_length(values: pa.Array, length: int) -> tuple[Any, npt.NDArray[np.uint8]]:
    """Return the places of the values of a length, and their bytes: one row per value."""
    _, offset_buffer, data_buffer = values.buffers()
    if len(values) == 0 or data_buffer is None:
        return np.zeros(0, np.intp), np.zeros((0, length), np.uint8)
    offsets = np.frombuffer(offset_buffer, np.int32)[
        values.offset : values.offset + len(values) + 1
    ]
    data = np.frombuffer(data_buffer, np.uint8)
    fits = np.diff(offsets) == length
    if values.null_count:
        fits &= values.is_valid().to_numpy(zero_copy_only=False)
    if fits.all():
        start = int(offsets[0])
        return slice(None), data[start : start + length * len(values)].reshape(-1, length)
    places = np.flatnonzero(fits)
    return places, data[offsets[:-1][places][:, None] + np.arange(length)]


def _strings(values: pa.Array) -> pa.Array:
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        # Some writers cut within a character.
        texts = [each if each is None or _is_utf8(each) else None for each in values.to_pylist()]
        return pa.array(texts, pa.large_binary())
    return values.cast(pa.large_binary())


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decimals(values: pa.Array, data_type: DataType) -> pa.Array:
    """Return decimals from their unscaled values in two's complement, big-endian."""
    count = len(values)
    digits = np.zeros((count, 16), np.uint8)
    known = np.zeros(count, np.bool_)
    for length in range(1, 17):
        places, data = _of_length(values, length)
        if not len(data):
            continue
        sign = np.where(data[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
        extended = np.broadcast_to(sign, (len(data), 16 - length))
        digits[places] = np.concatenate([extended, data], axis=1)[:, ::-1]
        known[places] = True
    validity = pa.py_buffer(np.packbits(known, bitorder="little").tobytes())
    assert data_type.precision is not None
    widest = pa.Array.from_buffers(
        pa.decimal128(38, data_type.scale), count, [validity, pa.py_buffer(digits.tobytes())]
    )
    greatest = Decimal(10**data_type.precision - 1).scaleb(-(data_type.scale or 0), _CONTEXT)
    limit = pa.scalar(greatest, widest.type)
    fits = pc.and_(pc.less_equal(widest, limit), pc.greater_equal(widest, pc.negate(limit)))
    widest = pc.if_else(fits, widest, pa.scalar(None, widest.type))
    return widest.cast(pa.decimal128(data_type.precision, data_type.scale))
