"""The files of a scan, with the statistics that are known about them."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.statistics import Statistics
from tamis.files.segments import Segment
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.command_options import command_options
from tamis.indexing.read.open_indexes import OpenIndex
from tamis.tables.partitions import DirectoryStatistics
from tamis.wire.messages import Warning_

__all__ = ["Part", "ScanInput"]


@dataclass(frozen=True, slots=True, eq=False)
class ScanInput:
    """The files of one scan.

    - `parts`: one per segment.
    - `indexes`: the indexes of the tables.
    - `automatic`: the indexes of files that these do not describe.
    - `derived`: what callers have derived from the statistics of these files and may need again.
      Scans of the same listing and the same generations share it.
    - `num_records`: the rows of each file in listing order, -1 where not known. None if they are
      known for no file.
    - `total_records`: the rows of all files, None if not known.
    - `partitions`: the partition values of each directory in the snapshot.
    - `directories`: for each file, its directory.
    - `sizes`: the size of each file in bytes.
    - `is_recorded`: whether a table format records statistics of the files.
    - `tables`: the directories whose index would describe the files. Empty if too many roots are
      read.
    """

    segments: Sequence[Segment]
    parts: Sequence[Part]
    num_records: npt.NDArray[np.int64] | None
    total_records: int | None
    problems: tuple[IndexUnusable, ...]
    indexes: tuple[OpenIndex, ...]
    partitions: DirectoryStatistics
    directories: npt.NDArray[np.int32]
    sizes: pa.ChunkedArray
    tables: frozenset[str] = frozenset()
    automatic: tuple[OpenIndex, ...] = ()
    derived: MutableMapping[object, object] = field(default_factory=dict)
    is_recorded: bool = False

    @property
    def is_indexed(self) -> bool:
        """Whether an index describes each file."""
        return all(part.index is not None for part in self.parts)

    @property
    def warnings(self) -> list[Warning_]:
        """The reasons why an index was not used.

        Complete only after the scan was decided, because that reads columns of the index.
        """
        of_data = [
            part.problem.reading_with(command_options(each.reading))
            for each in self.indexes
            for part in (each.statistics, each.row_groups)
            if part.problem is not None
        ]
        return [Warning_(each.code, each.text) for each in (*self.problems, *of_data)]

    def records(self, kept: npt.NDArray[np.bool_]) -> int | None:
        """Return the number of rows of the kept files, None if it is not known for one of them."""
        if not kept.any():
            return 0
        if self.num_records is None:
            return None
        rows = self.num_records[kept]
        return None if (rows < 0).any() else int(rows.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some files of a listing, with their ordinals there and their rows in an index.

    - `index`: None if no index describes the rows of these files.
    - `written`: the index that describes the rows that were written to these files, if some of
      them were deleted since. Then `index` is None.
    """

    ordinals: slice | npt.NDArray[np.intp]
    rows: slice | npt.NDArray[np.int64]
    index: OpenIndex | None
    written: OpenIndex | None = None

    @property
    def of_row_groups(self) -> OpenIndex | None:
        """The index that knows the row groups of these files."""
        return self.written if self.index is None else self.index

    @property
    def statistics(self) -> Statistics | None:
        if self.index is None:
            return None
        if isinstance(self.rows, slice):
            whole = self.rows == slice(0, len(self.index.files))
            each = self.index.statistics
            return each if whole else each.slice(self.rows.start, self.rows.stop)
        return self.index.statistics.take(self.rows)
