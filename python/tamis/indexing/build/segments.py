"""Appending segments to an index, and merging those that have become many.

Appending writes the statistics of the new files and a new pointer, whatever the size of the index.
When there are more than `_MOST` segments, the last ones are merged, from the first that is not
larger than all later ones together. So a merged segment is at least twice as large as its first
part, every file takes part in a number of merges that grows with the logarithm of the number of
files, and so does the number of segments. Segments that would not fit into memory are not merged.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import msgspec
import pyarrow as pa

from tamis.indexing.build.current_index import load_segments
from tamis.indexing.build.generation import MAX_PROBLEMS, Generation
from tamis.indexing.build.rows.row_bounds import unknown_bounds
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Recorded
from tamis.indexing.format.layout import ColumnEntry, Pointer, Segment, Totals, now
from tamis.indexing.format.row_statistics import encode, load, recording_of, with_row_groups
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexMissing
from tamis.indexing.read.reader_options import FILE as READING

__all__ = ["append", "in_order", "joined", "present", "with_earlier"]

#: The number of segments after which some are merged.
_MOST: Final = 16
#: Files and row groups times columns that are merged at most, at about 30 bytes each.
_MOST_CELLS: Final = 5_000_000
#: Attempts to commit while other processes commit.
_ATTEMPTS: Final = 5


def append(store: Store, known: Pointer, segment: Segment, content: Generation) -> Pointer | None:
    """Commit a segment of new files.

    Args:
        store: The index.
        known: The pointer for which the segment was made.
        segment: The segment, which is written already.
        content: Its content.

    Returns:
        The pointer that was replaced. None: the index does not have the segment, because another
        process has dropped the index or built a different one meanwhile, or commits without pause.

    Raises:
        IndexUnusable: The index cannot be read any more.
        OSError: It cannot be written.
    """
    for _ in range(_ATTEMPTS):
        current = present(store)
        if current is None or not _takes(store, current, known):
            return None
        pointer = _merged(store, joined(current, segment, content))
        latest = present(store)  # merging takes time
        if latest is None or latest.checksum != current.checksum:
            continue
        store.commit(pointer)
        latest = present(store)
        if latest is not None and pointer.segments[-1] in latest.segments:
            return current
    return None


def present(store: Store) -> Pointer | None:
    """Return the current pointer; None if there is none, also after a moment.

    On HDFS there is none while another process replaces it.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return store.pointer()
        except IndexMissing:
            time.sleep(0.02 * attempt)
    return None


def with_earlier(before: Sequence[Entry], now: Sequence[Entry]) -> list[Entry]:
    """Return the entries of all segments: those of the last one, with the totals of all.

    Args:
        before: The entries of the earlier segments.
        now: Those of the new segment, which begin with the same entries.
    """
    totals = [
        msgspec.structs.replace(
            entry,
            files=entry.files + earlier.files,
            bytes=entry.bytes + earlier.bytes,
            seconds=round(entry.seconds + earlier.seconds, 3),
        )
        for earlier, entry in zip(before, now, strict=False)
    ]
    return [*totals, *now[len(before) :]]


def in_order(before: Sequence[Entry], recorded: Recorded, files: int) -> Recorded:
    """Return statistics in the order of the earlier segments, and new entries after these.

    Entries that are not recorded of the new files are unknown.

    Args:
        before: The entries of the earlier segments.
        recorded: Those of the new segment.
        files: The number of its files.
    """
    now = {
        entry.meaning: (entry, part)
        for entry, part in zip(recorded.entries, recorded.parts, strict=True)
    }
    ordered = []
    for entry in before:
        nothing = msgspec.structs.replace(entry, seconds=0.0), unknown_bounds(entry, files)
        ordered.append(now.pop(entry.meaning, nothing))
    ordered += now.values()
    return Recorded(tuple(entry for entry, _ in ordered), tuple(part for _, part in ordered))


def _takes(store: Store, current: Pointer, known: Pointer) -> bool:
    """Return whether a segment that was made for `known` fits `current`."""
    if current.checksum == known.checksum:
        return True
    return _kind(store, current) == _kind(store, known)


def _kind(store: Store, pointer: Pointer) -> tuple[object, ...]:
    """Return what all segments of an index have in common."""
    recording = recording_of(store, pointer)
    return (
        pointer.root,
        pointer.schema,
        pointer.partition_schema,
        pointer.case_sensitive,
        pointer.selected,
        [entry.leaf for entry in pointer.columns],
        None if recording is None else [entry.meaning for entry in recording.entries],
        pointer.data.get(READING),
    )


def joined(current: Pointer, segment: Segment, content: Generation) -> Pointer:
    """Return the pointer to the segments of `current` and one more."""
    more = {entry.path: entry for entry in content.columns}
    totals = {
        name: getattr(current.totals, name) + getattr(content.totals, name)
        for name in Totals.__struct_fields__
    }
    return msgspec.structs.replace(
        current.with_segments([*current.segments, segment]),
        created=now(),
        columns=tuple(_sum(entry, more[entry.path]) for entry in current.columns),
        totals=Totals(**totals),
        problems=(*current.problems, *content.problems)[:MAX_PROBLEMS],
    )


def _sum(entry: ColumnEntry, more: ColumnEntry) -> ColumnEntry:
    known = entry.nulls is not None and more.nulls is not None
    return msgspec.structs.replace(
        entry,
        files_with_bounds=entry.files_with_bounds + more.files_with_bounds,
        files_with_null_count=entry.files_with_null_count + more.files_with_null_count,
        nulls=(entry.nulls or 0) + (more.nulls or 0) if known else None,
    )


def _merged(store: Store, pointer: Pointer) -> Pointer:
    """Merge the last segments into one if there are many; return the new pointer."""
    segments = pointer.segments
    if len(segments) <= _MOST:
        return pointer
    sizes = [segment.files for segment in segments]
    cells = [(each.files + each.row_groups) * max(1, len(pointer.columns)) for each in segments]
    candidates = (
        i
        for i in range(len(sizes) - 1)
        if sizes[i] <= sum(sizes[i + 1 :]) and sum(cells[i:]) <= _MOST_CELLS
    )
    first = next(candidates, None)
    if first is None:
        return pointer
    part = pointer.with_segments(segments[first:])
    tables: dict[str, pa.Table] = {}
    raw: dict[str, memoryview] = {}
    recording = recording_of(store, pointer)
    if recording is not None:
        statistics = [
            with_row_groups(store, part, k, entry, load(store, part, k, entry))
            for k, entry in enumerate(recording.entries)
        ]
        totals = part.totals
        parts = encode(recording.entries, statistics, totals.files, totals.row_groups)
        tables, raw = parts.data(recording.spec, recording.entries)
    if first == 0 and READING in part.data:
        raw[READING] = memoryview(b"".join(store.pieces(part, part.segments[0], READING)))
    together = store.write_segment(*load_segments(store, part), tables, raw)
    return pointer.with_segments([*segments[:first], together])
