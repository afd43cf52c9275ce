"""Open the files of a scan: its listing, and the statistics known about the files.

No problem of an index is an error here. It becomes a warning, and for the files of that index only
the partition values of their directories are used.
"""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.types import DataType
from tamis.files.segments import Segment
from tamis.indexing.automatic.automatic_indexes import AutomaticIndexes, Unindexed
from tamis.indexing.format.layout import index_uri
from tamis.indexing.problems import IndexMissing, IndexUnusable
from tamis.indexing.read import freshness
from tamis.indexing.read.automatic_location import has_maintained, location_of, maintained_location
from tamis.indexing.read.command_options import command_options
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.open_indexes import Indexes, OpenIndex
from tamis.indexing.read.reader_options import DELTA, reading_of
from tamis.indexing.read.snapshot import FileKeys, Snapshot, open_snapshot, snapshot_path
from tamis.recent import Recent
from tamis.tables.bound_indexes import BoundIndexes
from tamis.tables.file_matches import Match, matched
from tamis.tables.index_problems import other_case, other_reading, target_of
from tamis.tables.indexed_records import with_records
from tamis.tables.partitions import DirectoryStatistics, FileStatistics
from tamis.tables.recorded import RecordedFiles, RecordedTables
from tamis.tables.roots import (
    MOST_ROOTS,
    automatic_roots,
    candidates,
    is_below,
    maintained_roots,
    tables_above,
    tables_of,
)
from tamis.tables.scan_input import ScanInput
from tamis.wire.messages import OpenIndexesRequest, WrittenFilesRequest
from tamis.wire.scans import ScanRequest
from tamis.wire.scans import Snapshot as SnapshotOfFiles

_MAX_SNAPSHOTS = 16
_MAX_MATCHES = 16
# Files of all matches together. A match takes about 16 bytes per file.
_MAX_MATCHED_FILES = 3_000_000

_Named = tuple[Snapshot, tuple[OpenIndex, ...]]


