"""Bounds of the columns of an index, read when a query first uses them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.domain.exact_counts import UNCERTAIN, Certain
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.domain.order import with_keys
from tamis.evaluation.statistics import (
    Grouped,
    Members,
    Passing,
    Recorded,
    Relation,
    Statistics,
    Subject,
)
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.columns import count_array, plain
from tamis.files.exact_counts import certain_columns
from tamis.indexing.format import distinct_sketches
from tamis.indexing.format.groups import Groups
from tamis.indexing.format.layout import COUNTED_FORMAT, FILES, ROW_GROUPS, ColumnEntry, Pointer
from tamis.indexing.format.row_statistics import Recording
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.cache import LocalCache
from tamis.indexing.read.recorded_groups import Named, RecordedGroups
from tamis.indexing.read.row_statistics import DistinctValues, Recordings, bounds_of, chosen

# Seconds until storage that failed is tried again.
_RETRY = 30.0
# attained: for strings, and only if the rows were read, because footers do not have it
_STATISTICS = ("min", "max", "null_count", "nan_count", "attained")
_INTEGERS = ("byte", "short", "integer", "long")

T = TypeVar("T")
K = TypeVar("K")


class IndexStatistics(Statistics):
    """Statistics of the files of an index, or of their row groups, in the order of the index.

    Reading statistics never raises. A column that cannot be read has unknown bounds until a later
    attempt succeeds; `problem` is the reason.
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
        entries = pointer.columns
        self._kinds: tuple[str, ...] = _STATISTICS
        if pointer.format < COUNTED_FORMAT:
            entries = tuple(msgspec.structs.replace(entry, nulls=None) for entry in entries)
            self._kinds = tuple(kind for kind in _STATISTICS if kind != "null_count")
        self._columns = {entry.path: entry for entry in entries}
        if not pointer.case_sensitive:
            # a query may read the table with a schema that spells the columns differently
            self._columns.update({_fold(entry.path): entry for entry in entries})
        self._recordings = (
            None
            if recording is None
            else Recordings(
                store, pointer, cache, num_records, recording, self._spelled, part == ROW_GROUPS
            )
        )
        self._bounds: dict[tuple[tuple[str, ...], DataType], Bounds] = {}
        self._expressions: dict[str, Bounds | None] = {}
        self._relations: dict[Relation, Bounds | None] = {}
        self._members: dict[Subject, Members | None] = {}
        self._certain: dict[Column, Certain | None] = {}
        self._attained: dict[str, Flags | None] = {}
        self._groups: dict[int, Groups | None] = {}
        self._lock = threading.Lock()
        self._unusable = unusable  # why the recording is missing although there should be one
        self._problem: IndexUnusable | None = None
        self._lacking: IndexUnusable | None = None  # why sketches are not used
        self._failed_at = 0.0

    @property
    def problem(self) -> IndexUnusable | None:
        """The reason why a part of the index cannot be read at present; None if there is none."""
        return self._problem or self._unusable or self._lacking

    @property
    def num_containers(self) -> int:
        return len(self._num_records)

    def is_recorded_over(self, names: Iterable[str]) -> bool:
        """Return whether expressions are recorded, and the table had a column of one of the names.

        An expression may read a column that the index does not describe.
        """
        if self._recordings is None:
            return False
        return any(name.lower() in self._names for name in names)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The columns of the table when the index was built, in lower case."""
        fields = json.loads(self._pointer.schema)["fields"]
        return frozenset(field["name"].lower() for field in fields)

    def bounds(self, column: Column) -> Bounds:
        key = (tuple(column.path), column.type)
        result = self._bounds.get(key)
        if result is not None:
            return result
        with self._lock:
            result = self._bounds.get(key)
            if result is None:
                result, is_whole = self._read(*key)
                if result is None:
                    return Bounds.unknown(column.type)
                if is_whole:
                    self._bounds[key] = result
            return result

    def columns_read_by(self, key: Recorded) -> tuple[tuple[str, ...], ...] | None:
        """Return the columns that an expression reads; None if nothing was recorded of it."""
        return None if self._recordings is None else self._recordings.columns_read_by(key)

    def expression(self, key: Recorded) -> Bounds | None:
        recordings = self._recordings
        if recordings is None or recordings.columns_read_by(key) is None:
            return None
        if isinstance(key, Relation):
            return self._relation(recordings, key)
        named = recordings.key_of(key) if isinstance(key, Passing) else key
        if named is None:
            return None
        return self._once(self._expressions, named, lambda: recordings.expression(named))

    def _relation(self, recordings: Recordings, relation: Relation) -> Bounds | None:
        """Return what is recorded of a relation. Not under the lock: it reads other statistics."""
        if relation in self._relations:
            return self._relations[relation]
        result = recordings.relation(relation, self)
        if self._problem is None:  # otherwise more may be known later
            self._relations[relation] = result
        return result

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
            return UNCERTAIN  # Spark converts other types, so their values are not certain
        result = self._once(self._certain, column, lambda: self._load_certain(entry, column.type))
        return result or UNCERTAIN

    def attained(self, passing: Passing) -> Flags:
        recordings = self._recordings
        key = None if recordings is None else recordings.key_of(passing)
        if recordings is None or key is None:
            return NO
        result = self._once(self._attained, key, lambda: recordings.attained(key))
        return NO if result is None else result

    def grouped(self) -> tuple[Grouped, ...]:
        return self.grouped_as(lambda column: column, lambda _: True)

    def grouped_as(
        self, named: Callable[[Column], Column | None], is_usable: Callable[[str], bool]
    ) -> tuple[Grouped, ...]:
        """Return the recorded aggregates.

        Args:
            named: Returns a column of the query as the index names it; None: the index lacks it.
            is_usable: Whether the expression with this key computes the same as in the index.
        """
        recordings = self._recordings
        if recordings is None:
            return ()

        def spelled(column: Column) -> Named | None:
            known = named(column)
            return None if known is None else (self._spelled(tuple(known.path)), known.type)

        def read(k: int) -> Groups | None:
            return self._once(self._groups, k, lambda: recordings.groups(k))

        return tuple(
            RecordedGroups(by, entries, spelled, is_usable, read)
            for by, entries in recordings.aggregates.items()
        )

    @property
    def records_distinct(self) -> bool:
        """Whether the number of distinct values of some column was recorded and can be read."""
        if self._recordings is None or not self._recordings.records_distinct():
            return False
        self._lacking = distinct_sketches.missing_library()
        return self._lacking is None

    def distinct(
        self, column: Column, rows: slice | npt.NDArray[np.int64]
    ) -> DistinctValues | None:
        """Return the distinct values of a column in the files at these rows; None: unknown.

        Not cached: it reads a number for each file, and the sketches of some.
        """
        recordings, path = self._recordings, self._spelled(tuple(column.path))
        if recordings is None or recordings.type_of(path) != column.type:
            return None
        if not recordings.has(path, "ndv"):
            return None
        self._lacking = distinct_sketches.missing_library()
        if self._lacking is not None:
            return None
        with self._lock:
            return self._guarded(lambda: recordings.distinct(path, rows))

    def cells(self, path: tuple[str, ...], wanted: DataType | None) -> Mapping[str, pa.Array]:
        """Return the stored arrays that `bounds` are computed from, by name.

        The names are those of `_STATISTICS`, such as min, max, null_count and nan_count. The result
        is empty if nothing is known.

        Args:
            path: The path of the column.
            wanted: The type as which the column is read; None: the recorded type.
        """
        entry = self._entry(path)
        recorded = None if entry is None else DataType.parse(entry.type)
        if entry is None or recorded is None or not is_widening(recorded, wanted or recorded):
            return {}
        with_rows = wanted in (None, recorded)  # as in `bounds`
        with self._lock:
            arrays = self._guarded(lambda: self._columns_of(entry, with_rows))
        return arrays or {}

    def empty(self) -> Flags | None:
        return self._empty

    def _entry(self, path: tuple[str, ...]) -> ColumnEntry | None:
        entry = self._columns.get(path)
        if entry is None and not self._pointer.case_sensitive:
            entry = self._columns.get(_fold(path))
        return entry

    def _spelled(self, path: tuple[str, ...]) -> tuple[str, ...]:
        return path if self._pointer.case_sensitive else _fold(path)

    def _once(self, known: dict[K, T | None], key: K, read: Callable[[], T | None]) -> T | None:
        """Return the value of a key, read on first use. None: unknown, or not readable now."""
        if key in known:
            return known[key]
        with self._lock:
            if key not in known:
                result = self._guarded(lambda: (read(),))
                if result is None:
                    return None  # not cached, so that it is tried again
                known[key] = result[0]
            return known[key]

    def _guarded(self, read: Callable[[], T]) -> T | None:
        """Return the result of `read`; None if it fails, with the reason in `problem`."""
        if self._problem is not None and time.monotonic() - self._failed_at < _RETRY:
            return None
        try:
            result = read()
            self._problem = None
            return result
        except IndexUnusable as problem:
            self._problem = problem
        except Exception as problem:  # on any error, the query runs without this part
            self._problem = self._store.damaged(f"{type(problem).__name__}: {problem}")
        self._failed_at = time.monotonic()
        return None

    def _read(self, path: tuple[str, ...], data_type: DataType) -> tuple[Bounds | None, bool]:
        """Return the bounds of a column, and whether they include everything that is recorded.

        The bounds are None if they cannot be read now.
        """
        entry = self._entry(path)
        recorded = None if entry is None else DataType.parse(entry.type)
        if entry is None or recorded is None or not is_widening(recorded, data_type):
            return Bounds.unknown(data_type), True
        named = json.dumps([self._part, entry.path, str(data_type)])
        # Bounds of rows hold for the recorded type only: Spark may read a file's numbers
        # differently as another type.
        if recorded != data_type or not self._records_bounds(entry.path):
            return self._of_footers(named, entry, data_type), True
        bounds = self._guarded(
            lambda: self._cache.bounds(
                f"recorded {named}",
                data_type,
                self.num_containers,
                lambda _: self._load_with_rows(entry, data_type),
            )
        )
        return (bounds, True) if bounds is not None else self._without_rows(named, entry, data_type)

    def _without_rows(
        self, named: str, entry: ColumnEntry, data_type: DataType
    ) -> tuple[Bounds | None, bool]:
        """Return the bounds from footers alone, when those recorded from rows cannot be read.

        They are another part of the index, which may be intact.
        """
        before = self._problem
        self._problem = None
        bounds = self._of_footers(named, entry, data_type)
        if bounds is not None:
            self._problem = before
        return bounds, False

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
        """Yield the bounds from footers and rows, in one block."""
        assert self._recordings is not None
        path = self._spelled(entry.path)
        bounds = bounds_of(data_type, self._columns_of(entry), self._num_records)
        lists = self._recordings.lists(path)
        if lists is not None:
            bounds = intersect(bounds, lists.bounds(data_type))
        yield self.num_containers, with_keys(bounds)

    def _columns_of(self, entry: ColumnEntry, with_rows: bool = True) -> dict[str, pa.Array]:
        """Return raw statistics of a column of all files: from rows, else from footers."""
        wanted = _stored(entry, self._kinds)
        columns = _by_kind(entry, self._store.columns(self._pointer, FILES, wanted))
        path = self._spelled(entry.path)
        recordings = self._recordings if with_rows else None
        rows = None if recordings is None else recordings.columns(path)
        return columns if rows is None else chosen(rows, columns)

    def _load_certain(self, entry: ColumnEntry, data_type: DataType) -> Certain:
        columns = self._columns_of(entry)
        lists = None
        if self._recordings is not None:
            lists = self._recordings.lists(self._spelled(entry.path))
        # a list has every ordinary value of its file, and narrows the bounds
        listed = None if lists is None else lists.counts >= 0
        return certain_columns(data_type, columns, count_array(self._num_records), listed)

    def _load(
        self, entry: ColumnEntry, data_type: DataType, in_blocks: bool
    ) -> Iterator[tuple[int, Bounds]]:
        """Yield the number of rows and the bounds of one block after the other.

        A block fits into the cache of the processor.
        """
        wanted = _stored(entry, (kind for kind in self._kinds if kind != "attained"))
        read = self._store.batches if in_blocks else self._store.columns
        source = read(self._pointer, self._part, wanted)
        start = 0
        for batch in [source] if isinstance(source, pa.Table) else source:
            rows = batch.num_rows
            records = self._num_records[start : start + rows]
            yield rows, with_keys(bounds_of(data_type, _by_kind(entry, batch), records))
            start += rows


def _stored(entry: ColumnEntry, kinds: Iterable[str]) -> list[str]:
    """Return the names of stored statistics of a column. Null counts that are all 0 are not read.

    `_by_kind` adds them.
    """
    read = (each for each in kinds if not (each == "null_count" and entry.nulls == 0))
    return [f"{each}.{entry.leaf.name}" for each in read]


def _by_kind(entry: ColumnEntry, read: pa.Table | pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the statistics of a column by their kind, such as min."""
    columns = {name.partition(".")[0]: plain(read.column(name)) for name in read.schema.names}
    if entry.nulls == 0:
        columns["null_count"] = pa.array(np.zeros(read.num_rows, np.int64))
    return columns


def is_widening(recorded: DataType, wanted: DataType) -> bool:
    """Return whether every value of `recorded` is the same value when Spark reads it as `wanted`.

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
