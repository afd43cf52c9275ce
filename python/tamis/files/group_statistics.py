"""Statistics of groups of rows: the rows of a file that have the same values of some columns.

    file   l_shipmode   min(l_shipdate)   max(l_shipdate)
    f1     'AIR'        1995-01-01        1995-12-31
    f1     'MAIL'       1995-01-01        1995-02-10
    f1     NULL         1995-06-01        1995-06-01

No row of f1 satisfies `l_shipmode = 'MAIL' AND l_shipdate > '1995-03-01'`: in the group of 'MAIL'
the second conjunct is true for no row, and in the others the first one. The bounds of the two
columns of f1 alone do not show that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.group_places import places_of
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.statistics import (
    Grouped,
    GroupRows,
    Members,
    Recorded,
    Statistics,
    Subject,
)
from tamis.expr.nodes import Column
from tamis.files.bounds import column_bounds, constant_bounds
from tamis.files.columns import plain

__all__ = ["GroupStatistics", "groups_of"]

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class GroupStatistics(Statistics):
    """Statistics of the groups of some containers. Every row of these is in one group.

    The rows of a group are rows of its container, so what holds for the container holds for them.

    Attributes:
        containers: The statistics of the containers that have groups.
        choice: The aggregates of the groups of these containers.
        rows: The number of rows of each group, and its values of the columns.
        owner: The ordinal of the container of each group.
    """

    containers: Statistics
    choice: Grouped
    rows: GroupRows
    owner: Places

    @property
    def num_containers(self) -> int:
        return len(self.owner)

    def bounds(self, column: Column) -> Bounds:
        place = self.choice.place_of(column)
        if place is not None:
            return constant_bounds(column.type, plain(self.rows.table.column(f"by.{place}")))
        whole = self.containers.bounds(column).take(self.owner)
        return self._narrowed(column, whole)

    def expression(self, key: Recorded) -> Bounds | None:
        bounds = self.containers.expression(key)
        if bounds is None:
            return None
        whole = bounds.take(self.owner)
        return self._narrowed(key, whole) if isinstance(key, str) else whole

    def _narrowed(self, subject: Subject, whole: Bounds) -> Bounds:
        """Return the bounds of a value in each group, given those in its container."""
        least, greatest = (self.choice.rows(kind, subject) for kind in ("min", "max"))
        known = [each for each in (least, greatest) if self._fits(each, whole)]
        for each in known:
            assert each is not None
            table = each.table
            edge, rows, count = (plain(table.column(name)) for name in ("value", "rows", "count"))
            nulls = pa.array(rows.to_numpy() - count.to_numpy())
            low, high = (edge, None) if each is least else (None, edge)
            whole = intersect(whole, column_bounds(whole.type, low, high, nulls, None, rows))
        return whole

    def _fits(self, aggregate: GroupRows | None, whole: Bounds) -> bool:
        """Return whether an aggregate is of values of this type, and of the same groups."""
        if aggregate is None or aggregate.type != whole.type:
            return False
        names = ["rows", *(f"by.{i}" for i in range(len(self.choice.by)))]
        # Entries that were written together have the same groups; others are damaged.
        is_same = aggregate.table.select(names).equals(self.rows.table.select(names))
        return is_same and np.array_equal(aggregate.sizes, self.rows.sizes)

    def members(self, subject: Subject) -> Members | None:
        if isinstance(subject, Column) and self.choice.place_of(subject) is not None:
            return None  # its bounds are already its single value
        members = self.containers.members(subject)
        return None if members is None else members.take(self.owner)


def groups_of(
    statistics: Statistics, columns: frozenset[Column]
) -> Iterator[tuple[Places, GroupStatistics]]:
    """Yield the groups of containers, once for each choice of columns that has one of `columns`.

    Yields:
        The ordinals of the containers whose groups are known, and the statistics of these groups.
    """
    for grouped in statistics.grouped():
        if all(grouped.place_of(column) is None for column in columns):
            continue
        counted = grouped.rows("count", None)
        if counted is None:
            continue
        known = np.flatnonzero(counted.sizes >= 0)
        if not len(known):
            continue
        sizes = counted.sizes[known]
        table = counted.table.take(pa.array(places_of(counted.sizes, known)))
        yield (
            known,
            GroupStatistics(
                statistics.take(known),
                grouped.take(known),
                GroupRows(counted.type, sizes, table),
                np.repeat(np.arange(len(known)), sizes),
            ),
        )
