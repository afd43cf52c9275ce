"""The rows of each container that are not NULL in one column, as containers of their own.

What holds of all rows of a container holds of some of them, so its bounds are bounds of these too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import NO, Bounds, Flags
from tamis.evaluate.recorded import Members, Subject, expression_of, members_in
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Column

__all__ = ["WithoutNulls"]


@dataclass(frozen=True, slots=True)
class WithoutNulls:
    """Containers without their rows that are NULL in a column."""

    whole: Statistics
    column: Column

    @property
    def num_containers(self) -> int:
        return self.whole.num_containers

    def bounds(self, column: Column) -> Bounds:
        found = self.whole.bounds(column)
        return replace(found, can_be_null=NO) if column.path == self.column.path else found

    def expression(self, key: str) -> Bounds | None:
        return expression_of(self.whole, key)

    def members(self, subject: Subject) -> Members | None:
        return members_in(self.whole, subject)

    def empty(self) -> Flags | None:
        return self.whole.empty()

    def slice(self, start: int, stop: int) -> Statistics:
        return WithoutNulls(self.whole.slice(start, stop), self.column)

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return WithoutNulls(self.whole.take(ordinals), self.column)
