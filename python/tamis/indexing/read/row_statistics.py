"""Row statistics of an index, read when a query first needs them: see `format.row_statistics`.

Bloom filters are copied unchanged into the local cache and mapped there. A lookup touches 32 bytes
per file and constant, and the filters take no memory of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Edge, Flags
from tamis.evaluation.domain.flags import all_of
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.domain.order import with_keys
from tamis.evaluation.pairs.recorded_differences import recorded_relation
from tamis.evaluation.statistics import Members, Passing, Recorded, Relation, Statistics
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds
from tamis.files.columns import count_array, plain
from tamis.files.exact_counts import certain_columns
from tamis.indexing.format import distinct_sketches, row_statistics
from tamis.indexing.format.aggregate_sql import AGGREGATES
from tamis.indexing.format.blooms import BloomMembers
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.groups import Groups
from tamis.indexing.format.layout import Pointer
from tamis.indexing.format.row_statistics import Recording
from tamis.indexing.format.store import Store
from tamis.indexing.format.value_lists import ValueMembers
from tamis.indexing.read.cache import LocalCache
from tamis.indexing.read.recorded_groups import By
from tamis.indexing.read.recorded_relations import relations_of

__all__ = ["DistinctValues", "Recordings"]

Longs = npt.NDArray[np.int64]

#: Sketches of single files that are read at most, in bytes, to serve a scan of a part of the table.
_MOST_SKETCHES: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """The distinct values of some files.

    Attributes:
        sketch: See `distinct_sketches`.
        length: The sum of the lengths of all values. None for types whose values have the same
            length.
        longest: The length of the longest value. None if there is no value, and as for `length`.
    """

    sketch: bytes
    length: int | None = None
    longest: int | None = None


class Recordings:
    """The recorded entries of one generation.

    Methods that read statistics raise IndexUnusable if these cannot be read. A subject is the key
    of an expression, or the path of a column in the spelling that `fold` returns.
    """

    def __init__(
        self,
        store: Store,
        pointer: Pointer,
        cache: LocalCache,
        num_records: Longs,
        recording: Recording,
        fold: Callable[[tuple[str, ...]], tuple[str, ...]],
        of_row_groups: bool = False,
    ) -> None:
        self._store, self._pointer, self._cache = store, pointer, cache
        self._of_row_groups = of_row_groups
        self._num_records = num_records
        self._entries: dict[tuple[object, str], tuple[int, Entry]] = {}
        self._types: dict[object, str] = {}
        #: The recorded aggregates, for each choice of columns by which they are grouped.
        self.aggregates: dict[By, dict[tuple[str, object], tuple[int, DataType]]] = {}
        self._grouped: dict[int, Entry] = {}
        for k, entry in enumerate(recording.entries):
            if of_row_groups and not entry.bounds_row_groups:
                continue
            subject = entry.key if entry.path is None else fold(entry.path)
            if entry.by is not None:
                self._add(k, entry, entry.by, subject, fold)
                continue
            self._entries[subject, entry.kind] = k, entry
            self._types.setdefault(subject, entry.type)
        self._relations = relations_of(recording.entries, fold)
        self._fold = fold
        #: The keys of expressions, by condition and column.
        self._passing = {
            (entry.passing[0], fold(entry.passing[1])): entry.key
            for entry in recording.entries
            if entry.passing is not None and entry.key is not None and entry.kind == "bounds"
        }

    def _add(
        self,
        k: int,
        entry: Entry,
        by: tuple[tuple[tuple[str, ...], str], ...],
        subject: object,
        fold: Callable[[tuple[str, ...]], tuple[str, ...]],
    ) -> None:
        """Add an aggregate. One of an unknown kind or type, of a later version, is left out."""
        data_type = DataType.parse(entry.type)
        types = [DataType.parse(kind) for _, kind in by]
        if data_type is None or entry.kind not in AGGREGATES or None in types:
            return
        columns = tuple((fold(path), kind) for (path, _), kind in zip(by, types, strict=True))
        self.aggregates.setdefault(columns, {})[entry.recorded_kind, subject] = k, data_type
        self._grouped[k] = entry

    def groups(self, k: int) -> Groups:
        """Return the groups of the aggregate with this number."""
        groups = row_statistics.load(self._store, self._pointer, k, self._grouped[k]).groups
        assert groups is not None
        self._require(len(groups))
        return groups

    def has(self, subject: object, kind: str) -> bool:
        return (subject, kind) in self._entries

    def columns_read_by(self, key: Recorded) -> tuple[tuple[str, ...], ...] | None:
        """Return the columns that an expression reads; None if nothing was recorded of it."""
        if isinstance(key, Relation):
            keys = [each.key for each in self._relations.over(key)]
            reads = [path for each in keys for path in self.columns_read_by(each) or ()]
            return tuple(reads) if keys else None
        if isinstance(key, Passing):
            limited = self.key_of(key)
            return None if limited is None else self.columns_read_by(limited)
        for (recorded, _), (_, entry) in self._entries.items():
            if recorded == key:
                return entry.reads
        return next((entry.reads for entry in self._grouped.values() if entry.key == key), None)

    def key_of(self, passing: Passing) -> str | None:
        """Return the key of the expression with the bounds of a column in the rows that pass."""
        key = self._passing.get((passing.condition, self._fold(passing.column.path)))
        # a column of another type may have other values than those that were recorded
        return key if key is not None and self.type_of(key) == passing.column.type else None

    def type_of(self, subject: object) -> DataType | None:
        """Return the type of a subject; None if nothing was recorded of it."""
        recorded = self._types.get(subject)
        return None if recorded is None else DataType.parse(recorded)

    def columns(self, subject: object) -> Mapping[str, pa.Array] | None:
        """Return bounds and counts as arrays; None if they were not recorded."""
        numbered = self._entries.get((subject, "bounds"))
        if numbered is None:
            return None
        k, entry = numbered
        if self._of_row_groups:
            columns = row_statistics.bounds_of_row_groups(self._store, self._pointer, k)
            if "null_count" not in columns:
                return None  # unknown for all of them
        else:
            loaded = row_statistics.load(self._store, self._pointer, k, entry).columns
            assert loaded is not None
            columns = dict(loaded)
        count = len(self._num_records)
        if any(len(array) != count for array in columns.values()):
            raise self._store.damaged(f"the bounds of {entry.name} are not those of {count} files")
        return columns

    def expression(self, key: str) -> Bounds | None:
        """Return the bounds of an expression; None if nothing was recorded of it."""
        data_type = self.type_of(key)
        if data_type is None:
            return None

        def make(_: bool) -> Iterator[tuple[int, Bounds]]:
            columns = self.columns(key)
            bounds = Bounds.unknown(data_type)
            if columns is not None:
                bounds = bounds_of(data_type, columns, self._num_records)
            lists = self.lists(key)
            if lists is not None:
                bounds = intersect(bounds, lists.bounds(data_type))
            yield len(self._num_records), with_keys(bounds)

        part = "row groups of " if self._of_row_groups else ""
        return self._cache.bounds(
            f"{part}expression {key}", data_type, len(self._num_records), make
        )

    def attained(self, key: str) -> Flags | None:
        """Return where the edges of an expression are values of rows; None: that is not known."""
        data_type, columns = self.type_of(key), self.columns(key)
        if data_type is None or columns is None:
            return None
        return certain_columns(data_type, columns, count_array(self._num_records)).attained

    def relation(self, relation: Relation, statistics: Statistics) -> Bounds | None:
        """Return what is recorded of a relation; None if nothing is.

        Args:
            relation: The relation.
            statistics: The statistics of this generation.
        """
        return recorded_relation(
            relation,
            (
                (each.pair, statistics.expression(each.key), each.is_mirrored)
                for each in self._relations.over(relation)
            ),
            statistics,
        )

    def members(self, subject: object) -> Members | None:
        """Return value lists, Bloom filters, or both; None if neither was recorded."""
        lists, filters = self.lists(subject), self._filters(subject)
        if lists is None or filters is None:
            return filters if lists is None else lists
        return _Together(lists, filters)

    def lists(self, subject: object) -> ValueMembers | None:
        """Return value lists; None if they were not recorded."""
        numbered = self._entries.get((subject, "values"))
        if numbered is None:
            return None
        names = ("dictionary", "codes", "starts", "counts")

        def make() -> ValueMembers:
            part = row_statistics.load(self._store, self._pointer, *numbered)
            assert part.lists is not None
            self._require(len(part.lists))
            return ValueMembers.of(part.lists)

        def read(entry: Path) -> ValueMembers:
            arrays = read_arrays(entry, names)
            return ValueMembers(*(arrays[name] for name in names))

        def write(draft: Path) -> None:
            made = make()
            write_arrays(draft, {name: getattr(made, name) for name in names})

        return self._cache.kept(f"values-{numbered[0]}", read, write, make)

    def records_distinct(self) -> bool:
        """Return whether the number of distinct values was recorded of some column."""
        return any(kind == "ndv" for _, kind in self._entries)

    def distinct(self, subject: object, rows: slice | Longs) -> DistinctValues | None:
        """Return the distinct values of the files at these rows; None if one of them is unknown.

        If these are only a part of the files, and the sketches of all files are too large, the
        result may have values of other files as well.
        """
        numbered = self._entries.get((subject, "ndv"))
        if numbered is None:
            return None
        store, pointer, k = self._store, self._pointer, numbered[0]
        sizes = row_statistics.sizes_of(store, pointer, k)
        self._require(len(sizes))
        if (sizes[rows] == distinct_sketches.UNKNOWN).any():
            return None
        is_whole = len(sizes[rows]) == len(sizes)
        lengths, longest = row_statistics.lengths_of(store, pointer, k)
        if is_whole or int(np.maximum(sizes, 0).sum()) > _MOST_SKETCHES:
            sketches = row_statistics.unions(store, pointer, k)
            if sketches is None:
                return None
        else:
            part = row_statistics.load(store, pointer, *numbered).sketches
            assert part is not None
            chosen = np.arange(len(sizes))[rows]
            sketches = [each for each in part.take(chosen).each() if each is not None]
        return DistinctValues(
            distinct_sketches.union_of(sketches),
            None if lengths is None else int(lengths[rows].sum()),
            None if longest is None else _greatest(longest[rows]),
        )

    def _filters(self, subject: object) -> BloomMembers | None:
        numbered = self._entries.get((subject, "bloom"))
        data_type = None if numbered is None else DataType.parse(numbered[1].type)
        if numbered is None or data_type is None:
            return None
        k = numbered[0]

        def make() -> BloomMembers:
            part = row_statistics.load(self._store, self._pointer, *numbered)
            assert part.filters is not None
            self._require(len(part.filters))
            return BloomMembers.of(part.filters, data_type)

        def read(entry: Path) -> BloomMembers:
            arrays: dict[str, Any] = read_arrays(entry, ("starts", "blocks"))
            blocks = int(np.maximum(arrays["blocks"], 0).sum())
            if not blocks:
                words = np.zeros((0, 4), np.uint64)
            else:
                words = np.asarray(np.memmap(entry / "words.bits", "<u8", "r")).reshape(-1, 4)
            if len(words) != blocks:
                raise ValueError(f"{entry} holds {len(words)} blocks instead of {blocks}")
            return BloomMembers(data_type, arrays["starts"], arrays["blocks"], words)

        def write(draft: Path) -> None:
            sizes = row_statistics.sizes_of(self._store, self._pointer, k)
            self._require(len(sizes))
            filled = np.maximum(sizes, 0)
            write_arrays(draft, {"blocks": sizes, "starts": np.cumsum(filled) - filled})
            with open(draft / "words.bits", "wb") as sink:
                for piece in row_statistics.bits(self._store, self._pointer, k):
                    sink.write(piece)
                written = sink.tell()
            if written != int(filled.sum()) * 32:
                raise self._store.damaged(f"the filters of entry {k} have {written} bytes")

        return self._cache.kept(f"bloom-{k}", read, write, make)

    def _require(self, files: int) -> None:
        if files != len(self._num_records):
            raise self._store.damaged(f"{row_statistics.TABLE} has {files} files")


@dataclass(frozen=True, slots=True)
class _Together:
    """Value lists of the files that have one, and Bloom filters of these and other files.

    Files with too many values for a list may have a filter.
    """

    listed: Members
    filtered: Members

    def may_match(self, options: Edge) -> Flags:
        return all_of((self.listed.may_match(options), self.filtered.may_match(options)))

    def may_miss(self, options: Edge) -> Flags:
        return self.listed.may_miss(options)

    def distinct(self) -> Edge | None:
        return self.listed.distinct()

    def parts(self) -> Mapping[str, Members]:
        return {**self.listed.parts(), **self.filtered.parts()}

    def slice(self, start: int, stop: int) -> Members:
        return _Together(self.listed.slice(start, stop), self.filtered.slice(start, stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members:
        return _Together(self.listed.take(ordinals), self.filtered.take(ordinals))


def _greatest(numbers: Longs) -> int | None:
    greatest = int(numbers.max(initial=-1))
    return None if greatest < 0 else greatest


def bounds_of(data_type: DataType, columns: Mapping[str, pa.Array], num_records: Longs) -> Bounds:
    """Return bounds from minima, maxima and counts by name. num_records: -1 if unknown."""
    return column_bounds(
        data_type,
        columns.get("min"),
        columns.get("max"),
        columns.get("null_count"),
        columns.get("nan_count"),
        count_array(num_records),
    )


def chosen(rows: Mapping[str, pa.Array], footers: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Choose the statistics of one column, per file: from its rows if recorded, else its footer.

    The statistics of a file are never mixed from both: the two may use different calendars.
    """
    known = rows["null_count"].is_valid()
    return {
        name: pc.if_else(
            known,
            rows.get(name, _NOTHING),
            footers[name].cast(rows[name].type) if name in footers else _NOTHING,
        )
        if name in rows
        else pc.if_else(known, _NOTHING, footers[name])
        for name in {*rows, *footers}
    }


_NOTHING = pa.scalar(None)


def write_arrays(folder: Path, arrays: Mapping[str, np.ndarray | pa.Array]) -> None:
    """Write arrays to the folder of an entry, one file per array."""
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):
            np.save(folder / f"{name}.npy", array)
            continue
        table = pa.table({name: array}).combine_chunks()
        path = str(folder / f"{name}.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


def read_arrays(folder: Path, required: Sequence[str]) -> dict[str, Any]:
    """Memory-map the arrays of an entry.

    Raises:
        ValueError: A required array is missing.
    """
    arrays: dict[str, Any] = {}
    for file in folder.iterdir():
        if file.suffix == ".npy":
            # a plain array, because slices of a numpy.memmap are expensive
            arrays[file.stem] = np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
        elif file.suffix == ".arrow":
            with pa.memory_map(str(file)) as source:
                arrays[file.stem] = plain(pa.ipc.open_file(source).read_all().column(0))
    if not all(name in arrays for name in required):
        raise ValueError(f"{folder} is not complete")
    return arrays
