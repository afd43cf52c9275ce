"""Indexes of files that no other index describes, built from their footers when they are planned.

    <cache>/automatic-<version>/<digest of the schema>/<digest of the root>/_index.json, …

Reading a table never writes to it: automatic indexes lie in the cache directory of the user, as
ordinary indexes with an index location. They serve all drivers of this user on this machine. Few
files are read while the query waits, others for later queries, in a process of low priority. An
automatic index describes files in addition to the index of the table, which comes first.

Files that cannot be read stay unknown, and are tried again after a while. Every error of an
automatic index means that files are unknown, and nothing else.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.errors import StatisticsIndexError
from tamis.indexing.automatic import low_priority
from tamis.indexing.automatic.file_adder import Key, Unindexed, add_files
from tamis.indexing.format.store import Store
from tamis.indexing.read.freshness import UNMATCHED, match_keys
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.snapshot import FileKeys

__all__ = ["FEW", "AutomaticIndexes", "Job", "Unindexed"]

#: The most files that are read while a query waits.
FEW: Final = 64
#: Seconds until files that could not be read, or a damaged index, are tried again; the most, if no
#: file of a table can be read; and for files that are younger than so many seconds, which may only
#: be unfinished.
_RETRY: Final = 300.0
_RAREST: Final = 6 * 3600.0
_SOON: Final = 3.0
_YOUNG: Final = 10.0
#: Seconds for which queries wait in total, until this much time has passed again.
_PATIENCE: Final = 1.0
_REFILLED: Final = 10.0
#: Seconds between notes of the use of an index.
_NOTED: Final = 86400.0
#: The most uses, and the most failed files, that this process remembers.
_TRACKED: Final = 10_000
#: The most jobs of an index that wait.
_MOST_JOBS: Final = 16


class Job:
    """Files to add to an index."""

    def __init__(self, unindexed: Unindexed) -> None:
        self._done = threading.Event()
        self._has_added = False
        self.unindexed = unindexed
        self.is_small = len(unindexed.files) <= FEW

    def __len__(self) -> int:
        return len(self.unindexed.files)

    def has(self, files: FileKeys) -> npt.NDArray[np.bool_]:
        """Return for each file whether it is one of the job."""
        rows = match_keys(files, self.unindexed.files)
        return np.ones(len(files), np.bool_) if rows is None else rows != UNMATCHED

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
        #: The jobs that wait: the small ones, and the others.
        self._queues: dict[bool, queue.SimpleQueue[Job]] = {}
        #: The jobs of each index that have not ended, in order.
        self._running: dict[Key, list[Job]] = {}
        #: When files that could not be added may be tried again, by URI and modification time; and
        #: all files of an index, if they are many.
        self._failed: dict[tuple[str, int], float] = {}
        self._delayed: dict[Key, float] = {}
        #: The last delay of each index whose files cannot be read.
        self._vain: dict[Key, float] = {}
        self._patience, self._refilled_at = _PATIENCE, clock()
        self._discarded: dict[Key, float] = {}
        self._noted: dict[Key, float] = {}
        self._lock = threading.Lock()

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

        A thread of its own runs small jobs, of at most `FEW` files, because queries may wait for
        them. Larger jobs run in a process of low priority, one at a time.

        Returns:
            The jobs that are worth waiting for: none, if all small jobs together have many files.

        Raises:
            RuntimeError: The thread cannot be started.
        """
        now = self._clock()
        jobs: list[Job | None] = []
        with self._lock:
            for each in wanted:
                if now < self._delayed.get(each.key, 0.0):
                    continue
                is_due = self._is_due(each.files, now)
                if is_due.any():
                    due = replace(each, files=each.files.take(np.flatnonzero(is_due)))
                    jobs.append(self._start(Job(due)))
            # a small job runs after all earlier ones
            unfinished = [job for of_index in self._running.values() for job in of_index]
        are_few = sum(len(job) for job in unfinished if job.is_small) <= FEW
        return [job for job in jobs if job is not None and job.is_small] if are_few else []

    def _is_due(self, files: FileKeys, now: float) -> npt.NDArray[np.bool_]:
        """Return for each file whether it may be tried, or tried again."""
        is_due = np.ones(len(files), np.bool_)
        if self._failed:
            # few files have such a time, and only these need their URI
            times = np.array([mtime for _, mtime in self._failed], np.int64)
            for file in np.flatnonzero(np.isin(files.mtime.to_numpy(), times)):
                (identity,) = _identities(files.take(np.array([file])))
                is_due[file] = now >= self._failed.get(identity, 0.0)
        return is_due

    def _start(self, job: Job) -> Job | None:
        """Start a job, or return one that has the same files. None: there are too many."""
        jobs = self._running.setdefault(job.unindexed.key, [])
        same = next((each for each in jobs if each.has(job.unindexed.files).all()), None)
        if same is None and len(jobs) < _MOST_JOBS:
            self._queue(job.is_small).put(job)
            jobs.append(job)
            return job
        return same

    def _queue(self, is_small: bool) -> queue.SimpleQueue[Job]:
        """Return the queue of small or of other jobs. A thread takes jobs from it."""
        if is_small not in self._queues:
            jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
            threading.Thread(
                target=self._work, args=(jobs,), name="tamis automatic indexes", daemon=True
            ).start()
            self._queues[is_small] = jobs
        return self._queues[is_small]

    def waiting(self, root: str, location: str) -> int:
        """Return how many files are being added to an index, or will be added next."""
        with self._lock:
            jobs = list(self._running.get((root, location), ()))
        count = 0
        for number, job in enumerate(jobs):
            earlier = [each.has(job.unindexed.files) for each in jobs[:number]]
            count += len(job) - int(np.count_nonzero(np.any(earlier, axis=0)))
        return count

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
            most = max(0.0, min(seconds, self._patience))
            self._patience -= most  # other queries cannot wait for the same time
        added = [job.wait(started + most - self._clock()) for job in jobs]
        with self._lock:
            self._patience += max(0.0, most - (self._clock() - started))
        return any(added)

    def _work(self, jobs: queue.SimpleQueue[Job]) -> None:
        while True:
            self._run(jobs.get())  # which keeps no reference to the job
            release_unused_memory()

    def _run(self, job: Job) -> None:
        key = job.unindexed.key
        described, missed = 0, job.unindexed.files
        with suppress(Exception):  # whatever happens, the files stay unknown
            act = add_files if job.is_small else low_priority.add_files
            described, missed = act(job.unindexed)
        with suppress(Exception):
            if described:
                self._changed(*key)
        is_vain = not described and not _exists(*key)
        with self._lock:
            self._note_missed(key, missed, is_vain)
            self._running[key].remove(job)
            if not self._running[key]:
                del self._running[key]
        job.finish(described > 0)

    def _note_missed(self, key: Key, missed: FileKeys, is_vain: bool) -> None:
        """Note files that shall not be tried again soon.

        Args:
            key: The index.
            missed: The files.
            is_vain: Whether no file of the table could be read so far. This process tries such
                tables ever more rarely.
        """
        now, wall = self._clock(), time.time() * 1000
        # the clock of the storage may be ahead
        is_young = np.abs(wall - missed.mtime.to_numpy()) < _YOUNG * 1000
        if not is_vain:
            self._vain.pop(key, None)
        elif len(missed) and not is_young.any():
            if len(self._vain) >= _TRACKED:
                self._vain.clear()
            self._vain[key] = min(2 * self._vain.get(key, _RETRY / 2), _RAREST)
            self._delayed[key] = now + self._vain[key]
            return
        if len(missed) > _TRACKED // 10:
            self._delayed[key] = now + (_SOON if is_young.any() else _RETRY)
            return
        if len(self._failed) + len(missed) > _TRACKED:
            self._failed.clear()
        due = (now + np.where(is_young, _SOON, _RETRY)).tolist()
        self._failed.update(zip(_identities(missed), due, strict=True))


def _exists(root: str, location: str) -> bool:
    """Return whether there is an index."""
    try:
        return Store.at(root, location, {}).current() is not None
    except (OSError, StatisticsIndexError):
        return False


def _identities(files: FileKeys) -> list[tuple[str, int]]:
    """Return URI and modification time of each file."""
    return list(zip(files.uris(), files.mtime.to_pylist(), strict=True))
