"""What scans have learnt: stored, used by later scans, and shown.

`write_remembered` writes one row per note, the most useful one first:

    table            utf8
    predicates       list<utf8>, which no row of the files passes together
    files            int64, the number of files without such a row
    bytes            int64, the size of the note
    learnt           timestamp
    scans            int64, how many scans were planned with it
    skipped_files    int64, in all of these scans; only those that nothing else left out
    skipped_bytes    int64
    last_used        timestamp; null: never
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import Flags
from tamis.plan.scan_decision import ScanDecision
from tamis.remembered import Note, Store, identities_of, settled, store_in
from tamis.remembered.store import Kept
from tamis.serve.scans.arrow_export import written
from tamis.tables.parquet import listed_files
from tamis.wire.kept import decode_kept
from tamis.wire.messages import PlanRequest, Written, write_answer
from tamis.wire.remembered import LearntAnswer, read_learnt_request, read_remembered_request
from tamis.wire.scans import ScanRequest, Snapshot

__all__ = ["learn", "remembered_files", "without_remembered", "write_remembered"]

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
        flags = decode_kept(request.files, count)
        # What was read from a file that may have been replaced since is not about this file.
        flags &= settled(listed_files(request.snapshot), request.started)
        names = _identities(request.snapshot).filter(pa.array(flags)).drop_null()
        if len(names):
            note = Note(
                request.reading,
                tuple(sorted(request.keys)),
                tuple(request.sql),
                request.table,
                request.started,
                b"".join(sorted(set(names.to_pylist()))),
            )
            store.add(note, request.max_bytes)
    return write_answer(LearntAnswer(request.id))


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
            store.saved(note, count, int(sizes[ruled_out].sum()))
    return None if np.array_equal(left, decision.kept) else left


def remembered_files(request: ScanRequest) -> Flags:
    """Return for each file of a scan whether a note rules it out."""
    found = np.zeros(request.snapshot.files, np.bool_)
    for _, _, flags in _matching(request):
        found |= flags
    return found


def _matching(request: ScanRequest) -> list[tuple[Store, Kept, Flags]]:
    asked = request.remembered
    if asked is None or not 0 < request.snapshot.files <= _MOST_FILES:
        return []
    keys = [key for key in asked.keys if key is not None]
    store = store_in(request.cache_directory) if keys else None
    if store is None:
        return []
    notes = store.about(asked.reading, keys)
    if not notes:
        return []
    names = _identities(request.snapshot)
    return [(store, note, store.without_hit(note, names)) for note in notes]


_known: Final[OrderedDict[tuple[str, str], pa.Array]] = OrderedDict()
_lock: Final = threading.Lock()


def _identities(snapshot: Snapshot) -> pa.Array:
    """Return the names of the files of a listing. The fingerprint covers all that they hold."""
    key = (snapshot.directory, snapshot.fingerprint)
    with _lock:
        if key not in _known:
            _known[key] = identities_of(listed_files(snapshot))
        _known.move_to_end(key)
        while len(_known) > _MOST_LISTINGS:
            _known.popitem(last=False)
        return _known[key]


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
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("learnt", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("scans", pa.int64(), nullable=False),
        pa.field("skipped_files", pa.int64(), nullable=False),
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
            "bytes": each.size,
            "learnt": _moment(each.note.learnt / 1000),
            "scans": each.use.scans,
            "skipped_files": each.use.files,
            "skipped_bytes": each.use.bytes,
            "last_used": _moment(each.use.last) if each.use.last else None,
        }
        for each in notes
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
