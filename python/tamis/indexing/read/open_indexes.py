"""Opening indexes, and keeping them open.

An index is opened once, and its columns are mapped when a query first uses them. Whether another
generation is current is checked at most once per second, in object stores at most every 30 seconds,
or immediately after the session reports that it changed an index (its epoch).
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.files.columns import plain
from tamis.indexing.format.layout import FILES, Pointer, index_uri
from tamis.indexing.format.row_statistics import recording_of
from tamis.indexing.format.specification import SpecificationFile
from tamis.indexing.format.store import Stamp, Store
from tamis.indexing.problems import IndexMissing, IndexUnusable, overwritten, unreachable
from tamis.indexing.read.bound_row_groups import BoundRowGroups
from tamis.indexing.read.bound_statistics import BoundStatistics
from tamis.indexing.read.cache import LocalCache
from tamis.indexing.read.index_statistics import IndexStatistics
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.reader_options import Reading, reading_in
from tamis.indexing.read.row_groups import RowGroups
from tamis.indexing.read.snapshot import FileKeys
from tamis.indexing.storage import split_uri

_RECHECK = 1.0  # seconds
# Where each check is a request: queries then make none, with few exceptions.
_RECHECK_OBJECTS = 30.0
# Seconds until storage that did not answer is tried again: an attempt may itself take seconds.
_RETRY = 30.0
# Seconds that a query waits for storage that is not a disk, if its request does not say.
_PATIENCE = 60.0
_MAX_OPEN = 32


@dataclass(frozen=True, eq=False)
class OpenIndex:
    """An open generation of an index.

    Attributes:
        pointer: The pointer of the generation.
        files: The keys of the indexed files.
        num_records: The number of rows of every indexed file; -1 if unknown.
        statistics: The statistics of the files.
        row_groups: Their row groups.
        reading: How files were read whose rows depend on the reader; None: they are Parquet.
    """

    pointer: Pointer
    files: FileKeys
    num_records: npt.NDArray[np.int64]
    statistics: IndexStatistics | BoundStatistics
    row_groups: RowGroups | BoundRowGroups
    reading: Reading | None = None


def open_index(store: Store, cache_directory: str | None = None) -> OpenIndex:
    """Open the current generation of an index.

    Reads the pointer and, once per machine and generation, the keys of the indexed files.

    Raises:
        IndexMissing: There is no index.
        IndexUnusable: The index cannot be used.
    """
    pointer = store.pointer()
    store.prefetch(pointer)
    reading = reading_in(store, pointer)  # if it cannot be read, the index must not be used
    cache = LocalCache.of(store.uri, f"{pointer.name} {pointer.checksum}", cache_directory)
    table = cache.table("listing", lambda: _listing(store, pointer))
    release_unused_memory()
    directories = table.schema.metadata[b"directories"].decode().split("\n")
    num_records = table.column("num_records").combine_chunks().to_numpy(zero_copy_only=False)
    if len(num_records) != pointer.totals.files:
        raise store.damaged(f"{len(num_records)} files instead of {pointer.totals.files}")
    files = FileKeys(
        tuple(directories),
        table.column("group"),
        table.column("name"),
        table.column("size"),
        table.column("mtime"),
    )
    recording, unusable = None, None
    try:
        recording = recording_of(store, pointer)
    except IndexUnusable as problem:
        unusable = problem  # footer statistics do not depend on it
    statistics = IndexStatistics(
        store, pointer, cache, num_records, recording=recording, unusable=unusable
    )
    row_groups = RowGroups(store, pointer, cache, recording)
    return OpenIndex(pointer, files, num_records, statistics, row_groups, reading)


def _listing(store: Store, pointer: Pointer) -> pa.Table:
    """Return keys and row counts of the indexed files; directories are numbered as they occur."""

    def column(name: str) -> pa.Array:
        # One column at a time: decoding takes as much memory again as the column itself.
        table = store.columns(pointer, FILES, [name])
        if table.column_names != [name]:
            raise store.damaged(f"{FILES} has no {name}")
        array = plain(table.column(name))
        del table
        release_unused_memory()
        return array

    names = column("name")
    directories = column("directory").dictionary_encode()
    return pa.table(
        {
            "group": directories.indices,
            "name": names,
            "size": column("size"),
            "mtime": column("mtime"),
            "num_records": pc.fill_null(column("num_records"), -1),
        }
    ).replace_schema_metadata({"directories": "\n".join(directories.dictionary.to_pylist())})


@dataclass(frozen=True, slots=True)
class _Entry:
    store: Store | None
    stamp: Stamp | None
    outcome: OpenIndex | IndexUnusable
    checked: float
    epoch: int


class _Slot:
    """The known index of one root, and the check of it that is running.

    Attributes:
        lock: On a disk, held by the thread that is checking the index. In other storage, held only
            while the attributes are read or set.
        entry: What is known.
        running: Set when the check ends that a thread is making in other storage.
        overdue: The problem that queries reported because that check took too long.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entry: _Entry | None = None
        self.running: threading.Event | None = None
        self.overdue: IndexUnusable | None = None


