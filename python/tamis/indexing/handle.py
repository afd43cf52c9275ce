"""`tamis.index(spark, path)`: a handle to the index of one directory or table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tamis.errors import StatisticsIndexError
from tamis.indexing.build.current_index import held_by, keys_in_force, selected_leaves, staleness
from tamis.indexing.build.listing import cache_location, invalidate, waiting_files
from tamis.indexing.changes import IndexChanges
from tamis.indexing.describe import Description
from tamis.indexing.format.distinct_sketches import missing_library
from tamis.indexing.format.recording_spec import (
    Columns,
    Expressions,
    Orders,
    Predicates,
    RecordingSpec,
    requested_statistics,
)
from tamis.indexing.format.row_statistics import recording_of
from tamis.indexing.place import ATTEMPTS
from tamis.indexing.problems import IndexMissing, other_names, overwritten
from tamis.indexing.read.automatic_location import has_maintained, maintained_location
from tamis.indexing.read.mapped_columns import unmapped
from tamis.indexing.read.reader_options import DELTA, reading_in
from tamis.indexing.state import State, automatic_index


class Index(IndexChanges):
    """The statistics index of a directory of files, or of a table over one.

    Nothing is listed or read until a method is called. Every method may raise StatisticsIndexError.
    """

    def at(self, location: str) -> Index:
        """Return a handle to the index of the same table in another location.

        Args:
            location: As `spark.tamis.index.location`.
        """
        other = Index(self._spark, self._target, self._reader)
        other._location = location
        return other

    def __repr__(self) -> str:
        return f"tamis.index(spark, {self._target!r})"

    def build(
        self,
        columns: Columns | None = None,
        expressions: Expressions | None = None,
        fill_gaps: bool = True,
        aggregates: Sequence[str] | None = None,
        by: Sequence[str] = (),
        predicates: Predicates | None = None,
        sorted_by: Orders = (),
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

        The index of a Delta or Iceberg table describes the files of its current version, in
        addition to what the log or the manifests record about them. Spark reads the rows of Iceberg
        for everything in it: if a mapping or expressions are given, only the columns that these
        name, and otherwise all.

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
            aggregates: SQL of aggregates to record for each file: count, sum, avg, min, max or
                approx_count_distinct of an expression over the columns of a row. Queries with these
                aggregates do not read files whose rows all pass their filters.
            by: The columns by whose values the aggregates are recorded, for queries that group by
                some of them, or filter by them. Nothing is recorded of a file with more than 1000
                combinations of their values.
            predicates: SQL of conditions to evaluate for each row: whether no row, some rows or all
                rows of a file satisfy them. For conditions of one call, such as LIKE and RLIKE. Of
                the rows that pass, the bounds of some columns are recorded: for a list, of the
                columns by which the table is clustered; for a mapping, of the columns that it
                names. Of a comparison, such as phrase <> '', nothing else is recorded.
            sorted_by: Columns by which the rows inside each file may be sorted, such as
                ["day", "id DESC"], or a list of such lists. Spark reads these columns and compares
                each row with the one before it. Joins and windows over sorted files then need no
                sort.

        Example:
            index.build(columns={"id": "bloom"}, expressions=["upper(name)"])
            index.build(aggregates=["sum(price * quantity)", "count(*)"], by=["country"])
        """
        selected, spec = requested_statistics(
            columns, expressions, fill_gaps, aggregates, by, predicates, sorted_by
        )
        _require_library(spec)
        listing = self._list()
        reader = self._reader_of(listing)
        spec = reader.without_comparisons(spec, predicates or ())
        selected = reader.narrowed(selected, spec)
        self._build(listing, selected, spec, conditions=_unlimited(predicates))
        return self

    def add(
        self,
        columns: Columns | None = None,
        expressions: Expressions | None = None,
        fill_gaps: bool | None = None,
        aggregates: Sequence[str] | None = None,
        by: Sequence[str] = (),
        predicates: Predicates | None = None,
        sorted_by: Orders = (),
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
            aggregates: As for `build`.
            by: As for `build`. Aggregates that are recorded by other columns are kept.
            predicates: As for `build`.
            sorted_by: As for `build`. Other orders that are recorded are kept.

        Example:
            index.add(columns={"id": "bloom"})
            index.add(predicates=["payload LIKE '%timeout%'"])
            index.add(predicates={"payload LIKE '%timeout%'": ["day", "host"]})
        """
        is_filled = fill_gaps is not False
        selected, more = requested_statistics(
            columns, expressions, is_filled, aggregates, by, predicates, sorted_by
        )
        _require_library(more)
        if predicates:
            more = self._reader_of(self._list()).without_comparisons(more, predicates)
        for _ in range(ATTEMPTS):
            if self._try_to_add(selected, more, fill_gaps, _unlimited(predicates)):
                return self
        raise self._disturbed("add()")

    def refresh(self) -> Index:
        """Read new and changed files only, and forget files that were deleted.

        The index keeps what its build requested, even if an overwrite of the table deleted the
        index together with the files. All files are read if the index is missing or damaged, if an
        older version wrote it in another format, or if the table has new columns or columns of
        other types. If there is neither an index nor a list of what an earlier one recorded, the
        index is built as `build` builds it without arguments, with a warning. Columns that were
        dropped from the table cause a warning, too.
        """
        for _ in range(ATTEMPTS):
            if self._try_to_refresh():
                return self
        raise self._disturbed("refresh()")

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
            automatic = automatic_index(listing, location)
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
        built, now = reading_in(store, pointer), listing.reading
        if any(each is not None and each.format == DELTA for each in (built, now)):
            # column mapping was turned on or off since the build, or neither
            built = built or unmapped(pointer.schema)
            now = now or unmapped(listing.schema)
        return Description(
            store.uri,
            pointer,
            staleness(listing.snapshot.files, keys_in_force(store, pointer)),
            () if recording is None else recording.entries,
            built,
            now,
            automatic=None
            if automatic is None
            else automatic.beyond(listing.snapshot.files, store, pointer),
            waiting=waiting,
            target=self._target if listing.table_format == "iceberg" else None,
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


def _unlimited(predicates: Predicates | None) -> tuple[str, ...]:
    """Return the conditions for which the caller has named no columns."""
    return () if isinstance(predicates, Mapping) else tuple(predicates or ())


def _require_library(spec: RecordingSpec) -> None:
    """Raise IndexUnusable if statistics are requested that need a missing package."""
    problem = missing_library()
    if problem is not None and any("ndv" in kinds for kinds in spec.columns.values()):
        raise problem
