"""A table and its index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.errors import StatisticsIndexError
from tamis.indexing.build.current_index import Held, keys_in_force, reusable_rows, staleness
from tamis.indexing.build.listing import TableListing
from tamis.indexing.build.table_reader import TableReader
from tamis.indexing.describe import AutomaticPart
from tamis.indexing.format.layout import Pointer
from tamis.indexing.format.store import Store
from tamis.indexing.read.freshness import Staleness
from tamis.indexing.read.snapshot import FileKeys


@dataclass(frozen=True)
class State:
    """A table and its index.

    Attributes:
        store: Where the index is, or would be.
        table: Reads the files of the table.
        held: What the index holds. None: there is none, or it is damaged.
        staleness: How the indexed files compare with those of the table; None without an index.
        is_current: Whether the index describes the present columns, as this version of tamis does.
        is_known: Whether it is known what the index should record, even if there is none.
    """

    store: Store
    table: TableReader
    held: Held | None
    staleness: Staleness | None
    is_current: bool
    is_known: bool

    def require_writable(self) -> None:
        """Raise StatisticsIndexError if the index cannot be written."""
        if not self.store.is_writable():
            raise not_writable(self.store.uri)


@dataclass(frozen=True)
class AutomaticIndex:
    """The automatic index of a table, and the files that it describes."""

    store: Store
    pointer: Pointer
    files: FileKeys

    def beyond(self, listing: FileKeys, store: Store, pointer: Pointer) -> AutomaticPart:
        """Return what it describes in addition to the index of the table."""
        others = np.flatnonzero(reusable_rows(listing, store, pointer) < 0)
        fresh = staleness(listing.take(others), self.files).fresh
        return AutomaticPart(self.store.uri, fresh, self.pointer.size)


def automatic_index(listing: TableListing, location: str) -> AutomaticIndex | None:
    """Return the automatic index of a table; None if there is none."""
    try:
        store = Store.at(listing.root, location, {})
        pointer = store.current()
        files = None if pointer is None else keys_in_force(store, pointer)
    except (OSError, StatisticsIndexError):
        return None
    return None if pointer is None or files is None else AutomaticIndex(store, pointer, files)


def not_writable(where: str) -> StatisticsIndexError:
    return StatisticsIndexError(
        f"the index cannot be written to {where}: make this directory writable, or set "
        "spark.tamis.index.location to a writable directory"
    )
