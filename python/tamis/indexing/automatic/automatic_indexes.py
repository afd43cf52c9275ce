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

import hashlib
import os
import queue
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import numpy as np
import platformdirs

from tamis._version import __version__
from tamis.errors import StatisticsIndexError
from tamis.indexing.automatic.local_footers import portions, read_footers, readable
from tamis.indexing.build.current_index import reusable_rows
from tamis.indexing.build.generation import Generation, pointer_to
from tamis.indexing.build.segments import append
from tamis.indexing.executor.columns_schema import leaves_of
from tamis.indexing.format.layout import FORMAT, Segment
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.cache import private_directory
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.snapshot import FileKeys

__all__ = ["FEW", "AutomaticIndexes", "Job", "Unindexed", "location_of"]

#: The most files that are read while a query waits.
FEW: Final = 64
#: Seconds until files that could not be read, or a damaged index, are tried again; and files that
#: are younger than so many seconds, which may only be unfinished.
_RETRY: Final = 300.0
_SOON: Final = 3.0
_YOUNG: Final = 10.0
#: Files of an index for each file that may be in it, after which it starts again without files that
#: are gone.
_GROWTH: Final = 3
#: Days without use after which an automatic index is removed, and seconds between notes of its use.
_UNUSED: Final = 30.0
_NOTED: Final = 86400.0
#: Noted uses and failed files of which this process keeps track.
_TRACKED: Final = 10_000

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Unindexed:
    """Files that no index describes.

    Attributes:
        root: The directory of the table, a URL-encoded URI.
        location: Where automatic indexes of this schema are: see `location_of`.
        schema: Spark's JSON of the data columns.
        partition_schema: Spark's JSON of the partition columns.
        case_sensitive: Whether column names are case-sensitive.
        files: The files.
        max_files: The most files of one table.
        settings: The `fs.*` settings of the storage.
    """

    root: str
    location: str
    schema: str
    partition_schema: str
    case_sensitive: bool
    files: FileKeys
    max_files: int
    settings: Mapping[str, str]

    @property
    def key(self) -> Key:
        return self.root, self.location


def location_of(
    cache_directory: str | None, schema: str, partition_schema: str, case_sensitive: bool
) -> str | None:
    """Return the location of automatic indexes of tables with a schema, as a URI.

    None: the directory cannot be used. An index of another schema would lack columns, so each
    schema has its own.
    """
    base = Path(cache_directory or platformdirs.user_cache_dir("tamis"))
    text = "\n".join([schema, partition_schema, str(case_sensitive)])
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        directory = private_directory(base, f"automatic-{__version__}-{FORMAT}", digest)
        return None if directory is None else "file:" + quote(str(directory.resolve()))
    except (OSError, UnicodeError):
        return None


class Job:
    """Files that the thread of automatic indexes reads."""

    def __init__(self, unindexed: Unindexed) -> None:
        self._done = threading.Event()
        self._has_added = False
        self._is_slow = False
        self.unindexed = unindexed

    def wait(self, seconds: float) -> bool:
        """Return whether files were added within this time. A slow job is waited for only once."""
        if self._is_slow:
            return False
        self._is_slow = not self._done.wait(max(seconds, 0.0))
        return not self._is_slow and self._has_added

    def finish(self, has_added: bool) -> None:
        self._has_added = has_added
        self._done.set()


class AutomaticIndexes:
    """Builds automatic indexes. Thread-safe.

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._running: dict[Key, Job] = {}
        #: When files that could not be added may be tried again, by URI and modification time.
        self._failed: dict[tuple[str, int], float] = {}
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
            The jobs that are worth waiting for: they have few files, and there are no other jobs.

        Raises:
            RuntimeError: The thread cannot be started.
        """
        now = self._clock()
        with self._lock:
            jobs = {
                each.key: self._running.get(each.key) or Job(each)
                for each in wanted
                if any(now >= self._failed.get(file, 0.0) for file in _identities(each.files))
            }
            if not jobs:
                return []
            if self._thread is None:
                thread = threading.Thread(
                    target=self._work, name="tamis automatic indexes", daemon=True
                )
                thread.start()
                self._thread = thread
            for key, job in jobs.items():
                if key not in self._running:
                    self._running[key] = job
                    self._jobs.put(job)
            are_alone = self._running.keys() <= jobs.keys()
        files = sum(len(job.unindexed.files) for job in jobs.values())
        return list(jobs.values()) if are_alone and files <= FEW else []

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            missed = wanted = job.unindexed.files
            with suppress(Exception):  # whatever happens, the files stay unknown
                missed = _add(job.unindexed)
            with self._lock:
                if len(self._failed) + len(missed) > _TRACKED:
                    self._failed.clear()
                now, latest = self._clock(), (time.time() - _YOUNG) * 1000
                for file in _identities(missed)[:_TRACKED]:
                    self._failed[file] = now + (_SOON if file[1] > latest else _RETRY)
                del self._running[job.unindexed.key]
            job.finish(len(missed) < len(wanted))
            release_unused_memory()


def _identities(files: FileKeys) -> list[tuple[str, int]]:
    """Return URI and modification time of each file."""
    return list(zip(files.uris(), files.mtime.to_pylist(), strict=True))


def _add(wanted: Unindexed) -> FileKeys:
    """Read the footers of files and commit them; return the files that could not be read.

    Raises:
        Exception: The index cannot be written. What was committed before stays.
    """
    store = Store.at(wanted.root, wanted.location, {})
    leaves = leaves_of(wanted.schema)
    pointer = store.current()
    files = wanted.files
    if pointer is not None and pointer.totals.files > _GROWTH * max(wanted.max_files, FEW):
        store.drop()
        pointer = None
    if pointer is not None:
        try:
            # another process may have added some
            files = files.take(np.flatnonzero(reusable_rows(files, store, pointer) < 0))
        except IndexUnusable:
            store.drop()
            pointer = None
    if pointer is None:
        _remove_unused(Path(store.path).parent.parent)
    missed = []
    start = 0
    for some in portions(files, len(leaves)):
        tables = read_footers(some, leaves, wanted.case_sensitive, wanted.settings)
        missed += (start + np.flatnonzero(tables[0].column("num_records").is_null())).tolist()
        start += len(some)
        content = readable(some, leaves, *tables)
        if not content.totals.files:
            continue
        segment = store.write_segment(content.files, content.row_groups)
        replaced = None if pointer is None else append(store, pointer, segment, content)
        if replaced is None:
            replaced = store.current()
            _commit(store, wanted, segment, content)
        store.remove_old_segments(replaced)
        pointer = store.pointer()
        release_unused_memory()
    return files.take(np.array(missed, np.int64))


def _commit(store: Store, wanted: Unindexed, segment: Segment, content: Generation) -> None:
    """Commit an index of one segment."""
    store.commit(
        pointer_to(
            segment,
            content,
            wanted.root,
            wanted.schema,
            wanted.partition_schema,
            wanted.case_sensitive,
        )
    )


def _remove_unused(base: Path) -> None:
    """Remove automatic indexes that no query has used for a long time."""
    limit = time.time() - _UNUSED * 86400
    for index in base.glob("*/*"):
        try:
            if index.stat().st_mtime < limit:
                shutil.rmtree(index)
                index.parent.rmdir()  # fails if it has other indexes
        except OSError:
            continue
