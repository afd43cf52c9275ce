"""Files whose statistics a table format records: Delta in its log, Iceberg in manifests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.exact_counts import UNKNOWN
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.freshness import unchanging
from tamis.indexing.read.snapshot import FileKeys, Snapshot
from tamis.recent import Recent
from tamis.tables.unreadable import SnapshotUnreadable
from tamis.wire.delta import DeltaSnapshot
from tamis.wire.iceberg import IcebergSnapshot
from tamis.wire.scans import ScanRequest

__all__ = ["RecordedFiles", "RecordedTables"]

_MOST_OPEN: Final = 16


@dataclass(frozen=True, slots=True, eq=False)
class RecordedFiles:
    """What a table format records about the files of a listing, in its order.

    - `statistics`: bounds of all rows that were written, some of which may have been deleted since.
      What is certain is so for the rows that are left.
    - `listing`: the files, as an index has their keys.
    - `num_records`: the rows that a scan of each file returns, -1 where that is not known.
    - `problem`: why nothing is known.
    - `derived`: what callers have derived from the statistics, see `ScanInput`.
    """

    statistics: Statistics
    listing: Snapshot
    num_records: npt.NDArray[np.int64]
    problem: IndexUnusable | None = None
    derived: dict[object, object] = field(default_factory=dict)

    @property
    def total_records(self) -> int | None:
        """The rows that a scan of all files returns; None if that is not known."""
        return None if (self.num_records < 0).any() else int(self.num_records.sum())


_Format: TypeAlias = DeltaSnapshot | IcebergSnapshot


class RecordedTables:
    """The snapshots of table formats that are open in this process. Thread-safe."""

    def __init__(self) -> None:
        # The key has the id of a listing, which the entry keeps alive.
        self._open = Recent[tuple[Snapshot, RecordedFiles]](_MOST_OPEN)

    def find(self, request: ScanRequest, listing: Snapshot) -> RecordedFiles | None:
        """Return what is recorded about the files of a request; None for other tables.

        If the records cannot be read, nothing is known, and the result says why.
        """
        snapshot = request.delta or request.iceberg
        if snapshot is None:
            return None
        key = (id(listing), msgspec.json.encode(snapshot))
        known = self._open.get(key)
        if known is not None:
            return known[1]
        files = _opened(snapshot, request, listing.files)
        if files.problem is None:
            self._open.keep(key, (listing, files))
        return files


def _opened(snapshot: _Format, request: ScanRequest, files: FileKeys) -> RecordedFiles:
    if isinstance(snapshot, DeltaSnapshot):
        return _of_delta(snapshot, request, files)
    return _of_iceberg(snapshot, request, files)


def _of_delta(snapshot: DeltaSnapshot, request: ScanRequest, files: FileKeys) -> RecordedFiles:
    from tamis.tables import delta

    try:
        found = delta.statistics_of(snapshot, files, request.storage, request.cache_directory)
    except SnapshotUnreadable as problem:
        return _unknown(files, problem.code, problem.text)
    return RecordedFiles(found, _timeless(files), found.num_records)


def _of_iceberg(snapshot: IcebergSnapshot, request: ScanRequest, files: FileKeys) -> RecordedFiles:
    # imported only here, because polars takes a while
    from tamis.tables import iceberg

    try:
        found = iceberg.open_snapshot(snapshot, request.storage, request.cache_directory)
    except SnapshotUnreadable as problem:
        return _unknown(files, problem.code, problem.text)
    if not _uris(files).equals(found.uris):
        text = "the manifests have other files than Iceberg's snapshot, so they are not used"
        return _unknown(files, iceberg.UnreadableCode.METADATA, text)
    deleted = found.deletes.deleted_records
    is_counted = (deleted >= 0) & (found.num_records >= deleted)
    records = np.where(is_counted, found.num_records - deleted, UNKNOWN)
    return RecordedFiles(found.statistics, _timeless(files), records)


def _uris(files: FileKeys) -> pa.Array:
    directories = pa.array([f"{each}/" for each in files.directories], pa.string())
    uris = pc.binary_join_element_wise(directories.take(files.group), files.name, "")
    return uris.combine_chunks() if isinstance(uris, pa.ChunkedArray) else uris


def _unknown(files: FileKeys, code: str, text: str) -> RecordedFiles:
    problem = IndexUnusable(code, text, "the scan reads what it would read without tamis")
    records = np.full(len(files), UNKNOWN, np.int64)
    return RecordedFiles(_Unknown(len(files)), _timeless(files), records, problem)


def _timeless(files: FileKeys) -> Snapshot:
    return Snapshot(unchanging(files), {})


@dataclass(frozen=True, slots=True, eq=False)
class _Unknown(Statistics):
    """Files about which nothing is known."""

    files: int

    @property
    def num_containers(self) -> int:
        return self.files

    def bounds(self, column: Column) -> Bounds:
        return Bounds.unknown(column.type)
