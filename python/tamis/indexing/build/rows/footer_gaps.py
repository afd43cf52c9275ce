"""The columns of Parquet files whose footers do not suffice, and their bounds from the rows.

A footer does not suffice for a column of a file if the file may have values of the column, and

- it has no bounds or no NULL count: INT96 timestamps, files written without statistics, bounds that
  this version of tamis does not trust
- the column is FLOAT or DOUBLE: footers do not count NaN, which is greater than all other values
- both bounds are strings or binary values that begin with the same `_CUT` bytes: some writers
  truncate bounds (parquet-rs at 64 bytes), so that they may be the same in all files

If a footer has a NULL count and no bounds of strings or binary values, these are too long for the
writer, such as documents and images. They are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import StatisticsIndexError
from tamis.indexing.build.rows.row_bounds import unknown_bounds
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.format.entries import Entry, column_entry
from tamis.indexing.format.entry_statistics import Columns, RowStatistics
from tamis.indexing.format.row_sql import FLOATING, TEXT
from tamis.indexing.format.table_schema import Schema

__all__ = ["fill", "gap_entries", "has_gap"]

#: The most columns, and columns times files, of one Spark job: Spark cannot compile queries with
#: thousands of aggregates, and collects about 40 bytes for each column of a file.
_COLUMNS: Final = 50
_CELLS: Final = 5_000_000
#: Groups of columns with gaps in the same files. If there are more, all are read together.
_GROUPS: Final = 4
#: Less than the 64 bytes to which parquet-rs truncates, because it does not cut inside a character.
_CUT: Final = 60

Flags = npt.NDArray[np.bool_]
#: Aggregates the rows of the files at these ordinals.
Aggregate = Callable[[npt.NDArray[np.int64], Sequence[Entry]], RowStatistics]


def gap_entries(leaves: Sequence[Leaf], schema: Schema) -> list[Entry]:
    """Return an entry for the bounds of each leaf that can be recorded from rows."""
    entries = []
    for leaf in leaves:
        if leaf.has_default:
            continue  # Spark fills in the default, also where the file does not have the column
        with suppress(StatisticsIndexError):  # such as a CHAR column
            entries.append(column_entry("bounds", leaf, schema, fills_gap=True))
    return entries


def has_gap(leaf: Leaf, files: pa.Table) -> Flags:
    """Return for each file whether its footer does not suffice for a column.

    Args:
        leaf: The column.
        files: The statistics of the files, as `generation.assemble` returns them.
    """

    def of_column(kind: str) -> pa.ChunkedArray:
        name = f"{kind}.{leaf.name}"
        return files.column(name) if name in files.column_names else pa.nulls(len(files))

    records, nulls = files.column("num_records"), of_column("null_count").cast(pa.int64())
    low, high = of_column("min"), of_column("max")
    gap = pc.or_(pc.is_null(nulls), pc.or_(pc.is_null(low), pc.is_null(high)))
    if leaf.type in FLOATING:
        gap = pa.scalar(True)
    elif leaf.type in TEXT:
        # The writer counted NULLs and left out both bounds because they are too long.
        is_long = pc.and_(pc.is_valid(nulls), pc.and_(pc.is_null(low), pc.is_null(high)))
        gap = pc.and_not(gap, is_long)
        if not pa.types.is_null(low.type) and not pa.types.is_null(high.type):
            beginnings = [pc.binary_slice(edge, 0, _CUT) for edge in (low, high)]
            is_cut = pc.and_(pc.equal(pc.binary_length(beginnings[0]), _CUT), pc.equal(*beginnings))
            gap = pc.or_(gap, pc.fill_null(is_cut, False))
    may_have_values = pc.fill_null(pc.not_equal(records, nulls), True)
    # the row count is unknown if the footer could not be read; then rows would not count either
    has_rows = pc.fill_null(pc.greater(records, 0), False)
    flags: Flags = np.asarray(pc.and_(gap, pc.and_(may_have_values, has_rows)), dtype=bool)
    return flags


def fill(
    entries: Sequence[Entry],
    files: pa.Table,
    ordinals: npt.NDArray[np.int64],
    known: Sequence[Entry],
    aggregate: Aggregate,
) -> tuple[list[Entry], RowStatistics]:
    """Record the bounds of columns whose footers do not suffice.

    Columns with a gap in the same files are read together.

    Args:
        entries: The entries that may be recorded.
        files: The statistics of all files.
        ordinals: The files that are new.
        known: The entries that were recorded of other files. They are part of the result.
        aggregate: Aggregates rows.

    Returns:
        The entries, and their statistics in the order of `ordinals`.
    """
    before = {entry.meaning for entry in known}
    chosen: list[Entry] = []
    groups: dict[bytes, list[int]] = {}
    for entry in entries:
        flags = _of_new_files(entry.leaf, files, ordinals)
        if flags.any():
            groups.setdefault(np.packbits(flags).tobytes(), []).append(len(chosen))
        elif entry.meaning not in before:
            continue
        chosen.append(entry)
    parts = [unknown_bounds(entry, len(ordinals)) for entry in chosen]
    seconds = [0.0] * len(chosen)
    for flags, members in _merged(groups, len(ordinals)):
        places = np.flatnonzero(flags)
        batch = max(1, min(_COLUMNS, _CELLS // len(places)))
        for start in range(0, len(members), batch):
            numbers = members[start : start + batch]
            found = aggregate(ordinals[places], [chosen[k] for k in numbers])
            for k, part, spent in zip(numbers, found.parts, found.seconds, strict=True):
                parts[k], seconds[k] = _spread(part, places, len(ordinals)), spent
    return chosen, RowStatistics(tuple(parts), tuple(seconds))


def _of_new_files(leaf: Leaf, files: pa.Table, ordinals: npt.NDArray[np.int64]) -> Flags:
    names = [f"{kind}.{leaf.name}" for kind in ("min", "max", "null_count")]
    table = files.select([name for name in ("num_records", *names) if name in files.column_names])
    return has_gap(leaf, table if len(ordinals) == len(files) else table.take(pa.array(ordinals)))


def _merged(groups: Mapping[bytes, list[int]], files: int) -> Iterator[tuple[Flags, list[int]]]:
    """Yield the flags of files and the members of each group; of all together if there are many."""
    unpacked = [
        (np.unpackbits(np.frombuffer(bits, np.uint8), count=files).astype(bool), members)
        for bits, members in groups.items()
    ]
    if len(unpacked) <= _GROUPS:
        yield from unpacked
        return
    union = np.zeros(files, bool)
    for flags, _ in unpacked:
        union |= flags
    yield union, sorted(k for _, members in unpacked for k in members)


def _spread(part: Columns, places: npt.NDArray[np.int64], files: int) -> Columns:
    """Return the bounds of all files: those of `part` at `places`, and unknown ones elsewhere."""
    at = np.full(files, -1, np.int64)
    at[places] = np.arange(len(places))
    indices = pa.array(at, mask=at < 0)
    assert part.columns is not None
    return Columns({name: array.take(indices) for name, array in part.columns.items()})
