"""The interface through which the interpreter reads the statistics of containers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, Bounds, Edge, Flags
from tamis.evaluation.domain.exact_counts import UNCERTAIN, Certain
from tamis.expr.nodes import Column
from tamis.expr.types import DataType

__all__ = [
    "BlockStatistics",
    "GroupRows",
    "Grouped",
    "LimitedStatistics",
    "Members",
    "Passing",
    "Recorded",
    "Relation",
    "RelationKind",
    "SelectedStatistics",
    "Statistics",
    "Subject",
]

#: A column, or the key of an expression.
Subject: TypeAlias = Column | str


class RelationKind(StrEnum):
    DIFFERENCE = "difference"
    EQUALITY = "equality"


@dataclass(frozen=True, slots=True)
class Relation:
    """Two values of one row, whose relation may have been recorded.

    - DIFFERENCE: left - right, as LONG in the unit of evaluation.pairs.differences. The ends of
      LONG mean that nothing is known on that side.
    - EQUALITY: left = right, as BOOLEAN.
    """

    kind: RelationKind
    left: Subject
    right: Subject


@dataclass(frozen=True, slots=True)
class Passing:
    """A column in the rows that pass a condition, as `IF(condition, column, NULL)` records it.

    Its bounds say nothing about NULL: the other rows count as NULL.

    - `condition`: the key of the condition.
    """

    condition: str
    column: Column


#: The key of an expression, or what is derived from recorded expressions.
Recorded: TypeAlias = str | Relation | Passing


class Members(Protocol):
    """The ordinary values of each of n containers. `options`: an edge of a comparable type."""

    def may_match(self, options: Edge) -> Flags:
        """Return False where no ordinary value equals one of the options."""
        ...

    def may_miss(self, options: Edge) -> Flags:
        """Return False where every ordinary value equals one of the options."""
        ...

    def distinct(self) -> Edge | None:
        """Return the distinct values of the containers whose values are listed, ascending.

        None: no values are listed.
        """
        ...

    def parts(self) -> Mapping[str, Members]:
        """Return the members that rely on each kind of row statistics ("values", "bloom")."""
        ...

    def slice(self, start: int, stop: int) -> Members: ...

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members: ...


@dataclass(frozen=True, slots=True, eq=False)
class GroupRows:
    """An aggregate of each group of rows of each container. All rows of a group have the same
    values in some columns.

    - `type`: the type of the argument of the aggregate.
    - `sizes`: the number of groups of each container; -1: not known.
    - `table`: one row per group, container by container, the groups of a container in the order of
      their values. Its columns are those of indexing.format.groups.
    """

    type: DataType
    sizes: npt.NDArray[np.int64]
    table: pa.Table


class Grouped(Protocol):
    """Aggregates that are known of the groups of each container, by the values of some columns."""

    @property
    def by(self) -> tuple[DataType, ...]:
        """The types of these columns."""
        ...

    def place_of(self, column: Column) -> int | None:
        """Return which of the columns this is; None: none of them."""
        ...

    def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
        """Return an aggregate; None if it is not known.

        Args:
            kind: "count", "sum", "min" or "max", or as `registers.sketch_kind` returns it.
            argument: What is aggregated; None: rows are counted.
        """
        ...

    def take(self, ordinals: npt.NDArray[np.intp]) -> Grouped: ...


class Statistics(ABC):
    """Statistics of the columns of n containers. No method raises; what is missing is unknown.

    An implementation defines `num_containers` and `bounds`. It overrides the other methods where it
    knows more; by default they know nothing, which is sound.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def num_containers(self) -> int:
        """The number of containers."""

    @abstractmethod
    def bounds(self, column: Column) -> Bounds:
        """Return the bounds of a column, as values of `column.type`. The implementation caches."""

    def expression(self, key: Recorded) -> Bounds | None:
        """Return the recorded bounds of an expression or a relation, or None."""
        return None

    def members(self, subject: Subject) -> Members | None:
        """Return the recorded values of a column or an expression, or None."""
        return None

    def certain(self, column: Column) -> Certain:
        """Return the exact facts about a column."""
        return UNCERTAIN

    def attained(self, passing: Passing) -> Flags:
        """Return True where the known edges of the bounds of `passing` are values of rows that
        pass the condition.
        """
        return NO

    def empty(self) -> Flags | None:
        """Return True where a container is known to be empty; None if that is known for none."""
        return None

    def grouped(self) -> tuple[Grouped, ...]:
        """Return the aggregates that are known of groups of rows, for each choice of columns."""
        return ()

    def slice(self, start: int, stop: int) -> Statistics:
        """Return the containers from start to stop, exclusive."""
        return BlockStatistics(self, start, stop)

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        """Return the containers at these ordinals, in that order."""
        return SelectedStatistics(self, ordinals)


