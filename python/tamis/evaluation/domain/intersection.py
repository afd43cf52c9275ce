"""Intersect two Bounds of the same value.

A column may be bounded by its statistics and by several partition fields. Each of these bounds
holds, so their intersection does as well. If they contradict each other, one of them is wrong and
it is not known which one, so nothing is known there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.edge_values import known
from tamis.evaluation.domain.flags import simplified

__all__ = ["alike", "contradict", "forget", "intersect"]


def intersect(left: Bounds, right: Bounds) -> Bounds:
    """Return the intersection of both bounds, unknown where they contradict each other.

    >>> from tamis.expr.types import LONG
    >>> from tamis.files.bounds import column_bounds
    >>> def between(low, high):
    ...     return column_bounds(LONG, pa.array(low), pa.array(high), None, None, None)
    >>> both = intersect(between([1, 1], [5, 5]), between([3, 7], [9, 9]))
    >>> both.lower.tolist(), both.upper.tolist()
    ([3, -9223372036854775808], [5, 9223372036854775807])
    """
    both = _both(left, right)
    return forget(both, _contradiction(both))


def contradict(left: Bounds, right: Bounds) -> Flags:
    """Return where no row satisfies both bounds: one is wrong, or the container holds no row.

    >>> from tamis.expr.types import LONG
    >>> from tamis.files.bounds import column_bounds
    >>> def between(low, high):
    ...     return column_bounds(LONG, pa.array(low), pa.array(high), None, None, None)
    >>> contradict(between([1, 1], [5, 5]), between([3, 7], [9, 9])).tolist()
    [False, True]
    """
    return _contradiction(_both(left, right))


def _both(left: Bounds, right: Bounds) -> Bounds:
    lower = _tighter(left.lower, right.lower, np.maximum, pc.max_element_wise)
    upper = _tighter(left.upper, right.upper, np.minimum, pc.min_element_wise)
    return Bounds(
        left.type,
        lower,
        upper,
        simplified(left.can_be_null & right.can_be_null),
        simplified(left.can_be_nan & right.can_be_nan),
        simplified(left.can_be_value & right.can_be_value),
        _known(lower, left.lower_known, right.lower_known, left.lower, right.lower),
        _known(upper, left.upper_known, right.upper_known, left.upper, right.upper),
        _open(left, right),
        buckets=(*left.buckets, *right.buckets),
    )


def forget(bounds: Bounds, corrupt: Flags) -> Bounds:
    """Return the bounds, unknown where `corrupt` is set."""
    if not corrupt.any():
        return bounds
    if corrupt.all():
        return Bounds.unknown(bounds.type)
    numpy_edges = bounds.type.is_discrete or bounds.type.is_floating
    least, greatest = (-np.inf, np.inf) if bounds.type.is_floating else bounds.type.domain
    if not numpy_edges:
        least = greatest = 0
    lower, lower_known = _forgotten(bounds.lower, bounds.lower_known, corrupt, least)
    upper, upper_known = _forgotten(bounds.upper, bounds.upper_known, corrupt, greatest)
    return Bounds(
        bounds.type,
        lower,
        upper,
        simplified(bounds.can_be_null | corrupt),
        simplified(bounds.can_be_nan | corrupt) if bounds.type.is_floating else NO,
        simplified(bounds.can_be_value | corrupt),
        lower_known,
        upper_known,
        None if bounds.upper_open is None else simplified(bounds.upper_open & ~corrupt),
        buckets=tuple(
            each.map(lambda ordinals: np.where(corrupt, -1, ordinals)) for each in bounds.buckets
        ),
    )


def _tighter(left: Any, right: Any, of_numbers: Any, of_arrow: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, np.ndarray):
        # An edge that is not known holds the type's extreme value, so the other one is tighter.
        return of_numbers(left, right)
    return of_arrow(*alike(left, right))  # skips nulls, which mean not known


def alike(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return both with the same length. Arrow does not broadcast a single value, so repeat it."""
    count = max(len(left), len(right))
    return _repeated(left, count), _repeated(right, count)


def _repeated(edge: pa.Array, count: int) -> pa.Array:
    return edge if len(edge) == count else pa.repeat(edge[0], count)


def _known(
    edge: Any, left: Flags | None, right: Flags | None, left_edge: Any, right_edge: Any
) -> Flags | None:
    if edge is None:
        return None
    if not isinstance(edge, np.ndarray):
        return known(edge)
    if left_edge is None or right_edge is None:
        return right if left_edge is None else left
    return None if left is None or right is None else left | right


def _open(left: Bounds, right: Bounds) -> Flags | None:
    """Return where the tighter upper edge is exclusive."""
    if left.upper_open is None and right.upper_open is None:
        return None
    if left.upper is None or right.upper is None:
        return right.upper_open if left.upper is None else left.upper_open
    left_open = NO if left.upper_open is None else left.upper_open
    right_open = NO if right.upper_open is None else right.upper_open
    one, other = alike(left.upper, right.upper)
    left_wins = _flags(pc.less_equal(one, other), other)
    right_wins = _flags(pc.less_equal(other, one), one)
    return (left_open & left_wins) | (right_open & right_wins)


def _flags(compared: pa.Array, other: pa.Array) -> Flags:
    """Return the comparison, True where the other edge is not known: then this one is tighter.

    If neither edge is known, the result does not matter, because there is no edge.
    """
    return np.asarray(pc.fill_null(compared, other.is_null()).to_numpy(zero_copy_only=False))


def _contradiction(bounds: Bounds) -> Flags:
    # If no row has an ordinary value, the edges bound nothing and may have any value.
    nothing = ~(bounds.can_be_null | bounds.can_be_nan | bounds.can_be_value)
    if bounds.lower is None or bounds.upper is None:
        return nothing
    if isinstance(bounds.lower, np.ndarray):
        is_reversed: Flags = bounds.lower > bounds.upper
        return nothing | is_reversed & bounds.can_be_value
    crossed = pc.fill_null(pc.greater(*alike(bounds.lower, bounds.upper)), False)
    is_crossed: Flags = np.asarray(crossed.to_numpy(zero_copy_only=False))
    return nothing | is_crossed & bounds.can_be_value


def _forgotten(
    edge: Any, edge_known: Flags | None, corrupt: Flags, extreme: float
) -> tuple[Any, Flags | None]:
    if edge is None:
        return None, None
    if isinstance(edge, np.ndarray):
        values = np.where(corrupt, extreme, edge).astype(edge.dtype)
        return values, (YES if edge_known is None else edge_known) & ~corrupt
    mask = pa.array(np.broadcast_to(corrupt, (len(edge),)))
    values = pc.if_else(mask, pa.scalar(None, edge.type), edge)
    return values, known(values)
