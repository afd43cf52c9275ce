"""The rows of each container that are not NULL, or not NaN, in a column, as containers themselves.

What holds of all rows of a container holds of some of them, so its bounds are bounds of these too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import NO, Bounds, Flags
from tamis.evaluate.recorded import Members, Subject, expression_of, members_in
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Column

__all__ = ["Without"]

#: Which flag of the bounds tells of them.
Rows: TypeAlias = Literal["can_be_null", "can_be_nan"]


@dataclass(frozen=True, slots=True)
class Without:
    """Containers without those of their rows."""

    rows: Rows
    column: Column
    whole: Statistics

    @property
    def num_containers(self) -> int:
        return self.whole.num_containers

    def bounds(self, column: Column) -> Bounds:
        found = self.whole.bounds(column)
        if column.path != self.column.path:
            return found
        if self.rows == "can_be_null":
            return replace(found, can_be_null=NO)
        return replace(found, can_be_nan=NO)

    def expression(self, key: str) -> Bounds | None:
        return expression_of(self.whole, key)

    def members(self, subject: Subject) -> Members | None:
        return members_in(self.whole, subject)

    def empty(self) -> Flags | None:
        return self.whole.empty()

    def slice(self, start: int, stop: int) -> Statistics:
        return replace(self, whole=self.whole.slice(start, stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return replace(self, whole=self.whole.take(ordinals))
