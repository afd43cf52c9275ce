"""The row groups of the files of a scan, from its indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.statistics import Statistics
from tamis.files.segments import BLOCK, GroupedFiles, Segment
from tamis.indexing.read.open_indexes import OpenIndex
from tamis.indexing.read.row_groups import RowGroupTable
from tamis.tables.partitions import FileStatistics
from tamis.tables.scan_input import Part, ScanInput

__all__ = ["RowGroupCounts", "counted", "grouped_files"]


@dataclass(frozen=True, slots=True)
class RowGroupCounts:
    """The number of row groups of all files, and of the kept files."""

    total: int
    kept: int


def counted(scan: ScanInput, kept: Flags) -> RowGroupCounts | None:
    """Return the counts of row groups, or None if they are not known for one of the files."""
    total = of_kept = 0
    for part in scan.parts:
        index = part.of_row_groups
        table = None if index is None else index.row_groups.table()
        if table is None:
            return None
        if isinstance(part.rows, slice):
            in_part = int(table.first[part.rows.stop] - table.first[part.rows.start])
        else:
            in_part = int(_counts(table, part.rows).sum())
        total += in_part
        flags = kept[part.ordinals]
        is_most = 2 * np.count_nonzero(flags) > len(flags)  # count the smaller set
        some = _picked(part.rows, np.flatnonzero(~flags if is_most else flags))
        counted = int(_counts(table, some).sum())
        of_kept += in_part - counted if is_most else counted
    return RowGroupCounts(total, of_kept)


def grouped_files(scan: ScanInput, kept: Flags) -> Iterator[GroupedFiles]:
    """Yield the kept files that have several row groups, in batches that fit the cache.

    The index is not read before the first batch is requested.
    """
    for segment, part in zip(scan.segments, scan.parts, strict=True):
        index = part.of_row_groups
        if index is None or not kept[part.ordinals].any():
            continue
        table = index.row_groups.table()
        if table is not None:
            yield from _batches(segment, part, index, table, kept)


def _batches(
    segment: Segment, part: Part, index: OpenIndex, table: RowGroupTable, kept: Flags
) -> Iterator[GroupedFiles]:
    flags = kept[part.ordinals]
    # Evaluate some files at a time, because the caller may stop after the first batches.
    for place in range(0, len(flags), BLOCK):
        chosen = np.flatnonzero(flags[place : place + BLOCK]) + place  # places in the part
        counts = _counts(table, _picked(part.rows, chosen))
        several = counts > 1
        chosen, counts = chosen[several], counts[several]
        total = np.cumsum(counts)
        start = 0
        while start < len(chosen):
            before = 0 if start == 0 else int(total[start - 1])
            stop = max(start + 1, int(np.searchsorted(total, before + BLOCK, side="right")))
            yield _batch(segment, part, index, table, chosen[start:stop], counts[start:stop])
            start = stop


def _batch(
    segment: Segment,
    part: Part,
    index: OpenIndex,
    table: RowGroupTable,
    chosen: npt.NDArray[np.intp],
    counts: npt.NDArray[np.int64],
) -> GroupedFiles:
    ordinals = _picked(part.ordinals, chosen)
    rows = _picked(part.rows, chosen)
    first = np.cumsum(counts) - counts
    groups = np.arange(int(counts.sum())) + np.repeat(table.first[rows] - first, counts)
    files = segment.statistics.take(chosen)
    statistics: Statistics = table.statistics.take(groups)
    if isinstance(files, FileStatistics):
        statistics = FileStatistics(
            files.partitions, np.repeat(files.directory, counts), statistics, files.is_shadowed
        )
    start = table.start[groups]
    return GroupedFiles(
        ordinals,
        index.files.size.to_numpy()[rows],
        index.num_records[rows],
        first,
        start,
        start + table.length[groups],
        table.midpoint[groups],
        table.num_records[groups],
        files,
        statistics,
        has_deletes=part.written is not None,
    )


def _counts(table: RowGroupTable, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    counts: npt.NDArray[np.int64] = table.first[rows + 1] - table.first[rows]
    return counts


def _picked(
    whole: slice | npt.NDArray[np.intp], places: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    return places + whole.start if isinstance(whole, slice) else whole[places]
