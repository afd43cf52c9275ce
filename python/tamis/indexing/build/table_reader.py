"""The statistics of the files of a listed table, read with Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import StatisticsIndexError, warn_caller
from tamis.expr.nodes import Expr
from tamis.indexing.build.clustered_columns import clustered_columns
from tamis.indexing.build.generation import Generation, assemble
from tamis.indexing.build.listing import TableListing, parse_value, storage_settings
from tamis.indexing.build.rows.footer_gaps import gap_entries
from tamis.indexing.build.rows.row_columns import (
    is_of_reader,
    readable_schema,
    reads_partitions,
    row_leaves,
)
from tamis.indexing.build.spark_errors import causes
from tamis.indexing.executor.columns_schema import Leaf, leaves_of
from tamis.indexing.executor.executor_job import SMALLEST
from tamis.indexing.executor.field_paths import ByIds, ByNames, Stored
from tamis.indexing.format.distinct_sketches import missing_library
from tamis.indexing.format.entries import Entry, entries_of, has_no_key
from tamis.indexing.format.entry_statistics import Recorded, RowStatistics, timed
from tamis.indexing.format.recording_spec import Predicates, RecordingSpec, passing_sql, union_of
from tamis.indexing.format.table_schema import Schema
from tamis.indexing.read.field_binding import places_in
from tamis.indexing.read.mapped_columns import logical_name
from tamis.indexing.read.reader_options import ICEBERG, Reading, refusal
from tamis.wire.catalyst import decode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TableReader"]

Ordinals = npt.NDArray[np.int64]

#: The most footers that are read to estimate the sizes of columns.
_SAMPLE: Final = 16

#: Why statistics of columns whose values are in the metadata of partitions are not recorded.
_OF_PARTITIONS: Final = (
    "reads a column by whose values the table is partitioned. Iceberg may take them from the "
    "metadata, which has them already: leave it out"
)
#: Why statistics that read a timestamp cannot be recorded.
_OF_ORC: Final = (
    "reads an ORC timestamp. Its value depends on the time zone of the JVM that reads it, so it "
    "cannot be recorded: leave it out"
)
_OF_TEXT: Final = (
    "reads a date or timestamp of a text file. Its value may depend on the current day (Spark "
    "reads 10:30 as a time of today), so it cannot be recorded: set the option timestampFormat of "
    "the reader, and do not use the time parser policy LEGACY, or leave it out"
)


def _stored(reading: Reading, leaves: Sequence[Leaf]) -> Stored:
    """Return where the files of a table format have columns."""
    places = places_in(reading)
    of_leaves = [places[leaf.path] for leaf in leaves]
    if all(isinstance(part, int) for place in of_leaves for part in place):
        return ByIds(tuple(tuple(map(int, place)) for place in of_leaves))
    return ByNames(tuple(tuple(map(str, place)) for place in of_leaves))


def _without_columns(sql: str) -> StatisticsIndexError:
    why = (
        f"{sql} is a comparison, which bounds of its columns decide, and the table is not "
        "clustered by any column"
    )
    return StatisticsIndexError(
        f"predicates: {why}: name columns whose bounds are to be recorded in the rows that pass, "
        f"predicates={{{sql!r}: [...]}}, or record the compared expression",
        shell=f"--predicate: {why}: record the compared expression",
    )


class TableReader:
    """Reads statistics of the files of a listing. Every method may raise StatisticsIndexError.

    Args:
        spark: The session.
        target: The path or table, as the user named it.
        listing: Its files.

    Raises:
        StatisticsIndexError: Files like these cannot be indexed.
    """

    def __init__(self, spark: SparkSession, target: str, listing: TableListing) -> None:
        self._spark, self._target, self.listing = spark, target, listing
        #: What Spark's optimizer makes of an expression, which takes some milliseconds.
        self._parsed: dict[tuple[str, str], dict[str, Any]] = {}
        why = listing.refusal
        if why is None and listing.reading is not None:
            why = refusal(listing.reading, listing.overlapping)
        if why is not None:
            raise StatisticsIndexError(f"the index of {target} cannot be built: {why}")

    def only(self, ordinals: Ordinals) -> TableReader:
        """Return a reader of some of the files."""
        return type(self)(self._spark, self._target, self.listing.only(ordinals))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The columns that can be described."""
        listing = self.listing
        if listing.row_reading is None:
            return leaves_of(listing.schema)
        return row_leaves(listing.schema, listing.row_reading, listing.malformed)

    @property
    def _named_leaves(self) -> tuple[Leaf, ...]:
        """The columns that a request may name. For some of them, it fails with a better reason."""
        return (
            leaves_of(self.listing.schema) if self.listing.table_format == ICEBERG else self.leaves
        )

    def narrowed(
        self, selected: Sequence[str] | None, requested: RecordingSpec
    ) -> Sequence[str] | None:
        """Return the names of the columns to describe; None: all.

        Iceberg describes the columns of its files already, and to describe more takes a job over
        their rows. So if statistics of some columns or expressions are requested, and no list of
        columns is given, only these columns are read.

        Args:
            selected: The list that was given, or None.
            requested: The requested row statistics.
        """
        if selected is None and self.listing.table_format == ICEBERG:
            named = requested.columns or requested.expressions or requested.groupings
            return list(requested.columns) if named else None
        return selected

    def entries(self, spec: RecordingSpec, gone: dict[str, str] | None = None) -> tuple[Entry, ...]:
        """Return the requested entries of row statistics; see `entries_of`."""
        if not spec:
            return ()
        reading = self.listing.row_reading
        if spec.groupings and reading is not None and reading.format != ICEBERG:
            raise StatisticsIndexError(
                f"aggregates= and by=: queries of {reading.format.upper()} files do not use "
                "recorded aggregates: leave them out, or write the table as Parquet"
            )
        if spec.orders and reading is not None:
            raise StatisticsIndexError(
                "sorted_by=: the order of rows is recorded for Parquet files of directories and "
                "Delta tables only: leave it out"
            )
        version = self._spark.version if spec.groupings else None
        entries = entries_of(spec, self._named_leaves, self._schema, self._parse, gone, version)
        if reading is None:
            return entries
        entries = tuple(entry for entry in entries if not self._is_of_partitions(entry, gone))
        for entry in entries:
            if is_of_reader(entry, reading):
                why = _OF_ORC if reading.format == "orc" else _OF_TEXT
                raise StatisticsIndexError(f"{entry.name} {why}")
        # bounds of columns are in the index already
        return tuple(entry for entry in entries if entry.path is None or entry.kind != "bounds")

    def _is_of_partitions(self, entry: Entry, gone: dict[str, str] | None) -> bool:
        """Return whether an entry reads values that may come from the metadata of partitions.

        Raises:
            StatisticsIndexError: It does, and `gone` is None.
        """
        reading = self.listing.row_reading
        if reading is None or not reads_partitions(entry, reading):
            return False
        if gone is None:
            raise StatisticsIndexError(f"{entry.name} {_OF_PARTITIONS}")
        gone.setdefault(entry.name, _OF_PARTITIONS)
        return True

    def everything(
        self,
        leaves: Sequence[Leaf],
        spec: RecordingSpec,
        entries: Sequence[Entry],
        gaps_before: Sequence[Entry] = (),
    ) -> tuple[Generation, Recorded]:
        """Read all files: their footers and, where the entries need it, their rows.

        The arguments are those of `rows`.
        """
        content = self.content(leaves)
        every = np.arange(len(content.files))
        return content, self.rows(every, leaves, spec, entries, content, gaps_before)

    def content(self, leaves: Sequence[Leaf]) -> Generation:
        """Read the statistics of all files and of their row groups."""
        keys = self.listing.snapshot.files
        return assemble(keys, leaves, *self.read(np.arange(len(keys)), leaves))

    def read(self, ordinals: Ordinals, leaves: Sequence[Leaf]) -> tuple[pa.Table, pa.Table]:
        """Return statistics of files and of their row groups, from footers or else from rows."""
        from tamis.indexing.build.jobs import read_footers, read_rows

        listing = self.listing
        if listing.row_reading is not None:
            rows = read_rows(self._spark, self._target, listing, ordinals, leaves, self._schema)
            if listing.table_format != ICEBERG:
                return rows.files, rows.row_groups
            return self._with_row_groups(rows.files, ordinals, leaves, listing.row_reading)
        harvested = read_footers(
            self._spark,
            listing.snapshot.files,
            ordinals,
            leaves,
            listing.case_sensitive,
            storage_settings(self._spark),
            None if listing.reading is None else _stored(listing.reading, leaves),
        )
        return harvested.files, harvested.row_groups

    def _with_row_groups(
        self, files: pa.Table, ordinals: Ordinals, leaves: Sequence[Leaf], reading: Reading
    ) -> tuple[pa.Table, pa.Table]:
        """Return statistics of files of Iceberg, and those of their row groups, from footers.

        Files that are not Parquet have none, nor have files whose footers cannot be read.
        """
        from tamis.indexing.build.jobs import read_footers
        from tamis.indexing.build.rows.row_job import no_row_groups

        try:
            footers = read_footers(
                self._spark,
                self.listing.snapshot.files,
                ordinals,
                leaves,
                self.listing.case_sensitive,
                storage_settings(self._spark),
                _stored(reading, leaves),
            )
        except Exception as problem:  # such as an executor without pyarrow, which rows do not need
            warn_caller(
                f"the footers of {self._target} could not be read ({causes(problem)}), so its "
                "index lacks row groups. Everything else is indexed. To try again, run build()."
            )
            return files, no_row_groups(leaves)
        place = files.schema.get_field_index("row_groups")
        counts = footers.files.column("row_groups")
        return files.set_column(place, "row_groups", counts), footers.row_groups

    def column_bytes(self, ordinals: Ordinals) -> dict[tuple[str, str], int]:
        """Estimate the compressed bytes of each column of Parquet files, from a sample of footers.

        Args:
            ordinals: The files.

        Returns:
            Bytes by the dotted path of the column in the Parquet schema, in the names of the table,
            and its physical type.
        """
        from tamis.indexing.build.jobs import column_sizes

        keys = self.listing.snapshot.files
        sizes = keys.size.to_numpy()
        ordinals = np.asarray(ordinals)[sizes[ordinals] >= SMALLEST]  # pipes must not be opened
        sample = ordinals[:: -(-len(ordinals) // _SAMPLE)] if len(ordinals) else ordinals
        share = sizes[ordinals].sum() / max(1, sizes[sample].sum())
        uris = keys.take(sample).uris()
        found = column_sizes(self._spark, uris, storage_settings(self._spark)) if uris else {}
        reading = self.listing.reading
        return {
            (name if reading is None else logical_name(reading, name), kind): round(share * size)
            for (name, kind), size in found.items()
        }

    def expression_key(self, sql: str) -> str | None:
        """Return the key by which queries find an expression; None if it cannot be recorded."""
        try:
            (entry,) = self.entries(RecordingSpec(expressions={sql: ("values",)}))
        except StatisticsIndexError:
            return None
        return entry.key

    def without_comparisons(self, spec: RecordingSpec, predicates: Predicates) -> RecordingSpec:
        """Return a request without the conditions that are comparisons.

        Bounds of their columns decide them, so only bounds of the rows that pass are recorded.

        Raises:
            StatisticsIndexError: A predicate is not a condition, or cannot be analyzed, or is a
                comparison whose rows have nothing to be recorded.
        """
        expressions = dict(spec.expressions)
        for sql in predicates:
            parsed = self._parse(sql, self._schema.json)
            found = parsed["type"]
            if found not in (None, "boolean"):
                raise StatisticsIndexError(
                    f"predicates: {sql} has type {found}: pass a condition, or record the value "
                    "with expressions="
                )
            if parsed["refusal"] is not None or not has_no_key(decode(parsed["document"])):
                continue
            if isinstance(predicates, Mapping) and not predicates[sql]:
                raise _without_columns(sql)
            kinds = tuple(kind for kind in expressions.pop(sql, ()) if kind != "bounds")
            if kinds:
                expressions[sql] = kinds
        return msgspec.structs.replace(spec, expressions=expressions)

    def with_clustered(
        self,
        spec: RecordingSpec,
        conditions: Sequence[str],
        files: pa.Table,
        leaves: Sequence[Leaf],
    ) -> RecordingSpec:
        """Add the bounds, in the rows that pass, of the columns by which the table is clustered.

        Args:
            spec: The request.
            conditions: The conditions that the rows pass.
            files: The statistics of the files.
            leaves: The described columns.
        """
        clustered = clustered_columns(files, leaves)
        usable: list[str] = []
        for condition in conditions:
            wanted = [passing_sql(condition, path) for path in clustered]
            # some columns cannot be part of an expression, such as CHAR
            found = [sql for sql in wanted if self.expression_key(sql) is not None]
            if not found and condition not in spec.expressions:
                raise _without_columns(condition)
            usable += found
        more = RecordingSpec(expressions=dict.fromkeys(usable, ("bounds",)))
        return union_of(spec, more)

    def parse(self, sql: str) -> Expr | None:
        """Return an expression over the columns of the table; None if Spark cannot analyze it."""
        try:
            parsed = self._parse(sql, self._schema.json)
        except StatisticsIndexError:
            return None
        return None if parsed["refusal"] is not None else decode(parsed["document"])

    def rows(
        self,
        ordinals: Ordinals,
        leaves: Sequence[Leaf],
        spec: RecordingSpec,
        entries: Sequence[Entry],
        content: Generation,
        gaps_before: Sequence[Entry] = (),
    ) -> Recorded:
        """Return the statistics from the rows of the files at these ordinals.

        Args:
            ordinals: The files to read.
            leaves: The described columns.
            spec: What was requested.
            entries: The entries that were requested.
            content: The footer statistics of all files.
            gaps_before: The entries that fill gaps of other files.
        """
        requested = self.requested(ordinals, entries, content)
        if not spec.fills_gaps:
            return requested
        filled = self.gaps(ordinals, leaves, entries, content.files, gaps_before)
        return Recorded((*requested.entries, *filled.entries), (*requested.parts, *filled.parts))

    def requested(
        self, ordinals: Ordinals, entries: Sequence[Entry], content: Generation
    ) -> Recorded:
        """Return the statistics of the requested entries: see `rows`."""
        if not entries:
            return Recorded((), ())
        needs_library = len(ordinals) and any(entry.kind == "ndv" for entry in entries)
        problem = missing_library() if needs_library else None
        if problem is not None:
            warn_caller(
                f"the index of {self._target} lacks numbers of distinct values of the files that "
                f"were read: {problem}. Everything else is indexed."
            )
        rows = self._aggregate(ordinals, content, entries)
        return Recorded(timed(entries, rows), rows.parts)

    def gaps(
        self,
        ordinals: Ordinals,
        leaves: Sequence[Leaf],
        requested: Sequence[Entry],
        files: pa.Table,
        known: Sequence[Entry] = (),
    ) -> Recorded:
        """Return bounds of the columns whose footers do not suffice, if they are not requested.

        The arguments are those of `rows`. Columns that cannot be recorded cause a warning.
        """
        bounded = {entry.path for entry in requested if entry.kind == "bounds"}
        candidates = [
            entry for entry in gap_entries(leaves, self._schema) if entry.path not in bounded
        ]
        filled, more, problems = self._fill_gaps(ordinals, files, candidates, known)
        for why, names in problems.items():
            warn_caller(
                f"footers do not suffice for the columns {', '.join(names)}, and their bounds "
                f"could not be recorded from the rows ({why}), so the index of {self._target} "
                "lacks these bounds. Everything else is indexed. To try again, run add(); to index "
                "the table without these bounds, pass fill_gaps=False.",
            )
        return Recorded(timed(filled, more), more.parts)

    def _aggregate(
        self, ordinals: Ordinals, content: Generation, entries: Sequence[Entry]
    ) -> RowStatistics:
        """Aggregate the rows of the listed files at these ordinals with Spark."""
        from tamis.indexing.build.jobs import aggregate_rows

        records = content.files.column("num_records").take(pa.array(ordinals)).to_pylist()
        of_groups = None
        if self.listing.row_reading is None and any(each.bounds_row_groups for each in entries):
            of_groups = content.rows_of_row_groups(ordinals)
        return aggregate_rows(
            self._spark, self._target, self.listing, ordinals, records, entries, of_groups
        )

    def _fill_gaps(
        self,
        ordinals: Ordinals,
        files: pa.Table,
        candidates: Sequence[Entry],
        known: Sequence[Entry],
    ) -> tuple[list[Entry], RowStatistics, dict[str, list[str]]]:
        """Fill the gaps of these files: see `jobs.fill_gaps`."""
        from tamis.indexing.build.jobs import fill_gaps

        return fill_gaps(
            self._spark, self._target, self.listing, candidates, files, ordinals, known
        )

    @property
    def _schema(self) -> Schema:
        schema = self.listing.schema
        if self.listing.row_reading is not None:
            schema = readable_schema(schema, self.listing.malformed)
        return Schema(schema, self.listing.partition_schema, self.listing.case_sensitive)

    def _parse(self, sql: str, schema: str) -> dict[str, Any]:
        known = self._parsed.get((sql, schema))
        if known is None:
            known = self._parsed[sql, schema] = parse_value(self._spark, sql, schema)
        return known
