"""The statistics of an index of a table format, by the columns that a query reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.domain.exact_counts import UNCERTAIN, Certain
from tamis.evaluation.statistics import Grouped, Members, Passing, Recorded, Statistics, Subject
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.field_binding import FieldBinding
from tamis.indexing.read.index_statistics import IndexStatistics
from tamis.indexing.read.row_statistics import DistinctValues

__all__ = ["BoundStatistics"]


@dataclass(frozen=True, slots=True, eq=False)
class BoundStatistics(Statistics):
    """Statistics of an index, in which columns are found by what identifies them in files.

    Nothing is known of a column whose values in the files may have changed since the build.
    """

    index: IndexStatistics
    fields: FieldBinding

    @property
    def num_containers(self) -> int:
        return self.index.num_containers

    @property
    def problem(self) -> IndexUnusable | None:
        return self.index.problem

    @property
    def records_distinct(self) -> bool:
        return self.index.records_distinct

    def is_recorded_over(self, names: Iterable[str]) -> bool:
        return self.index.is_recorded_over(names)

    def bounds(self, column: Column) -> Bounds:
        known = self._in_index(column)
        return Bounds.unknown(column.type) if known is None else self.index.bounds(known)

    def certain(self, column: Column) -> Certain:
        known = self._in_index(column)
        return UNCERTAIN if known is None else self.index.certain(known)

    def attained(self, passing: Passing) -> Flags:
        return self.index.attained(passing) if self._computes_the_same(passing) else NO

    def expression(self, key: Recorded) -> Bounds | None:
        return self.index.expression(key) if self._computes_the_same(key) else None

    def members(self, subject: Subject) -> Members | None:
        if isinstance(subject, str):
            return self.index.members(subject) if self._computes_the_same(subject) else None
        known = self._in_index(subject)
        return None if known is None else self.index.members(known)

    def empty(self) -> Flags | None:
        return self.index.empty()

    def grouped(self) -> tuple[Grouped, ...]:
        return self.index.grouped_as(self._in_index, self._computes_the_same)

    def distinct(
        self, column: Column, rows: slice | npt.NDArray[np.int64]
    ) -> DistinctValues | None:
        known = self._in_index(column)
        return None if known is None else self.index.distinct(known, rows)

    def cells(self, path: tuple[str, ...], wanted: DataType | None) -> Mapping[str, pa.Array]:
        known = self.fields.path_in_index(path)
        return {} if known is None else self.index.cells(known, wanted)

    def _in_index(self, column: Column) -> Column | None:
        path = self.fields.path_in_index(tuple(column.path))
        return None if path is None else Column(path, column.type)

    def _computes_the_same(self, key: Recorded) -> bool:
        paths = self.index.columns_read_by(key)
        # None: not recorded
        return paths is not None and self.fields.reads_the_same(paths)
