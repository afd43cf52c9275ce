"""Bounds of the columns of an index, read when a query first names them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluate.bounds import Bounds, Flags
from tamis.evaluate.certain import UNCERTAIN, Certain
from tamis.evaluate.order import with_keys
from tamis.evaluate.recorded import Members, Subject
from tamis.evaluate.statistics import BlockStatistics, SelectedStatistics, Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds
from tamis.files.certain import certain_columns
from tamis.files.columns import plain
from tamis.files.intersection import intersect
from tamis.index.cache import LocalCache
from tamis.index.layout import FILES, ColumnEntry, Pointer
from tamis.index.recorded import Recording
from tamis.index.recordings import Recordings, bounds_of, chosen
from tamis.index.store import Store
from tamis.index.unusable import IndexUnusable

# Storage that failed is not asked again for so long, in seconds.
_RETRY = 30.0
# attained: of text, and only where rows were read: footers do not say it
_STATISTICS = ("min", "max", "null_count", "nan_count", "attained")
_INTEGERS = ("byte", "short", "integer", "long")

T = TypeVar("T")
K = TypeVar("K")


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
        recording: Recording | None = None,
        unusable: IndexUnusable | None = None,
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
        self._recordings = (
            None
            if recording is None
            else Recordings(store, pointer, cache, num_records, recording, self._spelled)
        )
        self._bounds: dict[tuple[tuple[str, ...], DataType], Bounds] = {}
        self._expressions: dict[str, Bounds | None] = {}
        self._members: dict[Subject, Members | None] = {}
        self._certain: dict[Column, Certain | None] = {}
        self._lock = threading.Lock()
        self._unusable = unusable  # why there is no recording where there should be one
        self._trouble: IndexUnusable | None = None
        self._troubled_at = 0.0

    @property
    def trouble(self) -> IndexUnusable | None:
        """Why a part of the index cannot be read now."""
        return self._trouble or self._unusable

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
                found, is_whole = self._read(*key)
                if found is None:
                    return Bounds.unknown(column.type)
                if is_whole:
                    self._bounds[key] = found
            return found

    def expression(self, key: str) -> Bounds | None:
        recordings = self._recordings
        if recordings is None or recordings.type_of(key) is None:
            return None
        return self._once(self._expressions, key, lambda: recordings.expression(key))

    def members(self, subject: Subject) -> Members | None:
        recordings = self._recordings
        if recordings is None:
            return None
        if isinstance(subject, str):
            return self._once(self._members, subject, lambda: recordings.members(subject))
        path = self._spelled(subject.path)
        if recordings.type_of(path) != subject.type:
            return None
        return self._once(self._members, subject, lambda: recordings.members(path))

    def certain(self, column: Column) -> Certain:
        entry = self._entry(tuple(column.path))
        if entry is None or entry.type != str(column.type):
            return UNCERTAIN  # what Spark makes of another type is not for certain
        found = self._once(self._certain, column, lambda: self._load_certain(entry, column.type))
        return found or UNCERTAIN

    def cells(self, path: tuple[str, ...], wanted: DataType | None) -> Mapping[str, pa.Array]:
        """What `bounds` are made of, as it is stored: min, max, null_count, nan_count, by name.

        wanted: as which type the column is read; None: as it was recorded. Nothing known: empty.
        """
        entry = self._entry(path)
        recorded = None if entry is None else DataType.parse(entry.type)
        if entry is None or recorded is None or not is_widening(recorded, wanted or recorded):
            return {}
        with_rows = wanted in (None, recorded)  # as in `bounds`
        with self._lock:
            found = self._guarded(lambda: self._columns_of(entry, with_rows))
        return found or {}

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

    def _spelled(self, path: tuple[str, ...]) -> tuple[str, ...]:
        return path if self._pointer.case_sensitive else _fold(path)

    def _once(self, known: dict[K, T | None], key: K, read: Callable[[], T | None]) -> T | None:
        """What is known under a key, read when it is first asked for."""
        if key in known:
            return known[key]
        with self._lock:
            if key not in known:
                found = self._guarded(lambda: (read(),))
                if found is None:
                    return None  # not now
                known[key] = found[0]
            return known[key]

    def _guarded(self, read: Callable[[], T]) -> T | None:
        """What was read; None: it cannot be now, and `trouble` says why."""
        if self._trouble is not None and time.monotonic() - self._troubled_at < _RETRY:
            return None
        try:
            found = read()
            self._trouble = None
            return found
        except IndexUnusable as problem:
            self._trouble = problem
        except Exception as problem:  # whatever it is, the query runs without this part
            self._trouble = self._store.damaged(f"{type(problem).__name__}: {problem}")
        self._troubled_at = time.monotonic()
        return None

    def _read(self, path: tuple[str, ...], data_type: DataType) -> tuple[Bounds | None, bool]:
        """The bounds of a column (None: they cannot be read now), and whether that is all."""
        entry = self._entry(path)
        recorded = None if entry is None else DataType.parse(entry.type)
        if entry is None or recorded is None or not is_widening(recorded, data_type):
            return Bounds.unknown(data_type), True
        named = json.dumps([self._part, entry.path, str(data_type)])
        # Spark may have read a file's numbers as another type in another way
        if recorded != data_type or not self._records_bounds(entry.path):
            return self._of_footers(named, entry, data_type), True
        found = self._guarded(
            lambda: self._cache.bounds(
                f"recorded {named}",
                data_type,
                self.num_containers,
                lambda _: self._load_with_rows(entry, data_type),
            )
        )
        return (found, True) if found is not None else self._without_rows(named, entry, data_type)

    def _without_rows(
        self, named: str, entry: ColumnEntry, data_type: DataType
    ) -> tuple[Bounds | None, bool]:
        """What footers say is another part of the index, and may be whole where that one is not."""
        trouble = self._trouble
        self._trouble = None
        found = self._of_footers(named, entry, data_type)
        if found is not None:
            self._trouble = trouble
        return found, False

    def _of_footers(self, named: str, entry: ColumnEntry, data_type: DataType) -> Bounds | None:
        return self._guarded(
            lambda: self._cache.bounds(
                named,
                data_type,
                self.num_containers,
                lambda in_blocks: self._load(entry, data_type, in_blocks),
            )
        )

    def _records_bounds(self, path: tuple[str, ...]) -> bool:
        recordings = self._recordings
        return recordings is not None and any(
            recordings.has(self._spelled(path), kind) for kind in ("bounds", "values")
        )

    def _load_with_rows(
        self, entry: ColumnEntry, data_type: DataType
    ) -> Iterator[tuple[int, Bounds]]:
        """Bounds from footers and from rows, in one block."""
        assert self._recordings is not None
        path = self._spelled(entry.path)
        bounds = bounds_of(data_type, self._columns_of(entry), self._num_records)
        lists = self._recordings.lists(path)
        if lists is not None:
            bounds = intersect(bounds, lists.bounds(data_type))
        yield self.num_containers, with_keys(bounds)

    def _columns_of(self, entry: ColumnEntry, with_rows: bool = True) -> dict[str, pa.Array]:
        """Raw statistics of a column of all files: of their rows, else of their footers."""
        name = entry.leaf.name
        checksums = self._store.checksums(self._pointer)[FILES]
        wanted = [f"{each}.{name}" for each in _STATISTICS]
        table = self._store.columns(self._pointer, checksums, FILES, wanted)
        columns = {
            each: plain(table.column(column))
            for each, column in zip(_STATISTICS, wanted, strict=True)
            if column in table.column_names
        }
        if entry.nulls == 0 and "null_count" not in columns:
            columns["null_count"] = pa.array(np.zeros(self.num_containers, np.int64))
        path = self._spelled(entry.path)
        recordings = self._recordings if with_rows else None
        rows = None if recordings is None else recordings.columns(path)
        return columns if rows is None else chosen(rows, columns)

    def _load_certain(self, entry: ColumnEntry, data_type: DataType) -> Certain:
        columns = self._columns_of(entry)
        lists = None
        if self._recordings is not None:
            lists = self._recordings.lists(self._spelled(entry.path))
        # a list holds every ordinary value, and bounds are narrowed by it
        listed = None if lists is None else lists.counts >= 0
        records = self._counted(0, self.num_containers)
        return certain_columns(data_type, columns, records, listed)

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
            records = self._counted(start, rows)
            yield rows, with_keys(column_bounds(data_type, low, high, nulls, nans, records))
            start += rows

    def _counted(self, start: int, rows: int) -> pa.Array:
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
