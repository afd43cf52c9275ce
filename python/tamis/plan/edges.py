"""Lower and upper ends of a value in each of the files that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import Bounds, Flags
from tamis.evaluate.declared import relies_on_declaration
from tamis.evaluate.interpreter import value
from tamis.expr.nodes import Column, Expr, type_of
from tamis.expr.types import DataType
from tamis.plan.scan import Segment, kept_blocks

__all__ = ["Ends", "ends_of", "files_without_bounds"]

#: int64 as bounds hold them, or objects: bytes of strings, Decimal of long decimals.
Values: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """One entry a file that holds an ordinary value, or may: every one lies in [lower, upper].

    `unknown`: how many files have no such entry and may hold any value.
    """

    type: DataType
    lower: Values
    upper: Values
    unknown: int


def ends_of(key: Expr, segments: Sequence[Segment], kept: Flags) -> Ends | None:
    """The ends of a value in the files that are kept; None where its type has no order to go by.

    Not of FLOAT and DOUBLE: NaN equals itself and no statistics of Parquet know of it. Not of
    booleans, of which there are two. Not of what rests on the word of a person about a function.
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
        found = value(key, chosen)
        if found is None or found.type != data_type:
            unknown += int(alive.sum())
            continue
        # Where no value is ordinary there are NULLs alone, which equal nothing.
        alive &= _spread(found.can_be_value, count)
        both = alive & _known(found, count)
        unknown += int((alive & ~both).sum())
        if both.any():
            lower.append(_values(found.lower, both))
            upper.append(_values(found.upper, both))
    unknown += int(np.count_nonzero(left))  # files without statistics
    return Ends(data_type, _joined(lower), _joined(upper), unknown)


def files_without_bounds(column: Column, segments: Sequence[Segment], kept: Flags) -> int:
    """How many of the files that are kept may hold any value of the column, as far as is known.

    >>> from tamis.evaluate.example import FILES
    >>> from tamis.expr.types import LONG
    >>> whole, kept = [Segment(slice(0, 4), FILES)], np.ones(4, np.bool_)
    >>> [files_without_bounds(Column((name,), LONG), whole, kept) for name in ("c", "other")]
    [0, 4]
    """
    unknown = kept.copy()
    for ordinals, chosen in kept_blocks(segments, kept):
        count = len(ordinals)
        found = chosen.bounds(column)
        known = _known(found, count) | ~_spread(found.can_be_value, count)
        unknown[ordinals] &= ~known
    return int(np.count_nonzero(unknown))


def _spread(flags: Flags, count: int) -> Flags:
    return np.broadcast_to(flags, count).copy()


def _known(found: Bounds, count: int) -> Flags:
    known = np.ones(count, np.bool_)
    for edge, told in ((found.lower, found.lower_known), (found.upper, found.upper_known)):
        if edge is None:
            return np.zeros(count, np.bool_)
        if told is not None:
            known &= np.broadcast_to(told, count)
        if not isinstance(edge, np.ndarray):
            known &= np.broadcast_to(~edge.is_null().to_numpy(zero_copy_only=False), count)
    return known


def _values(edge: Any, rows: Flags) -> Values:
    if not isinstance(edge, np.ndarray):
        held = np.empty(len(edge), object)
        held[:] = edge.to_pylist()
        edge = held
    found: Values = np.broadcast_to(edge, len(rows))[rows]
    return found


def _joined(parts: list[Values]) -> Values:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
