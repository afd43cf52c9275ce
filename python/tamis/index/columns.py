"""Bounds of the columns of an index, read when a query first names them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluate.bounds import Bounds, Flags
from tamis.evaluate.order import with_keys
from tamis.evaluate.statistics import BlockStatistics, SelectedStatistics, Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds
from tamis.index.cache import LocalCache
from tamis.index.layout import FILES, ColumnEntry, Pointer
from tamis.index.memory import give_back
from tamis.index.store import Store
from tamis.index.unusable import IndexUnusable

# Storage that failed is not asked again for so long, in seconds.
_RETRY = 30.0
_INTEGERS = ("byte", "short", "integer", "long")


class IndexStatistics:
    """What an index knows of its files, or of their row groups, in its own order. Never raises.

    A column that cannot be read is unknown, and `trouble` says why; it is tried again later.
    """

    def __init__(
        self,
        store: Store,
        pointer: Pointer,
        cache: LocalCache,
        num_records: npt.NDArray[np.int64],
        part: str = FILES,
    ) -> None:
        self._store = store
        self._pointer = pointer
        self._cache = cache
        self._part = part
        self._num_records = num_records
        self._empty: Flags = num_records == 0
        self._all_counted = not (num_records < 0).any()
        self._columns = {entry.path: entry for entry in pointer.columns}
        if not pointer.case_sensitive:
            # a table read with a schema of its own may spell its columns in another way
            self._columns.update({_fold(entry.path): entry for entry in pointer.columns})
        self._bounds: dict[tuple[tuple[str, ...], DataType], Bounds] = {}
        self._lock = threading.Lock()
        self.trouble: IndexUnusable | None = None
        self._troubled_at = 0.0

    @property
    def num_containers(self) -> int:
        return len(self._num_records)

    def has(self, path: tuple[str, ...]) -> bool:
        """Whether the index describes a column."""
        return self._entry(path) is not None

    def bounds(self, column: Column) -> Bounds:
        key = (tuple(column.path), column.type)
        found = self._bounds.get(key)
        if found is not None:
            return found
        with self._lock:
            found = self._bounds.get(key)
            if found is None:
                found = self._read(*key)
                if found is None:
                    return Bounds.unknown(column.type)
                self._bounds[key] = found
            return found

    def empty(self) -> Flags | None:
        return self._empty

    def slice(self, start: int, stop: int) -> Statistics:
        return BlockStatistics(self, start, stop)

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self, ordinals)

    def _entry(self, path: tuple[str, ...]) -> ColumnEntry | None:
        entry = self._columns.get(path)
        if entry is None and not self._pointer.case_sensitive:
            entry = self._columns.get(_fold(path))
        return entry

    def _read(self, path: tuple[str, ...], data_type: DataType) -> Bounds | None:
        """The bounds of a column; None: it cannot be read now."""
        entry = self._entry(path)
        if entry is None:
            return Bounds.unknown(data_type)
        if self.trouble is not None and time.monotonic() - self._troubled_at < _RETRY:
            return None
        recorded = DataType.parse(entry.type)
        if recorded is None or not is_widening(recorded, data_type):
            return Bounds.unknown(data_type)
        try:
            name = json.dumps([self._part, entry.path, str(data_type)])
            found = self._cache.bounds(
                name,
                data_type,
                self.num_containers,
                lambda in_blocks: self._load(entry, data_type, in_blocks),
            )
            self.trouble = None
            return found
        except IndexUnusable as problem:
            self.trouble = problem
        except Exception as problem:  # whatever it is, the query runs without this column
            self.trouble = self._store.damaged(f"{type(problem).__name__}: {problem}")
        self._troubled_at = time.monotonic()
        return None

    def _load(
        self, entry: ColumnEntry, data_type: DataType, in_blocks: bool
    ) -> Iterator[tuple[int, Bounds]]:
        """Bounds of rows in turn, with their number. Blocks stay in the processor's cache."""
        name = entry.leaf.name
        # Counts that are all zero are not read.
        counts = ("nan_count",) if entry.nulls == 0 else ("null_count", "nan_count")
        wanted = [f"{each}.{name}" for each in ("min", "max", *counts)]
        checksums = self._store.checksums(self._pointer)[self._part]
        read = self._store.batches if in_blocks else self._store.columns
        found = read(self._pointer, checksums, self._part, wanted)
        start, none = 0, pa.array([], pa.int64())
        for batch in [found] if isinstance(found, pa.Table) else found:
            rows = batch.num_rows
            present = dict(zip(batch.schema.names, batch.columns, strict=True))
            if entry.nulls == 0:
                none = none if len(none) == rows else pa.array(np.zeros(rows, np.int64))
                present[f"null_count.{name}"] = none
            low, high, nulls, nans = (
                present.get(f"{each}.{name}") for each in ("min", "max", "null_count", "nan_count")
            )
            records = self._records(start, rows)
            yield rows, with_keys(column_bounds(data_type, low, high, nulls, nans, records))
            start += rows
        give_back()

    def _records(self, start: int, rows: int) -> pa.Array:
        """The number of rows of some files; null: not known."""
        records = self._num_records[start : start + rows]
        if self._all_counted:
            return pa.array(records)
        return pa.array(records, mask=records < 0)


def is_widening(recorded: DataType, wanted: DataType) -> bool:
    """Whether every value of one type is the same value of the other, as Spark reads files.

    >>> from tamis.expr.types import INTEGER, LONG
    >>> is_widening(INTEGER, LONG), is_widening(LONG, INTEGER)
    (True, False)
    """
    if recorded == wanted:
        return True
    if recorded.is_decimal and wanted.is_decimal:
        assert recorded.precision is not None
        assert wanted.precision is not None
        return recorded.scale == wanted.scale and recorded.precision <= wanted.precision
    if recorded.name in _INTEGERS and wanted.name in _INTEGERS:
        return _INTEGERS.index(recorded.name) <= _INTEGERS.index(wanted.name)
    return (recorded.name, wanted.name) == ("float", "double")


def _fold(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in path)
