"""Open the files of a scan: its listing, and the statistics known about the files.

No problem of an index is an error here. It becomes a warning, and for the files of that index only
the partition values of their directories are used.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.statistics import Statistics
from tamis.expr.types import DataType
from tamis.files.segments import Segment
from tamis.indexing.automatic.automatic_indexes import AutomaticIndexes, Unindexed
from tamis.indexing.format.layout import index_uri
from tamis.indexing.problems import (
    IndexMissing,
    IndexUnusable,
    other_names,
    refresh_command,
)
from tamis.indexing.read import freshness
from tamis.indexing.read.automatic_location import (
    has_maintained,
    location_of,
    maintained_location,
)
from tamis.indexing.read.command_options import command_options
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.open_indexes import Indexes, OpenIndex
from tamis.indexing.read.reader_options import Reading, difference, reading_of
from tamis.indexing.read.snapshot import FileKeys, Snapshot, open_snapshot, snapshot_path
from tamis.tables.indexed_records import IndexedRecords
from tamis.tables.partitions import DirectoryStatistics, FileStatistics
from tamis.tables.recorded import RecordedFiles, RecordedTables
from tamis.wire.messages import OpenIndexesRequest, Warning_, WrittenFilesRequest
from tamis.wire.scans import ScanRequest

_MAX_SNAPSHOTS = 16
_MAX_MATCHES = 16
# Files of all matches together. A match takes about 16 bytes per file.
_MAX_MATCHED_FILES = 3_000_000
# Segments per index. Evaluating one more segment costs about as much as gathering 4,000 files.
_MAX_RUNS = 32
# Roots of a scan with automatic indexes.
_MAX_ROOTS = 16
# If a scan has more roots, for example from a glob, their tables are not determined.
_MAX_NAMED_ROOTS = 100


@dataclass(frozen=True, slots=True, eq=False)
class ScanInput:
    """The files of one scan.

    - `parts`: one per segment.
    - `indexes`: the indexes of the tables.
    - `automatic`: the indexes of files that these do not describe.
    - `derived`: what callers have derived from the statistics of these files and may need again.
      Scans of the same listing and the same generations share it.
    - `num_records`: the rows of each file in listing order, -1 where not known. None if they are
      known for no file.
    - `total_records`: the rows of all files, None if not known.
    - `partitions`: the partition values of each directory in the snapshot.
    - `directories`: for each file, its directory.
    - `sizes`: the size of each file in bytes.
    - `tables`: the directories whose index would describe the files. Empty if too many roots are
      read.
    """

    segments: Sequence[Segment]
    parts: Sequence[Part]
    num_records: npt.NDArray[np.int64] | None
    total_records: int | None
    problems: tuple[IndexUnusable, ...]
    indexes: tuple[OpenIndex, ...]
    partitions: DirectoryStatistics
    directories: npt.NDArray[np.int32]
    sizes: pa.ChunkedArray
    tables: frozenset[str] = frozenset()
    automatic: tuple[OpenIndex, ...] = ()
    derived: MutableMapping[object, object] = field(default_factory=dict)

    @property
    def is_indexed(self) -> bool:
        """Whether an index describes each file."""
        return all(part.index is not None for part in self.parts)

    @property
    def warnings(self) -> list[Warning_]:
        """The reasons why an index was not used.

        Complete only after the scan was decided, because that reads columns of the index.
        """
        of_data = [
            part.problem.reading_with(command_options(each.reading))
            for each in self.indexes
            for part in (each.statistics, each.row_groups)
            if part.problem is not None
        ]
        return [Warning_(each.code, each.text) for each in (*self.problems, *of_data)]

    def records(self, kept: npt.NDArray[np.bool_]) -> int | None:
        """Return the number of rows of the kept files, None if it is not known for one of them."""
        if not kept.any():
            return 0
        if self.num_records is None:
            return None
        rows = self.num_records[kept]
        return None if (rows < 0).any() else int(rows.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some files of a listing, with their ordinals there and their rows in an index.

    `index` is None if no index describes these files.
    """

    ordinals: slice | npt.NDArray[np.intp]
    rows: slice | npt.NDArray[np.int64]
    index: OpenIndex | None

    @property
    def statistics(self) -> Statistics | None:
        if self.index is None:
            return None
        if isinstance(self.rows, slice):
            whole = self.rows == slice(0, len(self.index.files))
            each = self.index.statistics
            return each if whole else each.slice(self.rows.start, self.rows.stop)
        return self.index.statistics.take(self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """The parts of one snapshot for one set of indexes, without the partition values."""

    parts: tuple[Part, ...]
    num_records: npt.NDArray[np.int64] | None
    total_records: int | None
    derived: dict[object, object] = field(default_factory=dict)
    _found: list[_Described] = field(default_factory=list)

    def with_records(
        self, combine: Callable[[Part], Iterator[tuple[Part, Statistics]]]
    ) -> _Described:
        """Return the parts with their statistics, as combined the first time: these cache."""
        if not self._found:
            self._found.append(tuple(each for part in self.parts for each in combine(part)))
        return self._found[0]


_Described = tuple[tuple[Part, Statistics], ...]
_Named = tuple[Snapshot, tuple[OpenIndex, ...]]


class ParquetTables:
    """The snapshots and indexes that are open in this process. Thread-safe."""

    def __init__(self, indexes: Indexes | None = None) -> None:
        self._indexes = indexes or Indexes()
        self._automatic_open = Indexes()
        self._maintained_open = Indexes()
        self._automatic = AutomaticIndexes(self._automatic_open.forget)
        self._recorded = RecordedTables()
        self._snapshots: OrderedDict[tuple[object, ...], Snapshot] = OrderedDict()
        # The key contains ids of objects, so the entry keeps these objects alive with the match.
        self._matches: OrderedDict[tuple[int, ...], tuple[_Match, _Named]] = OrderedDict()
        self._lock = threading.Lock()

    def open_scan(self, request: ScanRequest) -> ScanInput:
        """Open the files of a request.

        Raises:
            OSError: The snapshot does not exist or cannot be read.
            ValueError: The snapshot has another number of files than the request.
        """
        snapshot = self._snapshot(request)
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
            _tables(request.table.roots, snapshot, indexes),
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
        found = match.with_records(lambda part: _with_records(part, recorded, is_whole))
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
            frozenset(request.table.roots) if request.delta is not None else frozenset(),
            derived=match.derived if indexes else recorded.derived,
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
            fix = f"rebuild it: tamis.index(spark, {_target(request)}).build()"
            return (), (outcome.fixed_by(fix),)
        if outcome.reading is not None:
            return (), ()
        why = _other_names(request)
        if why is not None:
            return (), (other_names(request.table.name or unquote(root), why),)
        if outcome.pointer.case_sensitive != request.table.case_sensitive:
            return (), (_other_case(root, location, request.table.case_sensitive, None),)
        return (outcome,), ()

    def open_ahead(self, request: OpenIndexesRequest) -> None:
        """Open the indexes of the roots of a table, so that the next request finds them open.

        Never raises. A request that comes earlier waits until its index is open.
        """
        options, cache = request.index, request.cache_directory
        if not options.enabled:
            return
        wanted, cached = options.automatic, None
        if wanted is not None and len(request.table.roots) <= _MAX_ROOTS:
            cached = location_of(cache, wanted.schema, request.table.case_sensitive)
        for root in request.table.roots[:_MAX_NAMED_ROOTS]:
            tables = [*_tables_above(root.rstrip("/"))]
            for table in tables:
                outcome = self._indexes.find(
                    table, options.location, request.storage, cache, options.epoch
                )
                if not isinstance(outcome, IndexMissing):
                    break
            if cached is not None:
                self._automatic_open.find(tables[-1], cached, {}, cache, options.epoch)

    def _snapshot(self, request: ScanRequest) -> Snapshot:
        directory, fingerprint = request.snapshot.directory, request.snapshot.fingerprint
        # If the file was written again, it is another one.
        status = os.stat(snapshot_path(directory, fingerprint, "groups"))
        key = (directory, fingerprint, status.st_ino, status.st_mtime_ns, status.st_size)
        with self._lock:
            snapshot = self._snapshots.get(key)
            if snapshot is None:
                snapshot = open_snapshot(directory, fingerprint)
                if len(snapshot.files) != request.snapshot.files:
                    raise ValueError(
                        f"the snapshot {fingerprint} holds {len(snapshot.files)} files instead of "
                        f"{request.snapshot.files}"
                    )
                self._snapshots[key] = snapshot
            self._snapshots.move_to_end(key)
            while len(self._snapshots) > _MAX_SNAPSHOTS:
                self._snapshots.popitem(last=False)
            return snapshot

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
            for candidate in _candidates(root, snapshot):
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
                        problems.append(_other_case(candidate, options.location, now, reading))
                    elif outcome.reading != reading:
                        where = index_uri(candidate, options.location)
                        root = outcome.pointer.root
                        problems.append(_other_reading(root, where, outcome.reading, reading))
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
        for candidates, location in _maintained_roots(request, snapshot):
            for root in candidates:
                index = self._cached_index(self._maintained_open, request, root, location)
                if index is not None:
                    if index.pointer.case_sensitive == request.table.case_sensitive:
                        usable[id(index)] = index
                    break
        for root, location in _automatic_roots(request, snapshot).values():
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
        snapshot = self._snapshot(request)
        ordinals = np.flatnonzero(unknown & freshness.has_time(snapshot.files))
        if not 0 < len(ordinals) <= wanted.max_files:
            return False
        below: dict[tuple[str, str], Flags] = {}  # which files each automatic index describes
        for root, automatic in _automatic_roots(request, snapshot).items():
            inside = _is_below(root, snapshot)
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
            table = [*_tables_above(request.root.rstrip("/"))][-1]
            unindexed = Unindexed(
                table, location, request.schema, request.case_sensitive, files, request.storage
            )
            self._automatic.add([unindexed])

    def waiting_files(self, root: str, location: str) -> int:
        """Return how many files wait for an automatic index."""
        return self._automatic.waiting(root, location)

    def _match(self, snapshot: Snapshot, indexes: tuple[OpenIndex, ...]) -> _Match:
        key = (id(snapshot), *(id(index) for index in indexes))
        with self._lock:
            entry = self._matches.get(key)
            if entry is None:
                entry = (_matched(snapshot, indexes), (snapshot, indexes))
                self._matches[key] = entry
                # Release the memory that opening and matching needed.
                release_unused_memory()
            self._matches.move_to_end(key)
            self._forget_old_matches()
            return entry[0]

    def _forget_old_matches(self) -> None:
        files = sum(len(snapshot.files) for _, (snapshot, _) in self._matches.values())
        while len(self._matches) > 1 and (
            len(self._matches) > _MAX_MATCHES or files > _MAX_MATCHED_FILES
        ):
            _, (_, (snapshot, _)) = self._matches.popitem(last=False)
            files -= len(snapshot.files)


def _partitions(request: ScanRequest, snapshot: Snapshot) -> DirectoryStatistics:
    table = request.table
    return DirectoryStatistics(
        len(snapshot.files.directories),
        snapshot.partitions,
        {column.name: DataType.parse(column.type) for column in table.partition_columns},
        table.case_sensitive,
    )


def _with_records(
    part: Part, recorded: RecordedFiles, is_whole: npt.NDArray[np.bool_]
) -> Iterator[tuple[Part, Statistics]]:
    """Yield the files of a part with what a table format and the index know about them.

    Row groups of the index are used only where no row was deleted, because they count rows.

    Args:
        part: The files.
        recorded: What the format records about all files.
        is_whole: True where no row of a file was deleted, by ordinal.
    """
    ordinals = np.arange(len(is_whole), dtype=np.intp)[part.ordinals]
    if part.index is None or part.statistics is None:
        yield part, _picked(recorded.statistics, part.ordinals)
        return
    flags = is_whole[ordinals]
    rows = (
        np.arange(len(part.index.files))[part.rows] if isinstance(part.rows, slice) else part.rows
    )
    for whole in (True, False):
        chosen = flags == whole
        if not chosen.any():
            continue
        some = part if chosen.all() else Part(ordinals[chosen], rows[chosen], part.index)
        assert some.statistics is not None
        statistics = IndexedRecords(
            _picked(recorded.statistics, some.ordinals), some.statistics, flags[chosen]
        )
        yield some if whole else Part(some.ordinals, some.rows, None), statistics


def _picked(statistics: Statistics, ordinals: slice | npt.NDArray[np.intp]) -> Statistics:
    if not isinstance(ordinals, slice):
        return statistics.take(ordinals)
    whole = ordinals == slice(0, statistics.num_containers)
    return statistics if whole else statistics.slice(ordinals.start, ordinals.stop)


def _matched(snapshot: Snapshot, indexes: tuple[OpenIndex, ...]) -> _Match:
    files = len(snapshot.files)
    everything: slice | npt.NDArray[np.intp] = slice(0, files)
    if not indexes:
        return _Match((Part(everything, everything, None),), None, None)
    parts: list[Part] = []
    num_records = np.full(files, -1, np.int64)
    left = np.ones(files, bool)
    for index in indexes:
        rows = freshness.match(snapshot.files, index.files)
        if rows is None and not parts:
            parts = [Part(everything, everything, index)]
            num_records = index.num_records
            left[:] = False
            break
        if rows is None:
            rows = np.arange(files)
        ordinals = np.flatnonzero((rows != freshness.UNMATCHED) & left)
        if len(ordinals):
            parts += _runs(ordinals, rows[ordinals], index)
            num_records[ordinals] = index.num_records[rows[ordinals]]
            left[ordinals] = False
    if left.any():
        parts.append(Part(np.flatnonzero(left), slice(0, 0), None))
    total = None if (num_records < 0).any() else int(num_records.sum())
    return _Match(tuple(parts), num_records, total)


def _runs(
    ordinals: npt.NDArray[np.intp], rows: npt.NDArray[np.int64], index: OpenIndex
) -> list[Part]:
    """Return files and their rows as a few runs, which are views, or as one part if there are many.

    After files were appended, or a few were rewritten, almost all files lie in runs.
    """
    breaks = np.flatnonzero((np.diff(ordinals) != 1) | (np.diff(rows) != 1)) + 1
    if len(breaks) >= _MAX_RUNS:
        return [Part(ordinals, rows, index)]
    starts = [0, *breaks.tolist()]
    stops = [*breaks.tolist(), len(ordinals)]
    return [
        Part(
            slice(int(ordinals[start]), int(ordinals[stop - 1]) + 1),
            slice(int(rows[start]), int(rows[stop - 1]) + 1),
            index,
        )
        for start, stop in zip(starts, stops, strict=True)
    ]


def _candidates(root: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield the directories whose index may describe a root: itself, and its table directories."""
    root = root.rstrip("/")
    directories = snapshot.files.directories
    if directories and not any(d == root or d.startswith(f"{root}/") for d in directories):
        root = root.rpartition("/")[0]  # the root is a file
    yield from _tables_above(root)


def _tables_above(directory: str) -> Iterator[str]:
    """Yield a directory, and those above it of which it may be a partition."""
    yield directory
    while "=" in directory.rpartition("/")[2]:
        directory = directory.rpartition("/")[0]
        yield directory


def _may_have_cached_indexes(request: ScanRequest) -> bool:
    """Return whether indexes in the cache directory may describe files of a request."""
    options, roots = request.index, request.table.roots
    is_wanted = options.enabled and options.automatic is not None
    return is_wanted and request.reading is None and len(roots) <= _MAX_ROOTS


def _automatic_roots(request: ScanRequest, snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    """Return the root and the location of the automatic index for each root of a request.

    Of a table with many roots, or of files that are not Parquet, there is none.
    """
    wanted, roots = request.index.automatic, request.table.roots
    if wanted is None or not _may_have_cached_indexes(request):
        return {}
    case_sensitive = request.table.case_sensitive
    location = location_of(request.cache_directory, wanted.schema, case_sensitive)
    if location is None:
        return {}
    return {root: ([*_candidates(root, snapshot)][-1], location) for root in roots}


def _maintained_roots(
    request: ScanRequest, snapshot: Snapshot
) -> Iterator[tuple[Iterator[str], str]]:
    """Yield where maintenance may have put an index for each root of a request: see `maintain`."""
    if not _may_have_cached_indexes(request) or not has_maintained(request.cache_directory):
        return
    location = maintained_location(request.cache_directory)
    if location is not None:
        for root in request.table.roots:
            yield _candidates(root, snapshot), location


def _other_names(request: ScanRequest) -> str | None:
    """Return why the files of a table format may name columns otherwise; None: they do not."""
    if request.delta is not None and request.delta.column_mapping != "none":
        return "column mapping gives its columns other names in the files"
    if request.iceberg is not None:
        return "files of Iceberg may name their columns otherwise than the table"
    return None


def _target(request: ScanRequest) -> str:
    """Return the argument of `tamis.index(spark, …)` for a table of a format, as Python source."""
    table = request.table
    path = unquote(table.roots[0])
    is_path = request.delta is not None and (not table.name or path in table.name)
    return json.dumps(path if is_path else table.name, ensure_ascii=False)


def _is_below(root: str, snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Return for each file whether it belongs to a root."""
    root = root.rstrip("/")
    directories = snapshot.files.directories
    below = np.array([d == root or d.startswith(f"{root}/") for d in directories], bool)
    if not below.any():  # the root is a file
        below = np.array([root.startswith(f"{d}/") for d in directories], bool)
    return below[snapshot.group]


def _tables(
    roots: Sequence[str], snapshot: Snapshot, indexes: Sequence[OpenIndex]
) -> frozenset[str]:
    if indexes:
        return frozenset(each.pointer.root for each in indexes)
    if len(roots) > _MAX_NAMED_ROOTS:
        return frozenset()
    return frozenset([*_candidates(root, snapshot)][-1] for root in roots)


def _other_case(
    root: str, location: str | None, now: bool, reading: Reading | None
) -> IndexUnusable:
    command = refresh_command(root, location, command_options(reading))
    conf, built, value = "spark.sql.caseSensitive", str(not now).lower(), str(now).lower()
    return IndexUnusable(
        "index.case_sensitivity",
        f"the index {index_uri(root, location)} was built with {conf} = {built} and is not used, "
        f"because this session sets it to {value}",
        f"use the same value, or run {command} --conf {conf}={value}",
    )


def _other_reading(
    root: str, where: str, built: Reading | None, now: Reading | None
) -> IndexUnusable:
    what = "" if built is None or now is None else f" ({difference(built, now)})"
    return IndexUnusable(
        "index.other_reading",
        f"the index {where} is not used, because the query reads the files with another schema or "
        f"other settings{what}",
        "use the schema and the settings of the index, or rebuild it with everything that it "
        f"records: tamis.index(spark, {json.dumps(unquote(root), ensure_ascii=False)}, "
        "reader=…).refresh()",
    )


_open = ParquetTables()


def use_tables(tables: ParquetTables) -> None:
    """Use these tables for all further requests of this process."""
    global _open
    _open = tables


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
