"""Conversion of constants to the form in which Bounds stores edges."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import Edge
from tamis.expr.decimals import from_unscaled, unscaled
from tamis.expr.nodes import Value
from tamis.expr.types import DataType

__all__ = ["comparable", "edge_of", "is_nan", "known"]

#: Longer lists are converted as a whole where possible, instead of value by value.
_FEW = 8


def edge_of(values: Sequence[Value], data_type: DataType) -> Edge:
    """Return the constants as an edge, in the given order. None of them may be NULL or NaN.

    Raises:
        TypeError, ValueError, OverflowError, ArithmeticError: A constant is not a value of the
            type.

    >>> from tamis.expr.types import decimal
    >>> edge_of([Decimal("1.50"), Decimal(2)], decimal(10, 2))
    array([150, 200])
    """
    if len(values) > _FEW:
        edge = _edge_of_many(values, data_type)
        if edge is not None:
            return edge
    if data_type.is_text:
        return pa.array([_bytes(value, data_type) for value in values], pa.large_binary())
    if data_type.is_floating:
        return np.array([_float(value, data_type) for value in values], np.float64)
    if data_type.is_decimal and not data_type.is_discrete:
        scale = data_type.scale or 0
        exact = [from_unscaled(_unscaled(value, scale), scale) for value in values]
        return pa.array(exact, pa.decimal128(38, scale))
    return np.array([_long(value, data_type) for value in values], np.int64)


def _edge_of_many(values: Sequence[Value], data_type: DataType) -> Edge | None:
    """Convert values that all have the natural Python class of the type; None for any others."""
    classes = set(map(type, values))
    if data_type.name == "string" and classes == {str}:
        return pa.array(values, pa.large_binary())
    if data_type.name == "binary" and classes == {bytes}:
        return pa.array(values, pa.large_binary())
    if data_type.name == "double" and classes == {float}:
        return np.array(values, np.float64)
    is_whole = data_type.is_discrete and not data_type.is_decimal and data_type.name != "boolean"
    if is_whole and classes == {int}:
        edge = np.array(values, np.int64)
        least, greatest = data_type.domain
        if edge.min() < least or edge.max() > greatest:
            raise OverflowError(f"a value is out of range for type {data_type}")
        return edge
    return None


def is_nan(value: Value) -> bool:
    return isinstance(value, float) and value != value


def comparable(left: DataType, right: DataType) -> bool:
    """Return whether edges of the two types have the same form and order.

    Catalyst gives both sides of a comparison the same type. In addition, whole numbers of any width
    compare as 64-bit numbers, and FLOAT values compare as doubles.

    >>> from tamis.expr.types import INTEGER, LONG, STRING, BINARY
    >>> comparable(INTEGER, LONG), comparable(STRING, BINARY)
    (True, False)
    """
    if left == right:
        return True
    if left.is_decimal and right.is_decimal:
        return left.scale == right.scale and left.is_discrete == right.is_discrete
    return (left.is_integral and right.is_integral) or (left.is_floating and right.is_floating)


def _bytes(value: Value, data_type: DataType) -> bytes:
    if data_type.name == "string" and isinstance(value, str):
        return value.encode()
    if data_type.name == "binary" and isinstance(value, bytes):
        return value
    raise TypeError(f"{value!r} is not a value of type {data_type}")


def _float(value: Value, data_type: DataType) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a value of type {data_type}")
    if data_type.name == "double":
        return float(value)
    # Round to the 32-bit float: 1.1 as FLOAT is 1.10000002384185791015625.
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


def _long(value: Value, data_type: DataType) -> int:
    if data_type.is_decimal:
        return _unscaled(value, data_type.scale or 0)
    if isinstance(value, bool) != (data_type.name == "boolean") or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a value of type {data_type}")
    least, greatest = data_type.domain
    if not least <= value <= greatest:
        raise OverflowError(f"{value!r} is out of range for type {data_type}")
    return int(value)


def _unscaled(value: Value, scale: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise TypeError(f"{value!r} is not a decimal")
    return unscaled(value, scale)


def known(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Return where a cell is not null, or None if no cell is null."""
    if array.null_count == 0:
        return None
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
