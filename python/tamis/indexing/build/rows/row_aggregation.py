"""Aggregation of the rows of each file with Spark.

There are several jobs over the rows: one for all bounds, one for all Bloom filters and value lists,
one for all sketches of distinct values, and one for all aggregates by the same columns. The second
one needs the first, which also counts the rows of each file. All but the first run once for each
batch of files whose groups fit into memory. Each reads only the columns that it needs. Files are
identified by the `_metadata` columns. Reading those keeps tamis from replacing the scan, so no file
is skipped here. The shim makes such columns for files of Iceberg, which does not tell the size.

A file counts only if Spark read it as it was listed (size, modification time) and read as many rows
as its footer states. Nothing is recorded of any other file, nor of a file with dates or timestamps
so old that the calendar in which Spark reads them depends on the session.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import StatisticsIndexError
from tamis.indexing.build.listing import with_unscaled
from tamis.indexing.build.rows.group_job_result import GroupJobResult
from tamis.indexing.build.rows.long_sums import are_incomplete, as_decimals, is_decimal_sum
from tamis.indexing.build.rows.row_bounds import bounds_at, unknown_bounds
from tamis.indexing.build.rows.row_group_places import place_sql, steps_of
from tamis.indexing.build.rows.sketch_job_result import SketchJobResult
from tamis.indexing.build.rows.value_job_result import ValueJobResult
from tamis.indexing.build.spark_errors import causes
from tamis.indexing.format import blooms, value_lists
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns, RowStatistics
from tamis.indexing.format.group_bounds import GroupBounds
from tamis.indexing.format.groups import MAX_GROUPS, no_groups
from tamis.indexing.format.row_sql import (
    FILE,
    ID,
    TEXT,
    bounds_sql,
    group_columns,
    groups_sql,
    is_old,
    members_sql,
    sketch_sql,
)
from tamis.indexing.read.snapshot import FileKeys, canonical

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "Job",
    "Watch",
    "aggregate",
    "failed",
    "unambiguous",
]

#: Groups of the second job that are collected at a time, about 60 bytes each.
_MAX_GROUPS: Final = 2_000_000
#: Sketches of the third job that are collected at a time, at most about 2 KB each.
_MAX_SKETCHES: Final = 100_000


Id = TypeVar("Id", int, str)

Watch = Callable[[str], AbstractContextManager[None]]


def aggregate(
    spark: SparkSession,
    frame: DataFrame,
    keys: FileKeys,
    everything: FileKeys,
    ordinals: npt.NDArray[np.int64],
    num_records: Sequence[int | None],
    entries: Sequence[Entry],
    watch: Watch,
    row_groups: Sequence[Sequence[int]] | None = None,
) -> RowStatistics:
    """Aggregate the rows of the listed files at these ordinals.

    Args:
        spark: The session.
        frame: All rows of the table.
        keys: The keys of the listed files.
        everything: The keys of all files of the table.
        ordinals: The ordinals of the files to aggregate.
        num_records: The number of rows of each of them; None: unknown.
        entries: What to record.
        watch: Shows the progress of a job.
        row_groups: The number of rows of each row group of each of them. None: they are unknown.

    Raises:
        StatisticsIndexError: Spark cannot aggregate the rows.
    """
    if len(ordinals) == 0 or not entries:
        return RowStatistics(tuple(map(_nothing, entries)), (0.0,) * len(entries))
    job = Job(spark, frame, keys, everything, ordinals, num_records, watch, row_groups)
    try:
        return job.run(entries)
    except StatisticsIndexError:
        raise
    except Exception as problem:  # an error of PySpark or of py4j
        names = ", ".join(dict.fromkeys(entry.name for entry in entries))
        raise failed(names, problem, "correct the one that fails, or leave it out") from problem


def failed(subject: str, problem: Exception, fix: str) -> StatisticsIndexError:
    """Return the error that Spark could not aggregate the rows."""
    return StatisticsIndexError(
        f"Spark cannot compute statistics of {subject} ({causes(problem)}): {fix}"
    )


def _nothing(entry: Entry) -> Columns:
    """Return the statistics of an entry for zero files."""
    if entry.is_aggregate:
        return Columns(groups=no_groups(entry, 0))
    if entry.kind == "bounds":
        nothing = unknown_bounds(entry, 0)
        return replace(
            nothing, row_groups=GroupBounds(np.zeros(0, np.int64), nothing.columns or {})
        )
    if entry.kind == "ndv":
        return SketchJobResult(entry, 0).finished([])
    return ValueJobResult(entry, 0).finished([])


class Job:
    """The files of one build, and how Spark names them.

    num_records None: the row counts are unknown, so those that Spark finds are not checked.
    """

    def __init__(
        self,
        spark: SparkSession,
        frame: DataFrame,
        keys: FileKeys,
        everything: FileKeys,
        ordinals: npt.NDArray[np.int64],
        num_records: Sequence[int | None] | None,
        watch: Watch,
        row_groups: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.spark, self.frame, self.watch = spark, frame, watch
        self.is_counting = num_records is None
        counts = [None] * len(ordinals) if num_records is None else num_records
        self.records = np.array([-1 if n is None else n for n in counts], np.int64)
        self.everything = everything.uris()
        listed = self.everything if keys is everything else keys.uris()
        self.uris = [listed[i] for i in ordinals]
        self.sizes = keys.size.take(pa.array(ordinals)).to_pylist()
        self.mtimes = keys.mtime.take(pa.array(ordinals)).to_pylist()
        self.row_groups = row_groups

    def run(self, entries: Sequence[Entry]) -> RowStatistics:
        parts: list[Columns] = [Columns()] * len(entries)
        seconds = [0.0] * len(entries)
        names: dict[int, int] = {}

        def run_job(
            is_chosen: Callable[[Entry], bool], job: Callable[[list[Entry]], Iterable[Columns]]
        ) -> None:
            chosen = [i for i, entry in enumerate(entries) if is_chosen(entry)]
            started = time.perf_counter()
            for i, part in zip(chosen, job([entries[i] for i in chosen]), strict=True):
                parts[i] = part
            for i in chosen:
                seconds[i] = (time.perf_counter() - started) / len(chosen)

        def of_bounds(chosen: list[Entry]) -> Iterable[Columns]:
            columns, places = self._bounds(chosen)
            names.update(places)
            return columns

        of_rows = {entry.kind for entry in entries}
        if of_rows & {"bounds", "bloom", "values"}:
            run_job(lambda entry: entry.kind == "bounds", of_bounds)
        for i, found in self._row_groups(entries):
            parts[i] = replace(parts[i], row_groups=found)
        if of_rows & {"bloom", "values"}:
            run_job(
                lambda entry: entry.kind in ("bloom", "values"),
                lambda chosen: self._members(chosen, names),
            )
        if "ndv" in of_rows:
            run_job(lambda entry: entry.kind == "ndv", self._sketches)
        for by in dict.fromkeys(entry.by for entry in entries if entry.is_aggregate):
            run_job(partial(_is_by, by), self._groups)
        return RowStatistics(tuple(parts), tuple(seconds))

    # --- rows -----------------------------------------------------------------------------------

    def rows(
        self, entries: Sequence[Entry], places: Sequence[int] | None, more: Sequence[str] = ()
    ) -> DataFrame:
        """Return every row with its file and, for entry k, the columns `v<k>` and `old<k>`.

        Args:
            entries: The entries.
            places: The files to read; None: all whose number of rows is known.
            more: Further columns, as SQL.
        """
        frame = self.frame
        if places is None and (self.records < 0).any():
            places = np.flatnonzero(self.records >= 0).tolist()  # the others may not be readable
        wanted = self.uris if places is None else [self.uris[i] for i in places]
        if len(wanted) < len(self.everything):
            # Spark does not open files that a filter on the path rules out. Use the shorter list.
            path = frame["_metadata.file_path"]
            others = set(self.everything).difference(wanted)
            if len(others) < len(wanted):
                frame = frame.where(~path.isin(_spellings(others)))
            else:
                frame = frame.where(path.isin(_spellings(wanted)))
        selected = [
            "_metadata.file_path AS file",
            "_metadata.file_size AS size",
            "unix_millis(_metadata.file_modification_time) AS mtime",
        ]
        for k, entry in enumerate(entries):
            selected.append(f"({entry.sql}\n) AS v{k}")
            selected.append(f"({is_old(entry)}) AS old{k}")
        return frame.selectExpr(*selected, *more)

    def sql(self, text: str, rows: DataFrame) -> pa.Table:
        return self.spark.sql(text, rows=rows).toArrow()

    # --- bounds ---------------------------------------------------------------------------------

    def _bounds(self, entries: Sequence[Entry]) -> tuple[list[Columns], dict[int, int]]:
        """Return the bounds of each entry, and the place of the file for every id (its hash)."""
        wanted = [", ".join(FILE), ID, "count(*) AS n"]
        for k, entry in enumerate(entries):
            wanted += bounds_sql(k, entry)
        if any(entry.type in TEXT for entry in entries):
            # Always empty. It makes Spark aggregate by hash. For strings alone, Spark would sort
            # the rows by file.
            wanted.append("collect_set(CAST(NULL AS INT)) AS nothing")
        with self.watch(f"aggregating the rows of {len(self.uris)} files"):
            table = self.sql(
                f"SELECT {', '.join(wanted)} FROM {{rows}} GROUP BY {', '.join(FILE)}",
                self.rows(entries, None),
            )
        ids = table.column("id").to_pylist()
        place, row = self.matched(table)
        names = unambiguous(ids, zip(place, row, strict=True))
        at = np.full(len(self.uris), -1, np.int64)
        at[place] = row
        return [bounds_at(k, entry, table, at) for k, entry in enumerate(entries)], names

    def matched(self, table: pa.Table) -> tuple[list[int], list[int]]:
        """Return the places of files that Spark read as listed and completely, and their rows."""
        groups = table.select(["file", "size", "mtime", "n"]).to_pylist()
        spellings = {uri: place for place, uri in enumerate(self.uris)}
        if not any(canonical(each["file"]) in spellings for each in groups):
            spellings = {unquote(uri): place for place, uri in enumerate(self.uris)}
        places, rows = [], []
        for row, each in enumerate(groups):
            place = spellings.get(canonical(each["file"]))
            if (
                place is not None
                and each["size"] in (None, self.sizes[place])
                and each["mtime"] == self.mtimes[place]
                and (self.is_counting or each["n"] == self.records[place])
            ):
                places.append(place)
                rows.append(row)
        return places, rows

    # --- bounds of row groups ---------------------------------------------------------------------

    def _row_groups(self, entries: Sequence[Entry]) -> Iterator[tuple[int, GroupBounds]]:
        """Yield the bounds in row groups of the entries that have any.

        The statistics of a file are those of its only row group.
        """
        wanted = [i for i, entry in enumerate(entries) if entry.bounds_row_groups]
        if self.row_groups is None or not wanted:
            return
        chosen = [entries[i] for i in wanted]
        counts = np.array([len(each) for each in self.row_groups], np.int64)
        steps = {
            place: found
            for place, each in enumerate(self.row_groups)
            if len(each) > 1
            and sum(each) == self.records[place]
            and (found := steps_of(each)) is not None
        }
        at = np.full(int(counts.sum()), -1, np.int64)
        if not steps:
            for i, entry in zip(wanted, chosen, strict=True):
                nothing = unknown_bounds(entry, len(at)).columns
                assert nothing is not None
                yield i, GroupBounds(counts, nothing)
            return
        spelled = [(name, place) for place in steps for name in _spellings([self.uris[place]])]
        places = ((place, i) for i, (_, place) in enumerate(spelled))
        names = unambiguous([name for name, _ in spelled], places)
        frame = self.spark.createDataFrame(
            [(name, *steps[place]) for name, place in names.items()],
            "file STRING, step BIGINT, begins ARRAY<INT>, boundaries ARRAY<BIGINT>",
        )
        group = place_sql("row_index", "step", "begins", "boundaries")
        keys = [*FILE, "row_group"]
        columns = [*keys, "count(*) AS n"]
        for k, entry in enumerate(chosen):
            columns += bounds_sql(k, entry)
        if any(entry.type in TEXT for entry in chosen):
            columns.append("collect_set(CAST(NULL AS INT)) AS nothing")  # as for files
        with self.watch(f"aggregating the row groups of {len(steps)} files"):
            table = self.spark.sql(
                f"SELECT {', '.join(columns)} FROM (SELECT /*+ BROADCAST(steps) */ *, {group} AS "
                f"row_group FROM {{rows}} JOIN {{steps}} AS steps USING (file)) "
                f"GROUP BY {', '.join(keys)}",
                rows=self.rows(chosen, [*steps], ["_metadata.row_index AS row_index"]),
                steps=frame,
            ).toArrow()
        first = np.cumsum(counts) - counts
        owner = self._owners(table)
        numbers = table.column("row_group").to_numpy()
        for row, (place, number, n) in enumerate(
            zip(owner, numbers, table.column("n").to_numpy(), strict=True)
        ):
            # all rows of the row group, and of the file as it was listed
            if place >= 0 and self.row_groups[place][number] == n:
                at[first[place] + number] = row
        for k, (i, entry) in enumerate(zip(wanted, chosen, strict=True)):
            bounds = bounds_at(k, entry, table, at).columns
            assert bounds is not None
            yield i, GroupBounds(counts, bounds)

    # --- Bloom filters and value lists ------------------------------------------------------------

    def _members(self, entries: Sequence[Entry], names: Mapping[int, int]) -> Iterator[Columns]:
        gathered = [ValueJobResult(entry, len(self.uris)) for entry in entries]
        needed = [
            blooms.MAX_BLOCKS if each.kind == "bloom" else value_lists.MAX_VALUES
            for each in entries
        ]
        for places in self._batches(needed, _MAX_GROUPS):
            blocks = blooms.blocks_for(max(int(self.records[i]) for i in places))
            text = members_sql(entries, blocks)
            with self.watch(f"aggregating the values of {len(places)} files"):
                table = self.sql(text, self._rows_at(places, entries))
            item = table.column("item").to_numpy()
            for k, each in enumerate(gathered):
                each.add(table.filter(pa.array(item == k)), names, self.records, blocks)
        # files without rows have no group in any table, and are known to have no value
        empty = np.flatnonzero(self.records == 0).tolist()
        return iter([each.finished(empty) for each in gathered])

    def _rows_at(
        self, places: Sequence[int], entries: Sequence[Entry], more: Sequence[str] = ()
    ) -> DataFrame:
        whole = len(places) == len(self.uris) and (self.records >= 0).all()
        return self.rows(entries, None if whole else places, more)

    def _batches(self, most: Sequence[int], limit: int) -> Iterator[list[int]]:
        """Yield the places of as many files at a time as have groups that can be collected.

        Args:
            most: For each entry, the most groups of a file. A file has at most one per row.
            limit: The most groups of a batch.
        """
        batch: list[int] = []
        groups = 0
        for place, records in enumerate(self.records.tolist()):
            if records <= 0:
                continue
            needed = sum(min(records, groups_of_entry) for groups_of_entry in most)
            if batch and groups + needed > limit:
                yield batch
                batch, groups = [], 0
            batch.append(place)
            groups += needed
        if batch:
            yield batch

    # --- aggregates of groups -------------------------------------------------------------------

    def _groups(self, entries: Sequence[Entry]) -> Iterator[Columns]:
        """Return the aggregates of each entry. All have the same columns `by`."""
        gathered = [GroupJobResult(entry, len(self.uris)) for entry in entries]
        for places in self._batches([MAX_GROUPS + 1], _MAX_GROUPS):
            with self.watch(f"aggregating the groups of {len(places)} files"):
                table = self._groups_at(places, entries, as_longs=True)
            again = [k for k, entry in enumerate(entries) if are_incomplete(k, entry, table)]
            for k, entry in enumerate(entries):
                if entry.kind == "sum" and k not in again:
                    table = as_decimals(k, entry, table)
            owner = self._owners(table)
            for k, each in enumerate(gathered):
                if k not in again:
                    each.add(k, table, owner)
            if not again:
                continue
            with self.watch(f"adding up long decimals of {len(places)} files"):
                table = self._groups_at(places, [entries[k] for k in again], as_longs=False)
            owner = self._owners(table)
            for number, k in enumerate(again):
                gathered[k].add(number, table, owner)
        empty = np.flatnonzero(self.records == 0).tolist()
        return iter([each.finished(empty) for each in gathered])

    def _groups_at(
        self, places: Sequence[int], entries: Sequence[Entry], as_longs: bool
    ) -> pa.Table:
        """Return the aggregates of the groups of some files, the groups of a file in order."""
        # aggregates of the same value share it, so that it is computed once in each row
        first: dict[tuple[object, ...], int] = {}
        valued: list[Entry] = []
        for entry in entries:
            if first.setdefault((entry.sql, entry.guards), len(valued)) == len(valued):
                valued.append(entry)
        sources = [first[entry.sql, entry.guards] for entry in entries]
        rows = self._rows_at(places, valued, group_columns(entries[0]))
        if as_longs:
            summed = zip(sources, entries, strict=True)
            types = {k: entry.type for k, entry in summed if is_decimal_sum(entry)}
            rows = with_unscaled(self.spark, rows, types)
        return self.sql(groups_sql(entries, sources, as_longs), rows).sort_by("place")

    def _owners(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Return, for each group, the place of its file if Spark read it as listed; else -1."""
        stamped = table.group_by(list(FILE)).aggregate([("n", "sum")])
        files = stamped.rename_columns(["n" if c == "n_sum" else c for c in stamped.column_names])
        names = files.column("file").to_pylist()
        places = unambiguous(names, zip(*self.matched(files), strict=True))
        codes = table.column("file").combine_chunks().dictionary_encode()
        of_code = [places.get(name, -1) for name in codes.dictionary.to_pylist()]
        owners: npt.NDArray[np.int64] = np.array([*of_code, -1], np.int64)[codes.indices.to_numpy()]
        return owners

    # --- sketches of distinct values --------------------------------------------------------------

    def _sketches(self, entries: Sequence[Entry]) -> Iterator[Columns]:
        gathered = [SketchJobResult(entry, len(self.uris)) for entry in entries]
        wanted = [", ".join(FILE), "count(*) AS n"]
        for k, entry in enumerate(entries):
            wanted += sketch_sql(k, entry)
        text = f"SELECT {', '.join(wanted)} FROM {{rows}} GROUP BY {', '.join(FILE)}"
        for places in self._batches([1] * len(entries), _MAX_SKETCHES):
            with self.watch(f"counting the distinct values of {len(places)} files"):
                table = self.sql(text, self._rows_at(places, entries))
            for k, each in enumerate(gathered):
                each.add(k, table, *self.matched(table))
        empty = np.flatnonzero(self.records == 0).tolist()
        return iter([each.finished(empty) for each in gathered])


def unambiguous(ids: Sequence[Id], places_and_rows: Iterable[tuple[int, int]]) -> dict[Id, int]:
    """Return the place of the file of every id, without ids that two files share.

    Args:
        ids: The hash or the path that identifies the file, by row. A file that changes while it is
            read occurs twice.
        places_and_rows: For files that count, the place in the listing and the row.

    >>> unambiguous([7, 8, 7], [(0, 0), (1, 1), (2, 2)])
    {8: 1}
    """
    counts = Counter(ids)
    return {ids[row]: place for place, row in places_and_rows if counts[ids[row]] == 1}


def _is_by(by: object, entry: Entry) -> bool:
    return entry.is_aggregate and entry.by == by


def _spellings(uris: Iterable[str]) -> list[str]:
    """Return the spellings of URIs that `_metadata` may have: unchanged and decoded."""
    return sorted({spelling for uri in uris for spelling in (uri, unquote(uri))})
