"""Which rows of an index still speak of the files of a listing.

A row is good for a file of the same directory, name, size and modification time, and for no other.

    the listing now             the index               row
    a 10 bytes, 9:00            a 10 bytes, 9:00        0
    b 11 bytes, 9:05            b 11 bytes, 9:00        -1  rewritten since
    c 12 bytes, 9:00            c 12 bytes, 9:00        2
    d 13 bytes, 9:00                                    -1  added since

A file that is rewritten under its own name, to the same size, within the resolution of its time (a
millisecond; a second in some object stores) looks unchanged. Spark never writes a name twice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.files.columns import plain
from tamis.index.snapshot import FileKeys

Rows = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
UNMATCHED = -1


def match(listing: FileKeys, indexed: FileKeys) -> Rows | None:
    """For every listed file its row in the index, or -1. None: all rows, in the same order."""
    if is_same(listing, indexed):
        return None
    if not len(indexed):
        return np.full(len(listing), UNMATCHED, np.int64)
    return _join(_Keys(listing, _group_map(listing, indexed)), _Keys(indexed, None))


def is_same(listing: FileKeys, indexed: FileKeys) -> bool:
    """Whether both hold the same files in the same order: compares buffers, 5 ms a million."""
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
    """For every group of the listing that of the index, or -1."""
    ordinals = {directory: i for i, directory in enumerate(indexed.directories)}
    return np.array([ordinals.get(d, UNMATCHED) for d in listing.directories], np.int64)


class _Keys:
    """The keys of files in arrays, groups numbered as in the index."""

    def __init__(self, files: FileKeys, group_map: npt.NDArray[np.int64] | None) -> None:
        group = files.group.to_numpy().astype(np.int64)
        self.group: Rows = group_map[group] if group_map is not None and len(group) else group
        self.size: Rows = files.size.to_numpy()
        self.mtime: Rows = files.mtime.to_numpy()
        self.name = files.name

    def __len__(self) -> int:
        return len(self.group)

    def hashes(self, rows: slice | Rows) -> Hashes:
        """Equal where group, size and mtime are; the high bits are well mixed."""
        mixed = self.size[rows].view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= self.mtime[rows].view(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed ^= mixed >> np.uint64(29)
        mixed += self.group[rows].view(np.uint64)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        return mixed

    def texts(self, rows: Rows) -> pa.Array:
        """One text a file that holds the whole key."""
        parts = [pa.array(a[rows]).cast(pa.string()) for a in (self.group, self.size, self.mtime)]
        names = self.name.take(pa.array(rows)).combine_chunks()
        return pc.binary_join_element_wise(*parts, names, "/")


def _join(listing: _Keys, indexed: _Keys) -> Rows:
    rows = np.full(len(listing), UNMATCHED, np.int64)
    # 1. What the two share at their start and at their end.
    shared = min(len(listing), len(indexed))
    head = _alike(listing, indexed, shared, from_end=False)
    tail = _alike(listing, indexed, shared - head, from_end=True)
    rows[:head] = np.arange(head)
    if tail:
        rows[-tail:] = np.arange(len(indexed) - tail, len(indexed))
    # 2. Between: join on what is cheap to compare.
    here, there = slice(head, len(listing) - tail), slice(head, len(indexed) - tail)
    found = _join_hashes(listing.hashes(here), indexed.hashes(there))
    rows[here] = np.where(found == UNMATCHED, UNMATCHED, found + head)
    # 3. A candidate is only believed when every part of the key is equal.
    rows = _verified(listing, indexed, rows)
    # 4. Files alike in directory, size and time were perhaps paired wrongly: join the rest by name.
    left = np.flatnonzero((rows == UNMATCHED) & (listing.group != UNMATCHED))
    spare = _unused(rows, len(indexed))
    left = left[np.isin(listing.hashes(left), indexed.hashes(spare))]
    if len(left) and len(spare):
        found = pc.index_in(listing.texts(left), value_set=indexed.texts(spare))
        known = found.is_valid().to_numpy(zero_copy_only=False)
        rows[left[known]] = spare[found.drop_null().to_numpy()]
    return rows


def _alike(a: _Keys, b: _Keys, limit: int, from_end: bool) -> int:
    """How many files from the start (or the end) are alike in group, size and mtime."""
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
    """For every wanted hash a row of `known` with that hash, or -1; no row is given twice."""
    if not len(wanted) or not len(known):
        return np.full(len(wanted), UNMATCHED, np.int64)
    # A table of slots, in which the last to come stays. Who lost a slot, or shares a hash with
    # another, is joined by sorting: about one in ten.
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
    found = _join_sorted(wanted[left], known[spare])
    result[left[found != UNMATCHED]] = spare[found[found != UNMATCHED]]
    return result


def _join_sorted(wanted: Hashes, known: Hashes) -> Rows:
    """As `_join_hashes`; among equals the first gets the first, the second the second."""
    rows = np.full(len(wanted), UNMATCHED, np.int64)
    if not len(wanted) or not len(known):
        return rows
    by_wanted = np.argsort(wanted, kind="stable")
    by_known = np.argsort(known, kind="stable")
    sorted_wanted, sorted_known = wanted[by_wanted], known[by_known]
    rank = np.arange(len(wanted)) - np.searchsorted(sorted_wanted, sorted_wanted)
    position = np.searchsorted(sorted_known, sorted_wanted) + rank
    inside = np.minimum(position, len(known) - 1)
    found = (position < len(known)) & (sorted_known[inside] == sorted_wanted)
    rows[by_wanted[found]] = by_known[inside[found]]
    return rows


def _unused(rows: Rows, total: int) -> Rows:
    """The rows, out of so many, that are in nobody's place."""
    free = np.ones(total, bool)
    free[rows[rows != UNMATCHED]] = False
    return np.flatnonzero(free)


def _verified(listing: _Keys, indexed: _Keys, rows: Rows) -> Rows:
    """The rows without those whose keys differ; by chunk, so that no column is copied whole."""
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
        # a null row takes a null name, which equals nothing
        taken = _taken(names, at, good)
        good &= pc.fill_null(pc.equal(chunk, taken), False).to_numpy(zero_copy_only=False)
        theirs[~good] = UNMATCHED
    return rows


def _taken(names: pa.Array, rows: Rows, good: npt.NDArray[np.bool_]) -> pa.Array:
    if len(rows) and good.all() and bool((np.diff(rows) == 1).all()):
        return names.slice(rows[0], len(rows))
    return names.take(pa.array(rows, mask=~good))
