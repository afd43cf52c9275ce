"""The row groups of an index of a table format, by the columns that a query reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.bound_statistics import BoundStatistics
from tamis.indexing.read.field_binding import FieldBinding
from tamis.indexing.read.index_statistics import IndexStatistics
from tamis.indexing.read.row_groups import RowGroups, RowGroupTable

__all__ = ["BoundRowGroups"]


@dataclass(frozen=True, slots=True, eq=False)
class BoundRowGroups:
    """The row groups of an index, with columns as in `BoundStatistics`. Never raises."""

    index: RowGroups
    fields: FieldBinding
    _bound: list[tuple[RowGroupTable, RowGroupTable]] = field(default_factory=list)

    @property
    def problem(self) -> IndexUnusable | None:
        return self.index.problem

    def table(self) -> RowGroupTable | None:
        """Return the row groups; None as for `RowGroups.table`."""
        table = self.index.table()
        if table is None or not isinstance(table.statistics, IndexStatistics):
            return None
        for known, bound in self._bound:
            if known is table:
                return bound
        bound = replace(table, statistics=BoundStatistics(table.statistics, self.fields))
        self._bound[:] = [(table, bound)]
        return bound
