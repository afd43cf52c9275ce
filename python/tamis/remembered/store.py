"""The notes in the cache directory of a user, which all drivers on the machine share.

    remembered-4/<subject>-<random>.note    see `notes`
    remembered-4/used/<the same name>       what the note has saved, as JSON

Drivers need no lock: a note is written under another name and then renamed, and is never changed.
If two drivers write notes on the same subject, both stay until one of them writes a third, which
holds the files of both.

If the notes exceed their limit, those that have saved least for their size are removed first.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import platformdirs
import pyarrow as pa

from tamis.evaluation.domain.bounds import Flags
from tamis.files.row_ranges import RowRanges
from tamis.indexing.read.cache import private_directory
from tamis.recent import Recent
from tamis.remembered.bodies import Body
from tamis.remembered.identities import WIDTH
from tamis.remembered.notes import Note, read_note, write_note
from tamis.remembered.partial import PartialFiles
from tamis.remembered.values import ColumnName, Edges, PassingValues
from tamis.whole_files import UNFINISHED, writing_whole

__all__ = ["Kept", "Store", "Use", "store_in"]

_NAME: Final = "remembered-4"
_SUFFIX: Final = ".note"
#: Bytes of notes that stay in memory.
_MOST_BYTES: Final = 16 << 20
#: Seconds after which an unfinished file counts as abandoned.
_ABANDONED: Final = 3_600
#: Seconds between two times that the savings of a note are written.
_WRITE_USE: Final = 5.0
#: Days in which savings lose half of their weight, unless the note is used again.
_HALF_LIFE: Final = 7.0


class Use(msgspec.Struct):
    """What a note has saved.

    Attributes:
        scans: The number of scans that were planned with it.
        files, row_groups, bytes: What it alone left out of these scans. The row groups are those of
            other files.
        last: Seconds since 1970.
    """

    scans: int = 0
    files: int = 0
    bytes: int = 0
    last: float = 0.0
    row_groups: int = 0

    def add(self, other: Use) -> None:
        self.scans, self.files = self.scans + other.scans, self.files + other.files
        self.bytes, self.row_groups = self.bytes + other.bytes, self.row_groups + other.row_groups
        self.last = max(self.last, other.last)


@dataclass(slots=True, eq=False)
class Kept:
    """A note on disk. What it says about files is read when a scan needs it.

    - `num_files`, `num_partial`: the number of files without a row that passes, and of other files
      with rows that are known not to pass.
    - `num_passing`, `num_passing_partial`: the same of files in which every row passes, and of
      rows that are known to pass.
    - `num_bounded`: the number of files with bounds of the rows that pass.
    - `last_scan`: the id of the last request that used it.
    """

    name: str
    size: int
    note: Note  # without what it says about files
    num_files: int
    num_partial: int
    num_passing: int
    num_passing_partial: int
    num_bounded: int
    use: Use
    keys: frozenset[str] = field(init=False)
    subject: str = field(init=False)
    written: float = 0.0
    last_scan: str = ""

    def __post_init__(self) -> None:
        self.keys = frozenset(self.note.keys)
        self.subject = self.note.subject

    @property
    def worth(self) -> float:
        """Bytes saved per byte stored; the older the last use, the less."""
        days = max(0.0, time.time() - max(self.use.last, self.note.learnt / 1000)) / 86_400
        saved: float = (self.use.bytes + 1) / self.size * 0.5 ** (days / _HALF_LIFE)
        return saved


class Store:
    """The notes of one directory. Thread-safe.

    Methods raise OSError if the directory cannot be read or written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = threading.RLock()
        self._kept: dict[str, Kept] = {}
        self._by_key: dict[tuple[str, str], list[Kept]] = {}
        self._passing_by_key: dict[tuple[str, str], list[Kept]] = {}
        self._bodies = Recent[Body](_MOST_BYTES, lambda body: body.size)
        self._stamp = -1

    def all(self) -> list[Kept]:
        """Return every note, the most useful one first."""
        with self._lock:
            self._look()
            return sorted(self._kept.values(), key=lambda each: each.worth, reverse=True)

    def about(self, reading: str, keys: Collection[str]) -> list[Kept]:
        """Return the notes whose conjuncts are all among these."""
        with self._lock:
            self._look()
            asked = frozenset(keys)
            return [
                each
                for key in asked
                for each in self._by_key.get((reading, key), ())
                if each.keys <= asked
            ]

    def passing(self, reading: str, key: str) -> list[Kept]:
        """Return the notes that know rows for which the conjunct is true."""
        with self._lock:
            self._look()
            return list(self._passing_by_key.get((reading, key), ()))

    def without_hit(self, kept: Kept, identities: pa.Array) -> Flags:
        """Return whether the note says of each of these files that no row passes.

        In such a file no row passes the conjuncts of the note. So none passes more conjuncts.
        """
        body = self._body_of(kept)
        if body is None:
            return np.zeros(len(identities), np.bool_)
        return body.failing.whole(identities)

    def rows_without_hit(self, kept: Kept, identities: pa.Array) -> RowRanges | None:
        """Return the rows of files that do not pass, as the note says; None: it names no rows.

        The files are given by their ordinals. A row that does not pass the conjuncts of the note
        does not pass more conjuncts.
        """
        body = self._body_of(kept) if kept.num_partial else None
        return None if body is None else body.failing.partial.located(identities)

    def all_pass(self, kept: Kept, identities: pa.Array) -> tuple[Flags, RowRanges | None]:
        """Return the files in which every row passes, and the rows of others that pass.

        For such a row all conjuncts of the note are true, so each of them is true alone.
        """
        body = self._body_of(kept)
        if body is None:
            return np.zeros(len(identities), np.bool_), None
        rows = body.passing.partial.located(identities) if kept.num_passing_partial else None
        return body.passing.whole(identities), rows

    def values(self, kept: Kept, identities: pa.Array) -> dict[ColumnName, Edges]:
        """Return bounds of columns in the rows of each of these files that pass, as the note says.

        A row that passes more conjuncts passes those of the note, so the bounds hold for it.
        """
        body = self._body_of(kept) if kept.num_bounded else None
        return {} if body is None else body.values.located(identities)

    def add(self, note: Note, max_bytes: int) -> bool:
        """Store a note, together with what is known about the same subject.

        Returns:
            Whether more is known than before.
        """
        with self._lock:
            self._look()
            subject = note.subject
            same = [each for each in self._kept.values() if each.subject == subject]
            read = [(each, self._body_of(each)) for each in same]
            before = [(each, known) for each, known in read if known is not None]
            use, new = Use(), Body.of(note, 0)
            for each, _ in before:
                use.add(each.use)
            files, partial = new.failing.joined([known.failing for _, known in before])
            passing = new.passing.joined([known.passing for _, known in before])
            values = new.values
            for _, known in before:
                values = values.joined(known.values, ())
            no_rows = [files[i : i + WIDTH] for i in range(0, len(files), WIDTH)]
            whole = msgspec.structs.replace(
                note,
                files=files,
                partial=partial,
                passing_files=passing[0],
                passing_partial=passing[1],
                values=values.joined(PassingValues(), no_rows),
            )
            if len(before) == 1 and Body.of(whole, 0).says_the_same_as(before[0][1]):
                return False  # nothing new
            data = write_note(whole)
            if len(data) > max_bytes:
                return False
            name = f"{subject}-{uuid.uuid4().hex[:12]}{_SUFFIX}"
            with writing_whole(self.directory / name) as unfinished:
                unfinished.write_bytes(data)
            written = _kept(name, len(data), whole, use)
            self._hold(written)
            if use.last:  # what was known before has saved something
                self._write_use(written)
            for each, _ in before:  # its files are in the new note
                self._remove(each)
            self._evict(max_bytes, keep=name)
            return True

    def saved(self, kept: Kept, scan: str, size: int, files: int = 0, row_groups: int = 0) -> None:
        """Count what a scan left out because of a note.

        Args:
            kept: The note.
            scan: The id of the request. If a scan is counted in parts, these follow each other.
            size: Bytes.
            files, row_groups: The files, and the row groups of other files.
        """
        with self._lock:
            kept.use.add(Use(int(kept.last_scan != scan), files, size, time.time(), row_groups))
            kept.last_scan = scan
            if kept.use.last - kept.written > _WRITE_USE:
                with suppress(OSError):
                    self._write_use(kept)

    def flush(self) -> None:
        """Write what notes have saved."""
        with self._lock:
            for each in self._kept.values():
                if each.use.last > each.written:
                    self._write_use(each)

    def _evict(self, max_bytes: int, keep: str) -> None:
        total = sum(each.size for each in self._kept.values())
        if total <= max_bytes:
            return
        for each in sorted(self._kept.values(), key=lambda each: each.worth):
            if total <= max_bytes:
                return
            if each.name != keep:
                total -= each.size
                self._remove(each)

    def _remove(self, kept: Kept) -> None:
        for path in (self.directory / kept.name, self.directory / "used" / kept.name):
            path.unlink(missing_ok=True)
        self._forget(kept)

    def _forget(self, kept: Kept) -> None:
        del self._kept[kept.name]
        self._bodies.forget(kept.name)
        _remove_from(self._by_key, (kept.note.reading, min(kept.keys)), kept)
        if kept.num_passing or kept.num_passing_partial:
            for key in kept.keys:
                _remove_from(self._passing_by_key, (kept.note.reading, key), kept)

    def _hold(self, kept: Kept) -> None:
        self._kept[kept.name] = kept
        # one key is enough to find it: a scan must have all of them
        self._by_key.setdefault((kept.note.reading, min(kept.keys)), []).append(kept)
        if kept.num_passing or kept.num_passing_partial:
            # a scan needs only one of them
            for key in kept.keys:
                self._passing_by_key.setdefault((kept.note.reading, key), []).append(kept)

    def _look(self) -> None:
        """Notice what other drivers have written or removed."""
        stamp = self.directory.stat().st_mtime_ns
        if stamp == self._stamp:
            return
        self._stamp = stamp
        present = _notes_in(self.directory)
        for gone in [each for name, each in self._kept.items() if name not in present]:
            self._forget(gone)
        for name in present - self._kept.keys():
            kept = self._opened(self.directory / name)
            if kept is not None:
                self._hold(kept)

    def _opened(self, path: Path) -> Kept | None:
        try:
            data = path.read_bytes()
        except OSError:
            return None  # another driver has removed it
        note = read_note(data)
        if note is None:
            path.unlink(missing_ok=True)  # damaged: no note
            return None
        use = Use()
        with suppress(OSError, msgspec.MsgspecError):
            use = msgspec.json.decode((self.directory / "used" / path.name).read_bytes(), type=Use)
        kept = _kept(path.name, len(data), note, use)
        kept.written = use.last
        return kept

    def _body_of(self, kept: Kept) -> Body | None:
        """Return what a note says about files; None if it cannot be read any more."""
        with self._lock:
            body = self._bodies.get(kept.name)
            if body is None:
                try:
                    note = read_note((self.directory / kept.name).read_bytes())
                except OSError:
                    note = None
                if note is None:
                    return None
                body = Body.of(note, kept.size)
                self._bodies.keep(kept.name, body)
            return body

    def _write_use(self, kept: Kept) -> None:
        directory = self.directory / "used"
        directory.mkdir(mode=0o700, exist_ok=True)
        with writing_whole(directory / kept.name) as unfinished:
            unfinished.write_bytes(msgspec.json.encode(kept.use))
        kept.written = time.time()


