"""The results of the job over groups of rows for one entry: aggregates per file and group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns
from tamis.indexing.format.groups import (
    Groups,
    by_names,
    joined,
    most_groups,
    no_groups,
    schema_of,
)
from tamis.indexing.format.row_sql import FLOATING, MAX_BOUND

__all__ = ["GroupJobResult"]


class GroupJobResult:
    """The groups of one entry, filled table by table."""

    def __init__(self, entry: Entry, files: int) -> None:
        self.entry, self.files = entry, files
        self._found: list[tuple[npt.NDArray[np.int64], Groups]] = []

    def add(self, k: int, table: pa.Table, places: npt.NDArray[np.int64]) -> None:
        """Add the groups of some files.

        Args:
            k: The number of the entry in the table.
            table: The aggregates, one row per group, the groups of a file in their order.
            places: For each row, the place of its file; -1 if Spark did not read it as listed and
                completely.
        """
        unknown = np.asarray(table.column(f"old{k}").to_numpy(zero_copy_only=False), bool)
        columns: dict[str, Any] = {}
        for i, name in enumerate(by_names(self.entry)):
            columns[name] = table.column(f"by{i}").combine_chunks()
            if self.entry.by is not None and self.entry.by[i][1] == "string":
                unknown = unknown | ~_is_text(columns[name])
        columns["rows"] = table.column("n")
        for field in schema_of(self.entry):
            if field.name not in columns:
                columns[field.name] = self._cells(field.name, table.column(f"{field.name}{k}"))
        # a file counts only if each of its groups does
        bad = np.zeros(self.files, bool)
        bad[places[unknown & (places >= 0)]] = True
        sizes = np.bincount(places[places >= 0], minlength=self.files)
        bad |= sizes > most_groups(self.entry)
        chosen = np.flatnonzero((places >= 0) & ~bad[places])
        order = chosen[np.argsort(places[chosen], kind="stable")]
        kinds = schema_of(self.entry)
        found = pa.table(
            [columns[field.name].cast(field.type) for field in kinds], schema=kinds
        ).take(pa.array(order))
        recorded = np.flatnonzero((sizes > 0) & ~bad)
        self._found.append((recorded, Groups(sizes[recorded].astype(np.int64), found)))

    def _cells(self, name: str, cells: pa.ChunkedArray) -> Any:
        if name != "value":
            return cells
        cells = cells.combine_chunks()
        if self.entry.type in ("string", "binary"):
            fits = pc.less_equal(pc.binary_length(cells), MAX_BOUND)
            if self.entry.type == "string":
                fits = pc.and_(fits, pa.array(_is_text(cells)))
            return pc.if_else(fits, cells, pa.scalar(None, cells.type))
        if self.entry.type in FLOATING:
            # which of 0.0 and -0.0 Spark returns depends on the order of the rows
            plain = pc.and_(pc.invert(pc.is_nan(cells)), pc.not_equal(cells, 0.0))
            return pc.if_else(plain, cells, pa.scalar(None, cells.type))
        return cells

    def finished(self, empty: Sequence[int]) -> Columns:
        """Return the groups of all files. Those at the places `empty` have no rows."""
        found = [(np.array(empty, np.int64), no_groups(self.entry, len(empty), 0)), *self._found]
        place = np.full(self.files, sum(len(places) for places, _ in found), np.int64)
        first = 0
        for places, groups in found:
            place[places] = np.arange(first, first + len(groups))
            first += len(groups)
        # the last one stands for the files without groups
        together = joined([*(groups for _, groups in found), no_groups(self.entry, 1)])
        return Columns(groups=together.take(place))


def _is_text(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where bytes are valid UTF-8 of a length that can be recorded, or null."""
    distinct = values.dictionary_encode()
    flags = [len(each) <= MAX_BOUND and _decodes(each) for each in distinct.dictionary.to_pylist()]
    codes = distinct.indices.fill_null(len(flags)).to_numpy()
    known: npt.NDArray[np.bool_] = np.array([*flags, True], bool)[codes]
    return known


def _decodes(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
