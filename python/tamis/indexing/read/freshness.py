"""Matching the rows of an index with the files of a listing.

A row describes a file with the same directory, name, size and modification time, and no other.

    the listing now             the index               row
    a 10 bytes, 9:00            a 10 bytes, 9:00        0
    b 11 bytes, 9:05            b 11 bytes, 9:00        -1  rewritten after the build
    c 12 bytes, 9:00            c 12 bytes, 9:00        2
    d 13 bytes, 9:00                                    -1  added after the build

A file that is replaced under the same name, by one of the same size and with the same modification
time, looks unchanged: within the resolution of the time (a millisecond; a second in some object
stores), or if the tool that replaces it sets the time. Spark never writes the same name twice.

Tools that set the time of all files to a constant choose one before 1990: 0, a second, or the first
time in ZIP archives. Storage that does not know the time says 0. So no row describes a file with
such a time.

Table formats never change a data file, so its path and size identify it. Listings and indexes of
such tables have the time `UNCHANGING`, see `unchanging`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.files.columns import plain
from tamis.indexing.read.snapshot import FileKeys, canonical

Rows = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
UNMATCHED = -1
#: Milliseconds since 1970 before which a modification time says nothing: the start of 1990.
OLDEST: Final = 631_152_000_000
#: Instead of the modification time of files that never change (io.tamis.formats.FormatFiles).
UNCHANGING: Final = -2


@dataclass(frozen=True)
class Staleness:
    """How the indexed files compare with the current listing, in numbers of files.

    `untimed`: the listed files whose modification time is before 1990. Queries read them.
    """

    fresh: int
    changed: int
    added: int
    gone: int
    untimed: int = 0

    @property
    def is_stale(self) -> bool:
        return bool(self.changed or self.added or self.gone)


def match(listing: FileKeys, indexed: FileKeys) -> Rows | None:
    """Return the row in the index that describes each file, or -1. None: all in the same order."""
    rows = match_keys(listing, indexed)
    times_are_known = has_time(listing)
    if times_are_known.all():
        return rows
    rows = np.arange(len(listing)) if rows is None else rows
    return np.where(times_are_known, rows, UNMATCHED)


def has_time(files: FileKeys) -> npt.NDArray[np.bool_]:
    """Return for each file whether its modification time says anything."""
    earliest = pc.min(files.mtime).as_py()
    if earliest is None or earliest >= OLDEST:
        return np.ones(len(files), np.bool_)
    times = files.mtime.to_numpy()
    known: npt.NDArray[np.bool_] = (times >= OLDEST) | (times == UNCHANGING)
    return known


def unchanging(files: FileKeys) -> FileKeys:
    """Return the keys of files that never change, whatever times a table format records."""
    times = pa.array(np.full(len(files), UNCHANGING), pa.int64())
    return replace(files, mtime=pa.chunked_array([times]))


def match_keys(listing: FileKeys, indexed: FileKeys) -> Rows | None:
    """Return the row in the index with the key of each file, whatever its time says, or -1.

    None: all rows in the same order. For builds, which need not read the files again.
    """
    if is_same(listing, indexed):
        return None
    if not len(indexed):
        return np.full(len(listing), UNMATCHED, np.int64)
    return _join(_Keys(listing, _group_map(listing, indexed)), _Keys(indexed, None))


def is_same(listing: FileKeys, indexed: FileKeys) -> bool:
    """Return whether both have the same files in the same order.

    Compares buffers, which takes 5 ms per million files.
    """
    if len(listing) != len(indexed):
        return False
    if not (listing.size.equals(indexed.size) and listing.mtime.equals(indexed.mtime)):
        return False
    if listing.directories == indexed.directories:
        same_directories = listing.group.equals(indexed.group)
    else:
        groups = _group_map(listing, indexed)
        here = groups[listing.group.to_numpy()] if len(groups) else listing.group.to_numpy()
        same_directories = np.array_equal(here, indexed.group.to_numpy())
    return bool(same_directories and listing.name.equals(indexed.name))


def _group_map(listing: FileKeys, indexed: FileKeys) -> npt.NDArray[np.int64]:
    """Return the group of the index that corresponds to every group of the listing, or -1.

    Automatic indexes have directories in canonical spelling.
    """
    ordinals = {directory: i for i, directory in enumerate(indexed.directories)}

    def ordinal(directory: str) -> int:
        place = ordinals.get(directory)
        return ordinals.get(canonical(directory), UNMATCHED) if place is None else place

    return np.array([ordinal(directory) for directory in listing.directories], np.int64)


class _Keys:
    """The keys of files as arrays, with the group numbers of the index."""

    def __init__(self, files: FileKeys, group_map: npt.NDArray[np.int64] | None) -> None:
        group = files.group.to_numpy().astype(np.int64)
        self.group: Rows = group_map[group] if group_map is not None and len(group) else group
        self.size: Rows = files.size.to_numpy()
        self.mtime: Rows = files.mtime.to_numpy()
        self.name = files.name

    def __len__(self) -> int:
        return len(self.group)

    def hashes(self, rows: slice | Rows) -> Hashes:
        """Return hashes, equal for equal group, size and mtime; the high bits are well mixed."""
        mixed = self.size[rows].view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= self.mtime[rows].view(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed ^= mixed >> np.uint64(29)
        mixed += self.group[rows].view(np.uint64)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        return mixed

    def texts(self, rows: Rows) -> pa.Array:
        """Return one string per file that contains the whole key."""
        parts = [pa.array(a[rows]).cast(pa.string()) for a in (self.group, self.size, self.mtime)]
        names = self.name.take(pa.array(rows)).combine_chunks()
        return pc.binary_join_element_wise(*parts, names, "/")


def _join(listing: _Keys, indexed: _Keys) -> Rows:
    rows = np.full(len(listing), UNMATCHED, np.int64)
    # 1. Match the common prefix and the common suffix.
    shared = min(len(listing), len(indexed))
    head = _alike(listing, indexed, shared, from_end=False)
    tail = _alike(listing, indexed, shared - head, from_end=True)
    rows[:head] = np.arange(head)
    if tail:
        rows[-tail:] = np.arange(len(indexed) - tail, len(indexed))
    # 2. In between: join on hashes, which are cheap to compare.
    here, there = slice(head, len(listing) - tail), slice(head, len(indexed) - tail)
    matched = _join_hashes(listing.hashes(here), indexed.hashes(there))
    rows[here] = np.where(matched == UNMATCHED, UNMATCHED, matched + head)
    # 3. Keep a candidate only if every part of the key is equal.
    rows = _verified(listing, indexed, rows)
    # 4. Files with equal directory, size and time may have been paired wrongly: join the rest by
    #    name as well.
    left = np.flatnonzero((rows == UNMATCHED) & (listing.group != UNMATCHED))
    spare = _unused(rows, len(indexed))
    left = left[np.isin(listing.hashes(left), indexed.hashes(spare))]
    if len(left) and len(spare):
        matched = pc.index_in(listing.texts(left), value_set=indexed.texts(spare))
        known = matched.is_valid().to_numpy(zero_copy_only=False)
        rows[left[known]] = spare[matched.drop_null().to_numpy()]
    return rows


def _alike(a: _Keys, b: _Keys, limit: int, from_end: bool) -> int:
    """Return how many files from the start (or the end) are equal in group, size and mtime."""
    if limit <= 0:
        return 0

    def part(values: Rows) -> Rows:
        return values[::-1][:limit] if from_end else values[:limit]

    different = (
        (part(a.group) != part(b.group))
        | (part(a.size) != part(b.size))
        | (part(a.mtime) != part(b.mtime))
    )
    return int(different.argmax()) if different.any() else limit


def _join_hashes(wanted: Hashes, known: Hashes) -> Rows:
    """Return a row of `known` with the hash for every wanted hash, or -1. No row occurs twice."""
    if not len(wanted) or not len(known):
        return np.full(len(wanted), UNMATCHED, np.int64)
    # A hash table in which the last row written to a slot stays. Rows that lost their slot, or
    # share a hash with another, are joined by sorting: about one in ten.
    bits = (4 * len(known)).bit_length()
    shift = np.uint64(64 - bits)
    table = np.full(1 << bits, UNMATCHED, np.int32)
    table[known >> shift] = np.arange(len(known), dtype=np.int32)
    rows = table[wanted >> shift]
    rows[known[rows] != wanted] = UNMATCHED
    claims = np.bincount(rows + 1, minlength=len(known) + 1)[1:]
    rows[(rows != UNMATCHED) & (claims[rows] != 1)] = UNMATCHED
    result: Rows = rows.astype(np.int64)

    left, spare = np.flatnonzero(result == UNMATCHED), np.flatnonzero(claims != 1)
    matched = _join_sorted(wanted[left], known[spare])
    result[left[matched != UNMATCHED]] = spare[matched[matched != UNMATCHED]]
    return result


def _join_sorted(wanted: Hashes, known: Hashes) -> Rows:
    """Join as `_join_hashes` does; equal hashes are paired in order, the first with the first."""
    rows = np.full(len(wanted), UNMATCHED, np.int64)
    if not len(wanted) or not len(known):
        return rows
    by_wanted = np.argsort(wanted, kind="stable")
    by_known = np.argsort(known, kind="stable")
    sorted_wanted, sorted_known = wanted[by_wanted], known[by_known]
    rank = np.arange(len(wanted)) - np.searchsorted(sorted_wanted, sorted_wanted)
    position = np.searchsorted(sorted_known, sorted_wanted) + rank
    inside = np.minimum(position, len(known) - 1)
    matched = (position < len(known)) & (sorted_known[inside] == sorted_wanted)
    rows[by_wanted[matched]] = by_known[inside[matched]]
    return rows


def _unused(rows: Rows, total: int) -> Rows:
    """Return the rows, of `total` rows, that are matched with no file."""
    free = np.ones(total, bool)
    free[rows[rows != UNMATCHED]] = False
    return np.flatnonzero(free)


def _verified(listing: _Keys, indexed: _Keys, rows: Rows) -> Rows:
    """Set rows whose keys differ to -1, chunk by chunk, which avoids copying whole columns."""
    names = plain(indexed.name)
    start = 0
    for chunk in listing.name.chunks:
        here = slice(start, start + len(chunk))
        start += len(chunk)
        theirs = rows[here]
        good = theirs != UNMATCHED
        at = np.where(good, theirs, 0)
        good &= listing.group[here] == indexed.group[at]
        good &= listing.size[here] == indexed.size[at]
        good &= listing.mtime[here] == indexed.mtime[at]
        # an unmatched row yields a null name, which equals nothing
        taken = _taken(names, at, good)
        good &= pc.fill_null(pc.equal(chunk, taken), False).to_numpy(zero_copy_only=False)
        theirs[~good] = UNMATCHED
    return rows


def _taken(names: pa.Array, rows: Rows, good: npt.NDArray[np.bool_]) -> pa.Array:
    if len(rows) and good.all() and bool((np.diff(rows) == 1).all()):
        return names.slice(rows[0], len(rows))
    return names.take(pa.array(rows, mask=~good))
