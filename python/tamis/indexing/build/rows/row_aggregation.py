"""Aggregation of the rows of each file with Spark.

There are several jobs over the rows: one for all bounds, one for all Bloom filters and value lists,
one for all sketches of distinct values, one for all aggregates by the same columns, and one for all
orders, which compares each row with the one before it (see `order_job_result`). The second
one needs the first, which also counts the rows of each file. All but the first run once for each
batch of files whose groups fit into memory. Each reads only the columns that it needs.

A file counts only if Spark read it as it was listed (size, modification time) and read as many rows
as its footer states. Nothing is recorded of any other file, nor of a file with dates or timestamps
so old that the calendar in which Spark reads them depends on the session.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import StatisticsIndexError
from tamis.expr.sql import identifier
from tamis.indexing.build.listing import rows_in_order
from tamis.indexing.build.rows.file_rows import FileRows, Watch, owners, spellings, unambiguous
from tamis.indexing.build.rows.group_aggregation import aggregate_groups
from tamis.indexing.build.rows.order_job_result import orders_at
from tamis.indexing.build.rows.row_bounds import bounds_at, unknown_bounds
from tamis.indexing.build.rows.row_group_places import place_sql, steps_of
from tamis.indexing.build.rows.sketch_job_result import SketchJobResult
from tamis.indexing.build.rows.value_job_result import ValueJobResult
from tamis.indexing.build.spark_errors import causes
from tamis.indexing.format import blooms, value_lists
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns, RowStatistics
from tamis.indexing.format.group_bounds import GroupBounds
from tamis.indexing.format.groups import no_groups
from tamis.indexing.format.row_sql import (
    FILE,
    ID,
    TEXT,
    bounds_sql,
    is_old,
    members_sql,
    sketch_sql,
)
from tamis.indexing.read.snapshot import FileKeys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Job", "aggregate", "failed"]

#: Groups of the second job that are collected at a time, about 60 bytes each.
_MAX_GROUPS: Final = 2_000_000
#: Sketches of the third job that are collected at a time, at most about 2 KB each.
_MAX_SKETCHES: Final = 100_000


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


class Job(FileRows):
    """The statistics of the files of one build."""

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

        of_rows = {entry.kind for entry in entries if entry.order is None}
        if of_rows & {"bounds", "bloom", "values"}:
            run_job(lambda entry: entry.kind == "bounds" and entry.order is None, of_bounds)
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
            run_job(partial(_is_by, by), partial(aggregate_groups, self))
        if any(entry.order is not None for entry in entries):
            run_job(lambda entry: entry.order is not None, self._orders)
        return RowStatistics(tuple(parts), tuple(seconds))

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
        spelled = [(name, place) for place in steps for name in spellings([self.uris[place]])]
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
        stamped = table.group_by(list(FILE)).aggregate([("n", "sum")])
        files = stamped.rename_columns(["n" if c == "n_sum" else c for c in stamped.column_names])
        read = files.column("file").to_pylist()
        known = unambiguous(read, zip(*self.matched(files), strict=True))
        owner = owners(table.column("file").combine_chunks(), known)
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
        for places in self.batches(needed, _MAX_GROUPS):
            blocks = blooms.blocks_for(max(int(self.records[i]) for i in places))
            text = members_sql(entries, blocks)
            with self.watch(f"aggregating the values of {len(places)} files"):
                table = self.sql(text, self.rows_at(places, entries))
            item = table.column("item").to_numpy()
            for k, each in enumerate(gathered):
                each.add(table.filter(pa.array(item == k)), names, self.records, blocks)
        # files without rows have no group in any table, and are known to have no value
        empty = np.flatnonzero(self.records == 0).tolist()
        return iter([each.finished(empty) for each in gathered])

    # --- orders ---------------------------------------------------------------------------------

    def _orders(self, entries: Sequence[Entry]) -> list[Columns]:
        paths = list(dict.fromkeys(path for entry in entries for path, _ in entry.order or ()))
        more = [f"({is_old(entry)}) AS old{k}" for k, entry in enumerate(entries)]
        more += [f"{identifier(path)} AS c{j}" for j, path in enumerate(paths)]
        orders = [
            [(f"c{paths.index(path)}", descending) for path, descending in entry.order or ()]
            for entry in entries
        ]
        rows = self.rows([], None, ["_metadata.row_index AS row_index", *more])
        with self.watch(f"checking the order of the rows of {len(self.uris)} files"):
            table = rows_in_order(self.spark, rows, orders).toArrow()
        at = np.full(len(self.uris), -1, np.int64)
        place, row = self.matched(table)
        at[place] = row
        return [orders_at(k, table, at) for k in range(len(entries))]

    # --- sketches of distinct values --------------------------------------------------------------

    def _sketches(self, entries: Sequence[Entry]) -> Iterator[Columns]:
        gathered = [SketchJobResult(entry, len(self.uris)) for entry in entries]
        wanted = [", ".join(FILE), "count(*) AS n"]
        for k, entry in enumerate(entries):
            wanted += sketch_sql(k, entry)
        text = f"SELECT {', '.join(wanted)} FROM {{rows}} GROUP BY {', '.join(FILE)}"
        for places in self.batches([1] * len(entries), _MAX_SKETCHES):
            with self.watch(f"counting the distinct values of {len(places)} files"):
                table = self.sql(text, self.rows_at(places, entries))
            for k, each in enumerate(gathered):
                each.add(k, table, *self.matched(table))
        empty = np.flatnonzero(self.records == 0).tolist()
        return iter([each.finished(empty) for each in gathered])


def _is_by(by: object, entry: Entry) -> bool:
    return entry.is_aggregate and entry.by == by
