"""The results of the job over distinct values for one entry: a sketch per file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa

from tamis.indexing.format import distinct_sketches
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns
from tamis.indexing.format.row_sql import TEXT
from tamis.indexing.problems import IndexUnusable

__all__ = ["SketchJobResult"]


class SketchJobResult:
    """The sketches of one entry, filled table by table."""

    def __init__(self, entry: Entry, files: int) -> None:
        self.sketches: list[bytes | None] = [None] * files
        self.is_text = entry.type in TEXT
        self.lengths = np.full(files, -1, np.int64)
        self.longest = np.full(files, -1, np.int64)

    def add(self, k: int, table: pa.Table, places: Sequence[int], rows: Sequence[int]) -> None:
        """Add the sketches of some files.

        Args:
            k: The number of the entry in the table.
            table: The aggregates, one row per file.
            places: The places of the files that Spark read as listed and completely.
            rows: Their rows in the table.
        """
        sketches, old = table.column(f"sketch{k}"), table.column(f"old{k}").to_pylist()
        for place, row in zip(places, rows, strict=True):
            if old[row]:
                continue  # sessions may read other values
            with suppress(IndexUnusable, ValueError):  # without the library, it stays unknown
                self.sketches[place] = distinct_sketches.compact(sketches[row].as_py())
            if self.is_text:
                self.lengths[place] = table.column(f"length{k}")[row].as_py()
                longest = table.column(f"longest{k}")[row].as_py()
                self.longest[place] = -1 if longest is None else longest

    def finished(self, empty: Sequence[int]) -> Columns:
        """Return the sketches of all files. Those at the places `empty` have no rows."""
        for place in empty:
            self.sketches[place], self.lengths[place] = b"", 0
        numbers = (self.lengths, self.longest) if self.is_text else (None, None)
        return Columns(sketches=distinct_sketches.joined(self.sketches, *numbers))
