"""The least and the greatest value of a column in many files, from the bounds of each file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column

__all__ = ["Containers", "extreme"]


@dataclass(frozen=True, slots=True, eq=False)
class Containers:
    """Bounds of some files, and which of them may have rows."""

    bounds: Bounds
    filled: Flags

    @staticmethod
    def of(statistics: Statistics, column: Column) -> Containers:
        empty = statistics.empty()
        filled = NO if empty is None else empty
        return Containers(
            statistics.bounds(column), ~np.broadcast_to(filled, (statistics.num_containers,))
        )

    def have(self, flags: Flags) -> Flags:
        """Return the flags of files that may have rows."""
        return flags & self.filled


def extreme(each: Sequence[Containers], *, is_upper: bool) -> Any:
    """Return the outermost edge of all files that may have values, as a Python value.

    None if the edge of one of them is unknown, or if none has values.
    """
    edges = list(_outermost(each, is_upper=is_upper))
    if not edges or None in edges:
        return None
    return max(edges) if is_upper else min(edges)


def _outermost(each: Sequence[Containers], *, is_upper: bool) -> Iterator[Any]:
    for containers in each:
        bounds = containers.bounds
        some = containers.have(bounds.can_be_value)
        if not some.any():
            continue
        edge = bounds.upper if is_upper else bounds.lower
        known = bounds.upper_known if is_upper else bounds.lower_known
        if edge is None or (known is not None and not (known | ~some).all()):
            yield None
        elif isinstance(edge, np.ndarray):
            values = np.broadcast_to(edge, (len(some),))[some]
            yield (values.max() if is_upper else values.min()).item()
        else:
            values = edge if len(edge) == 1 else edge.filter(pa.array(some))
            value = pc.max(values) if is_upper else pc.min(values)
            yield None if values.null_count else value.as_py()
