"""The durable form of row statistics, stored in the directory of a segment.

In storage every name begins with an underscore (`layout.hidden`).

recorded.json       the entries and the request that they resolve, with a separate format number.
                    That of the last segment is in force: it has the entries of all segments, with
                    the same numbers.
recorded.stats      Parquet, one row per file: `<k>.min`, `<k>.max`, `<k>.null_count`,
                    `<k>.nan_count`, `<k>.attained` for bounds; `<k>.size` for filters (blocks)
                    and lists (values), null if there is none; `<k>.size` (bytes),
                    `<k>.length` and `<k>.longest` for sketches; `<k>.size` (groups) for
                    aggregates
<k>.bits            concatenated words of the filters of entry k, little-endian
<k>.values          Parquet, concatenated values of the lists of entry k
<k>.sketches        concatenated sketches of entry k
<k>.union           the union of these sketches
<k>.groups          Parquet, one row per group of entry k, file by file: see `groups`

Format 2 has aggregates. Without them, format 1 is written, which older versions read too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import Edge
from tamis.expr.types import DataType
from tamis.files.columns import plain
from tamis.indexing.executor.columns_schema import arrow_type
from tamis.indexing.format import blooms, distinct_sketches, groups, value_lists
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns
from tamis.indexing.format.group_bounds import GroupBounds
from tamis.indexing.format.layout import FILES, RECORDED_GROUPS, Pointer
from tamis.indexing.format.layout import RECORDED as TABLE
from tamis.indexing.format.recording_spec import RecordingSpec
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable

__all__ = [
    "ENTRIES",
    "FORMAT",
    "TABLE",
    "Parts",
    "Recording",
    "bits",
    "bounds_of_row_groups",
    "encode",
    "lengths_of",
    "load",
    "merge",
    "recording_of",
    "sizes_of",
    "unions",
    "with_row_groups",
]

FORMAT = 2
WITHOUT_AGGREGATES = 1
ENTRIES = "recorded.json"
_BOUNDS = ("min", "max", "null_count", "nan_count", "attained")


class Recording(msgspec.Struct, frozen=True):
    """The content of recorded.json."""

    format: int
    spec: RecordingSpec = msgspec.field(name="asked")
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Parts:
    """The row statistics of some files as data files of a segment.

    Attributes:
        entries: The entries, with the number of files for which each is known, and its size.
        tables: Tables, by name.
        raw: Raw bytes, by name.
    """

    entries: tuple[Entry, ...]
    tables: dict[str, pa.Table]
    raw: dict[str, memoryview]

    def data(
        self, spec: RecordingSpec, entries: Sequence[Entry] | None = None
    ) -> tuple[dict[str, pa.Table], dict[str, memoryview]]:
        """Return tables and raw bytes, including the list of entries.

        Args:
            spec: What was requested.
            entries: The same entries, with the files of all segments. None: there are no others.
        """
        listed = self.entries if entries is None else tuple(entries)
        has_aggregates = bool(spec.groupings) or any(entry.is_aggregate for entry in listed)
        written = FORMAT if has_aggregates else WITHOUT_AGGREGATES
        content = msgspec.json.encode(Recording(written, spec, listed))
        return self.tables, {ENTRIES: memoryview(content), **self.raw}


class _Format(msgspec.Struct):
    format: int


def recording_of(store: Store, pointer: Pointer) -> Recording | None:
    """Return the recording of an index; None if it has none.

    Raises:
        IndexUnusable: The recording cannot be read, or a newer version of tamis wrote it.
    """
    segment = next((each for each in reversed(pointer.segments) if ENTRIES in each.data), None)
    if segment is None:
        return None
    content = b"".join(store.pieces(pointer, segment, ENTRIES))
    try:
        written = msgspec.json.decode(content, type=_Format).format
        if written > FORMAT:
            raise IndexUnusable(
                "index.newer_format",
                f"the row statistics of the index {store.uri} were written by a newer version "
                f"of tamis (format {written}, this tamis reads {FORMAT})",
                "upgrade tamis, or rebuild the index, which discards what it records of columns "
                f"and expressions: {store.rebuild_command()}",
            )
        return msgspec.json.decode(content, type=Recording)
    except msgspec.MsgspecError as problem:
        raise store.damaged(f"{ENTRIES}: {problem}") from problem


def encode(
    entries: Sequence[Entry], parts: Sequence[Columns], files: int, row_groups: int = 0
) -> Parts:
    """Encode the statistics of some files with this number of row groups."""
    table: dict[str, pa.Array] = {"file": pa.array(np.arange(files), pa.int64())}
    tables: dict[str, pa.Table] = {}
    raw: dict[str, memoryview] = {}
    described = []
    for k, (entry, part) in enumerate(zip(entries, parts, strict=True)):
        known, size = _encode(k, entry, part, table, tables, raw)
        described.append(msgspec.structs.replace(entry, files=known, bytes=size))
    if entries:
        tables[TABLE] = pa.table(table)
    in_groups = {
        f"{k}.{name}": array
        for k, part in enumerate(parts)
        # row groups of files that were not read as listed are unknown
        if part.row_groups is not None and int(part.row_groups.counts.sum()) == row_groups
        for name, array in part.row_groups.columns.items()
        if array.null_count < len(array)
    }
    if in_groups:
        tables[RECORDED_GROUPS] = pa.table(in_groups)
    return Parts(tuple(described), tables, raw)


def _encode(
    k: int,
    entry: Entry,
    part: Columns,
    table: dict[str, pa.Array],
    tables: dict[str, pa.Table],
    raw: dict[str, memoryview],
) -> tuple[int, int]:
    """Add an entry; return for how many files it is known, and its bytes before compression."""
    if part.columns is not None:
        for name, array in part.columns.items():
            table[f"{k}.{name}"] = array
        nulls = part.columns["null_count"]
        return len(nulls) - nulls.null_count, sum(a.nbytes for a in part.columns.values())
    if part.filters is not None:
        table[f"{k}.size"] = _sizes(part.filters.blocks)
        raw[_bits(k)] = memoryview(np.ascontiguousarray(part.filters.words).tobytes())
        return int((part.filters.blocks >= 0).sum()), part.filters.words.nbytes
    if part.sketches is not None:
        return _encode_sketches(k, part.sketches, table, raw)
    if part.groups is not None:
        table[f"{k}.size"] = _sizes(part.groups.sizes)
        tables[_groups(k)] = part.groups.table
        return int((part.groups.sizes >= 0).sum()), part.groups.table.nbytes
    assert part.lists is not None
    table[f"{k}.size"] = _sizes(part.lists.counts)
    tables[_values(k)] = pa.table({"value": _array(part.lists.values, entry)})
    return int((part.lists.counts >= 0).sum()), tables[_values(k)].nbytes


def _encode_sketches(
    k: int,
    sketches: distinct_sketches.Sketches,
    table: dict[str, pa.Array],
    raw: dict[str, memoryview],
) -> tuple[int, int]:
    table[f"{k}.size"] = _sizes(sketches.sizes)
    for name, numbers in (("length", sketches.lengths), ("longest", sketches.longest)):
        if numbers is not None:
            table[f"{k}.{name}"] = _sizes(numbers)
    raw[_sketches(k)] = memoryview(sketches.content)
    # A scan of all files needs their union alone, whose size does not depend on their number.
    # Without the library, or with a damaged sketch, it is left out: the numbers of distinct values
    # are then unknown, and everything else is known.
    known = (each for each in sketches.each() if each is not None)
    with suppress(IndexUnusable, ValueError):
        raw[_union(k)] = memoryview(distinct_sketches.union_of(known))
    return int((sketches.sizes >= 0).sum()), len(sketches.content)


def _sizes(sizes: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(sizes, pa.int64(), mask=sizes < 0)


def _bits(k: int) -> str:
    return f"{k}.bits"


def _values(k: int) -> str:
    return f"{k}.values"


def _sketches(k: int) -> str:
    return f"{k}.sketches"


def _groups(k: int) -> str:
    return f"{k}.groups"


def _union(k: int) -> str:
    return f"{k}.union"


def _array(edge: Edge, entry: Entry) -> pa.Array:
    """Return the stored form of an edge: numbers in 64 bits; text and long decimals unchanged."""
    return pa.array(edge) if isinstance(edge, np.ndarray) else edge


# --- reading --------------------------------------------------------------------------------------


def load(store: Store, pointer: Pointer, k: int, entry: Entry) -> Columns:
    """Load the statistics of entry `k` for all files, without those of row groups.

    Raises:
        IndexUnusable: They cannot be read.
    """
    if entry.kind == "bounds":
        return Columns(_bounds(store, pointer, TABLE, k))
    sizes = sizes_of(store, pointer, k)
    total = int(np.maximum(sizes, 0).sum())
    if entry.kind == "bloom":
        content = bytearray()
        for piece in bits(store, pointer, k):
            content += piece
        words = np.frombuffer(content, np.uint8).view("<u8").reshape(-1, 4)
        if len(words) != total:
            raise store.damaged(f"{_bits(k)} holds {len(words)} blocks instead of {total}")
        return Columns(filters=blooms.Blooms(sizes, words))
    if entry.kind == "ndv":
        content = bytearray()
        for piece in _pieces(store, pointer, _sketches(k)):
            content += piece
        if len(content) != total:
            raise store.damaged(f"{_sketches(k)} holds {len(content)} bytes instead of {total}")
        lengths, longest = lengths_of(store, pointer, k)
        return Columns(sketches=distinct_sketches.Sketches(sizes, bytes(content), lengths, longest))
    if entry.is_aggregate:
        return Columns(groups=_load_groups(store, pointer, k, entry, sizes))
    flat = plain(_read(store, pointer, _values(k), ["value"]).column("value"))
    if len(flat) != total:
        raise store.damaged(f"{_values(k)} holds {len(flat)} values instead of {total}")
    edge: Edge = flat if _is_arrow(entry) else flat.to_numpy()
    return Columns(lists=value_lists.ValueLists(sizes, edge))


def _bounds(store: Store, pointer: Pointer, table: str, k: int) -> dict[str, pa.Array]:
    wanted = [f"{k}.{name}" for name in _BOUNDS]
    read = _read(store, pointer, table, wanted)
    return {
        name.partition(".")[2]: plain(read.column(name))
        for name in wanted
        if name in read.column_names
    }


def bounds_of_row_groups(store: Store, pointer: Pointer, k: int) -> dict[str, pa.Array]:
    """Return the bounds and counts of entry `k` in all row groups; empty if none is known.

    Raises:
        IndexUnusable: They cannot be read.
    """
    if not any(RECORDED_GROUPS in segment.data for segment in pointer.segments):
        return {}
    return _bounds(store, pointer, RECORDED_GROUPS, k)


def with_row_groups(store: Store, pointer: Pointer, k: int, entry: Entry, part: Columns) -> Columns:
    """Add the bounds in row groups to the statistics of entry `k`, if it has any.

    Raises:
        IndexUnusable: They cannot be read.
    """
    if not entry.bounds_row_groups:
        return part
    columns = bounds_of_row_groups(store, pointer, k)
    if "null_count" not in columns:
        return part
    counts = store.columns(pointer, FILES, ["row_groups"]).column(0).fill_null(0).to_numpy()
    found = GroupBounds(counts.astype(np.int64), columns)
    if len(columns["null_count"]) != int(found.counts.sum()):
        raise store.damaged(f"{RECORDED_GROUPS} has other row groups than {FILES}")
    return dataclasses.replace(part, row_groups=found)


def _load_groups(
    store: Store, pointer: Pointer, k: int, entry: Entry, sizes: npt.NDArray[np.int64]
) -> groups.Groups:
    wanted = groups.schema_of(entry)
    table = _read(store, pointer, _groups(k), wanted.names)
    total = int(np.maximum(sizes, 0).sum())
    if len(table) != total or table.column_names != wanted.names:
        raise store.damaged(
            f"{_groups(k)} holds {len(table)} groups of {table.column_names} instead of {total}"
        )
    return groups.Groups(sizes, table.cast(wanted).combine_chunks())


def sizes_of(store: Store, pointer: Pointer, k: int) -> npt.NDArray[np.int64]:
    """Return the number of blocks of the filter, or of values in the list, of each file.

    It is -1 if the file has none.
    """
    table = _read(store, pointer, TABLE, [f"{k}.size"])
    if table.num_columns != 1:
        raise store.damaged(f"{TABLE} has no {k}.size")
    sizes: npt.NDArray[np.int64] = table.column(0).fill_null(-1).to_numpy()
    return sizes


def lengths_of(
    store: Store, pointer: Pointer, k: int
) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64] | None]:
    """Return the total and the greatest length of the values of each file, -1 if unknown.

    None for types whose values have the same length.
    """
    names = [f"{k}.length", f"{k}.longest"]
    table = _read(store, pointer, TABLE, names)
    lengths, longest = (
        table.column(name).fill_null(-1).to_numpy() if name in table.column_names else None
        for name in names
    )
    return lengths, longest


def unions(store: Store, pointer: Pointer, k: int) -> list[bytes] | None:
    """Return the union of the sketches of entry `k` in each segment; None if one has none."""
    name = _union(k)
    if not all(name in segment.data for segment in pointer.segments):
        return None
    return [b"".join(store.pieces(pointer, segment, name)) for segment in pointer.segments]


def bits(store: Store, pointer: Pointer, k: int) -> Iterator[bytes]:
    """Yield the filters of entry `k` piece by piece: see `Store.pieces`."""
    return _pieces(store, pointer, _bits(k))


def _pieces(store: Store, pointer: Pointer, name: str) -> Iterator[bytes]:
    segments = [segment for segment in pointer.segments if name in segment.data]
    if not segments:
        raise store.damaged(f"{name} is missing")
    for segment in segments:
        yield from store.pieces(pointer, segment, name)


def _read(store: Store, pointer: Pointer, name: str, wanted: Sequence[str]) -> pa.Table:
    if not any(name in segment.data for segment in pointer.segments):
        raise store.damaged(f"{name} is missing")
    return store.columns(pointer, name, wanted)


def _is_arrow(entry: Entry) -> bool:
    data_type = DataType.parse(entry.type)
    return data_type is not None and not (data_type.is_discrete or data_type.is_floating)


# --- refreshing -----------------------------------------------------------------------------------


def merge(entry: Entry, old: Columns, rows: npt.NDArray[np.int64], new: Columns) -> Columns:
    """Merge the statistics of an entry, in listing order.

    Args:
        entry: The entry.
        old: Statistics of the previous generation.
        rows: The row of every listed file in `old`, or -1 for the next row of `new`.
        new: Statistics of the other listed files, in order.
    """
    fresh = np.flatnonzero(rows < 0)
    if old.columns is not None and new.columns is not None:
        return Columns(
            _merged_columns(entry, old.columns, rows, new.columns),
            row_groups=_merged_row_groups(old, rows, new),
        )
    if old.filters is not None and new.filters is not None:
        before, after = list(old.filters.each()), list(new.filters.each())
        chosen = [None if row < 0 else before[row] for row in rows.tolist()]
        for place, words in zip(fresh.tolist(), after, strict=True):
            chosen[place] = words
        return Columns(filters=blooms.joined(chosen))
    if old.sketches is not None and new.sketches is not None:
        return Columns(sketches=_merged_sketches(old.sketches, rows, new.sketches))
    if old.groups is not None and new.groups is not None:
        places = _places(rows, len(old.groups)).to_numpy()
        return Columns(groups=groups.joined([old.groups, new.groups]).take(places))
    assert old.lists is not None
    assert new.lists is not None
    return Columns(lists=_merged_lists(old.lists, rows, new.lists))


def _merged_columns(
    entry: Entry,
    old: Mapping[str, pa.Array],
    rows: npt.NDArray[np.int64],
    new: Mapping[str, pa.Array],
) -> dict[str, pa.Array]:
    places = _places(rows, len(old["null_count"]))
    merged = {}
    for name in _BOUNDS:
        if name in old and name in new:
            kind = arrow_type(entry.leaf) if name in ("min", "max") else old[name].type
            merged[name] = plain(pa.chunked_array([old[name], new[name]], kind)).take(places)
    return merged


def _merged_row_groups(
    old: Columns, rows: npt.NDArray[np.int64], new: Columns
) -> GroupBounds | None:
    if old.row_groups is None or new.row_groups is None:
        return None
    places = _places(rows, len(old.row_groups.counts)).to_numpy()
    return old.row_groups.followed_by(new.row_groups).take(places)


def _places(rows: npt.NDArray[np.int64], before: int) -> pa.Array:
    """Return the places of the files in the concatenation of the old and the new rows."""
    return pa.array(np.where(rows < 0, before + np.cumsum(rows < 0) - 1, rows))


def _merged_sketches(
    old: distinct_sketches.Sketches,
    rows: npt.NDArray[np.int64],
    new: distinct_sketches.Sketches,
) -> distinct_sketches.Sketches:
    def both(before: npt.NDArray[np.int64] | None, after: npt.NDArray[np.int64] | None) -> Any:
        return None if before is None or after is None else np.concatenate([before, after])

    together = distinct_sketches.Sketches(
        both(old.sizes, new.sizes),
        old.content + new.content,
        both(old.lengths, new.lengths),
        both(old.longest, new.longest),
    )
    return together.take(_places(rows, len(old)).to_numpy())


def _merged_lists(
    old: value_lists.ValueLists, rows: npt.NDArray[np.int64], new: value_lists.ValueLists
) -> value_lists.ValueLists:
    counts = np.concatenate([old.counts, new.counts])
    sizes = np.maximum(counts, 0)
    starts = np.cumsum(sizes) - sizes
    order = _places(rows, len(old)).to_numpy()
    wanted = sizes[order]
    ends = np.cumsum(wanted)
    total = int(ends[-1]) if len(ends) else 0
    places = np.arange(total) + np.repeat(starts[order] - (ends - wanted), wanted)
    if isinstance(old.values, np.ndarray):
        flat: Edge = np.concatenate([old.values, np.asarray(new.values)])[places]
    else:
        flat = pa.concat_arrays([old.values, new.values]).take(pa.array(places))
    return value_lists.ValueLists(counts[order], flat)
