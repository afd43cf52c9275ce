"""Statistics that consist of bounds written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import DataType

__all__ = ["Given", "between", "texts"]


@dataclass(frozen=True, slots=True)
class Given(Statistics):
    """The bounds of every column, or of each column by itself, in each of the containers."""

    of: Bounds | Mapping[Column, Bounds]
    num_containers: int = 1

    def bounds(self, column: Column) -> Bounds:
        return self.of if isinstance(self.of, Bounds) else self.of[column]


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
