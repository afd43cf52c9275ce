"""A table of containers, as the interpreter asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import Bounds, Flags
from tamis.evaluate.certain import Certain, certain_of
from tamis.evaluate.recorded import Members, Subject, expression_of, members_in
from tamis.expr.nodes import Column

__all__ = ["BlockStatistics", "SelectedStatistics", "Statistics"]


class Statistics(Protocol):
    """What is known of the columns of n containers. Nothing here raises: unknown is the answer.

    An implementor that holds statistics of expressions, or of single values, is Recorded as well;
    one that can answer for rows has a method `certain` (tamis.evaluate.certain).
    """

    @property
    def num_containers(self) -> int: ...

    def bounds(self, column: Column) -> Bounds:
        """What is known of a column, read as values of `column.type`; cached by the implementor."""
        ...

    def empty(self) -> Flags | None:
        """True where the container is known to hold no row; None where that is known of none."""
        ...

    def slice(self, start: int, stop: int) -> Statistics:
        """The containers start to stop."""
        ...

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        """The containers at these ordinals, in that order."""
        ...


@dataclass(frozen=True, slots=True)
class BlockStatistics:
    """Containers start to stop of others, without a copy."""

    whole: Statistics
    start: int
    stop: int

    @property
    def num_containers(self) -> int:
        return self.stop - self.start

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column).slice(self.start, self.stop)

    def expression(self, key: str) -> Bounds | None:
        found = expression_of(self.whole, key)
        return None if found is None else found.slice(self.start, self.stop)

    def members(self, subject: Subject) -> Members | None:
        found = members_in(self.whole, subject)
        return None if found is None else found.slice(self.start, self.stop)

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
    """Some containers of others, at these ordinals."""

    whole: Statistics
    ordinals: npt.NDArray[np.intp]

    @property
    def num_containers(self) -> int:
        return len(self.ordinals)

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column).take(self.ordinals)

    def expression(self, key: str) -> Bounds | None:
        found = expression_of(self.whole, key)
        return None if found is None else found.take(self.ordinals)

    def members(self, subject: Subject) -> Members | None:
        found = members_in(self.whole, subject)
        return None if found is None else found.take(self.ordinals)

    def certain(self, column: Column) -> Certain:
        return certain_of(self.whole, column).take(self.ordinals)

    def empty(self) -> Flags | None:
        empty = self.whole.empty()
        return empty if empty is None or len(empty) == 1 else empty[self.ordinals]

    def slice(self, start: int, stop: int) -> Statistics:
        return SelectedStatistics(self.whole, self.ordinals[start:stop])

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self.whole, self.ordinals[ordinals])
