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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import StatisticsIndexError
from tamis.expr.types import DataType
from tamis.index import blooms, values
from tamis.index.asked import Entry
from tamis.index.decoding import cut_lower, cut_lower_text, cut_upper, cut_upper_text
from tamis.index.leaves import arrow_type
from tamis.index.row_sql import (
    FILE,
    FLOATING,
    ID,
    NAN,
    ORDINARY,
    TEXT,
    bounds_sql,
    is_old,
    members_sql,
)
from tamis.index.snapshot import FileKeys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Columns", "RowStatistics", "aggregate", "timed"]

#: Groups of the second job that are gathered at a time, about 60 bytes each.
_MAX_GROUPS: Final = 2_000_000
#: Bounds of bytes that are longer are cut, outward.
_MAX_BOUND: Final = 1024


@dataclass(frozen=True, slots=True)
class Columns:
    """Of one entry, in the order of the files that were asked about.

    columns: bounds (min, max, null_count, nan_count, and of text `attained`: no bound was cut).
    filters, lists: see blooms and values.
    """

    columns: Mapping[str, pa.Array] | None = None
    filters: blooms.Blooms | None = None
    lists: values.ValueLists | None = None


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """One part an entry, and the seconds that each took."""

    parts: tuple[Columns, ...]
    seconds: tuple[float, ...]


def timed(entries: Sequence[Entry], rows: RowStatistics) -> tuple[Entry, ...]:
    """The entries, with the seconds that they took."""
    return tuple(
        msgspec.structs.replace(entry, seconds=round(seconds, 3))
        for entry, seconds in zip(entries, rows.seconds, strict=True)
    )


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
    if len(ordinals) == 0:
        return RowStatistics(tuple(map(_nothing, entries)), (0.0,) * len(entries))
    job = _Job(spark, frame, keys, ordinals, num_records, watch)
    try:
        return job.run(entries)
    except StatisticsIndexError:
        raise
    except Exception as problem:  # PySpark's own, or py4j's
        lines = [line for line in str(problem).splitlines() if line.strip()]
        first = lines[0] if lines else type(problem).__name__
        names = ", ".join(dict.fromkeys(entry.name for entry in entries))
        raise StatisticsIndexError(
            f"the rows cannot be aggregated for {names} ({first}): leave out what fails, or mend it"
        ) from problem


def _nothing(entry: Entry) -> Columns:
    """An entry of no file."""
    if entry.kind == "bounds":
        kind, counts = arrow_type(entry.leaf), pa.array([], pa.int64())
        columns = {"min": pa.array([], kind), "max": pa.array([], kind), "null_count": counts}
        if entry.type in FLOATING:
            columns["nan_count"] = counts
        if entry.type in TEXT:
            columns["attained"] = pa.array([], pa.bool_())
        return Columns(columns)
    return _Gathered(entry, 0).finished([])


class _Job:
    """The files of one build, and how Spark names them."""

    def __init__(
        self,
        spark: SparkSession,
        frame: DataFrame,
        keys: FileKeys,
        ordinals: npt.NDArray[np.int64],
        num_records: Sequence[int | None],
        watch: Watch,
    ) -> None:
        self.spark, self.frame, self.watch = spark, frame, watch
        self.records = np.array([-1 if n is None else n for n in num_records], np.int64)
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

    def _rows(self, entries: Sequence[Entry], places: Sequence[int] | None) -> DataFrame:
        """One row a row: its file, and for entry k its value `v<k>` and whether it is `old<k>`."""
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
        return frame.selectExpr(*selected)

    def _sql(self, text: str, rows: DataFrame) -> pa.Table:
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
            table = self._sql(
                f"SELECT {', '.join(wanted)} FROM {{rows}} GROUP BY {', '.join(FILE)}",
                self._rows(entries, None),
            )
        ids = table.column("id").to_pylist()
        place, row = self._matched(table)
        twice = {each for each in ids if ids.count(each) > 1} if len(set(ids)) < len(ids) else set()
        names = {ids[r]: p for p, r in zip(place, row, strict=True) if ids[r] not in twice}
        return [self._bound(k, entry, table, place, row) for k, entry in enumerate(entries)], names

    def _matched(self, table: pa.Table) -> tuple[list[int], list[int]]:
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
                and each["n"] == self.records[place]
            ):
                places.append(place)
                rows.append(row)
        return places, rows

    def _bound(
        self, k: int, entry: Entry, table: pa.Table, place: list[int], row: list[int]
    ) -> Columns:
        at = np.full(len(self.uris), -1, np.int64)
        at[place] = row
        # no row of it: an empty file, of which there is nothing to read, or one that is not known
        old = table.column(f"old{k}").to_numpy(zero_copy_only=False).astype(bool)
        if len(old):
            at[(at >= 0) & old[at]] = -1
        take = pa.array(at, mask=at < 0)
        wanted = arrow_type(entry.leaf)
        low, high, nulls, nans = (
            table.column(f"{name}{k}").combine_chunks().take(take)
            for name in ("min", "max", "null", "nan")
        )
        whole = low, high
        if entry.type in TEXT:
            low, high = _cut(low, entry.type, lower=True), _cut(high, entry.type, lower=False)
        columns = {
            "min": low.cast(wanted),
            "max": high.cast(wanted),
            "null_count": nulls.cast(pa.int64()),
        }
        if entry.type in FLOATING:
            columns["nan_count"] = nans.cast(pa.int64())
        if entry.type in TEXT:
            columns["attained"] = pc.and_(pc.equal(whole[0], low), pc.equal(whole[1], high))
        return Columns(columns=columns)

    # --- bloom filters and value lists ------------------------------------------------------------

    def _members(self, entries: Sequence[Entry], names: Mapping[int, int]) -> Iterator[Columns]:
        gathered = [_Gathered(entry, len(self.uris)) for entry in entries]
        for places in self._batches(entries):
            blocks = blooms.blocks_for(max(int(self.records[i]) for i in places))
            text = members_sql(entries, blocks)
            whole = len(places) == len(self.uris) and (self.records >= 0).all()
            rows = self._rows(entries, None if whole else places)
            with self.watch(f"aggregating the values of {len(places)} files"):
                table = self._sql(text, rows)
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


