"""Bounds of numbers, dates and timestamps as plain intervals, for rules that compute with edges.

A rule takes the intervals of its arguments and computes the edges of the result, and where they are
proven. `result` turns these into Bounds. Where nothing is proven the result is unknown: the full
range of the type, and NULL and NaN are possible. This also applies where a row might raise (ANSI
mode): such a file is neither skipped nor fully matching, so Spark raises as it would without tamis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.expr.types import DataType

__all__ = [
    "Interval",
    "Numbers",
    "decimal_edge",
    "decimal_parts",
    "interval",
    "result",
]

#: int64 or float64: one per container, or a single one that holds for all containers.
Numbers: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """The interval [lower, upper] that contains the ordinary values of a container, where `known`.

    Decimals are unscaled. `known` is False only for decimals of more than 18 digits, where an edge
    is not known or does not fit 64 bits. For all other types an unknown edge is the extreme of the
    type, which is a true bound.
    """

    type: DataType
    lower: Numbers
    upper: Numbers
    known: Flags
    can_be_null: Flags
    can_be_nan: Flags
    can_be_value: Flags


def interval(bounds: Bounds | None) -> Interval | None:
    """Return the bounds as an interval; None for strings and binary, or if `bounds` is None.

    >>> from tamis.expr.types import DATE
    >>> interval(Bounds.unknown(DATE)).lower
    array([-2147483648])
    """
    if bounds is None or bounds.type.is_text:
        return None
    if bounds.type.is_discrete or bounds.type.is_floating:
        lower, upper, known = _numpy_edges(bounds)
    else:
        lower, lower_known = _unscaled_edge(bounds.lower)
        upper, upper_known = _unscaled_edge(bounds.upper)
        known = lower_known & upper_known
    flags = bounds.can_be_null, bounds.can_be_nan, bounds.can_be_value
    return Interval(bounds.type, lower, upper, known, *flags)


def result(
    data_type: DataType,
    lower: Numbers,
    upper: Numbers,
    *arguments: Interval,
    proven: Flags = YES,
    can_be_null: Flags = NO,
    can_be_nan: Flags | None = None,
) -> Bounds:
    """Return the bounds of a function that is NULL if one of its arguments is NULL.

    Args:
        data_type: The type of the result.
        lower: The lower edge of the result.
        upper: The upper edge of the result.
        *arguments: The intervals of the arguments.
        proven: Where lower <= f(…) <= upper holds for all ordinary arguments, and no row raises.
        can_be_null: Where f(…) may also be NULL for other reasons than a NULL argument.
        can_be_nan: Where f(…) may be NaN. By default, where an argument may be NaN.
    """
    value = all_of(each.can_be_value for each in arguments)
    null = any_of((can_be_null, *(each.can_be_null for each in arguments)))
    nan = NO
    if data_type.is_floating:
        nan = any_of(each.can_be_nan for each in arguments) if can_be_nan is None else can_be_nan
    # Where no argument can be NaN and some argument has no value, that argument is NULL in every
    # row. So is the result, and any edges are true bounds. (A function may map NaN to a value.)
    only_null = ~any_of((value, *(each.can_be_nan for each in arguments)))
    proven = all_of((proven, *(each.known for each in arguments))) | only_null
    lower, upper, proven = (np.asarray(each) for each in (lower, upper, proven))
    lower, upper, proven = np.broadcast_arrays(lower, upper, proven)
    if not (data_type.is_discrete or data_type.is_floating):
        edges = [decimal_edge(each, proven & value, data_type) for each in (lower, upper)]
    else:
        dtype = np.float64 if data_type.is_floating else np.int64
        least, greatest = (-np.inf, np.inf) if data_type.is_floating else data_type.domain
        bounded = proven & value
        edges = [
            np.where(bounded, lower, least).astype(dtype),
            np.where(bounded, upper, greatest).astype(dtype),
        ]
    return Bounds(
        data_type,
        edges[0],
        edges[1],
        null | ~proven,
        nan | ~proven if data_type.is_floating else NO,
        value | ~proven,
    )


def _numpy_edges(bounds: Bounds) -> tuple[Numbers, Numbers, Flags]:
    floating = bounds.type.is_floating
    least, greatest = (-np.inf, np.inf) if floating else bounds.type.domain
    dtype = np.float64 if floating else np.int64
    lower = np.array([least], dtype) if bounds.lower is None else bounds.lower.astype(dtype)
    upper = np.array([greatest], dtype) if bounds.upper is None else bounds.upper.astype(dtype)
    return lower, upper, YES


_LEAST = np.iinfo(np.int64).min


def _unscaled_edge(edge: pa.Array | None) -> tuple[npt.NDArray[np.int64], Flags]:
    """Return the unscaled values of an edge of 128-bit decimals, and where they fit 64 bits.

    The flag is False where the edge is not known.
    """
    if edge is None or len(edge) == 0:
        return np.zeros(0 if edge is not None else 1, np.int64), NO
    return decimal_parts(edge)


def decimal_parts(values: pa.Array) -> tuple[npt.NDArray[np.int64], Flags]:
    """Return the unscaled values of 128-bit decimals, and where they are not null and fit 64 bits.

    >>> from decimal import Decimal
    >>> values = pa.array([Decimal("1.5"), None, Decimal(10) ** 20], pa.decimal128(38, 2))
    >>> [each.tolist()[0] for each in decimal_parts(values)], decimal_parts(values)[1].tolist()
    ([150, True], [True, False, False])
    """
    words = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)
    words = words[values.offset : values.offset + len(values)]
    low, high = words[:, 0].copy(), words[:, 1]
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    return low, valid & (high == low >> 63)


def decimal_edge(values: Numbers, known: Flags, data_type: DataType) -> pa.Array:
    """Return unscaled values as 128-bit decimals; null where they are not known.

    >>> from tamis.expr.types import decimal
    >>> decimal_edge(np.array([150, -1]), np.array([True, False]), decimal(20, 2)).to_pylist()
    [Decimal('1.50'), None]
    """
    count = len(values)
    words = np.empty((count, 2), np.int64)
    words[:, 0] = values
    words[:, 1] = words[:, 0] >> 63
    validity = np.packbits(np.broadcast_to(known, (count,)), bitorder="little")
    buffers = [pa.py_buffer(validity.tobytes()), pa.py_buffer(words.tobytes())]
    return pa.Array.from_buffers(pa.decimal128(38, data_type.scale or 0), count, buffers)
