"""Containers restricted to the rows in which a column is not NULL, or not NaN.

What holds for all rows of a container holds for some of them, so its bounds also bound these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tamis.evaluation.domain.bounds import NO, Bounds
from tamis.evaluation.statistics import LimitedStatistics
from tamis.expr.nodes import Column

__all__ = ["SubsetStatistics"]

#: The flag of Bounds that says whether the container may hold the rows that are left out.
Rows: TypeAlias = Literal["can_be_null", "can_be_nan"]


@dataclass(frozen=True, slots=True)
class SubsetStatistics(LimitedStatistics):
    """The statistics of containers without the rows in which a column is NULL, or NaN."""

    rows: Rows
    column: Column

    def bounds(self, column: Column) -> Bounds:
        bounds = self.whole.bounds(column)
        if column.path != self.column.path:
            return bounds
        if self.rows == "can_be_null":
            return replace(bounds, can_be_null=NO)
        return replace(bounds, can_be_nan=NO)
