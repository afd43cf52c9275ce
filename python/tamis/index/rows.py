"""What Spark aggregates of the rows of each file.

Two jobs over the rows, each of which reads the columns that it needs: one for all bounds, one for
all bloom filters and value lists. The files are told apart by the `_metadata` columns, and reading
those keeps tamis out of the way: no file is skipped here.

A file counts only if Spark read it as it was listed (size, modification time) and read as many rows
of it as its footer says; of every other file nothing is recorded. Neither is it where dates or
timestamps are so old that the calendar in which Spark reads them depends on the session.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import StatisticsIndexError
from tamis.index import blooms, values
from tamis.index.asked import Entry
from tamis.index.causes import causes
from tamis.index.gathered import Gathered
from tamis.index.row_bounds import bounds_at, no_bounds
from tamis.index.row_sql import FILE, ID, TEXT, bounds_sql, is_old, members_sql
from tamis.index.row_statistics import Columns, RowStatistics, timed
from tamis.index.snapshot import FileKeys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "Columns",
    "Job",
    "RowStatistics",
    "Watch",
    "aggregate",
    "failed",
    "timed",
    "unambiguous",
]

#: Groups of the second job that are gathered at a time, about 60 bytes each.
_MAX_GROUPS: Final = 2_000_000


Watch = Callable[[str], AbstractContextManager[None]]


def aggregate(
    spark: SparkSession,
    frame: DataFrame,
    keys: FileKeys,
    ordinals: npt.NDArray[np.int64],
    num_records: Sequence[int | None],
    entries: Sequence[Entry],
    watch: Watch,
) -> RowStatistics:
    """Aggregates the rows of the listed files at these ordinals, whose row counts are given.

    `frame`: all rows of the table. Raises StatisticsIndexError where Spark does.
    """
    if len(ordinals) == 0 or not entries:
        return RowStatistics(tuple(map(_nothing, entries)), (0.0,) * len(entries))
    job = Job(spark, frame, keys, ordinals, num_records, watch)
    try:
        return job.run(entries)
    except StatisticsIndexError:
        raise
    except Exception as problem:  # PySpark's own, or py4j's
        names = ", ".join(dict.fromkeys(entry.name for entry in entries))
        raise failed(names, problem, "leave out what fails, or mend it") from problem


def failed(subject: str, problem: Exception, fix: str) -> StatisticsIndexError:
    """Spark could not aggregate the rows."""
    return StatisticsIndexError(
        f"the rows cannot be aggregated for {subject} ({causes(problem)}): {fix}"
    )


def _nothing(entry: Entry) -> Columns:
    """An entry of no file."""
    return no_bounds(entry) if entry.kind == "bounds" else Gathered(entry, 0).finished([])


class Job:
    """The files of one build, and how Spark names them.

    num_records: None: what Spark counts is to be found out, and not compared with anything.
    """

    def __init__(
        self,
        spark: SparkSession,
        frame: DataFrame,
        keys: FileKeys,
        ordinals: npt.NDArray[np.int64],
        num_records: Sequence[int | None] | None,
        watch: Watch,
    ) -> None:
        self.spark, self.frame, self.watch = spark, frame, watch
        self.is_counting = num_records is None
        counts = [None] * len(ordinals) if num_records is None else num_records
        self.records = np.array([-1 if n is None else n for n in counts], np.int64)
        self.everything = keys.uris()
        self.uris = [self.everything[i] for i in ordinals]
        self.sizes = keys.size.take(pa.array(ordinals)).to_pylist()
        self.mtimes = keys.mtime.take(pa.array(ordinals)).to_pylist()

    def run(self, entries: Sequence[Entry]) -> RowStatistics:
        parts: list[Columns] = [Columns()] * len(entries)
        seconds = [0.0] * len(entries)
        bounds = [i for i, entry in enumerate(entries) if entry.kind == "bounds"]
        others = [i for i, entry in enumerate(entries) if entry.kind != "bounds"]
        started = time.perf_counter()
        of_bounds, names = self._bounds([entries[i] for i in bounds])
        for i, part in zip(bounds, of_bounds, strict=True):
            parts[i] = part
            seconds[i] = (time.perf_counter() - started) / len(bounds)
        if others:
            started = time.perf_counter()
            for i, part in zip(
                others, self._members([entries[i] for i in others], names), strict=True
            ):
                parts[i] = part
            for i in others:
                seconds[i] = (time.perf_counter() - started) / len(others)
        return RowStatistics(tuple(parts), tuple(seconds))

    # --- rows -----------------------------------------------------------------------------------

    def rows(
        self, entries: Sequence[Entry], places: Sequence[int] | None, more: Sequence[str] = ()
    ) -> DataFrame:
        """One row a row: its file, and for entry k its value `v<k>` and whether it is `old<k>`.

        `more`: further columns, as SQL.
        """
        frame = self.frame
        if places is None and (self.records < 0).any():
            places = np.flatnonzero(self.records >= 0).tolist()  # the others may not be readable
        wanted = self.uris if places is None else [self.uris[i] for i in places]
        if len(wanted) < len(self.everything):
            # Spark opens no file that a filter on its path rules out. The shorter list is sent.
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
        """Bounds, and for every id of a file (its hash) the place of the file."""
        wanted = [", ".join(FILE), ID, "count(*) AS n"]
        for k, entry in enumerate(entries):
            wanted += bounds_sql(k, entry)
        if any(entry.type in TEXT for entry in entries):
            # Always empty. With it Spark aggregates by hash; strings alone it would sort by file.
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
        """Files that Spark read as they were listed, and to the end: their places and rows."""
        found = table.select(["file", "size", "mtime", "n"]).to_pylist()
        spellings = {uri: place for place, uri in enumerate(self.uris)}
        if not any(_canonical(each["file"]) in spellings for each in found):
            spellings = {unquote(uri): place for place, uri in enumerate(self.uris)}
        places, rows = [], []
        for row, each in enumerate(found):
            place = spellings.get(_canonical(each["file"]))
            if (
                place is not None
                and each["size"] == self.sizes[place]
                and each["mtime"] == self.mtimes[place]
                and (self.is_counting or each["n"] == self.records[place])
            ):
                places.append(place)
                rows.append(row)
        return places, rows

    # --- bloom filters and value lists ------------------------------------------------------------

    def _members(self, entries: Sequence[Entry], names: Mapping[int, int]) -> Iterator[Columns]:
        gathered = [Gathered(entry, len(self.uris)) for entry in entries]
        for places in self._batches(entries):
            blocks = blooms.blocks_for(max(int(self.records[i]) for i in places))
            text = members_sql(entries, blocks)
            whole = len(places) == len(self.uris) and (self.records >= 0).all()
            rows = self.rows(entries, None if whole else places)
            with self.watch(f"aggregating the values of {len(places)} files"):
                table = self.sql(text, rows)
            item = table.column("item").to_numpy()
            for k, each in enumerate(gathered):
                each.add(table.filter(pa.array(item == k)), names, self.records, blocks)
        # files without rows have no group in any table, and are known: they hold no value
        empty = np.flatnonzero(self.records == 0).tolist()
        return iter([each.finished(empty) for each in gathered])

    def _batches(self, entries: Sequence[Entry]) -> Iterator[list[int]]:
        """Places of files, so many at a time that the groups of them can be gathered."""
        batch: list[int] = []
        groups = 0
        for place, records in enumerate(self.records.tolist()):
            if records <= 0:
                continue
            needed = sum(
                min(records, blooms.MAX_BLOCKS if e.kind == "bloom" else values.MAX_VALUES)
                for e in entries
            )
            if batch and groups + needed > _MAX_GROUPS:
                yield batch
                batch, groups = [], 0
            batch.append(place)
            groups += needed
        if batch:
            yield batch


def unambiguous(ids: Sequence[int], places_and_rows: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The place of the file that an id stands for; ids that two files share are left out.

    Args:
        ids: by row, the hash that stands for a file.
        places_and_rows: of the files that count, the place in the listing and the row.

    >>> unambiguous([7, 8, 7], [(0, 0), (1, 1), (2, 2)])
    {8: 1}
    """
    counts = Counter(ids)
    return {ids[row]: place for place, row in places_and_rows if counts[ids[row]] == 1}


def _spellings(uris: Iterable[str]) -> list[str]:
    """URIs as Spark may spell them in `_metadata`: as they are, or decoded."""
    return sorted({spelling for uri in uris for spelling in (uri, unquote(uri))})


def _canonical(path: str) -> str:
    """`file:///t`, as the catalog has it, is `file:/t`."""
    scheme, separator, rest = path.partition(":///")
    return f"{scheme}:/{rest}" if separator and "/" not in scheme else path
