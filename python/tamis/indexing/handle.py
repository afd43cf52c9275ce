"""`tamis.index(spark, path)`: a handle to the index of one directory or table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np

from tamis.errors import StatisticsIndexError, warn_caller
from tamis.indexing.build.current_index import (
    Held,
    held_by,
    keys_in_force,
    reusable_rows,
    selected_leaves,
    staleness,
)
from tamis.indexing.build.generation import Generation, pointer_to
from tamis.indexing.build.listing import (
    TableListing,
    cache_location,
    conf_of,
    index_location,
    invalidate,
    list_table,
    storage_settings,
    waiting_files,
)
from tamis.indexing.build.rows.row_job import CHANGED
from tamis.indexing.build.segments import append, in_order, present, with_earlier
from tamis.indexing.build.table_reader import TableReader
from tamis.indexing.build.update import update
from tamis.indexing.describe import AutomaticPart, Description
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.format.distinct_sketches import missing_library
from tamis.indexing.format.layout import Pointer, born_at
from tamis.indexing.format.recording_spec import (
    Columns,
    Entry,
    Expressions,
    RecordingSpec,
    requested_statistics,
    union_of,
)
from tamis.indexing.format.row_statistics import Parts, encode, recording_of
from tamis.indexing.format.specification import FORMAT as SPECIFICATION_FORMAT
from tamis.indexing.format.specification import Specification, SpecificationFile
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexMissing, IndexUnusable, other_names, overwritten
from tamis.indexing.read.automatic_location import (
    has_maintained,
    location_of,
    maintained_location,
)
from tamis.indexing.read.command_options import command_options
from tamis.indexing.read.freshness import Staleness
from tamis.indexing.read.reader_options import FILE as READING
from tamis.indexing.read.reader_options import reading_in
from tamis.indexing.read.snapshot import FileKeys
from tamis.indexing.storage import StorageUnreachableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader

#: Columns whose footer statistics are read; None: all.
Selected: TypeAlias = Sequence[str] | None
#: Attempts to write a specification while other processes commit builds.
_ATTEMPTS: Final = 10


class Index:
    """The statistics index of a directory of files, or of a table over one.

    Nothing is listed or read until a method is called. Every method may raise StatisticsIndexError.
    """

    def __init__(
        self,
        spark: SparkSession,
        path_or_table: str | os.PathLike[str],
        reader: DataFrameReader | None = None,
    ) -> None:
        self._spark = spark
        self._target = _text_of(path_or_table)
        self._reader = reader
        self._location: str | None = None
        self._is_changed = False

    def at(self, location: str) -> Index:
        """Return a handle to the index of the same table in another location.

        Args:
            location: As `spark.tamis.index.location`.
        """
        other = Index(self._spark, self._target, self._reader)
        other._location = location
        return other

    @property
    def directory(self) -> str | None:
        """The directory of indexes; None: the index is in the directory of the table.

        Nothing is written into the directory of a Delta table. If there is no other
        directory, its index is in the cache directory.
        """
        return self._location or index_location(self._spark)

    def _directory_for(self, listing: TableListing) -> str | None:
        directory = self.directory
        if directory is not None or listing.table_format is None:
            return directory
        directory = maintained_location(cache_location(self._spark))
        if directory is None:
            raise StatisticsIndexError(
                f"the index of {self._target} cannot be in the cache directory, which cannot be "
                "used: set spark.tamis.index.location"
            )
        return directory

    @property
    def is_changed(self) -> bool:
        """Whether this object has changed the index or dropped it."""
        return self._is_changed

    @property
    def spark(self) -> SparkSession:
        """The session that reads the files."""
        return self._spark

    @property
    def target(self) -> str:
        """The path or table, as the user named it."""
        return self._target

    def __repr__(self) -> str:
        return f"tamis.index(spark, {self._target!r})"

    def build(
        self,
        columns: Columns | None = None,
        expressions: Expressions | None = None,
        fill_gaps: bool = True,
    ) -> Index:
        """Build the index from the footers of all files, and commit it.

        The next query of this session uses it. Files that cannot be read are indexed as unknown:
        no filter on their columns skips them.

        The footers of some columns do not suffice: those of INT96 timestamps have no bounds, and
        those of FLOAT and DOUBLE do not count NaN. By default, Spark reads these columns, and the
        exact bounds of their values are recorded (see docs/statistics_index.md).

        The index of ORC, CSV and JSON is built from all rows. Spark reads ORC and JSON files once,
        and CSV files twice, to check their quotes. It reads all of them once more for bounds of
        expressions, once more for "ndv", and at least twice more for "bloom" and "values" (more
        often if the table has many files). Exact bounds of their columns are always recorded. Text
        files with a record that does not parse are indexed as unknown.

        The index of a Delta table describes the files of its current version, in addition to
        what the log records about them.

        The new index replaces the old one, and what the old one recorded is lost. Use `add` to keep
        it.

        Args:
            columns: A list or a mapping. Default: all columns, and nothing from the rows except
                what `fill_gaps` adds.
                A list names the columns to describe (dots for struct fields; the name of a struct
                stands for all of its fields).
                A mapping says what to record of columns from the rows, in addition to the footer
                statistics of all columns: "bounds" (for columns whose footers have no bounds, such
                as INT96 timestamps, or have truncated ones), "bloom" (for = and IN), "values"
                (for =, IN, <> and NOT IN, in files with at most 1000 distinct values), "ndv" (the
                number of distinct values, for spark.sql.cbo.enabled), or a list of these.
            expressions: SQL of deterministic expressions over the columns of a row. A list records
                "bounds" and "values" of each. A mapping records the kinds that it names. Queries
                may spell them differently: an expression is identified by what it computes.
            fill_gaps: Whether to record bounds where the footers of Parquet files do not suffice.
                If False, and nothing else is recorded from the rows, only footers are read.

        Example:
            index.build(columns={"id": "bloom"}, expressions=["upper(name)"])
        """
        selected, spec = requested_statistics(columns, expressions, fill_gaps)
        _require_library(spec)
        return self._build(self._list(), selected, spec)

    def add(
        self,
        columns: Columns | None = None,
        expressions: Expressions | None = None,
        fill_gaps: bool | None = None,
    ) -> Index:
        """Refresh the index, and record these statistics in addition to what it holds.

        The arguments are those of `build`. For files that the index already describes, only the new
        statistics are read. Bounds of columns whose footers do not suffice are read again if they
        could not be read before. All files are read again in the cases that `refresh` names, and if
        the list of described columns changes. An index that is missing or damaged is built. If an
        overwrite of the table deleted the index, the new index also holds what the deleted one
        held. Without a list of columns, the new index describes all columns.

        Args:
            columns: As for `build`.
            expressions: As for `build`.
            fill_gaps: As for `build`. None: as the index was built before.

        Example:
            index.add(columns={"id": "bloom"})
        """
        selected, more = requested_statistics(columns, expressions, fill_gaps is not False)
        _require_library(more)
        for _ in range(_ATTEMPTS):
            if self._try_to_add(selected, more, fill_gaps):
                return self
        raise self._disturbed("add()")

    def _try_to_add(self, selected: Selected, more: RecordingSpec, fill_gaps: bool | None) -> bool:
        """Add; return False if another process has changed the index meanwhile."""
        listing = self._list()
        table, store = self._reader_of(listing), self._store(listing)
        requested = self._requested(listing)
        if requested is None:
            self._build(listing, selected, more)
            return True
        before, spec = requested
        table.entries(more)  # a missing column is an error only if it is requested now
        selected_leaves(table.leaves, selected)
        if selected is not None and before is not None:
            selected = [*before, *(each for each in selected if each not in before)]
        else:
            selected = None
        fills_gaps = spec.fills_gaps if fill_gaps is None else fill_gaps
        if listing.reading is not None:  # everything is from rows
            fills_gaps = False
        union = msgspec.structs.replace(union_of(spec, more), fills_gaps=fills_gaps)
        gone: dict[str, str] = {}
        leaves = selected_leaves(table.leaves, selected, gone)
        held = held_by(store)
        if held is not None and held.spec != spec:
            return False
        if held is None or not held.fits(listing, leaves, table.entries(spec, {})):
            self._build(listing, selected, union, lenient=True)
            return True
        try:
            store.verify(held.pointer)
            again = None if listing.reading is None else CHANGED
            rows = reusable_rows(listing.snapshot.files, store, held.pointer, again)
            entries = table.entries(union, gone)
            if not self._rewrite(
                table, store, held, leaves, union, entries, rows, selected, retries=True
            ):
                return False
        except IndexUnusable as problem:
            if problem.code == "index.damaged":
                self._build(listing, selected, union, lenient=True)
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
        self, listing: TableListing, selected: Selected, spec: RecordingSpec, lenient: bool = False
    ) -> Index:
        """Build and commit an index of one segment.

        Args:
            lenient: Warn of columns that the table does not have, instead of raising an error.
        """
        table = self._reader_of(listing)
        if listing.reading is not None:  # everything is from rows
            spec = msgspec.structs.replace(spec, fills_gaps=False)
        gone: dict[str, str] | None = {} if lenient else None
        leaves = selected_leaves(table.leaves, selected, gone)
        if gone and not leaves:  # none of the selected columns is left
            leaves, selected = table.leaves, None
        content, recorded = table.everything(leaves, spec, table.entries(spec, gone))
        parts = encode(recorded.entries, recorded.parts, len(content.files))
        self._commit(listing, selected, content, spec, parts)
        self._warn_of(gone)
        return self

    def _warn_of(self, gone: Mapping[str, str] | None) -> None:
        if gone:
            names = "; ".join(f"{name} ({why})" for name, why in gone.items())
            warn_caller(
                f"the index of {self._target} no longer records {names}. Everything else is "
                "indexed. To stop this warning, build the index with the columns and expressions "
                "that you want.",
            )

    def refresh(self) -> Index:
        """Read new and changed files only, and forget files that were deleted.

        The index keeps what its build requested, even if an overwrite of the table deleted the
        index together with the files. All files are read if the index is missing or damaged, if an
        older version wrote it in another format, or if the table has new columns or columns of
        other types. If there is neither an index nor a list of what an earlier one recorded, the
        index is built as `build` builds it without arguments, with a warning. Columns that were
        dropped from the table cause a warning, too.
        """
        for _ in range(_ATTEMPTS):
            if self._try_to_refresh():
                return self
        raise self._disturbed("refresh()")

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
            again = None if listing.reading is None else CHANGED
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
        parts = encode(recorded.entries, recorded.parts, len(content.files))
        tables, raw = parts.data(held.spec, with_earlier(held.entries, parts.entries))
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
        parts = encode(recorded.entries, recorded.parts, len(rows))
        return self._commit(table.listing, selected, content, spec, parts, held)

    def describe(self) -> Description:
        """Return what the index holds, and how many files have changed since it was built.

        If the table has only an automatic index, describe that one.
        """
        listing = self._list()
        if listing.refusal is not None:
            raise other_names(self._target, listing.refusal)
        store = self._store(listing)
        location = self._automatic_location(listing)
        automatic, waiting = None, None
        if location is not None:
            automatic = _automatic(listing, location)
            waiting = waiting_files(self._spark, listing.root, location)
        try:
            pointer = store.pointer()
        except IndexMissing as problem:
            specification = self._specification(listing)
            if specification is not None and specification.exists():
                raise overwritten(listing.root, store.location, store.options) from problem
            # queries look for it if they look for automatic ones
            maintained = None if location is None else self._maintained()
            if maintained is not None:
                return maintained
            if automatic is None:
                raise
            return Description(
                automatic.store.uri,
                automatic.pointer,
                staleness(listing.snapshot.files, automatic.files),
                is_automatic=True,
                waiting=waiting,
            )
        recording = recording_of(store, pointer)
        return Description(
            store.uri,
            pointer,
            staleness(listing.snapshot.files, keys_in_force(store, pointer)),
            () if recording is None else recording.entries,
            reading_in(store, pointer),
            listing.reading,
            automatic=None
            if automatic is None
            else automatic.beyond(listing.snapshot.files, store, pointer),
            waiting=waiting,
        )

    def _maintained(self) -> Description | None:
        """Return the description of the index that maintenance has written elsewhere, if any."""
        cache = cache_location(self._spark)
        location = maintained_location(cache) if has_maintained(cache) else None
        if location is None or location == self.directory:
            return None
        try:
            return self.at(location).describe()
        except (OSError, StatisticsIndexError):
            return None

    def _automatic_location(self, listing: TableListing) -> str | None:
        """Return where queries of this session keep the automatic index; None if they do not."""
        is_off = conf_of(self._spark, "spark.tamis.index.auto") == "off"
        if is_off or listing.reading is not None or listing.table_format is not None:
            return None
        cache = cache_location(self._spark)
        return location_of(cache, listing.schema, listing.case_sensitive)

    def state(self) -> State:
        """Return the files of the table, and what its index holds."""
        listing = self._list()
        store = self._store(listing)
        held = held_by(store)
        table = self._reader_of(listing)
        files, is_current = None, False
        if held is not None:
            files = staleness(listing.snapshot.files, keys_in_force(store, held.pointer))
            gone: dict[str, str] = {}
            leaves = selected_leaves(table.leaves, held.pointer.selected, gone)
            is_current = held.fits(listing, leaves, table.entries(held.spec, gone)) and not gone
        is_known = held is not None or self._requested(listing) is not None
        return State(store, table, held, files, is_current, is_known)

    def needs_another_place(self, state: State) -> bool:
        """Return whether there is no index, none can be written, and queries look elsewhere.

        Queries look into the cache directory for indexes of Parquet files, unless
        `spark.tamis.index.auto` is off.
        """
        return (
            self._automatic_location(state.table.listing) is not None
            and state.store.stamp() is None
            and not state.store.is_writable()
        )

    def drop(self) -> None:
        """Remove the index, and the list of what it recorded, from which `refresh` restores it.

        Dropping an index that does not exist is not an error.
        """
        listing = self._list()
        self._is_changed = True
        store = self._store(listing)
        try:
            store.drop()
        except OSError as problem:
            raise StatisticsIndexError(
                f"the index {store.uri} cannot be removed ({problem}): remove that directory"
            ) from problem
        specification = self._specification(listing)
        if specification is not None:
            specification.forget()
        invalidate(self._spark, listing.root)

    def _list(self) -> TableListing:
        return list_table(self._spark, self._target, self._reader)

    def _store(self, listing: TableListing) -> Store:
        return Store.at(
            listing.root,
            self._directory_for(listing),
            storage_settings(self._spark),
            command_options(listing.reading),
        )

    def _specification(self, listing: TableListing) -> SpecificationFile | None:
        """Return the file of the specification of this index; None if it cannot be reached."""
        try:
            directory = self._directory_for(listing)
            return SpecificationFile.at(listing.root, directory, storage_settings(self._spark))
        except StorageUnreachableError:
            return None

    def _requested(self, listing: TableListing) -> tuple[Selected, RecordingSpec] | None:
        """Return what the index should hold, from the index or else from its specification.

        Returns None if it is unknown.

        Raises:
            IndexUnusable: The index must not be overwritten.
        """
        store = self._store(listing)
        held = held_by(store)
        if held is not None:
            return held.pointer.selected, held.spec
        specification = self._specification(listing)
        kept = None if specification is None else specification.read()
        if kept is not None:
            return kept.selected, kept.recorded
        try:
            # only the row statistics are damaged
            return store.pointer().selected, RecordingSpec(fills_gaps=True)
        except IndexUnusable:
            return None

    def _keep_specification(self, listing: TableListing, store: Store) -> None:
        """Write the specification of the current index, whichever process built it.

        Of concurrent builds, the one that ends last finds the current index and keeps that.
        """
        file = self._specification(listing)
        if file is None:
            return
        try:
            for _ in range(_ATTEMPTS):
                held = held_by(store)
                if held is None:
                    return
                pointer = held.pointer
                file.write(
                    Specification(
                        SPECIFICATION_FORMAT,
                        file.root,
                        pointer.name,
                        pointer.selected,
                        held.spec,
                    )
                )
                current = store.current()
                if current is not None and current.name == pointer.name:
                    return
        except (OSError, StatisticsIndexError) as problem:
            warn_caller(
                f"the columns and expressions that the index of {listing.root} records cannot be "
                f"saved in {file.path} ({problem}). Make the directory of this file writable, or "
                "set spark.tamis.index.location. Otherwise refresh() cannot restore the index "
                "after an overwrite of the table.",
            )

    def _reader_of(self, listing: TableListing) -> TableReader:
        return TableReader(self._spark, self._target, listing)

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

    @contextmanager
    def _writing(self, store: Store) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise _not_writable(f"{store.uri} ({problem})") from problem

    def _finish(self, listing: TableListing, store: Store, before: Pointer | None) -> None:
        """Clean up after a commit, and let the session see it."""
        self._is_changed = True
        store.remove_old_segments(before)
        self._keep_specification(listing, store)
        invalidate(self._spark, listing.root)


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
            raise _not_writable(self.store.uri)


@dataclass(frozen=True)
class _Automatic:
    """The automatic index of a table, and the files that it describes."""

    store: Store
    pointer: Pointer
    files: FileKeys

    def beyond(self, listing: FileKeys, store: Store, pointer: Pointer) -> AutomaticPart:
        """Return what it describes in addition to the index of the table."""
        others = np.flatnonzero(reusable_rows(listing, store, pointer) < 0)
        fresh = staleness(listing.take(others), self.files).fresh
        return AutomaticPart(self.store.uri, fresh, self.pointer.size)


def _automatic(listing: TableListing, location: str) -> _Automatic | None:
    """Return the automatic index of a table; None if there is none."""
    try:
        store = Store.at(listing.root, location, {})
        pointer = store.current()
        files = None if pointer is None else keys_in_force(store, pointer)
    except (OSError, StatisticsIndexError):
        return None
    return None if pointer is None or files is None else _Automatic(store, pointer, files)


def _not_writable(where: str) -> StatisticsIndexError:
    return StatisticsIndexError(
        f"the index cannot be written to {where}: make this directory writable, or set "
        "spark.tamis.index.location to a writable directory"
    )


def _require_library(spec: RecordingSpec) -> None:
    """Raise IndexUnusable if statistics are requested that need a missing package."""
    problem = missing_library()
    if problem is not None and any("ndv" in kinds for kinds in spec.columns.values()):
        raise problem


def _text_of(path_or_table: str | os.PathLike[str]) -> str:
    """Return the text for Spark. Paths are made absolute: one without a slash means a table."""
    if isinstance(path_or_table, PurePath):
        return os.path.abspath(path_or_table)
    return os.fspath(path_or_table)