class ParquetTables:
    """The snapshots and indexes that are open in this process. Thread-safe."""

    def __init__(self, indexes: Indexes | None = None) -> None:
        self._indexes = indexes or Indexes()
        self._automatic_open = Indexes()
        self._maintained_open = Indexes()
        self._automatic = AutomaticIndexes(self._automatic_open.forget)
        self._recorded = RecordedTables()
        self._bound = BoundIndexes()
        self._snapshots = Recent[Snapshot](_MAX_SNAPSHOTS)
        # The key contains ids of objects, so the entry keeps these objects alive with the match.
        self._matches = Recent[tuple[Match, _Named]](_MAX_MATCHED_FILES, _size)
        self._lock = threading.Lock()

    def open_scan(self, request: ScanRequest) -> ScanInput:
        """Open the files of a request.

        Raises:
            OSError: The snapshot does not exist or cannot be read.
            ValueError: The snapshot has another number of files than the request.
        """
        snapshot = self.listed(request.snapshot)
        recorded = self._recorded.find(request, snapshot)
        if recorded is not None:
            return self._recorded_scan(request, snapshot, recorded)
        indexes, problems = self.usable_indexes(request, snapshot)
        automatic = self._automatic_indexes(request, snapshot)
        match = self._match(snapshot, (*indexes, *automatic))
        partitions = _partitions(request, snapshot)
        group = snapshot.group
        segments = [
            Segment(
                part.ordinals,
                FileStatistics(
                    partitions,
                    group[part.ordinals],
                    part.statistics,
                    part.index is not None
                    and part.index.statistics.is_recorded_over(partitions.types),
                ),
            )
            for part in match.parts
        ]
        return ScanInput(
            segments,
            match.parts,
            match.num_records,
            match.total_records,
            problems,
            indexes,
            partitions,
            group,
            snapshot.files.size,
            tables_of(request.table.roots, snapshot, indexes),
            automatic,
            match.derived,
        )

    def _recorded_scan(
        self, request: ScanRequest, snapshot: Snapshot, recorded: RecordedFiles
    ) -> ScanInput:
        """Return the files of a table format, with what the format and an index know about them."""
        indexes, problems = self._indexes_of_format(request)
        match = self._match(recorded.listing, indexes)
        described = np.full(len(snapshot.files), -1)
        if match.num_records is not None:
            described = match.num_records
        # the index counts the rows that were written, and the format those that are left
        is_whole = (described >= 0) & (described == recorded.num_records)
        found = match.with_records(lambda part: with_records(part, recorded, is_whole))
        partitions, group = _partitions(request, snapshot), snapshot.group
        shadowed = any(index.statistics.is_recorded_over(partitions.types) for index in indexes)
        if recorded.problem is not None:
            problems = (recorded.problem, *problems)
        return ScanInput(
            [
                Segment(
                    part.ordinals,
                    FileStatistics(partitions, group[part.ordinals], statistics, shadowed),
                )
                for part, statistics in found
            ],
            [part for part, _ in found],
            recorded.num_records,
            recorded.total_records,
            problems,
            indexes,
            partitions,
            group,
            snapshot.files.size,
            frozenset(request.table.roots),
            derived=match.derived if indexes else recorded.derived,
            is_recorded=True,
        )

    def _indexes_of_format(
        self, request: ScanRequest
    ) -> tuple[tuple[OpenIndex, ...], tuple[IndexUnusable, ...]]:
        """Return the index of a table of a format, or why it cannot be used."""
        options, cache = request.index, request.cache_directory
        location = options.location
        if location is None and has_maintained(cache):
            location = maintained_location(cache)
        if not options.enabled or location is None or len(request.table.roots) != 1:
            return (), ()
        (root,) = request.table.roots
        if location != options.location:
            self._automatic.note_use(root, location)
        patience = options.patience_ms / 1000
        outcome = self._indexes.find(
            root, location, request.storage, cache, options.epoch, patience
        )
        if isinstance(outcome, IndexMissing):
            return (), ()
        if not isinstance(outcome, OpenIndex):
            fix = f"rebuild it: tamis.index(spark, {target_of(request)}).build()"
            return (), (outcome.fixed_by(fix),)
        delta = request.delta
        if delta is not None and outcome.reading is not None and outcome.reading.format != DELTA:
            return (), ()  # an index of other files in this directory
        if outcome.pointer.case_sensitive != request.table.case_sensitive:
            return (), (other_case(root, location, request.table.case_sensitive, None),)
        if delta is not None and delta.column_mapping == "none" and outcome.reading is None:
            return (outcome,), ()  # its columns have their names in all files
        bound = self._bound.bound(outcome, request)
        return ((bound,), ()) if isinstance(bound, OpenIndex) else ((), (bound,))

    def open_ahead(self, request: OpenIndexesRequest) -> None:
        """Open the indexes of the roots of a table, so that the next request finds them open.

        Never raises. A request that comes earlier waits until its index is open.
        """
        options, cache, roots = request.index, request.cache_directory, request.table.roots
        if not options.enabled or len(roots) > MOST_ROOTS:
            return
        wanted, cached = options.automatic, None
        if wanted is not None:
            cached = location_of(cache, wanted.schema, request.table.case_sensitive)
        for root in roots:
            tables = [*tables_above(root.rstrip("/"))]
            for table in tables:
                outcome = self._indexes.find(
                    table, options.location, request.storage, cache, options.epoch
                )
                if not isinstance(outcome, IndexMissing):
                    break
            if cached is not None:
                self._automatic_open.find(tables[-1], cached, {}, cache, options.epoch)

    def listed(self, of: SnapshotOfFiles) -> Snapshot:
        """Return the listing of a request.

        Raises:
            OSError, ValueError: It cannot be read.
        """
        directory, fingerprint = of.directory, of.fingerprint
        # If the file was written again, it is another one.
        status = os.stat(snapshot_path(directory, fingerprint, "groups"))
        key = (directory, fingerprint, status.st_ino, status.st_mtime_ns, status.st_size)

        def opened() -> Snapshot:
            snapshot = open_snapshot(directory, fingerprint)
            if len(snapshot.files) != of.files:
                raise ValueError(
                    f"the snapshot {fingerprint} holds {len(snapshot.files)} files instead of "
                    f"{of.files}"
                )
            return snapshot

        with self._lock:
            return self._snapshots.get_or(key, opened)

    def usable_indexes(
        self, request: ScanRequest, snapshot: Snapshot
    ) -> tuple[tuple[OpenIndex, ...], tuple[IndexUnusable, ...]]:
        """Return the indexes that describe files of a snapshot, and why others cannot be used.

        Files are matched later by path, size and modification time, because an index may be stale.
        The runs of Spark's own test suites override this method to index tables when they are read.
        """
        usable: dict[int, OpenIndex] = {}
        problems: list[IndexUnusable] = []
        options = request.index
        if not options.enabled:
            return (), ()
        reading = None if request.reading is None else reading_of(request.reading)
        deadline = time.monotonic() + options.patience_ms / 1000
        for root in request.table.roots:
            for candidate in candidates(root, snapshot):
                outcome = self._indexes.find(
                    candidate,
                    options.location,
                    request.storage,
                    request.cache_directory,
                    options.epoch,
                    max(0.0, deadline - time.monotonic()),
                )
                if isinstance(outcome, IndexMissing):
                    continue
                if isinstance(outcome, OpenIndex):
                    if (outcome.reading is None) != (reading is None):
                        continue  # an index of other files in this directory: Parquet or not
                    if outcome.pointer.case_sensitive != request.table.case_sensitive:
                        now = request.table.case_sensitive
                        problems.append(other_case(candidate, options.location, now, reading))
                    elif outcome.reading != reading:
                        where = index_uri(candidate, options.location)
                        root = outcome.pointer.root
                        problems.append(other_reading(root, where, outcome.reading, reading))
                    else:
                        usable[id(outcome)] = outcome
                else:
                    problems.append(outcome.reading_with(command_options(reading)))
                break
        return tuple(usable.values()), tuple(problems)

    def _automatic_indexes(self, request: ScanRequest, snapshot: Snapshot) -> tuple[OpenIndex, ...]:
        """Return the indexes in the cache directory that describe files of a request.

        Those of maintenance come first, because they may have row statistics. An index that cannot
        be used is ignored.
        """
        usable: dict[int, OpenIndex] = {}
        for roots, location in maintained_roots(request, snapshot):
            for root in roots:
                index = self._cached_index(self._maintained_open, request, root, location)
                if index is not None:
                    if index.pointer.case_sensitive == request.table.case_sensitive:
                        usable[id(index)] = index
                    break
        for root, location in automatic_roots(request, snapshot).values():
            index = self._cached_index(self._automatic_open, request, root, location)
            if index is not None:
                usable[id(index)] = index
        return tuple(usable.values())

    def _cached_index(
        self, indexes: Indexes, request: ScanRequest, root: str, location: str
    ) -> OpenIndex | None:
        """Return an index in the cache directory. Removes it if it is damaged."""
        self._automatic.note_use(root, location)
        outcome = indexes.find(root, location, {}, request.cache_directory, request.index.epoch)
        if not isinstance(outcome, OpenIndex) or outcome.reading is not None:
            return None
        problems = [each.problem for each in (outcome.statistics, outcome.row_groups)]
        if any(each is not None and each.code == "index.damaged" for each in problems):
            self._automatic.discard(root, location, outcome.pointer.checksum)
            indexes.forget(root, location)
            return None
        return outcome

    def index_files(self, request: ScanRequest, scan: ScanInput, kept: Flags) -> bool:
        """Let automatic indexes describe the kept files that no index describes.

        Waits for few files, and not for long.

        Returns:
            Whether some are described now.
        """
        wanted = request.index.automatic
        unknown = np.zeros(len(kept), bool)
        for part in scan.parts:
            if part.index is None:
                unknown[part.ordinals] = True
        unknown &= kept
        if wanted is None or not unknown.any():
            return False
        snapshot = self.listed(request.snapshot)
        ordinals = np.flatnonzero(unknown & freshness.has_time(snapshot.files))
        if not 0 < len(ordinals) <= wanted.max_files:
            return False
        below: dict[tuple[str, str], Flags] = {}  # which files each automatic index describes
        for root, automatic in automatic_roots(request, snapshot).items():
            inside = is_below(root, snapshot)
            below[automatic] = below[automatic] | inside if automatic in below else inside
        unindexed = [
            Unindexed(
                table_root,
                location,
                wanted.schema,
                request.table.case_sensitive,
                snapshot.files.take(ordinals[inside[ordinals]]),
                request.storage,
            )
            for (table_root, location), inside in below.items()
        ]
        jobs = self._automatic.add([each for each in unindexed if len(each.files)])
        return self._automatic.wait(jobs, wanted.patience_ms / 1000)

    def index_written_files(self, request: WrittenFilesRequest) -> None:
        """Let an automatic index describe files that a query has written, in the background.

        Raises:
            ValueError: The lists of the request do not have the same length.
        """
        location = location_of(request.cache_directory, request.schema, request.case_sensitive)
        columns = {
            "group": pa.array(request.group, pa.int32()),
            "name": pa.array(request.name, pa.string()),
            "size": pa.array(request.size, pa.int64()),
            "mtime": pa.array(request.mtime, pa.int64()),
        }
        files = FileKeys(tuple(request.directories), *pa.table(columns).columns)
        files = files.take(np.flatnonzero(freshness.has_time(files)))
        if location is not None and len(files):
            table = [*tables_above(request.root.rstrip("/"))][-1]
            unindexed = Unindexed(
                table, location, request.schema, request.case_sensitive, files, request.storage
            )
            self._automatic.add([unindexed])

    def waiting_files(self, root: str, location: str) -> int:
        """Return how many files wait for an automatic index."""
        return self._automatic.waiting(root, location)

    def _match(self, snapshot: Snapshot, indexes: tuple[OpenIndex, ...]) -> Match:
        key = (id(snapshot), *(id(index) for index in indexes))

        def made() -> tuple[Match, _Named]:
            match = matched(snapshot, indexes)
            # Release the memory that opening and matching needed.
            release_unused_memory()
            return match, (snapshot, indexes)

        with self._lock:
            return self._matches.get_or(key, made)[0]


