"""`tamis.index(spark, path)`: a handle to the index of one directory or table."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from tamis._version import __version__
from tamis.errors import StatisticsIndexError
from tamis.indexing.build.current_index import (
    keys_in_force,
    load_generation,
    reusable_rows,
    selected_leaves,
    staleness,
)
from tamis.indexing.build.footer_gaps import gap_entries
from tamis.indexing.build.generation import Generation, assemble, merge
from tamis.indexing.build.listing import (
    TableListing,
    index_location,
    invalidate,
    list_table,
    parse_value,
    storage_settings,
)
from tamis.indexing.build.row_bounds import unknown_bounds
from tamis.indexing.build.row_columns import is_of_reader, readable_schema, row_leaves
from tamis.indexing.build.row_job import CHANGED
from tamis.indexing.describe import Description
from tamis.indexing.executor.columns_schema import Leaf, leaves_of
from tamis.indexing.format.entry_statistics import RowStatistics, timed
from tamis.indexing.format.layout import COUNTED_FORMAT, FORMAT, Pointer
from tamis.indexing.format.recording_spec import (
    Columns,
    Entry,
    Expressions,
    RecordingSpec,
    Schema,
    entries_of,
    requested_statistics,
    union_of,
)
from tamis.indexing.format.row_statistics import Parts, Recording, encode, load, recording_of
from tamis.indexing.format.row_statistics import merge as merge_parts
from tamis.indexing.format.specification import FORMAT as SPECIFICATION_FORMAT
from tamis.indexing.format.specification import Specification, SpecificationFile
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexMissing, IndexUnusable, overwritten
from tamis.indexing.read.command_options import command_options
from tamis.indexing.read.reader_options import FILE as READING
from tamis.indexing.read.reader_options import Reading, reading_in, refusal
from tamis.indexing.storage import StorageUnreachableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader

#: Columns whose footer statistics are read; None: all.
Selected: TypeAlias = Sequence[str] | None
#: Why statistics that read a timestamp cannot be recorded.
_OF_ORC: Final = (
    "reads an ORC timestamp. Its value depends on the time zone of the JVM that reads it, so it "
    "cannot be recorded: leave it out"
)
_OF_TEXT: Final = (
    "reads a date or timestamp of a text file. Its value may depend on the current day (10:30 is a "
    "time of today), so it cannot be recorded: set the option timestampFormat of the reader, and "
    "do not use the time parser policy LEGACY, or leave it out"
)
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
        self._is_changed = False

    @property
    def is_changed(self) -> bool:
        """Whether this object has committed a new generation of the index, or dropped it."""
        return self._is_changed

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

        The index of ORC, CSV and JSON is built from all rows. Spark reads them once, once
        more for bounds of expressions, and at least twice more for "bloom" and "values" (more often
        if the table has many files). Exact bounds of their columns are always recorded. Text files
        with a record that does not parse are indexed as unknown.

        The new index replaces the old one, and what the old one recorded is lost. Use `add` to keep
        it.

        Args:
            columns: A list or a mapping. Default: all columns, and nothing from the rows.
                A list names the columns to describe (dots for struct fields; the name of a struct
                stands for all of its fields).
                A mapping says what to record of columns from the rows, in addition to the footer
                statistics of all columns: "bounds" (for columns whose footers have no bounds, such
                as INT96 timestamps, or truncated ones), "bloom" (for = and IN), "values" (for =,
                IN, <> and NOT IN, in files with at most 1000 distinct values), or a list of these.
            expressions: SQL of deterministic expressions over the columns of a row. A list records
                "bounds" and "values" of them, a mapping the kinds that it names. Queries may spell
                them differently: an expression is identified by what it computes.
            fill_gaps: Whether to record bounds where the footers of Parquet files do not suffice.
                If False, and nothing else is recorded from the rows, only footers are read.

        Example:
            index.build(columns={"id": "bloom"}, expressions=["upper(name)"])
        """
        selected, spec = requested_statistics(columns, expressions, fill_gaps)
        return self._build(self._list(), selected, spec)

    def add(
        self,
        columns: Columns | None = None,
        expressions: Expressions | None = None,
        fill_gaps: bool | None = None,
    ) -> Index:
        """Rebuild the index with everything that it holds already and with these statistics.

        The arguments are those of `build`. An index that is missing or damaged is built. If an
        overwrite of the table deleted the index, the new index also holds what the deleted one
        held. Without a list of columns, the new index describes all columns.

        Args:
            columns: As for `build`.
            expressions: As for `build`.
            fill_gaps: As for `build`. None: as the index was built before.

        Example:
            index.add(columns={"id": "bloom"})
        """
        listing = self._list()
        selected, more = requested_statistics(columns, expressions, fill_gaps is not False)
        requested = self._requested(listing)
        if requested is None:
            return self._build(listing, selected, more)
        before, spec = requested
        self._entries(listing, more)  # a missing column is an error only if it is requested now
        selected_leaves(_leaves_of(listing), selected)
        if selected is not None and before is not None:
            selected = [*before, *(each for each in selected if each not in before)]
        else:
            selected = None
        fills_gaps = spec.fills_gaps if fill_gaps is None else fill_gaps
        union = msgspec.structs.replace(union_of(spec, more), fills_gaps=fills_gaps)
        return self._build(listing, selected, union, lenient=True)

    def _build(
        self, listing: TableListing, selected: Selected, spec: RecordingSpec, lenient: bool = False
    ) -> Index:
        """Build and commit a new generation.

        Args:
            lenient: Warn of columns that the table does not have, instead of raising an error.
        """
        _require_indexable(listing, self._target)
        if listing.reading is not None:  # everything is from rows
            spec = msgspec.structs.replace(spec, fills_gaps=False)
        gone: dict[str, str] | None = {} if lenient else None
        leaves = selected_leaves(_leaves_of(listing), selected, gone)
        if gone and not leaves:  # none of the selected columns is left
            leaves, selected = _leaves_of(listing), None
        entries = self._entries(listing, spec, gone)
        everything = np.arange(len(listing.snapshot.files))
        read = self._read(listing, everything, leaves)
        content = assemble(listing.snapshot.files, leaves, *read)
        parts = None
        if spec:
            found, rows = self._of_rows(listing, spec, entries, leaves, content.files, everything)
            parts = encode(spec, timed(found, rows), rows.parts, len(everything))
        self._commit(listing, selected, content, parts)
        self._warn_of(gone, stacklevel=4)
        return self

    def _warn_of(self, gone: Mapping[str, str] | None, stacklevel: int) -> None:
        if gone:
            names = "; ".join(f"{name} ({why})" for name, why in gone.items())
            warnings.warn(
                f"the index of {self._target} no longer records {names}. Everything else is "
                "indexed. To stop this warning, build the index with the columns and expressions "
                "that you want.",
                stacklevel=stacklevel,
            )

    def refresh(self) -> Index:
        """Read new and changed files only, and forget files that were deleted.

        The index keeps what its build requested, even if an overwrite of the table deleted the
        index together with the files. All files are read if the index is missing or damaged, if an
        older version wrote it in another format, and if the table has new columns or columns of
        other types. If there is neither an index nor a list of what an earlier one recorded, it is
        built as by `build` without arguments, with a warning. Columns that were dropped from the
        table cause a warning, too.
        """
        listing = self._list()
        _require_indexable(listing, self._target)
        store = self._store(listing)
        held = _held_by(store)
        if held is None:
            requested = self._requested(listing)
            if requested is None and store.stamp() is None:
                warnings.warn(
                    f"there is no index at {store.uri}, and no list of what an earlier one "
                    "recorded. refresh() builds one as build() does without arguments: to record "
                    "more, call build() with the columns and expressions that you want.",
                    stacklevel=2,
                )
            default = None, RecordingSpec(fills_gaps=True)
            return self._build(listing, *(requested or default), lenient=True)
        old, recording, reading = held
        selected = old.selected
        spec = RecordingSpec() if recording is None else recording.spec
        gone: dict[str, str] = {}
        leaves = selected_leaves(_leaves_of(listing), selected, gone)
        entries = self._entries(listing, spec, gone)
        before = () if recording is None else recording.entries
        requested_before = [entry.meaning for entry in before if not entry.fills_gap]
        if (
            old.format < COUNTED_FORMAT
            or reading != listing.reading
            or old.case_sensitive != listing.case_sensitive
            or not set(leaves) <= {entry.leaf for entry in old.columns}
            or [entry.meaning for entry in entries] != requested_before
        ):
            return self._build(listing, selected, spec, lenient=True)
        try:
            old_files, old_row_groups = load_generation(store, old)
            old_parts = {
                entry.meaning: load(store, old, k, entry) for k, entry in enumerate(before)
            }
        except IndexUnusable as problem:
            if problem.code == "index.damaged":
                return self._build(listing, selected, spec, lenient=True)
            raise
        again = None if listing.reading is None else CHANGED
        rows = reusable_rows(listing.snapshot.files, old_files, again)
        changed = np.flatnonzero(rows < 0)
        new_files, new_row_groups = self._read(listing, changed, leaves)
        merged = merge(old_files, old_row_groups, rows, new_files, new_row_groups, leaves)
        content = assemble(listing.snapshot.files, leaves, *merged)
        parts = None
        if spec:
            gaps = [entry for entry in before if entry.fills_gap]
            found, fresh = self._of_rows(
                listing, spec, entries, leaves, content.files, changed, gaps
            )
            both = [
                merge_parts(
                    entry,
                    old_parts.get(entry.meaning) or unknown_bounds(entry, len(old_files)),
                    rows,
                    now,
                )
                for entry, now in zip(found, fresh.parts, strict=True)
            ]
            parts = encode(spec, timed(found, fresh), both, len(rows))
        self._commit(listing, selected, content, parts)
        self._warn_of(gone, stacklevel=3)
        return self

    def describe(self) -> Description:
        """Return what the index holds, and how many files have changed since it was built."""
        listing = self._list()
        store = self._store(listing)
        try:
            pointer = store.pointer()
        except IndexMissing as problem:
            specification = self._specification(listing)
            if specification is not None and specification.exists():
                raise overwritten(listing.root, store.location, store.options) from problem
            raise
        recording = recording_of(store, pointer)
        return Description(
            store.uri,
            pointer,
            staleness(listing.snapshot.files, keys_in_force(store, pointer)),
            () if recording is None else recording.entries,
            reading_in(store, pointer),
            listing.reading,
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
            index_location(self._spark),
            storage_settings(self._spark),
            command_options(listing.reading),
        )

    def _specification(self, listing: TableListing) -> SpecificationFile | None:
        """Return the file of the specification of this index; None if it cannot be reached."""
        try:
            return SpecificationFile.at(
                listing.root, index_location(self._spark), storage_settings(self._spark)
            )
        except StorageUnreachableError:
            return None

    def _requested(self, listing: TableListing) -> tuple[Selected, RecordingSpec] | None:
        """Return what the index should hold, from the index or else from its specification.

        Returns None if it is unknown.

        Raises:
            IndexUnusable: The index must not be overwritten.
        """
        store = self._store(listing)
        held = _held_by(store)
        if held is not None:
            return _request_of(*held[:2])
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
        """Write the specification of the current generation, whichever process built it.

        Of concurrent builds, the one that ends last finds the current generation and keeps that.
        """
        file = self._specification(listing)
        if file is None:
            return
        try:
            for _ in range(_ATTEMPTS):
                held = _held_by(store)
                if held is None:
                    return
                pointer = held[0]
                selected, spec = _request_of(*held[:2])
                columns = None if selected is None else tuple(selected)
                file.write(
                    Specification(
                        SPECIFICATION_FORMAT, file.root, pointer.generation, columns, spec
                    )
                )
                if store.generation_in_force() == pointer.generation:
                    return
        except (OSError, StatisticsIndexError) as problem:
            warnings.warn(
                f"the columns and expressions that the index of {listing.root} records cannot be "
                f"saved in {file.path} ({problem}). Make the directory of this file writable, or "
                "set spark.tamis.index.location. Otherwise refresh() cannot restore the index "
                "after an overwrite of the table.",
                stacklevel=5,
            )

    def _read(
        self, listing: TableListing, ordinals: np.ndarray, leaves: Sequence[Leaf]
    ) -> tuple[pa.Table, pa.Table]:
        from tamis.indexing.build.jobs import read_footers, read_rows

        if listing.reading is not None:
            schema = _schema_of(listing)
            rows = read_rows(self._spark, self._target, listing, ordinals, leaves, schema)
            return rows.files, rows.row_groups
        harvested = read_footers(
            self._spark,
            listing.snapshot.files,
            ordinals,
            leaves,
            listing.case_sensitive,
            storage_settings(self._spark),
        )
        return harvested.files, harvested.row_groups

    def _entries(
        self, listing: TableListing, spec: RecordingSpec, gone: dict[str, str] | None = None
    ) -> tuple[Entry, ...]:
        """Return the entries of row statistics; see `entries_of`."""
        if not spec:
            return ()
        schema, leaves = _schema_of(listing), _leaves_of(listing)
        entries = entries_of(spec, leaves, schema, self._parse, gone)
        if listing.reading is None:
            return entries
        for entry in entries:
            if is_of_reader(entry, listing.reading):
                why = _OF_ORC if listing.reading.format == "orc" else _OF_TEXT
                raise StatisticsIndexError(f"{entry.name} {why}")
        # bounds of columns are in the index already
        return tuple(entry for entry in entries if entry.path is None or entry.kind != "bounds")

    def _parse(self, sql: str, schema: str) -> dict[str, Any]:
        return parse_value(self._spark, sql, schema)

    def _of_rows(
        self,
        listing: TableListing,
        spec: RecordingSpec,
        entries: Sequence[Entry],
        leaves: Sequence[Leaf],
        files: pa.Table,
        ordinals: np.ndarray,
        gaps_before: Sequence[Entry] = (),
    ) -> tuple[list[Entry], RowStatistics]:
        """Return the statistics from the rows of the files at these ordinals, with their entries.

        Args:
            listing: The files.
            spec: What to record.
            entries: The entries that were requested.
            leaves: The described columns.
            files: The footer statistics of all files.
            ordinals: The files to read.
            gaps_before: The entries that fill gaps of other files.
        """
        rows = RowStatistics((), ())
        if entries:
            rows = self._aggregate(listing, ordinals, files, entries)
        if not spec.fills_gaps:
            return list(entries), rows
        bounded = {entry.path for entry in entries if entry.kind == "bounds"}
        candidates = [
            entry for entry in gap_entries(leaves, _schema_of(listing)) if entry.path not in bounded
        ]
        filled, more, problems = self._fill_gaps(listing, ordinals, files, candidates, gaps_before)
        for why, names in problems.items():
            warnings.warn(
                f"the footers of {', '.join(names)} do not suffice, and the index of "
                f"{self._target} lacks bounds from their rows ({why}). Everything else is indexed. "
                "To try again, run add(); to leave these columns out, pass fill_gaps=False.",
                stacklevel=5,
            )
        both = RowStatistics((*rows.parts, *more.parts), (*rows.seconds, *more.seconds))
        return [*entries, *filled], both

    def _fill_gaps(
        self,
        listing: TableListing,
        ordinals: np.ndarray,
        files: pa.Table,
        candidates: Sequence[Entry],
        known: Sequence[Entry],
    ) -> tuple[list[Entry], RowStatistics, dict[str, list[str]]]:
        """Fill the gaps of these files: see `jobs.fill_gaps`."""
        from tamis.indexing.build.jobs import fill_gaps

        return fill_gaps(self._spark, self._target, listing, candidates, files, ordinals, known)

    def _aggregate(
        self,
        listing: TableListing,
        ordinals: np.ndarray,
        files: pa.Table,
        entries: Sequence[Entry],
    ) -> RowStatistics:
        """Aggregate the rows of the listed files at these ordinals with Spark."""
        from tamis.indexing.build.jobs import aggregate_rows

        records = files.column("num_records").take(pa.array(ordinals)).to_pylist()
        return aggregate_rows(self._spark, self._target, listing, ordinals, records, entries)

    def _commit(
        self,
        listing: TableListing,
        columns: Selected,
        content: Generation,
        parts: Parts | None = None,
    ) -> None:
        store = self._store(listing)
        before = store.generation_in_force()
        try:
            generation = store.new_generation()
            more, raw = ({}, {}) if parts is None else (parts.tables, parts.raw)
            if listing.reading is not None:
                raw = {**raw, READING: memoryview(msgspec.json.encode(listing.reading))}
            data = store.write_generation(generation, content.files, content.row_groups, more, raw)
            store.commit(
                Pointer(
                    format=FORMAT,
                    tamis=__version__,
                    generation=generation,
                    created=datetime.now(UTC).isoformat(timespec="seconds"),
                    root=listing.root,
                    schema=listing.schema,
                    partition_schema=listing.partition_schema,
                    case_sensitive=listing.case_sensitive,
                    columns=content.columns,
                    selected=None if columns is None else tuple(columns),
                    totals=content.totals,
                    data=data,
                    problems=content.problems,
                )
            )
        except OSError as problem:
            raise StatisticsIndexError(
                f"the index cannot be written to {store.uri} ({problem}): make it writable, or set "
                "spark.tamis.index.location to a directory that is writable"
            ) from problem
        self._is_changed = True
        store.remove_old_generations(but=before)
        self._keep_specification(listing, store)
        invalidate(self._spark, listing.root)


