"""The lower and upper ends of an expression's values in each of the kept files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.interpreter import value
from tamis.evaluation.udf.declared_calls import relies_on_declaration
from tamis.expr.nodes import Column, Expr, type_of
from tamis.expr.types import DataType
from tamis.files.segments import Segment
from tamis.plan.scan_decision import kept_blocks

__all__ = ["Ends", "ends_of", "files_without_bounds"]

#: int64 as in Bounds, or objects: bytes for strings, Decimal for long decimals.
Values: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The ends of a value, one entry per file that has or may have ordinary values.

    All ordinary values of the file lie in [lower, upper]. `unknown` is the number of files that
    have no entry because they may hold any value.
    """

    type: DataType
    lower: Values
    upper: Values
    unknown: int


def ends_of(key: Expr, segments: Sequence[Segment], kept: Flags) -> Ends | None:
    """Return the ends of a value in the kept files, or None if the value has no usable ends.

    That is the case for FLOAT and DOUBLE, because NaN equals itself and Parquet statistics do not
    show it; for booleans, which have only two values; for binary; and for expressions that rely on
    a declaration by a user.
    """
    data_type = type_of(key)
    if data_type is None or data_type.is_floating or data_type.name in ("boolean", "binary"):
        return None
    if relies_on_declaration(key):
        return None
    left = kept.copy()
    lower: list[Values] = []
    upper: list[Values] = []
    unknown = 0
    for ordinals, chosen in kept_blocks(segments, kept):
        left[ordinals] = False
        count = len(ordinals)
        empty = chosen.empty()
        alive = np.ones(count, np.bool_) if empty is None else _spread(~empty, count)
        bounds = value(key, chosen)
        if bounds is None or bounds.type != data_type:
            unknown += int(alive.sum())
            continue
        # Without an ordinary value the file has only NULLs, which equal nothing.
        alive &= _spread(bounds.can_be_value, count)
        both = alive & _known(bounds, count)
        unknown += int((alive & ~both).sum())
        if both.any():
            lower.append(_values(bounds.lower, both))
            upper.append(_values(bounds.upper, both))
    unknown += int(np.count_nonzero(left))  # files without statistics
    return Ends(data_type, _joined(lower), _joined(upper), unknown)


def files_without_bounds(column: Column, segments: Sequence[Segment], kept: Flags) -> int:
    """Return the number of kept files whose values of the column are not bounded by statistics.

    >>> from tamis.files.example import FILES
    >>> from tamis.expr.types import LONG
    >>> whole, kept = [Segment(slice(0, 4), FILES)], np.ones(4, np.bool_)
    >>> [files_without_bounds(Column((name,), LONG), whole, kept) for name in ("c", "other")]
    [0, 4]
    """
    unknown = kept.copy()
    for ordinals, chosen in kept_blocks(segments, kept):
        count = len(ordinals)
        bounds = chosen.bounds(column)
        known = _known(bounds, count) | ~_spread(bounds.can_be_value, count)
        unknown[ordinals] &= ~known
    return int(np.count_nonzero(unknown))


def _spread(flags: Flags, count: int) -> Flags:
    return np.broadcast_to(flags, count).copy()


def _known(bounds: Bounds, count: int) -> Flags:
    known = np.ones(count, np.bool_)
    for edge, is_known in ((bounds.lower, bounds.lower_known), (bounds.upper, bounds.upper_known)):
        if edge is None:
            return np.zeros(count, np.bool_)
        if is_known is not None:
            known &= np.broadcast_to(is_known, count)
        if not isinstance(edge, np.ndarray):
            known &= np.broadcast_to(~edge.is_null().to_numpy(zero_copy_only=False), count)
    return known


def _values(edge: Any, rows: Flags) -> Values:
    if not isinstance(edge, np.ndarray):
        objects = np.empty(len(edge), object)
        objects[:] = edge.to_pylist()
        edge = objects
    chosen: Values = np.broadcast_to(edge, len(rows))[rows]
    return chosen


def _joined(parts: list[Values]) -> Values:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