def _size(entry: tuple[Match, _Named]) -> int:
    _, (snapshot, _) = entry
    return max(len(snapshot.files), _MAX_MATCHED_FILES // _MAX_MATCHES)


def _partitions(request: ScanRequest, snapshot: Snapshot) -> DirectoryStatistics:
    table = request.table
    return DirectoryStatistics(
        len(snapshot.files.directories),
        snapshot.partitions,
        {column.name: DataType.parse(column.type) for column in table.partition_columns},
        table.case_sensitive,
    )


_open = ParquetTables()


def use_tables(tables: ParquetTables) -> None:
    """Use these tables for all further requests of this process."""
    global _open
    _open = tables


def listed_files(of: SnapshotOfFiles) -> FileKeys:
    """Return the keys of the files of a listing: see `ParquetTables.listed`."""
    return _open.listed(of).files


def index_files(request: ScanRequest, scan: ScanInput, kept: Flags) -> bool:
    """Let automatic indexes describe kept files: see `ParquetTables.index_files`. Never raises."""
    try:
        return _open.index_files(request, scan, kept)
    except Exception:  # such as a thread that cannot be started: the files stay unknown
        return False


def open_ahead(request: OpenIndexesRequest) -> None:
    """Open the indexes of a table: see `ParquetTables.open_ahead`."""
    _open.open_ahead(request)


def index_written_files(request: WrittenFilesRequest) -> None:
    """Let an automatic index describe files: see `ParquetTables.index_written_files`."""
    _open.index_written_files(request)


def waiting_files(root: str, location: str) -> int:
    """Return how many files wait for an automatic index: see `ParquetTables.waiting_files`."""
    return _open.waiting_files(root, location)


def open_scan(request: ScanRequest) -> ScanInput:
    """Open the files of a request, with what is known about each.

    An index that cannot be used is a warning. Read `warnings` after the scan was decided.

    Raises:
        OSError: The snapshot of the listing does not exist or cannot be read.
        ValueError: The snapshot of the listing cannot be read or does not fit the request.
    """
    return _open.open_scan(request)