class Indexes:
    """The open indexes of this process. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._slots: OrderedDict[tuple[object, ...], _Slot] = OrderedDict()
        self._lock = threading.Lock()
        self._clock = clock

    def find(
        self,
        root: str,
        location: str | None,
        settings: Mapping[str, str],
        cache_directory: str | None,
        epoch: int,
        patience: float = _PATIENCE,
    ) -> OpenIndex | IndexUnusable:
        """Return the index of a root, or why it cannot be used (IndexMissing if there is none).

        Never raises. Storage other than disks is accessed in a thread.

        Args:
            root: The directory of the table, a URL-encoded URI.
            location: See `Store.at`.
            settings: See `Store.at`.
            cache_directory: The directory of the local cache; None: that of the user.
            epoch: Counts the changes of indexes that the session has reported.
            patience: The seconds to wait for that thread. Without an answer by then, the index
                that is known from before is returned, and the next queries use the answer.
        """
        key = (root, location, cache_directory, tuple(sorted(settings.items())))
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > _MAX_OPEN:
                self._slots.popitem(last=False)
        check = partial(self._check, root, location, settings, cache_directory, epoch)
        if split_uri(location or root)[0] != "file":
            return self._find_elsewhere(slot, index_uri(root, location), check, epoch, patience)
        known = slot.entry
        if known is not None and not self._is_due(known, self._clock(), epoch):
            return known.outcome
        # Storage may be slow. Queries over other roots do not wait, nor do queries over this root
        # if there is an answer of this epoch.
        if not slot.lock.acquire(blocking=known is None or known.epoch != epoch):
            assert known is not None
            return known.outcome
        try:
            entry = slot.entry
            if entry is None or self._is_due(entry, self._clock(), epoch):
                entry = check(entry)
                slot.entry = entry
            return entry.outcome
        finally:
            slot.lock.release()

    def _find_elsewhere(
        self,
        slot: _Slot,
        uri: str,
        check: Callable[[_Entry | None], _Entry],
        epoch: int,
        patience: float,
    ) -> OpenIndex | IndexUnusable:
        """Return what `find` returns. A thread checks, so that slow storage delays few queries."""
        deadline = time.monotonic() + patience
        while True:
            with slot.lock:
                known = slot.entry
                if known is not None and not self._is_due(known, self._clock(), epoch):
                    return known.outcome
                running = slot.running
                if running is None:
                    running = threading.Event()
                    threading.Thread(
                        target=self._run, args=(slot, check), name="tamis index", daemon=True
                    ).start()
                    slot.running = running  # the thread needs the lock to end
                elif known is None and slot.overdue is not None:
                    return slot.overdue  # one query has waited for it already
            if known is not None and known.epoch == epoch:
                return known.outcome  # old, but harmless: files are matched by their times
            if not running.wait(deadline - time.monotonic()):
                break
        with slot.lock:
            if slot.entry is not None:
                return slot.entry.outcome
            slot.overdue = slot.overdue or unreachable(uri, "it does not answer in time")
            return slot.overdue

    @staticmethod
    def _run(slot: _Slot, check: Callable[[_Entry | None], _Entry]) -> None:
        entry = check(slot.entry)
        with slot.lock:
            if slot.overdue is not None and _is_unreachable(entry.outcome):
                entry = replace(entry, outcome=slot.overdue)  # one warning is enough
            else:
                slot.overdue = None
            slot.entry = entry
            assert slot.running is not None
            slot.running.set()
            slot.running = None

    def forget(self, root: str, location: str | None) -> None:
        """Check the index of a root again when it is next looked for, because it has changed."""
        with self._lock:
            for key, slot in self._slots.items():
                if key[:2] == (root, location) and slot.entry is not None:
                    slot.entry = replace(slot.entry, checked=-math.inf)

    @staticmethod
    def _is_due(entry: _Entry, now: float, epoch: int) -> bool:
        if entry.epoch != epoch:
            return True
        if entry.store is None or _is_unreachable(entry.outcome):
            return now - entry.checked >= _RETRY
        is_request = entry.store.is_in_object_store
        return now - entry.checked >= (_RECHECK_OBJECTS if is_request else _RECHECK)

    def _check(
        self,
        root: str,
        location: str | None,
        settings: Mapping[str, str],
        cache_directory: str | None,
        epoch: int,
        entry: _Entry | None,
    ) -> _Entry:
        """Return what is known of an index after `entry` was known. Never raises."""
        store = entry.store if entry is not None else None
        stamp = None
        outcome: OpenIndex | IndexUnusable
        try:
            store = store or Store.at(root, location, settings)
            stamp = store.stamp()
            if stamp is None:
                outcome = _missing(store, location)
            elif entry is not None and entry.stamp == stamp and _is_current(entry, store):
                outcome = entry.outcome
            else:
                outcome = open_index(store, cache_directory)
        except IndexUnusable as problem:
            outcome = problem
        except Exception as problem:  # storage may raise anything
            where = index_uri(root, location)
            outcome = unreachable(where, f"{type(problem).__name__}: {problem}")
        # the time after the check, so that slow storage is not checked again immediately
        return _Entry(store, stamp, outcome, self._clock(), epoch)


def _is_unreachable(outcome: OpenIndex | IndexUnusable) -> bool:
    return isinstance(outcome, IndexUnusable) and outcome.code == "index.storage_unreachable"


def _missing(store: Store, location: str | None) -> IndexUnusable:
    """Return IndexMissing, or the warning that an overwrite of the table deleted the index."""
    # an index at a separate location is not deleted by an overwrite
    if location is None and SpecificationFile.at(store.root, None, {}).exists():
        return overwritten(store.root)
    return IndexMissing("index.missing", f"no index at {store.uri}", "build one")


def _is_current(entry: _Entry, store: Store) -> bool:
    """Return whether the outcome still holds if the pointer file has the same size and time.

    It does not if the storage failed after that. On storage with times in seconds, the pointers of
    two builds may have the same time, so it is read again if the opened generation has unreadable
    data.
    """
    opened = entry.outcome
    if not isinstance(opened, OpenIndex):
        return not _is_unreachable(opened)
    if opened.statistics.problem is None:
        return True
    return store.pointer().checksum == opened.pointer.checksum
