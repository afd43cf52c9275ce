"""How many rows of each container are NULL: for whoever counts rows, and not only may-be's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import Bounds, Flags
from tamis.expr.nodes import Column, Expr

__all__ = ["null_counts", "null_counts_in"]


def null_counts_in(statistics: Any, column: Column) -> npt.NDArray[np.int64] | None:
    """`statistics.null_counts(column)`, of statistics that need not count: one number a container,
    -1 where not known; None: known of none. Read together with the bounds: see null_counts.
    """
    counts = getattr(statistics, "null_counts", None)
    found: npt.NDArray[np.int64] | None = None if counts is None else counts(column)
    return found


def null_counts(expr: Expr, bounds: Bounds, statistics: Any) -> npt.NDArray[np.int64] | None:
    """How many rows give NULL for an expression whose bounds these are; -1: not known.

    Where statistics contradict each other nothing is known of the edges: neither is the count.
    """
    counts = null_counts_in(statistics, expr) if isinstance(expr, Column) else None
    if counts is None:
        return None
    return np.where(_is_told(bounds, len(counts)), counts, -1)


def _is_told(bounds: Bounds, containers: int) -> Flags:
    """Where an edge is known, or that there is no ordinary value."""
    told = ~np.broadcast_to(bounds.can_be_value, containers)
    for edge, known in (
        (bounds.lower, bounds.lower_known),
        (bounds.upper, bounds.upper_known),
    ):
        if edge is None:
            continue
        if isinstance(edge, np.ndarray):
            told = told | (True if known is None else known)
        else:
            told = told | edge.is_valid().to_numpy(zero_copy_only=False)
    return told
