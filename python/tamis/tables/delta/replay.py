"""The files of a snapshot, from all files of its log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.tables.delta.added_files import column_type
from tamis.tables.delta.columns import TableColumns
from tamis.tables.delta.log_files import LogFile

__all__ = ["LogReplay"]

Longs = npt.NDArray[np.int64]


class LogReplay:
    """The last action of each data file.

    A commit that replaces the deletion vector of a file removes it and adds it, in any order. So an
    addition takes precedence over a removal in the same file of the log.

    Args:
        files: In the order of the log.
        columns: The columns of the table.
    """

    def __init__(self, files: Sequence[LogFile], columns: TableColumns) -> None:
        self.columns = columns
        self._tables = [each.added for each in files]
        self._starts = np.cumsum([0, *(each.num_rows for each in self._tables)])
        keys, rows = [], []
        for start, file in reversed(list(zip(self._starts, files, strict=False))):
            backwards = np.arange(file.added.num_rows - 1, -1, -1)
            keys += file.added.column("key").take(pa.array(backwards)).chunks
            keys.append(file.removed)
            rows += [backwards + start, np.full(len(file.removed), -1)]
        self._keys = pa.concat_arrays(keys) if keys else pa.array([], pa.binary())
        self._rows = np.concatenate(rows) if rows else np.zeros(0, np.int64)

    def rows_of(self, keys: pa.Array) -> pa.Array:
        """Return the row of each file; null if it is not in the snapshot."""
        # of a key that occurs several times, `index_in` finds the first: the last action
        found = pc.index_in(keys, value_set=self._keys)
        places = np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False))
        rows = np.append(self._rows, -1)[places]
        return pa.array(rows, mask=rows < 0)

    def column(self, name: str, rows: pa.Array) -> pa.Array | None:
        """Return a column of `added_files` at some rows; None if it is never known."""
        if not any(name in table.column_names for table in self._tables):
            return None
        data_type = column_type(name, self.columns)
        chunks = [
            chunk
            for table in self._tables
            for chunk in (
                table.column(name).chunks
                if name in table.column_names
                else [pa.nulls(table.num_rows, data_type)]
            )
        ]
        return pa.concat_arrays(chunks).take(rows)
