"""Bounds and counts of one entry, from the aggregates that Spark computed per file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.indexing.executor.columns_schema import Leaf, arrow_type
from tamis.indexing.executor.decoding import cut_lower, cut_lower_text, cut_upper, cut_upper_text
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns
from tamis.indexing.format.row_sql import FLOATING, MAX_BOUND, TEXT

__all__ = ["bounds_at", "kinds_of", "unknown_bounds"]


def bounds_at(k: int, entry: Entry, table: pa.Table, at: npt.NDArray[np.int64]) -> Columns:
    """Return the bounds and counts of files.

    Args:
        k: The number of the entry in the table.
        entry: The entry.
        table: The aggregates, one row per file.
        at: The row of each file in the table; -1: nothing is known of the file.
    """
    at = at.copy()
    # a file without a row in the table is empty or unknown
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


def unknown_bounds(entry: Entry, files: int) -> Columns:
    """Return bounds and counts that say nothing about this number of files."""
    return Columns({name: pa.nulls(files, kind) for name, kind in kinds_of(entry.leaf).items()})


def kinds_of(leaf: Leaf) -> dict[str, pa.DataType]:
    """Return the names and types of the bounds and counts of a leaf."""
    kinds = {"min": arrow_type(leaf), "max": arrow_type(leaf), "null_count": pa.int64()}
    if leaf.type in FLOATING:
        kinds["nan_count"] = pa.int64()
    if leaf.type in TEXT:
        kinds["attained"] = pa.bool_()
    return kinds


def _cut(edge: pa.Array, kind: str, lower: bool) -> pa.Array:
    of_text = kind == "string"

    def one(raw: bytes | None) -> bytes | None:
        if raw is None:
            return None
        if len(raw) <= MAX_BOUND and (not of_text or _is_text(raw)):
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
