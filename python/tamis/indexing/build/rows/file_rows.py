"""The rows of the files of one build, and how Spark names their files.

Files are identified by the `_metadata` columns. Reading those keeps tamis from replacing the scan,
so no file is skipped here. The shim makes such columns for files of Iceberg, which does not tell
the size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.indexing.format.entries import Entry
from tamis.indexing.format.row_sql import is_old
from tamis.indexing.read.snapshot import FileKeys, canonical

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FileRows", "Watch", "owners", "spellings", "unambiguous"]

Id = TypeVar("Id", int, str)

Watch = Callable[[str], AbstractContextManager[None]]


class FileRows:
    """The rows of the listed files at these ordinals.

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
                frame = frame.where(~path.isin(spellings(others)))
            else:
                frame = frame.where(path.isin(spellings(wanted)))
        selected = [
            "_metadata.file_path AS file",
            "_metadata.file_size AS size",
            "unix_millis(_metadata.file_modification_time) AS mtime",
        ]
        for k, entry in enumerate(entries):
            selected.append(f"({entry.sql}\n) AS v{k}")
            selected.append(f"({is_old(entry)}) AS old{k}")
        return frame.selectExpr(*selected, *more)

    def rows_at(
        self, places: Sequence[int], entries: Sequence[Entry], more: Sequence[str] = ()
    ) -> DataFrame:
        """Return the rows of the files at these places: see `rows`."""
        whole = len(places) == len(self.uris) and (self.records >= 0).all()
        return self.rows(entries, None if whole else places, more)

    def sql(self, text: str, rows: DataFrame) -> pa.Table:
        """Return the result of a query over `{rows}`."""
        return self.spark.sql(text, rows=rows).toArrow()

    def batches(self, most: Sequence[int], limit: int) -> Iterator[list[int]]:
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

    def matched(self, table: pa.Table) -> tuple[list[int], list[int]]:
        """Return the places of files that Spark read as listed and completely, and their rows."""
        groups = table.select(["file", "size", "mtime", "n"]).to_pylist()
        named = {uri: place for place, uri in enumerate(self.uris)}
        if not any(canonical(each["file"]) in named for each in groups):
            named = {unquote(uri): place for place, uri in enumerate(self.uris)}
        places, rows = [], []
        for row, each in enumerate(groups):
            place = named.get(canonical(each["file"]))
            if (
                place is not None
                and each["size"] in (None, self.sizes[place])
                and each["mtime"] == self.mtimes[place]
                and (self.is_counting or each["n"] == self.records[place])
            ):
                places.append(place)
                rows.append(row)
        return places, rows


def owners(files: pa.Array, places: Mapping[Id, int]) -> npt.NDArray[np.int64]:
    """Return the place of the file of each row, by its path or number; -1 if that has no place."""
    codes = files.dictionary_encode()
    names: list[Id] = codes.dictionary.to_pylist()
    numbers = np.array([*(places.get(name, -1) for name in names), -1], np.int64)
    found: npt.NDArray[np.int64] = numbers[codes.indices.to_numpy()]
    return found


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


def spellings(uris: Iterable[str]) -> list[str]:
    """Return the spellings of URIs that `_metadata` may have: unchanged and decoded."""
    return sorted({spelling for uri in uris for spelling in (uri, unquote(uri))})
