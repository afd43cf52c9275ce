"""The two tables of a generation, made from a listing and the statistics of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis._version import __version__
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.executor_job import row_groups_table
from tamis.indexing.format.layout import (
    ONE_SEGMENT_FORMAT,
    ColumnEntry,
    Pointer,
    Segment,
    Totals,
    now,
)
from tamis.indexing.read.snapshot import FileKeys

MAX_PROBLEMS = 20


@dataclass(frozen=True, eq=False)
class Generation:
    """The content of a generation.

    Attributes:
        files: One row per file, in listing order.
        row_groups: One row per row group, ordered by (file, start).
        columns: The described columns.
        totals: The numbers of files, rows, row groups and bytes.
        problems: Why files could not be read, for the first few.
    """

    files: pa.Table
    row_groups: pa.Table
    columns: tuple[ColumnEntry, ...]
    totals: Totals
    problems: tuple[str, ...]

    def rows_of_row_groups(self, ordinals: npt.NDArray[np.int64]) -> list[list[int]]:
        """Return the rows of each row group of the files at these ordinals; -1: unknown."""
        records = self.row_groups.column("num_records").fill_null(-1).to_pylist()
        counts = self.files.column("row_groups").fill_null(0).to_numpy()
        stops = np.cumsum(counts)
        return [records[stops[i] - counts[i] : stops[i]] for i in ordinals.tolist()]


def assemble(
    keys: FileKeys, leaves: Sequence[Leaf], statistics: pa.Table, row_groups: pa.Table
) -> Generation:
    """Make a generation from statistics in listing order."""
    directories = pa.array(keys.directories, pa.string())
    located = {
        "directory": directories.take(keys.group.combine_chunks()),
        "name": keys.name.combine_chunks(),
        "size": keys.size.combine_chunks(),
        "mtime": keys.mtime.combine_chunks(),
    }
    files = statistics.drop_columns(["ordinal"])
    for i, (name, values) in enumerate(located.items()):
        files = files.add_column(i, name, values)
    problems = files.filter(pc.is_valid(files.column("problem"))).select(
        ["directory", "name", "problem"]
    )
    return Generation(
        _without_unknown(files),
        _without_unknown(row_groups),
        tuple(_entry(leaf, files) for leaf in leaves),
        Totals(
            files=len(files),
            rows=pc.sum(files.column("num_records")).as_py() or 0,
            row_groups=len(row_groups),
            bytes=pc.sum(files.column("size")).as_py() or 0,
            unreadable=len(problems),
        ),
        tuple(
            f"{row['directory']}/{row['name']}: {row['problem']}"
            for row in problems.slice(0, MAX_PROBLEMS).to_pylist()
        ),
    )


def pointer_to(
    segment: Segment,
    content: Generation,
    root: str,
    schema: str,
    partition_schema: str,
    case_sensitive: bool,
    selected: Sequence[str] | None = None,
) -> Pointer:
    """Return the pointer to an index of one segment. The arguments are fields of `Pointer`."""
    return Pointer(
        format=ONE_SEGMENT_FORMAT,
        tamis=__version__,
        generation=segment.directory,
        created=now(),
        root=root,
        schema=schema,
        partition_schema=partition_schema,
        case_sensitive=case_sensitive,
        columns=content.columns,
        selected=None if selected is None else tuple(selected),
        totals=content.totals,
        data=segment.data,
        problems=content.problems,
    )


def _entry(leaf: Leaf, files: pa.Table) -> ColumnEntry:
    low, high, nulls = (
        files.column(f"{kind}.{leaf.name}") for kind in ("min", "max", "null_count")
    )
    bounded = pc.sum(pc.and_(pc.is_valid(low), pc.is_valid(high))).as_py() or 0
    counted = len(nulls) - nulls.null_count
    usable = counted == len(nulls) and not pc.any(pc.less(nulls, 0)).as_py()
    total = (pc.sum(nulls).as_py() or 0) if usable else None
    return ColumnEntry(leaf.path, leaf.type, leaf.has_default, bounded, counted, total)


def _without_unknown(table: pa.Table) -> pa.Table:
    """Drop statistics that are unknown in every row; a missing column means the same."""
    unknown = [
        name
        for name in table.column_names
        if name.startswith(("min.", "max.", "null_count.", "nan_count.", "attained."))
        and table.column(name).null_count == len(table)
    ]
    return table.drop_columns(unknown)


def merge(
    old_files: pa.Table,
    old_row_groups: pa.Table,
    rows: npt.NDArray[np.int64],
    new_files: pa.Table,
    new_row_groups: pa.Table,
    leaves: Sequence[Leaf],
) -> tuple[pa.Table, pa.Table]:
    """Return statistics and row groups in listing order, old ones where a file has them.

    Args:
        old_files: Statistics of files that were read earlier.
        old_row_groups: Statistics of their row groups.
        rows: The row of every listed file in the old tables, or -1.
        new_files: Statistics of the other listed files.
        new_row_groups: Statistics of their row groups.
        leaves: The described columns.
    """
    kept = np.flatnonzero(rows >= 0)
    shape = new_files.schema
    reused = _shaped(old_files, shape, len(old_files)).take(pa.array(rows[kept]))
    reused = reused.set_column(0, "ordinal", pa.array(kept, pa.int64()))
    files = pa.concat_tables([reused, new_files]).sort_by("ordinal")

    place = np.full(len(old_files), -1, np.int64)
    place[rows[kept]] = kept
    shape = row_groups_table([], [], leaves).schema
    old = _shaped(old_row_groups, shape, len(old_row_groups))
    owner = place[old.column("file").to_numpy()] if len(old) else np.empty(0, np.int64)
    old = old.set_column(0, "file", pa.array(owner, pa.int64()))
    old = old.filter(pa.array(owner >= 0))
    row_groups = pa.concat_tables([old, new_row_groups.select(shape.names)])
    return files, row_groups.sort_by([("file", "ascending"), ("start", "ascending")])


def _shaped(table: pa.Table, shape: pa.Schema, rows: int) -> pa.Table:
    """Return a table with the columns of `shape`, all null where `table` lacks one."""
    return pa.table(
        [
            table.column(field.name)
            if field.name in table.column_names
            else pa.nulls(rows, field.type)
            for field in shape
        ],
        schema=shape,
    )
