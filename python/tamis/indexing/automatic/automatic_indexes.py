"""Indexes of files that no other index describes, built from their footers when they are planned.

    <cache>/automatic-<version>/<digest of the schema>/<digest of the root>/_index.json, …

Reading a table never writes to it: automatic indexes lie in the cache directory of the user, as
ordinary indexes with an index location. They serve all drivers of this user on this machine. Few
files are read while the query waits, others in a thread, for later queries. An automatic index
describes files in addition to the index of the table, which comes first.

Files that cannot be read stay unknown, and are tried again after a while. Every error of an
automatic index means that files are unknown, and nothing else.
"""

from __future__ import annotations

import os
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import StatisticsIndexError
from tamis.indexing.automatic.local_footers import read_footers, readable
from tamis.indexing.build.current_index import reusable_rows
from tamis.indexing.build.generation import Generation, pointer_to
from tamis.indexing.build.segments import append
from tamis.indexing.executor.columns_schema import Leaf, leaves_of
from tamis.indexing.format.layout import Segment
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.snapshot import FileKeys, canonical

__all__ = ["FEW", "AutomaticIndexes", "Job", "Unindexed"]

#: The most files that are read while a query waits.
FEW: Final = 64
#: Seconds until files that could not be read, or a damaged index, are tried again; and files that
#: are younger than so many seconds, which may only be unfinished.
_RETRY: Final = 300.0
_SOON: Final = 3.0
_YOUNG: Final = 10.0
#: Files after which an index starts again, because most of them may be gone.
_MOST_FILES: Final = 1_000_000
#: Footers that are read together at first, the row groups times columns whose statistics are in
#: memory at a time (about 1 KB each), and the files that are committed together.
_FIRST: Final = 16
_CELLS: Final = 30_000
_COMMITTED: Final = 2000
#: Seconds for which queries wait in total, until this much time has passed again.
_PATIENCE: Final = 1.0
_REFILLED: Final = 10.0
#: Days without use after which an automatic index is removed, and seconds between notes of its use.
_UNUSED: Final = 30.0
_NOTED: Final = 86400.0
#: The most uses, and the most failed files, that this process remembers.
_TRACKED: Final = 10_000
#: The most jobs of an index that wait.
_MOST_JOBS: Final = 16
#: The partition columns of an automatic index: it serves tables that see them differently.
_NO_COLUMNS: Final = '{"type":"struct","fields":[]}'

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Unindexed:
    """Files that no index describes.

    Attributes:
        root: The directory of the table, a URL-encoded URI.
        location: Where automatic indexes of this schema are: see `automatic_location`.
        schema: Spark's JSON of the data columns.
        case_sensitive: Whether column names are case-sensitive.
        files: The files.
        settings: The `fs.*` settings of the storage.
    """

    root: str
    location: str
    schema: str
    case_sensitive: bool
    files: FileKeys
    settings: Mapping[str, str]

    @property
    def key(self) -> Key:
        return self.root, self.location


class Job:
    """Files that the thread of automatic indexes reads."""

    def __init__(self, unindexed: Unindexed) -> None:
        self._done = threading.Event()
        self._has_added = False
        self.unindexed = unindexed
        self.uris = frozenset(unindexed.files.uris())

    def wait(self, seconds: float) -> bool:
        """Return whether files were added within this time."""
        return self._done.wait(max(seconds, 0.0)) and self._has_added

    def finish(self, has_added: bool) -> None:
        self._has_added = has_added
        self._done.set()


