"""Edges of bounds as Arrow arrays, in which they are combined and sent."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import Edge, Flags
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Value
from tamis.expr.types import DataType
from tamis.files.bounds import constant_bounds

__all__ = ["as_array", "cells_of", "in_column_type", "value_of_cell"]


def as_array(edge: Edge | None, n: int, data_type: DataType) -> pa.Array:
    """Return an edge as an array of n entries, which are null if the edge is not known."""
    if edge is None:
        return pa.nulls(n, _arrow(data_type))
    if isinstance(edge, np.ndarray):
        return pa.array(np.ascontiguousarray(np.broadcast_to(edge, n)), _arrow(data_type))
    return edge if len(edge) == n else edge.take(pa.array(np.zeros(n, np.int64)))


def _arrow(data_type: DataType) -> pa.DataType:
    """Return the Arrow type in which the edges of a type are stored."""
    if data_type.is_text:
        return pa.large_binary()
    if data_type.is_floating:
        return pa.float64()
    if data_type.is_discrete:
        return pa.int64()
    return pa.decimal128(38, data_type.scale or 0)


def in_column_type(cells: pa.Array, data_type: DataType, wanted: pa.DataType) -> pa.Array:
    """Return cells of `as_array` in the Arrow type of a column; strings stay bytes.

    Raises:
        ArrowException: A cell is not a value of that type.

    >>> from tamis.expr.types import DATE
    >>> in_column_type(pa.array([1, None]), DATE, pa.date32()).to_pylist()
    [datetime.date(1970, 1, 2), None]
    """
    if data_type.is_text:
        return cells.cast(pa.binary())
    if data_type.is_decimal and pa.types.is_integer(cells.type):
        scale = data_type.scale or 0
        values = [
            None if each is None else from_unscaled(each, scale) for each in cells.to_pylist()
        ]
        return pa.array(values, wanted)
    if wanted == pa.date32():
        return cells.cast(pa.int32()).cast(wanted)
    return cells.cast(wanted)


def cells_of(values: pa.Array, data_type: DataType) -> tuple[Flags, pa.Array]:
    """Return stored values in the form of `as_array`, and flags of those that are known.

    A null is known: it is NULL. A value that is not one of the type is not known.
    """
    bounds = constant_bounds(data_type, values)
    n, valid = len(values), np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
    cells = as_array(bounds.lower, n, data_type)
    known = np.asarray(cells.is_valid().to_numpy(zero_copy_only=False))
    if bounds.lower_known is not None:
        known = known & np.broadcast_to(bounds.lower_known, n)
    masked = pa.array(np.arange(n), mask=~(valid & known))
    return known | ~valid, cells.take(masked)


def value_of_cell(cell: object, data_type: DataType) -> Value:
    """Return a cell of `as_array` as a constant.

    Raises:
        UnicodeDecodeError: It is a string that is not valid UTF-8.
    """
    if cell is None:
        return None
    if data_type.name == "boolean":
        return bool(cell)
    if data_type.name == "string":
        assert isinstance(cell, bytes)
        return cell.decode()
    if data_type.is_decimal and isinstance(cell, int):
        return from_unscaled(cell, data_type.scale or 0)
    return cell  # type: ignore[return-value]
