"""The row groups of the indexed files: their byte ranges and statistics."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.files.columns import plain
from tamis.indexing.format.layout import FILES, ROW_GROUPS, Pointer
from tamis.indexing.format.row_statistics import Recording
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.bound_statistics import BoundStatistics
from tamis.indexing.read.cache import LocalCache
from tamis.indexing.read.index_statistics import IndexStatistics

# Seconds until storage that failed is tried again.
_RETRY = 30.0
_GROUP = ("start", "length", "midpoint", "num_records")
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RowGroupTable:
    """The row groups of all files of an index. All arrays but `first` have one entry per row group.

    Attributes:
        first: The row of the first row group of every file, and the total number at the end.
        start: Offset in bytes.
        length: Number of bytes.
        midpoint: The byte by which Spark's readers assign it to a task; -1 if unknown. See
            `extents`.
        num_records: Number of rows; -1 if unknown.
        statistics: Statistics of the row groups.
    """

    first: Numbers
    start: Numbers
    length: Numbers
    midpoint: Numbers
    num_records: Numbers
    statistics: IndexStatistics | BoundStatistics


class RowGroups:
    """The row groups of one index, read on first use. Thread-safe, and never raises."""

    def __init__(
        self,
        store: Store,
        pointer: Pointer,
        cache: LocalCache,
        recording: Recording | None = None,
    ) -> None:
        self._store = store
        self._pointer = pointer
        self._cache = cache
        self._recording = recording
        self._table: RowGroupTable | None = None
        self._lock = threading.Lock()
        self._problem: IndexUnusable | None = None
        self._failed_at = 0.0

    @property
    def problem(self) -> IndexUnusable | None:
        """Why the row groups, or a column of them, cannot be read at present; None if they can."""
        if self._table is not None and self._table.statistics.problem is not None:
            return self._table.statistics.problem
        return self._problem

    def table(self) -> RowGroupTable | None:
        """Return the row groups; None if there are none to choose from.

        That is if the index has at most one row group, does not have their byte ranges, or cannot
        be read (see `problem`).
        """
        if self._pointer.totals.row_groups <= 1:
            return None
        table = self._table
        if table is None:
            with self._lock:
                table = self._table = self._table or self._try_to_read()
        return table

    def _try_to_read(self) -> RowGroupTable | None:
        if self._problem is not None and time.monotonic() - self._failed_at < _RETRY:
            return None
        try:
            table = self._read()
            self._problem = None
            return table
        except IndexUnusable as problem:
            self._fail(problem)
        except Exception as problem:  # on any error, files are read whole
            self._fail(self._store.damaged(f"{type(problem).__name__}: {problem}"))
        return None

    def _fail(self, problem: IndexUnusable) -> None:
        self._problem = problem
        self._failed_at = time.monotonic()

    def _read(self) -> RowGroupTable | None:
        placed = self._cache.table("row_groups", self._placed)
        if placed.num_columns == 0:  # an index of an earlier version
            return None
        first = _numbers(self._cache.table("row_groups_of_files", self._first), "first")
        arrays = {name: _numbers(placed, name) for name in _GROUP}
        totals = self._pointer.totals
        if len(first) != totals.files + 1 or first[-1] != len(arrays["start"]):
            raise self._store.damaged(f"{ROW_GROUPS} has different row groups than {FILES}")
        statistics = IndexStatistics(
            self._store,
            self._pointer,
            self._cache,
            arrays["num_records"],
            ROW_GROUPS,
            self._recording,
        )
        return RowGroupTable(first, **arrays, statistics=statistics)

    def _placed(self) -> pa.Table:
        table = self._store.columns(self._pointer, ROW_GROUPS, _GROUP)
        if table.column_names != list(_GROUP):
            return pa.table({})
        columns = {name: table.column(name) for name in _GROUP}
        return pa.table(
            {name: pc.fill_null(c, -1) if c.null_count else c for name, c in columns.items()}
        )

    def _first(self) -> pa.Table:
        counts = self._store.columns(self._pointer, FILES, ["row_groups"])
        files = self._store.columns(self._pointer, ROW_GROUPS, ["file"])
        number = pc.fill_null(counts.column(0), 0).to_numpy()
        first = np.zeros(len(number) + 1, np.int64)
        np.cumsum(number, out=first[1:])
        # if any row group is not where its file expects it, none is used
        if not _follow(files.column(0).to_numpy(), first[:-1][number > 0], number):
            raise self._store.damaged(f"{ROW_GROUPS} has different row groups than {FILES}")
        return pa.table({"first": first})


def _follow(owner: Numbers, starts: Numbers, number: npt.NDArray[np.int32]) -> bool:
    """Return whether the row groups are in the order of their files, with the expected numbers.

    Args:
        owner: The file of every row group.
        starts: The first row group of each file that has row groups.
        number: How many row groups each file has.
    """
    if len(owner) != int(number.sum()):
        return False
    if not len(owner):
        return True
    changes = np.flatnonzero(owner[1:] != owner[:-1]) + 1
    if not np.array_equal(np.concatenate([[0], changes]), starts):
        return False
    return bool(np.array_equal(owner[starts], np.flatnonzero(number > 0)))


def _numbers(table: pa.Table, name: str) -> Numbers:
    # the mapped array, without a copy
    numbers: Numbers = plain(table.column(name)).to_numpy(zero_copy_only=False)
    return numbers
