"""Builds, extends and refreshes the index of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec
import numpy as np

from tamis.errors import StatisticsIndexError, warn_caller
from tamis.indexing.build.current_index import Held, held_by, reusable_rows, selected_leaves
from tamis.indexing.build.generation import Generation, pointer_to
from tamis.indexing.build.listing import TableListing, invalidate, is_read_alike
from tamis.indexing.build.rows.row_job import CHANGED
from tamis.indexing.build.segments import append, in_order, present, with_earlier
from tamis.indexing.build.table_reader import TableReader
from tamis.indexing.build.update import update
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.layout import FILES, Pointer, born_at
from tamis.indexing.format.recording_spec import RecordingSpec, union_of
from tamis.indexing.format.row_statistics import Parts, encode
from tamis.indexing.format.store import Store
from tamis.indexing.place import IndexPlace, Selected
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.reader_options import FILE as READING
from tamis.indexing.state import not_writable


class IndexChanges(IndexPlace):
    """Changes the index of a table. Every method may raise StatisticsIndexError."""

    def _try_to_add(
        self,
        selected: Selected,
        more: RecordingSpec,
        fill_gaps: bool | None,
        conditions: Sequence[str] = (),
    ) -> bool:
        """Add; return False if another process has changed the index meanwhile.

        Args:
            conditions: As for `_build`.
        """
        listing = self._list()
        table, store = self._reader_of(listing), self._store(listing)
        requested = self._requested(listing)
        selected = table.narrowed(selected, more)
        if requested is None:
            self._build(listing, selected, more, conditions=conditions)
            return True
        before, spec = requested
        table.entries(more)  # a missing column is an error only if it is requested now
        selected_leaves(table.leaves, selected)
        if selected is not None and before is not None:
            selected = [*before, *(each for each in selected if each not in before)]
        else:
            selected = None
        fills_gaps = spec.fills_gaps if fill_gaps is None else fill_gaps
        if listing.row_reading is not None:  # everything is from rows
            fills_gaps = False
        union = msgspec.structs.replace(union_of(spec, more), fills_gaps=fills_gaps)
        gone: dict[str, str] = {}
        leaves = selected_leaves(table.leaves, selected, gone)
        held = held_by(store)
        if held is not None and held.spec != spec:
            return False
        if held is None or not held.fits(listing, leaves, table.entries(spec, {})):
            self._build(listing, selected, union, lenient=True, conditions=conditions)
            return True
        try:
            store.verify(held.pointer)
            if conditions:
                files = store.columns(held.pointer, FILES)
                union = table.with_clustered(union, conditions, files, leaves)
            again = None if listing.row_reading is None else CHANGED
            rows = reusable_rows(listing.snapshot.files, store, held.pointer, again)
            entries = table.entries(union, gone)
            if not self._rewrite(
                table, store, held, leaves, union, entries, rows, selected, retries=True
            ):
                return False
        except IndexUnusable as problem:
            if problem.code == "index.damaged":
                self._build(listing, selected, union, lenient=True, conditions=conditions)
                return True
            raise
        self._warn_of(gone)
        return True

    def _disturbed(self, method: str) -> StatisticsIndexError:
        return StatisticsIndexError(
            f"other processes changed the index of {self._target} each time before {method} could "
            "commit: run it again"
        )

    def _build(
        self,
        listing: TableListing,
        selected: Selected,
        spec: RecordingSpec,
        lenient: bool = False,
        conditions: Sequence[str] = (),
    ) -> None:
        """Build and commit an index of one segment.

        Args:
            lenient: Warn of columns that the table does not have, instead of raising an error.
            conditions: Those in whose passing rows the columns by which the table is clustered are
                to be bounded.
        """
        table = self._reader_of(listing)
        if listing.row_reading is not None:  # everything is from rows
            spec = msgspec.structs.replace(spec, fills_gaps=False)
        gone: dict[str, str] | None = {} if lenient else None
        entries = table.entries(spec, gone)
        leaves = selected_leaves(table.leaves, selected, gone)
        if gone and not leaves:  # none of the selected columns is left
            leaves, selected = table.leaves, None
        content = table.content(leaves)
        if conditions:
            spec = table.with_clustered(spec, conditions, content.files, leaves)
            entries = table.entries(spec, gone)
        every = np.arange(len(content.files))
        recorded = table.rows(every, leaves, spec, entries, content)
        parts = encode(
            recorded.entries, recorded.parts, len(content.files), len(content.row_groups)
        )
        self._commit(listing, selected, content, spec, parts)
        self._warn_of(gone)

    def _warn_of(self, gone: Mapping[str, str] | None) -> None:
        if gone:
            names = "; ".join(f"{name} ({why})" for name, why in gone.items())
            warn_caller(
                f"the index of {self._target} no longer records {names}. Everything else is "
                "indexed. To stop this warning, build the index with the columns and expressions "
                "that you want.",
            )

    def _try_to_refresh(self) -> bool:
        """Refresh; return False if another process has changed the index meanwhile."""
        started = datetime.now(UTC)
        listing = self._list()
        table = self._reader_of(listing)
        store = self._store(listing)
        held = held_by(store)
        if held is None:
            requested = self._requested(listing)
            if requested is None and store.stamp() is None:
                warn_caller(
                    f"there is no index at {store.uri}, and no list of what an earlier one "
                    "recorded. refresh() builds one as build() does without arguments: to record "
                    "more, call build() with the columns and expressions that you want.",
                )
            default = None, RecordingSpec(fills_gaps=True)
            self._build(listing, *(requested or default), lenient=True)
            return True
        old = held.pointer
        if (born_at(old.name) or started) > started:
            # the listing may lack files that another process has indexed
            listing = self._list()
            table = self._reader_of(listing)
        gone: dict[str, str] = {}
        leaves = selected_leaves(table.leaves, old.selected, gone)
        entries = table.entries(held.spec, gone)
        if not held.fits(listing, leaves, entries):
            self._build(listing, old.selected, held.spec, lenient=True)
            return True
        try:
            store.verify(old)
            again = None if listing.row_reading is None else CHANGED
            rows = reusable_rows(listing.snapshot.files, store, old, again)
            new = np.flatnonzero(rows < 0)
            if self._has_grown(listing, old, leaves, len(rows) - len(new)):
                if not len(new):
                    self._keep_specification(listing, store)  # the index is current
                elif not self._append(table.only(new), store, held, entries):
                    return False
                self._warn_of(gone)
                return True
            if not self._rewrite(
                table, store, held, leaves, held.spec, entries, rows, old.selected, retries=False
            ):
                return False
        except IndexUnusable as problem:
            if problem.code == "index.damaged":
                self._build(listing, old.selected, held.spec, lenient=True)
                return True
            raise
        self._warn_of(gone)
        return True

    @staticmethod
    def _has_grown(
        listing: TableListing, old: Pointer, leaves: Sequence[Leaf], unchanged: int
    ) -> bool:
        """Return whether files were only added, and segments of them fit the index.

        Args:
            listing: The files.
            old: The index.
            leaves: The columns that it describes now.
            unchanged: The number of listed files that the index describes.
        """
        return (
            unchanged == old.totals.files
            and leaves == tuple(entry.leaf for entry in old.columns)
            and (listing.schema, listing.partition_schema) == (old.schema, old.partition_schema)
        )

    def _append(self, new: TableReader, store: Store, held: Held, entries: Sequence[Entry]) -> bool:
        """Append a segment of new files; return whether the index has it now."""
        old = held.pointer
        leaves = [entry.leaf for entry in old.columns]
        content, recorded = new.everything(leaves, held.spec, entries, held.gaps)
        recorded = in_order(held.entries, recorded, len(content.files))
        parts = encode(
            recorded.entries, recorded.parts, len(content.files), len(content.row_groups)
        )
        tables, raw = parts.data(held.spec, with_earlier(held.entries, parts.entries))
        self._require_same_reading(new.listing)
        with self._writing(store):
            segment = store.write_segment(
                content.files, content.row_groups, tables, raw if held.recording else {}
            )
            replaced = append(store, old, segment, content)
        if replaced is None:
            return False
        self._finish(new.listing, store, replaced)
        return True

    def _rewrite(
        self,
        table: TableReader,
        store: Store,
        held: Held,
        leaves: Sequence[Leaf],
        spec: RecordingSpec,
        entries: Sequence[Entry],
        rows: np.ndarray,
        selected: Selected,
        retries: bool,
    ) -> bool:
        """Build the index from what the old one knows, and from what it lacks: see `update`.

        Args:
            selected: The columns that the user named.

        Returns:
            Whether the index was written: see `_commit`.
        """
        content, recorded = update(table, store, held, leaves, spec, entries, rows, retries)
        parts = encode(recorded.entries, recorded.parts, len(rows), len(content.row_groups))
        return self._commit(table.listing, selected, content, spec, parts, held)

    def _commit(
        self,
        listing: TableListing,
        selected: Selected,
        content: Generation,
        spec: RecordingSpec,
        parts: Parts,
        replaced: Held | None = None,
    ) -> bool:
        """Write and commit an index of one segment.

        Args:
            replaced: The index from which this one was made. None: this one is new.

        Returns:
            Whether the index was committed. It is not if another process has dropped the index that
            it replaces, or changed what that records. If another process has changed which files it
            describes, those that this one lacks are read again, which costs less than to read all.
        """
        self._require_same_reading(listing)
        store = self._store(listing)
        before = store.current()
        tables, raw = parts.data(spec) if spec else ({}, {})
        if listing.reading is not None:
            raw = {**raw, READING: memoryview(msgspec.json.encode(listing.reading))}
        with self._writing(store):
            segment = store.write_segment(content.files, content.row_groups, tables, raw)
            is_current = True
            if replaced is not None:
                before = present(store)
                is_current = before is not None and before.checksum == replaced.pointer.checksum
                current = None if is_current else held_by(store)
                if not is_current and (current is None or current.spec != replaced.spec):
                    return False
            store.commit(
                pointer_to(
                    segment,
                    content,
                    listing.root,
                    listing.schema,
                    listing.partition_schema,
                    listing.case_sensitive,
                    selected,
                )
            )
        self._finish(listing, store, before)
        return is_current or self._try_to_refresh()

    def _require_same_reading(self, listing: TableListing) -> None:
        if not is_read_alike(self._spark, self._target, listing):
            raise StatisticsIndexError(
                f"the columns of {self._target} were changed while its rows were read: run it again"
            )

    @contextmanager
    def _writing(self, store: Store) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise not_writable(f"{store.uri} ({problem})") from problem

    def _finish(self, listing: TableListing, store: Store, before: Pointer | None) -> None:
        """Clean up after a commit, and let the session see it."""
        self._is_changed = True
        store.remove_old_segments(before)
        self._keep_specification(listing, store)
        invalidate(self._spark, listing.root)