class AutomaticIndexes:
    """Builds automatic indexes. Thread-safe.

    Args:
        changed: Called with the root and the location of an index after files were added to it.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        changed: Callable[[str, str], None] = lambda root, location: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._changed = changed
        self._clock = clock
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        #: The jobs of each index that have not ended, in order.
        self._running: dict[Key, list[Job]] = {}
        #: When files that could not be added may be tried again, by URI and modification time; and
        #: all files of an index, if they are many.
        self._failed: dict[tuple[str, int], float] = {}
        self._delayed: dict[Key, float] = {}
        self._patience, self._refilled_at = _PATIENCE, clock()
        self._discarded: dict[Key, float] = {}
        self._noted: dict[Key, float] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def note_use(self, root: str, location: str) -> None:
        """Note that a query uses an index, so that it is not removed."""
        now = self._clock()
        if now - self._noted.get((root, location), -_NOTED) < _NOTED:
            return
        if len(self._noted) >= _TRACKED:
            self._noted.clear()
        self._noted[root, location] = now
        try:
            os.utime(Store.at(root, location, {}).path)
        except (OSError, StatisticsIndexError):
            return  # it does not exist yet

    def discard(self, root: str, location: str, checksum: int) -> None:
        """Remove a damaged index, which is then built again.

        Args:
            root: The directory of the table.
            location: The location of the index.
            checksum: That of its pointer. Another index, which replaced it, stays.
        """
        key, now = (root, location), self._clock()
        if now < self._discarded.get(key, 0.0):
            return
        self._discarded[key] = now + _RETRY
        try:
            store = Store.at(root, location, {})
            pointer = store.current()
            if pointer is None or pointer.checksum == checksum:
                store.drop()
        except (OSError, StatisticsIndexError):
            return

    def add(self, wanted: Sequence[Unindexed]) -> list[Job]:
        """Let indexes describe files, in a thread.

        Returns:
            The jobs that are worth waiting for: none, if all jobs together have many files.

        Raises:
            RuntimeError: The thread cannot be started.
        """
        now = self._clock()
        jobs: list[Job | None] = []
        with self._lock:
            for each in wanted:
                if now < self._delayed.get(each.key, 0.0):
                    continue
                is_due = [now >= self._failed.get(f, 0.0) for f in _identities(each.files)]
                if any(is_due):
                    due = replace(each, files=each.files.take(np.flatnonzero(is_due)))
                    jobs.append(self._start(Job(due)))
            # a job runs after all earlier ones
            unfinished = [job for of_index in self._running.values() for job in of_index]
        are_few = sum(len(job.uris) for job in unfinished) <= FEW
        return [job for job in jobs if job is not None] if are_few else []

    def _start(self, job: Job) -> Job | None:
        """Start a job, or return one that has the same files. None: there are too many."""
        if self._thread is None:
            thread = threading.Thread(
                target=self._work, name="tamis automatic indexes", daemon=True
            )
            thread.start()
            self._thread = thread
        jobs = self._running.setdefault(job.unindexed.key, [])
        same = next((each for each in jobs if job.uris <= each.uris), None)
        if same is None and len(jobs) < _MOST_JOBS:
            jobs.append(job)
            self._jobs.put(job)
            return job
        return same

    def wait(self, jobs: Sequence[Job], seconds: float) -> bool:
        """Wait for jobs; return whether one has added files.

        Args:
            jobs: The jobs.
            seconds: The most time to wait. All queries together wait at most a second in ten.
        """
        started = self._clock()
        with self._lock:
            passed = started - self._refilled_at
            self._patience = min(_PATIENCE, self._patience + passed * _PATIENCE / _REFILLED)
            self._refilled_at = started
            deadline = started + min(seconds, self._patience)
        added = [job.wait(deadline - self._clock()) for job in jobs]
        with self._lock:
            self._patience -= self._clock() - started
        return any(added)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            key = job.unindexed.key
            described, missed = 0, job.unindexed.files
            with suppress(Exception):  # whatever happens, the files stay unknown
                described, missed = _add(job.unindexed)
            with self._lock:
                self._note_missed(key, missed)
                self._running[key].remove(job)
                if not self._running[key]:
                    del self._running[key]
            if described:
                self._changed(*key)
            job.finish(described > 0)
            release_unused_memory()

    def _note_missed(self, key: Key, missed: FileKeys) -> None:
        """Note files that shall not be tried again soon."""
        now, wall = self._clock(), time.time() * 1000
        # the clock of the storage may be ahead
        due = {
            file: now + (_SOON if abs(wall - file[1]) < _YOUNG * 1000 else _RETRY)
            for file in _identities(missed)
        }
        if len(due) > _TRACKED // 10:
            self._delayed[key] = min(due.values())
            return
        if len(self._failed) + len(due) > _TRACKED:
            self._failed.clear()
        self._failed.update(due)


def _identities(files: FileKeys) -> list[tuple[str, int]]:
    """Return URI and modification time of each file."""
    return list(zip(files.uris(), files.mtime.to_pylist(), strict=True))


def _add(wanted: Unindexed) -> tuple[int, FileKeys]:
    """Read the footers of files and commit them.

    Returns:
        How many of the files the index describes now, and those that could not be read.

    Raises:
        Exception: The index cannot be written. What was committed before stays.
    """
    store = Store.at(wanted.root, wanted.location, {})
    pointer = store.current()
    files = replace(wanted.files, directories=tuple(map(canonical, wanted.files.directories)))
    if pointer is not None and pointer.totals.files > _MOST_FILES:
        store.drop()
        pointer = None
    if pointer is not None:
        try:
            # another process may have added some
            files = files.take(np.flatnonzero(reusable_rows(files, store, pointer) < 0))
        except IndexUnusable as problem:
            if problem.code != "index.damaged":
                raise
            store.drop()
            pointer = None
    if pointer is None:
        _remove_unused(Path(store.path).parent.parent.parent)
    leaves = leaves_of(wanted.schema)
    missed: list[int] = []
    for start, stop, tables in _footers(wanted, files, leaves):
        unread = np.flatnonzero(tables[0].column("num_records").is_null())
        missed += (start + unread).tolist()
        if len(unread) == stop - start:
            continue
        content = readable(files.take(np.arange(start, stop)), leaves, *tables)
        segment = store.write_segment(content.files, content.row_groups)
        replaced = None if pointer is None else append(store, pointer, segment, content)
        if replaced is None:
            replaced = store.current()
            _commit(store, wanted, segment, content)
        store.remove_old_segments(replaced)
        pointer = store.pointer()
    return len(wanted.files) - len(missed), files.take(np.array(missed, np.int64))


def _footers(
    wanted: Unindexed, files: FileKeys, leaves: Sequence[Leaf]
) -> Iterator[tuple[int, int, tuple[pa.Table, pa.Table]]]:
    """Yield the first and the last file, and the statistics, of files that are committed together.

    Fewer are read together, because reading takes more memory than the result.
    """
    first = start = 0
    size = _FIRST
    read: list[tuple[pa.Table, pa.Table]] = []
    while start < len(files):
        stop = min(start + size, first + _COMMITTED, len(files))
        some = files.take(np.arange(start, stop))
        statistics, groups = read_footers(some, leaves, wanted.case_sensitive, wanted.settings)
        owner = pc.add(groups.column("file"), start - first)
        read.append((statistics, groups.set_column(0, "file", owner)))
        cells = max(1, len(groups) * len(leaves))
        size = max(_FIRST, min(_COMMITTED, _CELLS * (stop - start) // cells))
        start = stop
        release_unused_memory()
        if start == len(files) or start - first == _COMMITTED:
            all_statistics, all_groups = zip(*read, strict=True)
            yield first, start, (pa.concat_tables(all_statistics), pa.concat_tables(all_groups))
            first, read = start, []


def _commit(store: Store, wanted: Unindexed, segment: Segment, content: Generation) -> None:
    """Commit an index of one segment."""
    store.commit(
        pointer_to(
            segment,
            content,
            wanted.root,
            wanted.schema,
            _NO_COLUMNS,
            wanted.case_sensitive,
        )
    )


def _remove_unused(cache: Path) -> None:
    """Remove automatic indexes, of any version, that no query has used for a long time."""
    limit = time.time() - _UNUSED * 86400
    for index in cache.glob("automatic-*/*/*"):
        try:
            if index.stat().st_mtime < limit:
                shutil.rmtree(index)
                index.parent.rmdir()  # fails if it has other indexes
        except OSError:
            continue
