"""Which rows of an index still speak of the files of a listing.

A row is good for a file of the same directory, name, size and modification time, and for no other.

    the listing now             the index               row
    a 10 bytes, 9:00            a 10 bytes, 9:00        0
    b 11 bytes, 9:05            b 11 bytes, 9:00        -1  rewritten since
    c 12 bytes, 9:00            c 12 bytes, 9:00        2
    d 13 bytes, 9:00                                    -1  added since
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.index.snapshot import FileKeys

Rows = npt.NDArray[np.int64]
UNMATCHED = -1


def match(listing: FileKeys, indexed: FileKeys) -> Rows | None:
    """For every listed file its row in the index, or -1. None: all rows, in the same order."""
    if is_same(listing, indexed):
        return None
    return _join(_Keys.of(listing, _group_map(listing, indexed)), _Keys.of(indexed, None))


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

    def __init__(self, group: Rows, size: Rows, mtime: Rows, name: pa.Array) -> None:
        self.group, self.size, self.mtime, self.name = group, size, mtime, name

    @staticmethod
    def of(files: FileKeys, group_map: npt.NDArray[np.int64] | None) -> _Keys:
        group = files.group.to_numpy().astype(np.int64)
        if group_map is not None and len(group):
            group = group_map[group]
        name = files.name.combine_chunks()
        return _Keys(group, files.size.to_numpy(), files.mtime.to_numpy(), name)

    def __len__(self) -> int:
        return len(self.group)

    def hashes(self, start: int, stop: int) -> npt.NDArray[np.uint64]:
        """Equal where group, size and mtime are; sorts nearly as the files do."""
        size = self.size[start:stop].view(np.uint64)
        mtime = self.mtime[start:stop].view(np.uint64)
        mixed = (size * np.uint64(0x9E3779B97F4A7C15)) ^ (mtime * np.uint64(0xC2B2AE3D27D4EB4F))
        group = self.group[start:stop].view(np.uint64)
        return (mixed >> np.uint64(24)) | (group << np.uint64(40))

    def texts(self, rows: Rows) -> pa.Array:
        """One text a file that holds the whole key."""
        parts = [pa.array(a[rows]).cast(pa.string()) for a in (self.group, self.size, self.mtime)]
        return pc.binary_join_element_wise(*parts, self.name.take(pa.array(rows)), "/")


def _join(listing: _Keys, indexed: _Keys) -> Rows:
    rows = np.full(len(listing), UNMATCHED, np.int64)
    # 1. What the two share at their start and at their end.
    shared = min(len(listing), len(indexed))
    head = _first_difference(listing, indexed, shared, from_end=False)
    tail = _first_difference(listing, indexed, shared - head, from_end=True)
    rows[:head] = np.arange(head)
    if tail:
        rows[-tail:] = np.arange(len(indexed) - tail, len(indexed))
    # 2. Between: join on what is cheap to compare.
    start, stop = head, len(listing) - tail
    if start < stop and head < len(indexed) - tail:
        rows[start:stop] = _join_hashes(
            listing.hashes(start, stop), indexed.hashes(head, len(indexed) - tail), head
        )
    # 3. A candidate is only believed when every part of the key is equal.
    rows = _verified(listing, indexed, rows)
    # 4. Files alike in directory, size and time were perhaps paired wrongly: join the rest by name.
    left = np.flatnonzero((rows == UNMATCHED) & (listing.group != UNMATCHED))
    free = np.ones(len(indexed), bool)
    free[rows[rows != UNMATCHED]] = False
    spare = np.flatnonzero(free)
    hashes = listing.hashes(0, len(listing))[left]
    left = left[np.isin(hashes, indexed.hashes(0, len(indexed))[spare])]
    if len(left) and len(spare):
        found = pc.index_in(listing.texts(left), value_set=indexed.texts(spare))
        known = pc.is_valid(found).to_numpy(zero_copy_only=False)
        rows[left[known]] = spare[pc.drop_null(found).to_numpy()]
    return rows


def _first_difference(a: _Keys, b: _Keys, limit: int, from_end: bool) -> int:
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


def _join_hashes(
    wanted: npt.NDArray[np.uint64], known: npt.NDArray[np.uint64], offset: int
) -> Rows:
    """For every wanted hash a row of that hash, or -1; of equals the k-th gets the k-th.

    Rows count from `offset`.
    """
    by_wanted = np.argsort(wanted, kind="stable")
    by_known = np.argsort(known, kind="stable")
    sorted_wanted, sorted_known = wanted[by_wanted], known[by_known]
    first = np.searchsorted(sorted_wanted, sorted_wanted)
    position = np.searchsorted(sorted_known, sorted_wanted) + np.arange(len(wanted)) - first
    inside = np.minimum(position, len(known) - 1)
    found = (position < len(known)) & (sorted_known[inside] == sorted_wanted)
    rows = np.full(len(wanted), UNMATCHED, np.int64)
    rows[by_wanted[found]] = by_known[inside[found]] + offset
    return rows


def _verified(listing: _Keys, indexed: _Keys, rows: Rows) -> Rows:
    candidates = np.flatnonzero(rows != UNMATCHED)
    theirs = rows[candidates]
    good = (
        (listing.group[candidates] == indexed.group[theirs])
        & (listing.size[candidates] == indexed.size[theirs])
        & (listing.mtime[candidates] == indexed.mtime[theirs])
    )
    same_name = pc.equal(_take(listing.name, candidates), _take(indexed.name, theirs))
    good &= same_name.to_numpy(zero_copy_only=False)
    rows[candidates[~good]] = UNMATCHED
    return rows


def _take(names: pa.Array, rows: Rows) -> pa.Array:
    # rows are distinct, so a run from first to last in order is found at its ends and its steps
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
        return names.slice(rows[0], len(rows))
    return names.take(pa.array(rows))
