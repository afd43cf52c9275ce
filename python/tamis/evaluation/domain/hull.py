"""The hull: bounds of a value that is one of several, each where it may be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Edge, Flags, same_length
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.interval import Interval, interval
from tamis.expr.types import DataType

__all__ = ["Choice", "hull"]

#: A value, and where it may be chosen.
Choice = tuple[Bounds, Flags]


def hull(data_type: DataType, choices: Sequence[Choice]) -> Bounds:
    """Return the bounds of a value that is one of `choices`, each where it may be chosen."""
    flags = [
        any_of(all_of((reached, getattr(each, name))) for each, reached in choices)
        for name in ("can_be_null", "can_be_nan", "can_be_value")
    ]
    if data_type.is_discrete or data_type.is_floating:
        lower, upper = _numeric_hull(data_type, choices)
    else:
        lower = _arrow_hull([(c.lower, all_of((r, c.can_be_value))) for c, r in choices], True)
        upper = _arrow_hull([(c.upper, all_of((r, c.can_be_value))) for c, r in choices], False)
        if lower is not None and upper is not None:
            lower, upper = same_length(lower, upper)
    return Bounds(data_type, lower, upper, flags[0], flags[1], flags[2])


def _numeric_hull(data_type: DataType, choices: Sequence[Choice]) -> tuple[Edge, Edge]:
    floating = data_type.is_floating
    least_value, greatest_value = (-np.inf, np.inf) if floating else data_type.domain
    lower = np.array([greatest_value], np.float64 if floating else np.int64)
    upper = np.array([least_value], np.float64 if floating else np.int64)
    for each, reached in choices:
        x: Interval | None = interval(each)
        assert x is not None
        counts = all_of((reached, each.can_be_value))
        lower = np.where(counts, np.minimum(lower, x.lower), lower)
        upper = np.where(counts, np.maximum(upper, x.upper), upper)
    # Where no value may be chosen the edges are still crossed: replace them by the full range.
    crossed = lower > upper
    return np.where(crossed, least_value, lower), np.where(crossed, greatest_value, upper)


def _arrow_hull(edges: Sequence[tuple[Any, Flags]], lowest: bool) -> pa.Array | None:
    """Return the least or greatest edge of the choices; null where an edge that counts is null."""
    if any(edge is None and counts.any() for edge, counts in edges):
        return None
    known = [(edge, counts) for edge, counts in edges if edge is not None]
    if not known:
        return None
    size = max(max(len(edge), len(counts)) for edge, counts in known)
    columns, unknown = [], np.zeros(size, np.bool_)
    for edge, counts in known:
        mask = np.broadcast_to(counts, (size,))
        whole = edge.take(pa.array(np.zeros(size, np.int64))) if len(edge) == 1 != size else edge
        columns.append(pc.if_else(pa.array(mask), whole, pa.scalar(None, whole.type)))
        unknown |= mask & whole.is_null().to_numpy(zero_copy_only=False)
    combine = pc.min_element_wise if lowest else pc.max_element_wise
    combined = columns[0] if len(columns) == 1 else combine(*columns, skip_nulls=True)
    return pc.if_else(pa.array(unknown), pa.scalar(None, combined.type), combined)