def _held_by(store: Store) -> tuple[Pointer, Recording | None, Reading | None] | None:
    """Return what the index holds; None if it is missing or damaged.

    Raises:
        IndexUnusable: The index must not be overwritten, such as one of a newer version of tamis.
    """
    try:
        pointer = store.pointer()
        return pointer, recording_of(store, pointer), reading_in(store, pointer)
    except IndexUnusable as problem:
        if problem.code in ("index.missing", "index.damaged"):
            return None
        raise


def _text_of(path_or_table: str | os.PathLike[str]) -> str:
    """Return the text for Spark. Paths are made absolute: one without a slash means a table."""
    if isinstance(path_or_table, PurePath):
        return os.path.abspath(path_or_table)
    return os.fspath(path_or_table)


def _request_of(pointer: Pointer, recording: Recording | None) -> tuple[Selected, RecordingSpec]:
    return pointer.selected, RecordingSpec() if recording is None else recording.spec


def _require_indexable(listing: TableListing, target: str) -> None:
    why = None if listing.reading is None else refusal(listing.reading, listing.overlapping)
    if why is not None:
        raise StatisticsIndexError(f"the index of {target} cannot be built: {why}")


def _leaves_of(listing: TableListing) -> tuple[Leaf, ...]:
    if listing.reading is None:
        return leaves_of(listing.schema)
    return row_leaves(listing.schema, listing.reading, listing.malformed)


def _schema_of(listing: TableListing) -> Schema:
    schema = listing.schema
    if listing.reading is not None:
        schema = readable_schema(schema, listing.malformed)
    return Schema(schema, listing.partition_schema, listing.case_sensitive)
