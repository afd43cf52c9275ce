"""Statistics in memory, for the cases that measure evaluation alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import DataType

_NO, _YES = np.zeros(1, np.bool_), np.ones(1, np.bool_)


class Resident(Statistics):
    """Bounds of columns by name, without NULL and NaN.

    Args:
        ends: By column, its type and the lower and upper bound of every container, in the form
            that `Bounds` has for the type.
        size: The number of containers.
    """

    def __init__(self, ends: Mapping[str, tuple[DataType, Any, Any]], size: int) -> None:
        self.ends = ends
        self._size = size
        self._bounds = {
            name: Bounds(data_type, lower, upper, _NO, _NO, _YES)
            for name, (data_type, lower, upper) in ends.items()
        }

    @property
    def num_containers(self) -> int:
        return self._size

    def bounds(self, column: Column) -> Bounds:
        return self._bounds[column.path[0]]
