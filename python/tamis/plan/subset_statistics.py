"""Containers restricted to the rows in which a column is not NULL, or not NaN.

What holds for all rows of a container holds for some of them, so its bounds also bound these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.statistics import Members, Recorded, Statistics, Subject
from tamis.expr.nodes import Column

__all__ = ["SubsetStatistics"]

#: The flag of Bounds that says whether the container may hold the rows that are left out.
Rows: TypeAlias = Literal["can_be_null", "can_be_nan"]


@dataclass(frozen=True, slots=True)
class SubsetStatistics(Statistics):
    """The statistics of containers without the rows in which a column is NULL, or NaN."""

    rows: Rows
    column: Column
    whole: Statistics

    @property
    def num_containers(self) -> int:
        return self.whole.num_containers

    def bounds(self, column: Column) -> Bounds:
        bounds = self.whole.bounds(column)
        if column.path != self.column.path:
            return bounds
        if self.rows == "can_be_null":
            return replace(bounds, can_be_null=NO)
        return replace(bounds, can_be_nan=NO)

    def expression(self, key: Recorded) -> Bounds | None:
        return self.whole.expression(key)

    def members(self, subject: Subject) -> Members | None:
        return self.whole.members(subject)

    def empty(self) -> Flags | None:
        return self.whole.empty()

    def slice(self, start: int, stop: int) -> Statistics:
        return replace(self, whole=self.whole.slice(start, stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return replace(self, whole=self.whole.take(ordinals))
