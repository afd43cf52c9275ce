"""Statistics of the files of a table: from its index where that is current, else from footers.

An index describes what Spark reads, and the server sends what pyarrow reads. The two differ for

- dates and timestamps of the Julian calendar, which Spark may convert,
- columns with a default value, which Spark returns for files that lack the column.

For these columns only the footers are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.statistics import Members, Statistics, Subject
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.executor_job import files_table, row_groups_table
from tamis.indexing.read import freshness
from tamis.indexing.read.open_indexes import OpenIndex
from tamis.indexing.read.snapshot import FileKeys
from tamis.publish.footer_cache import FileFooter
from tamis.sources.partitions import Partitions
from tamis.tables.partitions import DirectoryStatistics, FileStatistics
from tamis.wire.duckdb.arrow_types import schema_types

__all__ = ["Indexed", "TableStatistics", "table_statistics"]

_MOMENTS = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True, eq=False)
class TableStatistics:
    """The statistics of a table.

    - `segments`: those of the files.
    - `groups`: those of the row groups of all files, in order.
    - `first`: the place of the first row group of each file in `groups`, and the total number at
      the end. A file about which nothing is known has none.
    """

    segments: tuple[Segment, ...]
    groups: Statistics
    first: npt.NDArray[np.int64]


def table_statistics(
    footers: Sequence[FileFooter],
    leaves: Sequence[Leaf],
    partitions: Partitions,
    keys: FileKeys | None,
    index: OpenIndex | None,
) -> TableStatistics:
    """Return the statistics of files that have these footers, partition values and keys.

    The keys are those by which the index knows the files.
    """
    ordinals = list(range(len(footers)))
    read = [each.statistics for each in footers]
    counts = [len(each.row_groups) for each in read]
    directories = _directories(partitions)
    files = ArrowStatistics(files_table(ordinals, read, leaves))
    groups = ArrowStatistics(row_groups_table(ordinals, read, leaves))
    return TableStatistics(
        tuple(_segments(footers, files, directories, partitions.group, keys, index)),
        FileStatistics(directories, np.repeat(partitions.group, counts), groups),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


def _directories(partitions: Partitions) -> DirectoryStatistics:
    schema = pa.schema({name: values.type for name, values in partitions.values.items()})
    types = {name: each.data_type for name, each in schema_types(schema).items()}
    return DirectoryStatistics(
        partitions.groups, partitions.values, dict(types), case_sensitive=False
    )


def _segments(
    footers: Sequence[FileFooter],
    files: Statistics,
    directories: DirectoryStatistics,
    group: npt.NDArray[np.int32],
    keys: FileKeys | None,
    index: OpenIndex | None,
) -> list[Segment]:
    everything = np.arange(len(footers), dtype=np.intp)
    rows = np.full(len(footers), freshness.UNMATCHED, np.int64)
    if index is not None and keys is not None and len(footers):
        matched = freshness.match(keys, index.files)
        rows = everything.astype(np.int64) if matched is None else matched
    old = np.array([each.keeps_old_dates for each in footers], np.bool_)
    defaults = frozenset(
        tuple(part.lower() for part in each.path)
        for each in (() if index is None else index.pointer.columns)
        if each.has_default
    )
    segments = []
    for indexed, keeps in ((False, None), (True, True), (True, False)):
        chosen = np.flatnonzero((rows != freshness.UNMATCHED) == indexed)
        if keeps is not None:
            chosen = chosen[old[chosen] == keeps]
        if not len(chosen):
            continue
        columns = files.take(chosen)
        if index is not None and indexed:
            recorded = index.statistics.take(rows[chosen])
            columns = Indexed(columns, recorded, defaults, moments=bool(keeps))
        segments.append(Segment(chosen, FileStatistics(directories, group[chosen], columns)))
    return segments


@dataclass(frozen=True, slots=True, eq=False)
class Indexed(Statistics):
    """Statistics of footers and of an index of the same files.

    - `defaults`: columns with a default value, by their path in lower case.
    - `moments`: whether the index is used for dates and timestamps.
    """

    footers: Statistics
    index: Statistics
    defaults: frozenset[tuple[str, ...]]
    moments: bool

    @property
    def num_containers(self) -> int:
        return self.footers.num_containers

    def _is_alike(self, path: tuple[str, ...], data_type: DataType) -> bool:
        """Return whether Spark and pyarrow read the same values of a column."""
        if tuple(part.lower() for part in path) in self.defaults:
            return False
        return self.moments or data_type.name not in _MOMENTS

    def bounds(self, column: Column) -> Bounds:
        bounds = self.footers.bounds(column)
        if not self._is_alike(tuple(column.path), column.type):
            return bounds
        return intersect(bounds, self.index.bounds(column))

    def members(self, subject: Subject) -> Members | None:
        if isinstance(subject, str) or not self._is_alike(tuple(subject.path), subject.type):
            return None
        return self.index.members(subject)

    def empty(self) -> Flags | None:
        return self.footers.empty()
