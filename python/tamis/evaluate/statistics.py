"""The interface through which the interpreter reads the statistics of containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tamis.evaluate.domain.bounds import Bounds, Flags
from tamis.evaluate.domain.exact_counts import Certain, certain_of
from tamis.evaluate.recorded import Members, Subject, expression_of, members_in
from tamis.expr.nodes import Column

__all__ = ["BlockStatistics", "SelectedStatistics", "Statistics"]


class Statistics(Protocol):
    """Statistics of the columns of n containers. No method raises; what is missing is unknown.

    An implementation that has statistics of expressions or of single values also implements
    Recorded. One that can prove which values rows really have has a method `certain`
    (tamis.evaluate.domain.exact_counts).
    """

    @property
    def num_containers(self) -> int: ...

    def bounds(self, column: Column) -> Bounds:
        """Return the bounds of a column, as values of `column.type`. The implementation caches."""
        ...

    def empty(self) -> Flags | None:
        """Return True where a container is known to be empty; None if that is known for none."""
        ...

    def slice(self, start: int, stop: int) -> Statistics:
        """Return the containers from start to stop, exclusive."""
        ...

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        """Return the containers at these ordinals, in that order."""
        ...


@dataclass(frozen=True, slots=True)
class BlockStatistics:
    """The containers from start to stop of other statistics, without a copy."""

    whole: Statistics
    start: int
    stop: int

    @property
    def num_containers(self) -> int:
        return self.stop - self.start

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column).slice(self.start, self.stop)

    def expression(self, key: str) -> Bounds | None:
        bounds = expression_of(self.whole, key)
        return None if bounds is None else bounds.slice(self.start, self.stop)

    def members(self, subject: Subject) -> Members | None:
        recorded = members_in(self.whole, subject)
        return None if recorded is None else recorded.slice(self.start, self.stop)

    def certain(self, column: Column) -> Certain:
        return certain_of(self.whole, column).slice(self.start, self.stop)

    def empty(self) -> Flags | None:
        empty = self.whole.empty()
        return empty if empty is None or len(empty) == 1 else empty[self.start : self.stop]

    def slice(self, start: int, stop: int) -> Statistics:
        return BlockStatistics(self.whole, self.start + start, min(self.start + stop, self.stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self.whole, np.asarray(ordinals) + self.start)


@dataclass(frozen=True, slots=True)
class SelectedStatistics:
    """The containers at some ordinals of other statistics."""

    whole: Statistics
    ordinals: npt.NDArray[np.intp]

    @property
    def num_containers(self) -> int:
        return len(self.ordinals)

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column).take(self.ordinals)

    def expression(self, key: str) -> Bounds | None:
        bounds = expression_of(self.whole, key)
        return None if bounds is None else bounds.take(self.ordinals)

    def members(self, subject: Subject) -> Members | None:
        recorded = members_in(self.whole, subject)
        return None if recorded is None else recorded.take(self.ordinals)

    def certain(self, column: Column) -> Certain:
        return certain_of(self.whole, column).take(self.ordinals)

    def empty(self) -> Flags | None:
        empty = self.whole.empty()
        return empty if empty is None or len(empty) == 1 else empty[self.ordinals]

    def slice(self, start: int, stop: int) -> Statistics:
        return SelectedStatistics(self.whole, self.ordinals[start:stop])

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self.whole, self.ordinals[ordinals])
