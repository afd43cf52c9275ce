"""Statistics of the rows of files, as the jobs over these give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from tamis.index import blooms, values
from tamis.index.asked import Entry

__all__ = ["Columns", "RowStatistics", "timed"]


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