class _Gathered:
    """What the second job says of one entry, file by file."""

    def __init__(self, entry: Entry, files: int) -> None:
        self.entry = entry
        self.filters: list[Any] = [None] * files
        self.lists: list[Any] = [None] * files

    def add(
        self, groups: pa.Table, names: Mapping[int, int], records: npt.NDArray[Any], blocks: int
    ) -> None:
        """groups: one row a block of a filter, or a value, and one for all NULLs, all NaN …"""
        table = groups.sort_by([("id", "ascending")])
        ids = table.column("id").to_numpy()
        state = table.column("state").to_numpy()
        counts = table.column("n").to_numpy()
        keys = table.column("key").combine_chunks() if self.entry.kind == "values" else None
        words = block = np.empty(0)
        if self.entry.kind == "bloom":
            block = table.column("block").fill_null(0).to_numpy()
            words = np.stack([table.column(f"w{j}").to_numpy() for j in range(4)], axis=1)
        edges = (np.flatnonzero(np.diff(ids)) + 1).tolist()
        for start, stop in zip([0, *edges], [*edges, len(ids)], strict=True):
            place = names.get(int(ids[start])) if stop > start else None
            if place is None or int(counts[start:stop].sum()) != records[place]:
                continue  # not the file that was listed, or not all of its rows
            if (state[start:stop] > NAN).any():
                continue
            ordinary = np.flatnonzero(state[start:stop] == ORDINARY) + start
            if keys is not None:
                if len(ordinary) <= values.MAX_VALUES:
                    self.lists[place] = keys.take(pa.array(ordinary)).to_pylist()
            elif not len(ordinary):
                self.filters[place] = np.zeros((0, 4), np.uint64)
            else:
                filled = np.zeros((blocks, 4), np.uint64)
                filled[block[ordinary]] = words[ordinary].view(np.uint64)
                self.filters[place] = blooms.folded(filled)

    def finished(self, empty: list[int]) -> Columns:
        for place in empty:
            self.filters[place], self.lists[place] = np.zeros((0, 4), np.uint64), []
        if self.entry.kind == "bloom":
            return Columns(filters=blooms.joined(self.filters))
        data_type = DataType.parse(self.entry.type)
        assert data_type is not None
        return Columns(lists=values.listed(self.lists, data_type))


def _spellings(uris: Iterable[str]) -> list[str]:
    """URIs as Spark may spell them in `_metadata`: as they are, or decoded."""
    return sorted({spelling for uri in uris for spelling in (uri, unquote(uri))})


def _canonical(path: str) -> str:
    """`file:///t`, as the catalog has it, is `file:/t`."""
    scheme, separator, rest = path.partition(":///")
    return f"{scheme}:/{rest}" if separator and "/" not in scheme else path


def _cut(edge: pa.Array, kind: str, lower: bool) -> pa.Array:
    of_text = kind == "string"

    def one(raw: bytes | None) -> bytes | None:
        if raw is None:
            return None
        if len(raw) <= _MAX_BOUND and (not of_text or _is_text(raw)):
            return raw
        if lower:
            return cut_lower_text(raw) if of_text else cut_lower(raw)
        return cut_upper_text(raw) if of_text else cut_upper(raw)

    return pa.array([one(raw) for raw in edge.to_pylist()], pa.binary())


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
