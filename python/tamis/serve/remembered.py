"""What scans have learnt: stored, used by later scans, and shown.

`write_remembered` writes one row per note, the most useful one first:

    table            utf8
    predicates       list<utf8>, which no row of the files passes together
    files            int64, the number of files without such a row
    partial_files    int64, the number of other files with row groups without such a row
    passing_files    int64, the number of files in which every row passes each predicate
    partial_passing_files  int64, the number of other files with row groups of such rows
    bounded_files    int64, the number of files with bounds of the rows that pass all predicates
    bytes            int64, the size of the note
    learnt           timestamp
    scans            int64, how many scans were planned with it
    skipped_files    int64, in all of these scans; only those that nothing else left out
    skipped_row_groups  int64, those of other files
    skipped_bytes    int64
    last_used        timestamp; null: never
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.row_ranges import RowRanges
from tamis.plan.known_true import NOTHING, KnownTrue
from tamis.plan.passing_rows import LearntValues
from tamis.plan.row_groups import LeftOut
from tamis.recent import Recent
from tamis.remembered import Note, Store, identities_of, settled, store_in
from tamis.remembered.partial import PartialFiles
from tamis.remembered.store import Kept
from tamis.remembered.values import ColumnName, PassingValues
from tamis.serve.scans.arrow_export import written
from tamis.tables.parquet import listed_files
from tamis.wire.catalyst import decode
from tamis.wire.kept import decode_kept, decode_rows, decode_values
from tamis.wire.messages import PlanRequest, Written, write_answer
from tamis.wire.remembered import (
    LearntAnswer,
    LearntRequest,
    PassingFiles,
    RowsOfFiles,
    read_learnt_request,
    read_remembered_request,
)
from tamis.wire.scans import RememberedKeys, ScanRequest, Snapshot

__all__ = [
    "LearntRows",
    "RememberedRows",
    "known_true",
    "learn",
    "remembered_files",
    "without_remembered",
    "write_remembered",
]

#: Naming more files would delay the planning of a query.
_MOST_FILES: Final = 200_000
_MOST_LISTINGS: Final = 16
#: The most notes with bounds that a scan uses.
_MOST_BOUNDS: Final = 8
#: With fewer files, it is not known whether they are clustered by a column.
_FEW_FILES: Final = 4
_LONG: Final = np.iinfo(np.int64)


def learn(text: str) -> str:
    """Store what a LearntRequest says; return the answer.

    Raises:
        WireError: The request cannot be read.
        OSError, ValueError: The listing cannot be read, or the note cannot be written.
    """
    request = read_learnt_request(text)
    store = store_in(request.cache_directory)
    count = request.snapshot.files
    changed = False
    if store is not None and request.keys and count <= _MOST_FILES:
        for note in _notes_of(request, store):
            if not note.is_empty:
                changed |= store.add(note, request.max_bytes)
    return write_answer(LearntAnswer(request.id, changed))


def _notes_of(request: LearntRequest, store: Store) -> list[Note]:
    """Return what a request says that no note says yet."""
    names = _identities(request.snapshot)
    # What was read from a file that may have been replaced since is not about this file.
    is_settled = settled(listed_files(request.snapshot), request.started)
    failing = _failing(request, store, names, is_settled)
    note = Note(
        request.reading,
        tuple(sorted(request.keys)),
        tuple(request.sql),
        request.table,
        request.started,
        *_stored(names, *failing),
        values=_values(request, names, is_settled),
    )
    passing = request.passing
    if passing is None or not passing.keys:
        return [note]
    files, partial = _stored(names, *_passing(request, passing, store, names, is_settled))
    keys = tuple(sorted(passing.keys))
    if keys == note.keys:
        return [msgspec.structs.replace(note, passing_files=files, passing_partial=partial)]
    of_passing = Note(
        request.reading,
        keys,
        tuple(passing.sql),
        request.table,
        request.started,
        b"",
        passing_files=files,
        passing_partial=partial,
    )
    return [note, of_passing]


def _failing(
    request: LearntRequest, store: Store, names: pa.Array, is_settled: Flags
) -> tuple[Flags, RowRanges]:
    """Return the files, and the rows of others, that no note rules out yet."""
    flags = decode_kept(request.files, len(names)) & is_settled
    ranges = _ranges(request.rows, is_settled)
    for note in store.about(request.reading, request.keys):
        # what is known for some of the conjuncts is known for all of them
        flags &= ~store.without_hit(note, names)
        known = store.rows_without_hit(note, names)
        if known is not None:
            ranges = ranges.without(known)
    return flags, ranges


def _passing(
    request: LearntRequest,
    passing: PassingFiles,
    store: Store,
    names: pa.Array,
    is_settled: Flags,
) -> tuple[Flags, RowRanges]:
    """Return the files, and the rows of others, for which not each conjunct is known to be true."""
    flags = decode_kept(passing.files, len(names)) & is_settled
    every = np.ones(len(names), np.bool_)
    for key in passing.keys:
        of_key = np.zeros(len(names), np.bool_)
        for note in store.passing(request.reading, key):
            of_key |= store.all_pass(note, names)[0]
            if of_key.all():
                break  # the others add nothing
        every &= of_key
    return flags & ~every, _ranges(passing.rows, is_settled & ~every)


def _ranges(rows: RowsOfFiles, of: Flags) -> RowRanges:
    files, starts, stops = decode_rows(rows, len(of))
    chosen = of[files]
    return RowRanges.of(files[chosen], starts[chosen], stops[chosen])


def _stored(names: pa.Array, flags: Flags, ranges: RowRanges) -> tuple[bytes, PartialFiles]:
    """Return files and rows in the form of a note. Files without a name are left out."""
    whole = names.filter(pa.array(flags)).drop_null()
    return b"".join(sorted(set(whole.to_pylist()))), PartialFiles.of(names, ranges)


def _values(request: LearntRequest, names: pa.Array, is_settled: Flags) -> PassingValues:
    """Return the values of the columns by which the rows that pass are clustered."""
    if request.values is None:
        return PassingValues()
    files, least, greatest = decode_values(request.values, len(names))
    decoded = [decode(each) for each in request.values.columns]
    columns: list[ColumnName] = []
    places: list[int] = []
    for place, column in enumerate(decoded):
        # another form has no statistics: its values may depend on more than the file
        if isinstance(column, Column) and column.type.is_discrete:
            name = (column.path, str(column.type))
            if name not in columns and _is_clustered(least[:, place], greatest[:, place]):
                columns.append(name)
                places.append(place)
    chosen = is_settled[files]
    edges = least[chosen][:, places], greatest[chosen][:, places]
    return PassingValues.of(names.take(pa.array(files[chosen])), columns, edges)


def _is_clustered(least: npt.NDArray[np.int64], greatest: npt.NDArray[np.int64]) -> bool:
    """Return whether a typical file holds at most half of the range of all files, or there are only
    a few files. Otherwise the bounds would rarely rule out a file.
    """
    has_values = least <= greatest
    if np.count_nonzero(has_values) < _FEW_FILES:
        return True
    low, high = (each[has_values].astype(np.float64) for each in (least, greatest))
    return bool(np.median(high - low) * 2 <= high.max() - low.min())


def without_remembered(request: ScanRequest, kept: Flags) -> Flags:
    """Return the kept files without those that notes rule out.

    A failure means that nothing is known.
    """
    try:
        return _without_remembered(request, kept)
    except Exception:  # such as a directory that was removed: every file stays
        return kept


def _without_remembered(request: ScanRequest, kept: Flags) -> Flags:
    left = kept.copy()
    for store, note, flags in _matching(request):
        # in a file of a note, no row passes its conjuncts, which are among those of the scan
        _saved_files(store, note, request, left & flags)
        left &= ~flags
    return left


class LearntRows:
    """What notes say of the rows of a scan that pass.

    - `values`: one entry per note.
    """

    def __init__(self, request: ScanRequest) -> None:
        self._request = request
        self._notes: list[tuple[Store, Kept, LearntValues, Flags]] = []
        with suppress(Exception):  # such as a directory that was removed: nothing is known
            notes = [each for each in _notes_about(request) if each[1].num_bounded]
            self._notes = [
                each for pair in notes[:_MOST_BOUNDS] if (each := self._opened(*pair)) is not None
            ]

    @property
    def values(self) -> tuple[LearntValues, ...]:
        return tuple(values for _, _, values, _ in self._notes)

    def _opened(self, store: Store, note: Kept) -> tuple[Store, Kept, LearntValues, Flags] | None:
        asked = self._request.remembered
        assert asked is not None
        columns: dict[tuple[str, ...], Bounds] = {}
        known = np.zeros(self._request.snapshot.files, np.bool_)
        for (path, type_name), edges in store.values(
            note, _identities(self._request.snapshot)
        ).items():
            data_type = DataType.parse(type_name)
            if data_type is not None and data_type.is_discrete:
                bounds = _bounds(data_type, *edges)
                columns[path] = bounds
                known |= _is_known(bounds)
        if not known.any():
            return None
        conjuncts = frozenset(i for i, key in enumerate(asked.keys) if key in note.keys)
        # a table format may have deleted the rows that had these values
        is_whole = self._request.delta is None and self._request.iceberg is None
        return store, note, LearntValues(conjuncts, columns, is_whole), known

    def narrowed(self, kept: Flags, passing: Callable[[LearntValues, Flags], Flags]) -> Flags:
        """Return the kept files without those in which no row that passes has such values.

        Args:
            kept: The files.
            passing: Returns which of some files can hold a row that passes, given what is known of
                such rows. The others may be in either state.
        """
        for store, note, values, known in self._notes:
            among = kept & known
            if among.any():
                left = passing(values, among)
                ruled_out = among & ~left
                _saved_files(store, note, self._request, ruled_out)
                kept = kept & ~ruled_out
        return kept


def _bounds(
    data_type: DataType, least: npt.NDArray[np.int64], greatest: npt.NDArray[np.int64]
) -> Bounds:
    """Return what the values of a note say about the ordinary values of a column."""
    has_values = least <= greatest
    low, high = data_type.domain
    # an end of int64 stands for what is not known
    lower_known, upper_known = (
        has_values & (least != _LONG.min),
        has_values & (greatest != _LONG.max),
    )
    return Bounds(
        data_type,
        np.where(lower_known, least, low),
        np.where(upper_known, greatest, high),
        YES,  # nothing is known about NULL
        NO,
        has_values,
        lower_known,
        upper_known,
    )


def _is_known(bounds: Bounds) -> Flags:
    assert bounds.lower_known is not None
    assert bounds.upper_known is not None
    return bounds.lower_known | bounds.upper_known | ~bounds.can_be_value


def _saved_files(store: Store, note: Kept, request: ScanRequest, ruled_out: Flags) -> None:
    count = int(np.count_nonzero(ruled_out))
    if count:
        sizes = listed_files(request.snapshot).size.to_numpy()
        _saved(store, note, request, int(sizes[ruled_out].sum()), count)


def known_true(request: ScanRequest, num_records: npt.NDArray[np.int64] | None) -> KnownTrue:
    """Return where notes say that a conjunct of a scan is true for every row.

    A failure means that nothing is known.

    Args:
        request: The scan.
        num_records: The number of rows of each file, -1 where not known.
    """
    try:
        return _known_true(request, num_records)
    except Exception:  # such as a directory that was removed: every filter stays
        return NOTHING


def _known_true(request: ScanRequest, num_records: npt.NDArray[np.int64] | None) -> KnownTrue:
    found = _store_of(request)
    if found is None:
        return NOTHING
    asked, store = found
    files: dict[int, Flags] = {}
    rows: dict[int, RowRanges] = {}
    for ordinal, key in enumerate(asked.keys):
        notes = [] if key is None else store.passing(asked.reading, key)
        for note in notes:
            names = _identities(request.snapshot)
            # every row of these passes all conjuncts of the note, and so this one
            whole, some = store.all_pass(note, names)
            files[ordinal] = files.get(ordinal, False) | whole
            if some is not None and len(some):
                rows[ordinal] = some if ordinal not in rows else rows[ordinal].joined(some)
            if files[ordinal].all():
                break  # many notes may have a conjunct such as IS NOT NULL in common
        if ordinal in rows and num_records is not None:
            every = np.arange(len(num_records))
            files[ordinal] = files[ordinal] | rows[ordinal].cover(
                every, np.zeros_like(num_records), num_records
            )
        if notes and files[ordinal].any():
            _saved(store, notes[0], request)
    return KnownTrue(files, rows)


def _saved(store: Store, note: Kept, request: ScanRequest, size: int = 0, files: int = 0) -> None:
    """Count what a note saves for a scan, unless the scan is only explained, or not planned yet."""
    if isinstance(request, PlanRequest) and not request.detail and not request.goal:
        store.saved(note, request.id, size, files=files)


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


def remembered_files(
    request: ScanRequest, kept: Flags, passing: Callable[[LearntValues, Flags], Flags]
) -> Flags:
    """Return for each file of a scan whether a note rules it out.

    Args:
        request: The scan.
        kept: The files that statistics keep.
        passing: See `LearntRows.narrowed`.
    """
    found = kept & ~LearntRows(request).narrowed(kept, passing)
    for _, _, flags in _matching(request):
        found |= flags
    return found


def _matching(request: ScanRequest) -> list[tuple[Store, Kept, Flags]]:
    notes = _notes_about(request)
    names = _identities(request.snapshot) if notes else None
    return [(store, note, store.without_hit(note, names)) for store, note in notes]


def _notes_about(request: ScanRequest) -> list[tuple[Store, Kept]]:
    """Return the notes whose conjuncts are all among those of the scan."""
    found = _store_of(request)
    if found is None:
        return []
    asked, store = found
    keys = [key for key in asked.keys if key is not None]
    return [(store, note) for note in store.about(asked.reading, keys)]


def _store_of(request: ScanRequest) -> tuple[RememberedKeys, Store] | None:
    """Return the keys of a scan, and the store of notes about them; None: nothing is remembered."""
    asked = request.remembered
    if asked is None or not 0 < request.snapshot.files <= _MOST_FILES:
        return None
    store = store_in(request.cache_directory) if any(asked.keys) else None
    return None if store is None else (asked, store)


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
        pa.field("passing_files", pa.int64(), nullable=False),
        pa.field("partial_passing_files", pa.int64(), nullable=False),
        pa.field("bounded_files", pa.int64(), nullable=False),
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
            "passing_files": each.num_passing,
            "partial_passing_files": each.num_passing_partial,
            "bounded_files": each.num_bounded,
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
