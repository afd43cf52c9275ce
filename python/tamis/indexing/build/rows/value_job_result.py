"""The results of the job over values for one entry: a Bloom filter or value list per file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.expr.types import DataType
from tamis.indexing.format import blooms, value_lists
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns
from tamis.indexing.format.row_sql import NAN, ORDINARY

__all__ = ["ValueJobResult"]


class ValueJobResult:
    """The filters or lists of one entry, filled table by table."""

    def __init__(self, entry: Entry, files: int) -> None:
        self.entry = entry
        self.filters: list[Any] = [None] * files
        self.lists: list[Any] = [None] * files

    def add(
        self, groups: pa.Table, names: Mapping[int, int], records: npt.NDArray[Any], blocks: int
    ) -> None:
        """Add the groups of some files.

        A file counts only if its groups have as many rows as the file, and none of them has
        values that cannot be recorded.

        Args:
            groups: One row per block of a filter or per value, and one each for all NULLs, all
                NaN, all values that are too long, and all old dates and timestamps.
            names: The place of a file by its id.
            records: The number of rows of every file.
            blocks: The number of blocks of each filter.
        """
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
                continue  # not the listed file, or not all of its rows
            if (state[start:stop] > NAN).any():
                continue
            ordinary = np.flatnonzero(state[start:stop] == ORDINARY) + start
            if keys is not None:
                if len(ordinary) <= value_lists.MAX_VALUES:
                    self.lists[place] = keys.take(pa.array(ordinary)).to_pylist()
            elif not len(ordinary):
                self.filters[place] = np.zeros((0, 4), np.uint64)
            else:
                filled = np.zeros((blocks, 4), np.uint64)
                filled[block[ordinary]] = words[ordinary].view(np.uint64)
                self.filters[place] = blooms.folded(filled)

    def finished(self, empty: list[int]) -> Columns:
        """Return the statistics of all files. Those at the places `empty` have no rows."""
        for place in empty:
            self.filters[place], self.lists[place] = np.zeros((0, 4), np.uint64), []
        if self.entry.kind == "bloom":
            return Columns(filters=blooms.joined(self.filters))
        data_type = DataType.parse(self.entry.type)
        assert data_type is not None
        return Columns(lists=value_lists.listed(self.lists, data_type))
