"""Statistics of the data files of a Delta table, from its log."""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, Bounds
from tamis.evaluation.domain.exact_counts import UNCERTAIN, UNKNOWN, Certain
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column
from tamis.files.bounds import column_bounds
from tamis.files.exact_counts import certain_columns
from tamis.tables.delta.columns import StatisticsColumn
from tamis.tables.delta.edges import is_exact, is_recorded
from tamis.tables.delta.replay import LogReplay

__all__ = ["DeltaStatistics"]

_UNREADABLE = (pa.ArrowException, ValueError, TypeError, ArithmeticError, KeyError)


class DeltaStatistics(Statistics):
    """Statistics of the files of a listing, in its order. Columns are read when first used.

    Files that the log does not describe have unknown statistics. Partition columns have none here.

    Args:
        replay: The state of the log.
        rows: For each file its row there; null if the log does not describe it.
    """

    def __init__(self, replay: LogReplay, rows: pa.Array) -> None:
        self._replay = replay
        self._rows = rows
        self._bounds: dict[Column, Bounds] = {}
        self._certain: dict[Column, Certain] = {}
        self._lock = threading.Lock()

    @property
    def num_containers(self) -> int:
        return len(self._rows)

    @property
    def described(self) -> int:
        """The number of files that the log describes."""
        return self.num_containers - int(self._rows.null_count)

    @cached_property
    def num_records(self) -> npt.NDArray[np.int64]:
        """The rows of each file without deleted ones, -1 where not known."""
        deleted = self._read("deleted")
        if self._records is None or deleted is None:
            return np.full(self.num_containers, UNKNOWN, np.int64)
        left = pc.subtract(self._records, deleted)
        return np.maximum(_longs(left), UNKNOWN)

    def bounds(self, column: Column) -> Bounds:
        known = self._bounds.get(column)
        if known is None:
            with self._lock:
                known = self._bounds.setdefault(column, self._column_bounds(column))
        return known

    def certain(self, column: Column) -> Certain:
        """Return what is certain.

        Bounds are values of rows if they are tight, and the log has such values as they are. NULLs
        are counted if the log counts them without deleted rows.
        """
        known = self._certain.get(column)
        if known is None:
            with self._lock:
                known = self._certain.setdefault(column, self._column_certain(column))
        return known

    def _column_bounds(self, column: Column) -> Bounds:
        found = self._find(column)
        if found is None:
            return Bounds.unknown(column.type)
        try:
            # Deleted rows are among all of these, and all rows include those that are left.
            low, high, nulls = (
                self._read(f"{kind}.{found[0]}") for kind in ("min", "max", "nulls")
            )
            return column_bounds(column.type, low, high, nulls, None, self._records)
        except _UNREADABLE:
            return Bounds.unknown(column.type)

    def _column_certain(self, column: Column) -> Certain:
        found = self._find(column)
        if found is None or self._records is None:
            return UNCERTAIN
        try:
            kinds = {"min": "min", "max": "max", "null_count": "nulls"}
            cells = {kind: self._read(f"{name}.{found[0]}") for kind, name in kinds.items()}
            present = {kind: each for kind, each in cells.items() if each is not None}
            certain = certain_columns(column.type, present, self._records)
        except _UNREADABLE:
            return UNCERTAIN
        is_tight = self._is_tight
        nulls = np.where(is_tight, certain.nulls, UNKNOWN)
        # delta-kernel-rs also counts fields of structs that are NULL
        is_value = is_exact(found[1]) and not found[1].is_nested
        attained = is_tight & certain.attained if is_value else NO
        if "max" in present and column.type.name == "date":
            attained = attained & is_recorded(present["max"])
        return Certain(nulls, attained)

    def _find(self, column: Column) -> tuple[int, StatisticsColumn] | None:
        found = self._replay.columns.find(column.path)
        return None if found is None or found[1].type != column.type else found

    @cached_property
    def _records(self) -> pa.Array | None:
        return self._read("records")

    @cached_property
    def _is_tight(self) -> npt.NDArray[np.bool_]:
        tight = self._read("is_tight")
        if tight is None:
            return np.zeros(self.num_containers, np.bool_)
        return np.asarray(pc.fill_null(tight, False).to_numpy(zero_copy_only=False))

    def _read(self, name: str) -> pa.Array | None:
        return self._replay.column(name, self._rows)


def _longs(array: pa.Array) -> npt.NDArray[np.int64]:
    filled = pc.fill_null(array, UNKNOWN)
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)