@dataclass(frozen=True, slots=True)
class BlockStatistics(Statistics):
    """The containers from start to stop of other statistics, without a copy."""

    whole: Statistics
    start: int
    stop: int

    @property
    def num_containers(self) -> int:
        return self.stop - self.start

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column).slice(self.start, self.stop)

    def expression(self, key: Recorded) -> Bounds | None:
        bounds = self.whole.expression(key)
        return None if bounds is None else bounds.slice(self.start, self.stop)

    def members(self, subject: Subject) -> Members | None:
        recorded = self.whole.members(subject)
        return None if recorded is None else recorded.slice(self.start, self.stop)

    def certain(self, column: Column) -> Certain:
        return self.whole.certain(column).slice(self.start, self.stop)

    def attained(self, passing: Passing) -> Flags:
        flags = self.whole.attained(passing)
        return flags if len(flags) == 1 else flags[self.start : self.stop]

    def empty(self) -> Flags | None:
        empty = self.whole.empty()
        return empty if empty is None or len(empty) == 1 else empty[self.start : self.stop]

    def grouped(self) -> tuple[Grouped, ...]:
        places = np.arange(self.start, self.stop, dtype=np.intp)
        return tuple(each.take(places) for each in self.whole.grouped())

    def slice(self, start: int, stop: int) -> Statistics:
        return BlockStatistics(self.whole, self.start + start, min(self.start + stop, self.stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self.whole, np.asarray(ordinals) + self.start)


@dataclass(frozen=True, slots=True)
class SelectedStatistics(Statistics):
    """The containers at some ordinals of other statistics."""

    whole: Statistics
    ordinals: npt.NDArray[np.intp]

    @property
    def num_containers(self) -> int:
        return len(self.ordinals)

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column).take(self.ordinals)

    def expression(self, key: Recorded) -> Bounds | None:
        bounds = self.whole.expression(key)
        return None if bounds is None else bounds.take(self.ordinals)

    def members(self, subject: Subject) -> Members | None:
        recorded = self.whole.members(subject)
        return None if recorded is None else recorded.take(self.ordinals)

    def certain(self, column: Column) -> Certain:
        return self.whole.certain(column).take(self.ordinals)

    def attained(self, passing: Passing) -> Flags:
        flags = self.whole.attained(passing)
        return flags if len(flags) == 1 else flags[self.ordinals]

    def empty(self) -> Flags | None:
        empty = self.whole.empty()
        return empty if empty is None or len(empty) == 1 else empty[self.ordinals]

    def grouped(self) -> tuple[Grouped, ...]:
        return tuple(each.take(self.ordinals) for each in self.whole.grouped())

    def slice(self, start: int, stop: int) -> Statistics:
        return SelectedStatistics(self.whole, self.ordinals[start:stop])

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self.whole, self.ordinals[ordinals])


@dataclass(frozen=True, slots=True)
class LimitedStatistics(Statistics):
    """The same containers with less knowledge, or with only some of their rows.

    Subclasses replace what they limit. Exact facts and groups may hold for all rows only, so they
    are unknown here.
    """

    whole: Statistics

    @property
    def num_containers(self) -> int:
        return self.whole.num_containers

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column)

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
