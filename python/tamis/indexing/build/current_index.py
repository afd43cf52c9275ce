"""Comparison of the current generation with the current listing, and what can be reused of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import StatisticsIndexError
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.layout import COUNTED_FORMAT, FILES, ROW_GROUPS, Pointer
from tamis.indexing.format.recording_spec import RecordingSpec
from tamis.indexing.format.row_statistics import Recording, recording_of
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read import freshness
from tamis.indexing.read.freshness import Staleness
from tamis.indexing.read.reader_options import Reading, reading_in
from tamis.indexing.read.snapshot import FileKeys

if TYPE_CHECKING:
    from tamis.indexing.build.listing import TableListing

__all__ = [
    "Held",
    "held_by",
    "keys_in_force",
    "load_segments",
    "reusable_rows",
    "selected_leaves",
    "staleness",
]

_KEY: Final = ("directory", "name", "size", "mtime")


@dataclass(frozen=True)
class Held:
    """What an index holds: its pointer, row statistics, and how Spark reads files of its format."""

    pointer: Pointer
    recording: Recording | None
    reading: Reading | None

    @property
    def spec(self) -> RecordingSpec:
        return RecordingSpec() if self.recording is None else self.recording.spec

    @property
    def entries(self) -> tuple[Entry, ...]:
        return () if self.recording is None else self.recording.entries

    @property
    def gaps(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.fills_gap]

    def fits(self, listing: TableListing, leaves: Sequence[Leaf], entries: Sequence[Entry]) -> bool:
        """Return whether the index can be updated to describe a table. If not, it must be built.

        Args:
            listing: The table.
            leaves: The columns to describe.
            entries: What `spec` requests of this table.
        """
        pointer = self.pointer
        return (
            pointer.format >= COUNTED_FORMAT
            and self.reading == listing.reading
            and pointer.case_sensitive == listing.case_sensitive
            and set(leaves) <= {entry.leaf for entry in pointer.columns}
            and [entry.meaning for entry in entries]
            == [entry.meaning for entry in self.entries if not entry.fills_gap]
        )


def held_by(store: Store) -> Held | None:
    """Return what the index holds; None if it is missing or damaged.

    Raises:
        IndexUnusable: The index must not be overwritten, such as one of a newer version of tamis.
    """
    try:
        pointer = store.pointer()
        return Held(pointer, recording_of(store, pointer), reading_in(store, pointer))
    except IndexUnusable as problem:
        if problem.code in ("index.missing", "index.damaged"):
            return None
        raise


def selected_leaves(
    leaves: Sequence[Leaf], columns: Sequence[str] | None, gone: dict[str, str] | None = None
) -> tuple[Leaf, ...]:
    """Return the leaves with these names.

    Args:
        leaves: The leaves of the table.
        columns: Names: dots for struct fields, a struct for all of its fields. None: all leaves.
        gone: A mapping to which the names are added that the table does not have, each with the
            reason. None: they are an error.

    Raises:
        StatisticsIndexError: `gone` is None and the table does not have a column.
    """
    if columns is None:
        return tuple(leaves)
    chosen: list[Leaf] = []
    for name in columns:
        named = [leaf for leaf in leaves if leaf.name == name or leaf.name.startswith(f"{name}.")]
        if not named and gone is not None:
            gone[name] = "the table has no such column that can have statistics"
        elif not named:
            near = get_close_matches(name, [leaf.name for leaf in leaves], n=1)
            hint = f"did you mean {near[0]}?" if near else "check its name and type"
            raise StatisticsIndexError(
                f"columns: the table has no column {name} that can have statistics: {hint}",
                shell=f"{name}: the table has no such column that can have statistics: {hint}",
            )
        chosen.extend(leaf for leaf in named if leaf not in chosen)
    return tuple(chosen)


def load_segments(store: Store, pointer: Pointer) -> tuple[pa.Table, pa.Table]:
    """Return the files and row groups of an index, with all columns."""
    return store.columns(pointer, FILES), store.columns(pointer, ROW_GROUPS)


def keys_in_force(store: Store, pointer: Pointer) -> FileKeys:
    """Return the keys of the files that an index describes."""
    return _keys_of(store.columns(pointer, FILES, _KEY))


def _keys_of(files: pa.Table) -> FileKeys:
    directories = files.column("directory").combine_chunks().dictionary_encode()
    return FileKeys(
        tuple(directories.dictionary.to_pylist()),
        pa.chunked_array([directories.indices]),
        files.column("name"),
        files.column("size"),
        files.column("mtime"),
    )


def reusable_rows(
    listing: FileKeys, store: Store, pointer: Pointer, problem: str | None = None
) -> np.ndarray:
    """Return the row of the index for every listed file that it still describes, or -1.

    Files that could not be read get -1, to be read again. If `problem` is given, only those with
    that problem do.

    Raises:
        IndexUnusable: The index cannot be read.
    """
    known = store.columns(pointer, FILES, [*_KEY, "num_records", "problem"])
    rows = freshness.match_keys(listing, _keys_of(known))
    if rows is None:
        rows = np.arange(len(listing))
    if not len(known):
        return rows
    unread = known.column("num_records").is_null().to_numpy()
    if problem is not None:
        unread = pc.fill_null(pc.equal(known.column("problem"), problem), False).to_numpy()
    return np.where((rows >= 0) & ~unread[rows], rows, freshness.UNMATCHED)


def staleness(listing: FileKeys, indexed: FileKeys) -> Staleness:
    """Count the files that changed between the index and the current listing."""
    rows = freshness.match_keys(listing, indexed)
    untimed = int((~freshness.has_time(listing)).sum())
    if rows is None:
        return Staleness(len(listing), 0, 0, 0, untimed)
    fresh = int((rows >= 0).sum())
    theirs = set(indexed.uris())
    uris = listing.uris()
    changed = sum(uris[i] in theirs for i in np.flatnonzero(rows < 0))
    added = len(listing) - fresh - changed
    return Staleness(fresh, changed, added, len(indexed) - fresh - changed, untimed)
