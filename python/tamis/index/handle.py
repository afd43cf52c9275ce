"""`tamis.index(spark, path)`: the index of one directory or table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tamis._version import __version__
from tamis.errors import StatisticsIndexError
from tamis.index import freshness
from tamis.index.description import Description, Staleness
from tamis.index.generation import Generation, assemble, merge
from tamis.index.layout import FILES, FORMAT, ROW_GROUPS, Pointer
from tamis.index.leaves import Leaf, leaves_of
from tamis.index.listing import (
    TableListing,
    index_location,
    invalidate,
    list_table,
    storage_settings,
)
from tamis.index.snapshot import FileKeys
from tamis.index.store import Store
from tamis.index.unusable import IndexUnusable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Index:
    """The statistics index of a directory of Parquet files, or of a table over one.

    Nothing is listed or read before a method is called. All of them raise StatisticsIndexError.
    """

    def __init__(self, spark: SparkSession, path_or_table: str) -> None:
        self._spark = spark
        self._target = path_or_table

    def __repr__(self) -> str:
        return f"tamis.index(spark, {self._target!r})"

    def build(self, columns: Sequence[str] | None = None) -> Index:
        """Builds the index from the footers of all files, and puts it in force.

        `columns`: the columns to describe, dots for struct fields, a struct for all of its fields;
        all columns unless given. The next query of this session uses the index. Files that cannot
        be read are described as unknown, which means that they are never skipped.
        """
        listing = self._list()
        leaves = _selected(leaves_of(listing.schema), columns)
        everything = np.arange(len(listing.snapshot.files))
        read = self._read(listing, everything, leaves)
        self._commit(listing, columns, assemble(listing.snapshot.files, leaves, *read))
        return self

    def refresh(self) -> Index:
        """Reads the footers of new and changed files only, and forgets files that are gone.

        Builds the index where there is none, where it is damaged, and where the table has gained
        columns or changed their types.
        """
        listing = self._list()
        store = self._store(listing)
        try:
            old = store.pointer()
            columns = old.selected
            leaves = _selected(leaves_of(listing.schema), columns, missing_is_error=False)
            if old.case_sensitive != listing.case_sensitive or not set(leaves) <= {
                entry.leaf for entry in old.columns
            }:
                return self.build(columns)
            old_files, old_row_groups = _load(store, old)
        except IndexUnusable as problem:
            if problem.code in ("index.missing", "index.damaged"):
                return self.build()
            raise
        rows = _reusable(listing.snapshot.files, old_files)
        new_files, new_row_groups = self._read(listing, np.flatnonzero(rows < 0), leaves)
        merged = merge(old_files, old_row_groups, rows, new_files, new_row_groups, leaves)
        self._commit(listing, columns, assemble(listing.snapshot.files, leaves, *merged))
        return self

    def describe(self) -> Description:
        """What the index holds, and how far it is behind the files of now."""
        listing = self._list()
        store = self._store(listing)
        pointer = store.pointer()
        return Description(
            store.uri, pointer, _staleness(listing.snapshot.files, _keys(store, pointer))
        )

    def drop(self) -> None:
        """Removes the index. Dropping an index that is not there is no error."""
        listing = self._list()
        self._store(listing).drop()
        invalidate(self._spark, listing.root)

    def _list(self) -> TableListing:
        return list_table(self._spark, self._target)

    def _store(self, listing: TableListing) -> Store:
        return Store.at(listing.root, index_location(self._spark), storage_settings(self._spark))

    def _read(
        self, listing: TableListing, ordinals: np.ndarray, leaves: Sequence[Leaf]
    ) -> tuple[pa.Table, pa.Table]:
        from tamis.index.build import read_footers

        found = read_footers(
            self._spark,
            listing.snapshot.files,
            ordinals,
            leaves,
            listing.case_sensitive,
            storage_settings(self._spark),
        )
        return found.files, found.row_groups

    def _commit(
        self, listing: TableListing, columns: Sequence[str] | None, content: Generation
    ) -> None:
        store = self._store(listing)
        before = store.generation_in_force()
        try:
            generation = store.new_generation()
            data = store.write_generation(generation, content.files, content.row_groups)
            store.commit(
                Pointer(
                    format=FORMAT,
                    tamis=__version__,
                    generation=generation,
                    created=datetime.now(UTC).isoformat(timespec="seconds"),
                    root=listing.root,
                    schema=listing.schema,
                    partition_schema=listing.partition_schema,
                    case_sensitive=listing.case_sensitive,
                    columns=content.columns,
                    selected=None if columns is None else tuple(columns),
                    totals=content.totals,
                    data=data,
                    problems=content.problems,
                )
            )
        except OSError as problem:
            raise StatisticsIndexError(
                f"the index cannot be written to {store.uri} ({problem}): make it writable, or set "
                "spark.tamis.index.location to a directory that is"
            ) from problem
        store.remove_old_generations(but=before)
        invalidate(self._spark, listing.root)


def _selected(
    leaves: Sequence[Leaf], columns: Sequence[str] | None, missing_is_error: bool = True
) -> tuple[Leaf, ...]:
    if columns is None:
        return tuple(leaves)
    chosen: list[Leaf] = []
    for name in columns:
        found = [leaf for leaf in leaves if leaf.name == name or leaf.name.startswith(f"{name}.")]
        if not found and missing_is_error:
            near = get_close_matches(name, [leaf.name for leaf in leaves], n=1)
            hint = f"did you mean {near[0]}?" if near else "see df.printSchema()"
            raise StatisticsIndexError(f"no column {name} of which footers hold statistics: {hint}")
        chosen.extend(leaf for leaf in found if leaf not in chosen)
    return tuple(chosen)


def _load(store: Store, pointer: Pointer) -> tuple[pa.Table, pa.Table]:
    """The whole of a generation."""
    checksums = store.checksums(pointer)
    files, row_groups = (
        store.columns(pointer, checksums[name], name, checksums[name].chunks)
        for name in (FILES, ROW_GROUPS)
    )
    return files, row_groups


def _keys(store: Store, pointer: Pointer) -> FileKeys:
    names = ["directory", "name", "size", "mtime"]
    return _keys_of(store.columns(pointer, store.checksums(pointer)[FILES], FILES, names))


def _keys_of(files: pa.Table) -> FileKeys:
    directories = files.column("directory").combine_chunks().dictionary_encode()
    return FileKeys(
        tuple(directories.dictionary.to_pylist()),
        pa.chunked_array([directories.indices]),
        files.column("name"),
        files.column("size"),
        files.column("mtime"),
    )


def _reusable(listing: FileKeys, old_files: pa.Table) -> np.ndarray:
    """For every listed file the old row that holds still, or -1. Unreadable ones are read again."""
    rows = freshness.match(listing, _keys_of(old_files))
    if rows is None:
        rows = np.arange(len(listing))
    unread = old_files.column("num_records").is_null().to_numpy()
    return np.where((rows >= 0) & ~unread[rows], rows, freshness.UNMATCHED) if len(unread) else rows


def _staleness(listing: FileKeys, indexed: FileKeys) -> Staleness:
    rows = freshness.match(listing, indexed)
    if rows is None:
        return Staleness(len(listing), 0, 0, 0)
    fresh = int((rows >= 0).sum())
    theirs = set(indexed.uris())
    uris = listing.uris()
    changed = sum(uris[i] in theirs for i in np.flatnonzero(rows < 0))
    added = len(listing) - fresh - changed
    return Staleness(fresh, changed, added, len(indexed) - fresh - changed)
