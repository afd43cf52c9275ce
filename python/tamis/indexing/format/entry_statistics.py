"""Row statistics of files, as the jobs over their rows return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from tamis.indexing.format import blooms, distinct_sketches, value_lists
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.group_bounds import GroupBounds
from tamis.indexing.format.groups import Groups

__all__ = ["Columns", "Recorded", "RowStatistics", "timed"]


@dataclass(frozen=True, slots=True)
class Columns:
    """The statistics of one entry, in the order of the requested files.

    Attributes:
        columns: Bounds and counts: min, max, null_count, nan_count, and for strings and binary
            `attained`, which means that no bound was truncated.
        filters: See `blooms`.
        lists: See `value_lists`.
        sketches: See `distinct_sketches`.
        groups: See `groups`.
        row_groups: The bounds of an expression in row groups, in addition to `columns`; None:
            unknown.
    """

    columns: Mapping[str, pa.Array] | None = None
    filters: blooms.Blooms | None = None
    lists: value_lists.ValueLists | None = None
    sketches: distinct_sketches.Sketches | None = None
    groups: Groups | None = None
    row_groups: GroupBounds | None = None


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """The statistics of every entry, and the seconds that each took."""

    parts: tuple[Columns, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """Entries and the statistics of each."""

    entries: tuple[Entry, ...]
    parts: tuple[Columns, ...]


def timed(entries: Sequence[Entry], rows: RowStatistics) -> tuple[Entry, ...]:
    """Return the entries with the seconds that they took."""
    return tuple(
        msgspec.structs.replace(entry, seconds=round(seconds, 3))
        for entry, seconds in zip(entries, rows.seconds, strict=True)
    )
