"""The content of an index that knows some files and statistics already, and lacks others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.indexing.build.current_index import Held, load_segments
from tamis.indexing.build.generation import Generation, assemble, merge
from tamis.indexing.build.rows.footer_gaps import has_gap
from tamis.indexing.build.rows.row_bounds import unknown_bounds
from tamis.indexing.build.table_reader import TableReader
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns, Recorded
from tamis.indexing.format.recording_spec import RecordingSpec
from tamis.indexing.format.row_statistics import load, with_row_groups
from tamis.indexing.format.row_statistics import merge as merge_parts
from tamis.indexing.format.store import Store

__all__ = ["update"]

Ordinals: TypeAlias = npt.NDArray[np.int64]


def update(
    table: TableReader,
    store: Store,
    held: Held,
    leaves: Sequence[Leaf],
    spec: RecordingSpec,
    entries: Sequence[Entry],
    rows: Ordinals,
    retries: bool,
) -> tuple[Generation, Recorded]:
    """Read what an index lacks, and return all that it shall hold then.

    Args:
        table: Reads files.
        store: The index.
        held: What it holds.
        leaves: The columns to describe. It describes all of them.
        spec: What to record.
        entries: The entries of `spec`, those of `held.spec` among them.
        rows: The row of every listed file in the index, or -1.
        retries: Whether to read the bounds of columns whose footers do not suffice, and that could
            not be read before.

    Raises:
        IndexUnusable: The index cannot be read.
        StatisticsIndexError: The files cannot be read.
    """
    old_files, old_row_groups = load_segments(store, held.pointer)
    old = {
        entry.meaning: with_row_groups(
            store, held.pointer, k, entry, load(store, held.pointer, k, entry)
        )
        for k, entry in enumerate(held.entries)
    }
    new, every = np.flatnonzero(rows < 0), np.arange(len(rows))
    read = table.read(new, leaves)
    merged = merge(old_files, old_row_groups, rows, *read, leaves)
    content = assemble(table.listing.snapshot.files, leaves, *merged)

    requested = {entry.meaning for entry in held.entries if not entry.fills_gap}
    found: dict[tuple[object, ...], tuple[Entry, Columns]] = {}
    known = [entry for entry in entries if entry.meaning in requested]
    recorded = table.requested(new, known, content)
    for entry, part in zip(recorded.entries, recorded.parts, strict=True):
        found[entry.meaning] = entry, merge_parts(entry, old[entry.meaning], rows, part)
    more = [entry for entry in entries if entry.meaning not in requested]
    recorded = table.requested(every, more, content)
    for entry, part in zip(recorded.entries, recorded.parts, strict=True):
        found[entry.meaning] = entry, part
    results = [found[entry.meaning] for entry in entries]

    if spec.fills_gaps:
        recorded = table.gaps(new, leaves, entries, content.files, held.gaps)
        gaps = {
            entry.meaning: (
                entry,
                merge_parts(
                    entry,
                    old.get(entry.meaning) or unknown_bounds(entry, len(old_files)),
                    rows,
                    part,
                ),
            )
            for entry, part in zip(recorded.entries, recorded.parts, strict=True)
        }
        if retries:
            _retry(table, leaves, entries, content.files, new, gaps)
        results += gaps.values()
    return content, Recorded(
        tuple(entry for entry, _ in results), tuple(part for _, part in results)
    )


def _retry(
    table: TableReader,
    leaves: Sequence[Leaf],
    entries: Sequence[Entry],
    files: pa.Table,
    new: Ordinals,
    gaps: dict[tuple[object, ...], tuple[Entry, Columns]],
) -> None:
    """Read the bounds that `gaps` lacks of files that are not new, and add them to `gaps`."""
    by_path = {entry.path: part for entry, part in gaps.values()}
    missing: list[Leaf] = []
    flags = np.zeros(len(files), bool)
    for leaf in leaves:
        lacks = has_gap(leaf, files)
        lacks[new] = False
        part = by_path.get(leaf.path)
        if part is not None:
            lacks &= ~_is_known(part)
        if lacks.any():
            missing.append(leaf)
            flags |= lacks
    places = np.flatnonzero(flags)
    if not len(places):
        return
    recorded = table.gaps(places, missing, entries, files)
    for entry, part in zip(recorded.entries, recorded.parts, strict=True):
        before = gaps.get(entry.meaning, (entry, unknown_bounds(entry, len(files))))[1]
        read = _is_known(part)
        rows = np.arange(len(files))
        rows[places[read]] = -1
        assert part.columns is not None
        only = {name: array.filter(pa.array(read)) for name, array in part.columns.items()}
        gaps[entry.meaning] = entry, merge_parts(entry, before, rows, Columns(only))


def _is_known(part: Columns) -> npt.NDArray[np.bool_]:
    """Return for each file whether its bounds were read."""
    assert part.columns is not None
    return np.asarray(pc.is_valid(part.columns["null_count"]), dtype=bool)
