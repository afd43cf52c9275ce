"""What scans have learnt: stored, used by later scans, and shown.

`write_remembered` writes one row per note, the most useful one first:

    table            utf8
    predicates       list<utf8>, which no row of the files passes together
    files            int64, the number of files without such a row
    partial_files    int64, the number of other files with row groups without such a row
    bytes            int64, the size of the note
    learnt           timestamp
    scans            int64, how many scans were planned with it
    skipped_files    int64, in all of these scans; only those that nothing else left out
    skipped_row_groups  int64, those of other files
    skipped_bytes    int64
    last_used        timestamp; null: never
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import Flags
from tamis.files.row_ranges import RowRanges
from tamis.plan.row_groups import LeftOut
from tamis.plan.scan_decision import ScanDecision
from tamis.recent import Recent
from tamis.remembered import Note, Store, identities_of, settled, store_in
from tamis.remembered.partial import PartialFiles
from tamis.remembered.store import Kept
from tamis.serve.scans.arrow_export import written
from tamis.tables.parquet import listed_files
from tamis.wire.kept import decode_kept, decode_rows
from tamis.wire.messages import PlanRequest, Written, write_answer
from tamis.wire.remembered import (
    LearntAnswer,
    LearntRequest,
    read_learnt_request,
    read_remembered_request,
)
from tamis.wire.scans import ScanRequest, Snapshot

__all__ = ["RememberedRows", "learn", "remembered_files", "without_remembered", "write_remembered"]

#: Naming more files would delay the planning of a query.
_MOST_FILES: Final = 200_000
_MOST_LISTINGS: Final = 16


def learn(text: str) -> str:
    """Store what a LearntRequest says; return the answer.

    Raises:
        WireError: The request cannot be read.
        OSError, ValueError: The listing cannot be read, or the note cannot be written.
    """
    request = read_learnt_request(text)
    store = store_in(request.cache_directory)
    count = request.snapshot.files
    if store is not None and request.keys and count <= _MOST_FILES:
        names = _identities(request.snapshot)
        whole, partial = _unknown(request, store, names)
        if len(whole) or partial.num_files:
            note = Note(
                request.reading,
                tuple(sorted(request.keys)),
                tuple(request.sql),
                request.table,
                request.started,
                b"".join(sorted(set(whole.to_pylist()))),
                partial,
            )
            store.add(note, request.max_bytes)
    return write_answer(LearntAnswer(request.id))


def _unknown(
    request: LearntRequest, store: Store, names: pa.Array
) -> tuple[pa.Array, PartialFiles]:
    """Return the names of the files, and the rows of others, that no note rules out yet."""
    count = request.snapshot.files
    # What was read from a file that may have been replaced since is not about this file.
    is_settled = settled(listed_files(request.snapshot), request.started)
    flags = decode_kept(request.files, count) & is_settled
    files, starts, stops = decode_rows(request.rows, count)
    chosen = is_settled[files]
    ranges = RowRanges.of(files[chosen], starts[chosen], stops[chosen])
    for note in store.about(request.reading, request.keys):
        # what is known for some of the conjuncts is known for all of them
        flags &= ~store.without_hit(note, names)
        known = store.rows_without_hit(note, names)
        if known is not None:
            ranges = ranges.without(known)
    return names.filter(pa.array(flags)).drop_null(), PartialFiles.of(names, ranges)


def without_remembered(request: ScanRequest, decision: ScanDecision) -> Flags | None:
    """Return the kept files of a decision without those that notes rule out.

    None if notes rule out none of them. A failure means that nothing is known.
    """
    try:
        return _without_remembered(request, decision)
    except Exception:  # such as a directory that was removed: every file stays
        return None


def _without_remembered(request: ScanRequest, decision: ScanDecision) -> Flags | None:
    left = decision.kept.copy()
    for store, note, flags in _matching(request):
        ruled_out = left & flags
        count = int(np.count_nonzero(ruled_out))
        # in a file of a note, no row passes its conjuncts, which are among those of the scan
        left &= ~flags
        if count and isinstance(request, PlanRequest) and not request.detail and not request.goal:
            sizes = listed_files(request.snapshot).size.to_numpy()
            store.saved(note, request.id, int(sizes[ruled_out].sum()), files=count)
    return None if np.array_equal(left, decision.kept) else left


class RememberedRows:
    """The rows of the files of a scan that notes rule out.

    - `ranges`: for each note, the rows that do not pass its conjuncts. These are among those of the
      scan.
    """

    def __init__(self, request: PlanRequest) -> None:
        self._request = request
        self._notes: list[tuple[Store, Kept]] = []
        self.ranges: list[RowRanges] = []
        with suppress(Exception):  # such as a directory that was removed: every row group stays
            for store, note in _notes_about(request):
                rows = store.rows_without_hit(note, _identities(request.snapshot))
                if rows is not None and len(rows):
                    self._notes.append((store, note))
                    self.ranges.append(rows)

    def count(self, left_out: Sequence[LeftOut]) -> int:
        """Count what each of the ranges has left out; return the number of row groups."""
        if not self._request.detail:
            for (store, note), each in zip(self._notes, left_out, strict=True):
                if each.row_groups:
                    store.saved(note, self._request.id, each.bytes, row_groups=each.row_groups)
        return sum(each.row_groups for each in left_out)


def remembered_files(request: ScanRequest) -> Flags:
    """Return for each file of a scan whether a note rules it out."""
    found = np.zeros(request.snapshot.files, np.bool_)
    for _, _, flags in _matching(request):
        found |= flags
    return found


def _matching(request: ScanRequest) -> list[tuple[Store, Kept, Flags]]:
    notes = _notes_about(request)
    names = _identities(request.snapshot) if notes else None
    return [(store, note, store.without_hit(note, names)) for store, note in notes]


def _notes_about(request: ScanRequest) -> list[tuple[Store, Kept]]:
    """Return the notes whose conjuncts are all among those of the scan."""
    asked = request.remembered
    if asked is None or not 0 < request.snapshot.files <= _MOST_FILES:
        return []
    keys = [key for key in asked.keys if key is not None]
    store = store_in(request.cache_directory) if keys else None
    if store is None:
        return []
    return [(store, note) for note in store.about(asked.reading, keys)]


_known: Final = Recent[pa.Array](_MOST_LISTINGS)


def _identities(snapshot: Snapshot) -> pa.Array:
    """Return the names of the files of a listing. The fingerprint covers all that they hold."""
    key = (snapshot.directory, snapshot.fingerprint)
    return _known.get_or(key, lambda: identities_of(listed_files(snapshot)))


def write_remembered(question: str) -> str:
    """Write every note for a RememberedRequest.

    Raises:
        TamisError: The request cannot be read.
        OSError: The notes cannot be read, or the file cannot be written.
    """
    request = read_remembered_request(question)
    store = store_in(request.cache_directory)
    notes = [] if store is None else store.all()
    if store is not None:
        store.flush()
    written(_table(notes), request.directory, request.id, "remembered")
    return write_answer(Written(request.id, len(notes)))


_SCHEMA: Final = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("predicates", pa.list_(pa.string()), nullable=False),
        pa.field("files", pa.int64(), nullable=False),
        pa.field("partial_files", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("learnt", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("scans", pa.int64(), nullable=False),
        pa.field("skipped_files", pa.int64(), nullable=False),
        pa.field("skipped_row_groups", pa.int64(), nullable=False),
        pa.field("skipped_bytes", pa.int64(), nullable=False),
        pa.field("last_used", pa.timestamp("us", "UTC")),
    ]
)


def _table(notes: list[Kept]) -> pa.Table:
    rows = [
        {
            "table": each.note.table,
            "predicates": list(each.note.sql),
            "files": each.num_files,
            "partial_files": each.num_partial,
            "bytes": each.size,
            "learnt": _moment(each.note.learnt / 1000),
            "scans": each.use.scans,
            "skipped_files": each.use.files,
            "skipped_row_groups": each.use.row_groups,
            "skipped_bytes": each.use.bytes,
            "last_used": _moment(each.use.last) if each.use.last else None,
        }
        for each in notes
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
