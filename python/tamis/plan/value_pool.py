"""The values of a column that the files of a scan can hold, if they are few.

    file    recorded values    bounds      contributes
    f1      3, 7               3 .. 7      3, 7
    f2      not recorded       7 .. 9      7, 8, 9, if ranges are wanted
    f3      not recorded       5 .. 5      5
    f4      not recorded       1 .. 9999   nothing

A predicate that is evaluated for these values is decided for f1 to f3 (evaluation.evaluated).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import YES, Bounds, Edge, Flags, is_never, same_length
from tamis.evaluation.functions.function_entry import Knowledge
from tamis.evaluation.functions.registry import FUNCTION_ENTRIES
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Column, Expr, Opaque, walk
from tamis.files.segments import Segment
from tamis.plan.scan_decision import kept_blocks

__all__ = ["TOO_MANY", "Pool", "TooMany", "rules_decide", "value_pool"]

#: The bounds of a file may be at most so many values apart.
_WIDEST: Final = 1000


@dataclass(frozen=True, slots=True)
class TooMany:
    """There are more values than may be evaluated."""


TOO_MANY: Final = TooMany()

#: Distinct values in ascending order. None: the files are not known to hold few values.
Pool = Edge | TooMany | None

_KNOWLEDGE: Final = {entry.name: entry.knowledge for entry in FUNCTION_ENTRIES}


def rules_decide(predicate: Expr) -> bool:
    """Return whether there are rules for the whole predicate that use more than single values.

    Then short ranges of values add nothing: `evaluation.subdivision` evaluates them as well.
    """
    return not any(
        isinstance(node, Opaque)
        or (isinstance(node, Call) and _KNOWLEDGE.get(node.name) in (None, Knowledge.POINT))
        for node in walk(predicate)
    )


def value_pool(
    column: Column, segments: Sequence[Segment], kept: Flags, most: int, ranges: bool
) -> Pool:
    """Return the values that the kept files can hold, of those files that can hold only few.

    Args:
        column: The column.
        segments: The statistics of the files.
        kept: One flag per file.
        most: The most values of the result.
        ranges: Whether to enumerate the values between bounds. Single values always count.
    """
    pool: Edge | None = None
    for _, block in kept_blocks(segments, kept):
        for values in _of_block(column, block, most, ranges):
            if isinstance(values, TooMany):
                return TOO_MANY
            pool = values if pool is None else _union(pool, values)
            if len(pool) > most:
                return TOO_MANY
    return pool


def _of_block(
    column: Column, block: Statistics, most: int, ranges: bool
) -> Iterator[Edge | TooMany]:
    bounds, members = block.bounds(column), block.members(column)
    lists = None if members is None else members.parts().get("values")
    listed = None if lists is None else lists.distinct()
    if listed is not None and len(listed):
        yield listed
    if bounds.type != column.type or is_never(bounds.can_be_value):
        return
    lower, upper = bounds.lower, bounds.upper
    if lower is None or upper is None:
        return
    if isinstance(lower, pa.Array) or isinstance(upper, pa.Array):
        low, high = same_length(lower, upper)
        values = low.filter(pc.equal(low, high)).unique()
        if len(values):
            yield _sorted(values)
        return
    if bounds.type.is_floating or not ranges:
        single = np.unique(_numbers(bounds, lower == upper)[0])
        if len(single):
            yield single
        return
    width = upper.astype(np.uint64) - lower.astype(np.uint64)
    # Where values are listed, the values between bounds are not needed.
    lacks_list = YES
    if lists is not None and listed is not None:
        lacks_list = lists.may_match(listed[:0])  # without options, only an unknown list may match
    first, last = _numbers(bounds, (upper >= lower) & (width < _WIDEST) & lacks_list)
    yield from _enumerated(first, last, most)


def _numbers(bounds: Bounds, chosen: Flags) -> tuple[Edge, Edge]:
    """Return the bounds of the chosen containers that may hold a value."""
    edges = (np.asarray(bounds.lower), np.asarray(bounds.upper), chosen & bounds.can_be_value)
    lower, upper, flags = np.broadcast_arrays(*edges)
    return lower[flags], upper[flags]


def _enumerated(first: Edge, last: Edge, most: int) -> Iterator[Edge | TooMany]:
    """Yield the values from first to last of each range, each value once."""
    pairs = np.unique(np.stack([first, last], axis=1), axis=0)
    if not len(pairs):
        return
    # Ascending by their first value, so a value counts where no range before it has reached it.
    reached = np.maximum.accumulate(pairs[:, 1])
    starts = pairs[:, 0].copy()
    starts[1:] = np.maximum(starts[1:], reached[:-1] + 1)
    sizes = np.maximum(pairs[:, 1] - starts + 1, 0)
    if int(sizes.sum()) > most:
        yield TOO_MANY
        return
    ranges = [start + np.arange(size) for start, size in zip(starts, sizes, strict=True)]
    yield np.unique(np.concatenate(ranges))


def _union(one: Edge, other: Edge) -> Edge:
    if isinstance(one, np.ndarray):
        joined: Edge = np.union1d(one, other)
        return joined
    return _sorted(pa.concat_arrays([one, other]).unique())


def _sorted(values: pa.Array) -> pa.Array:
    return values.take(pc.sort_indices(values))
