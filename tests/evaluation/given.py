"""Statistics that consist of bounds written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.statistics import BlockStatistics, SelectedStatistics, Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import DataType

__all__ = ["Given", "between", "texts"]


@dataclass(frozen=True, slots=True)
class Given:
    """The bounds of every column, in each of the containers."""

    of: Bounds
    num_containers: int = 1

    def bounds(self, column: Column) -> Bounds:
        return self.of

    def empty(self) -> Flags | None:
        return None

    def slice(self, start: int, stop: int) -> Statistics:
        return BlockStatistics(self, start, stop)

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self, ordinals)


def between(data_type: DataType, lower: Any, upper: Any, **more: Any) -> Bounds:
    """Values, none of them NULL or NaN, in one container for each edge of a list."""
    edges = [_edge(data_type, each) for each in (lower, upper)]
    return Bounds(data_type, edges[0], edges[1], NO, NO, YES, **more)


def texts(*values: str | bytes | None) -> pa.Array:
    """An edge of strings; None is not known."""
    cells = [each.encode() if isinstance(each, str) else each for each in values]
    return pa.array(cells, pa.large_binary())


def _edge(data_type: DataType, edge: Any) -> Any:
    values = edge if isinstance(edge, list) else [edge]
    if data_type.is_text:
        return texts(*values)
    return np.array(values, np.float64 if data_type.is_floating else np.int64)