def _kept(name: str, size: int, note: Note, use: Use) -> Kept:
    body = Body.of(note, size)
    head = msgspec.structs.replace(
        note,
        files=b"",
        partial=PartialFiles(),
        passing_files=b"",
        passing_partial=PartialFiles(),
        values=PassingValues(),
    )
    counts = (*body.failing.counts, *body.passing.counts, body.values.num_files)
    return Kept(name, size, head, *counts, use)


def _remove_from(
    notes: dict[tuple[str, str], list[Kept]], place: tuple[str, str], kept: Kept
) -> None:
    notes[place].remove(kept)
    if not notes[place]:
        del notes[place]


def _notes_in(directory: Path) -> set[str]:
    """Return the names of the notes, and remove files that were never finished."""
    # a scan that learns lists the directory again: names cost much less than paths
    names = os.listdir(directory)
    for name in names:
        if name.endswith(UNFINISHED):
            path = directory / name
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()
    return {name for name in names if name.endswith(_SUFFIX)}


_open: dict[str | None, Store | None] = {}
_opening: Final = threading.Lock()


def store_in(cache_directory: str | None) -> Store | None:
    """Return the store in a cache directory; None if that cannot be used.

    Args:
        cache_directory: The conf `spark.tamis.cache.location`; None: the cache of the user.
    """
    with _opening:
        if cache_directory not in _open:
            _open[cache_directory] = _found(cache_directory)
        return _open[cache_directory]


def _found(cache_directory: str | None) -> Store | None:
    base = Path(cache_directory or platformdirs.user_cache_dir("tamis"))
    if not base.is_absolute() and not cache_directory:
        return None  # a user without a home directory
    try:
        directory = private_directory(base, _NAME)
    except OSError:
        return None
    return None if directory is None else Store(directory)
