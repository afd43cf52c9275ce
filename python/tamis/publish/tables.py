"""A table that is offered to other engines.

table = PublishedTable("/data/orders")
current = table.current()                 the files as they are listed now
parts = current.surviving(predicates)     row groups that may have matching rows
exact = exact_filters(parts, 2)           which of two predicates all of their rows pass
rows = current.reader.batches(parts[0], ["id"])
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import pyarrow as pa

from tamis.indexing.read.open_indexes import Indexes, OpenIndex
from tamis.indexing.read.snapshot import FileKeys
from tamis.publish.errors import PublishError
from tamis.publish.footer_cache import Footers, leaves_of
from tamis.publish.part_reader import PartReader
from tamis.publish.pruning import Snapshot
from tamis.publish.table_statistics import table_statistics
from tamis.recent import Recent
from tamis.sources.errors import SourceError
from tamis.sources.fields import fields_of, table_schema
from tamis.sources.file_source import Listing, Moment
from tamis.sources.recognition import open_source, quoted

__all__ = ["PublishedTable"]

_T = TypeVar("_T")

#: The directory is listed again after a second, or ten times the time that listing it takes.
_RELIST: Final = 1.0
_SHARE: Final = 10
#: Versions that are kept although no component uses them.
_VERSIONS: Final = 8


class PublishedTable:
    """A table of Parquet files: a directory, a Delta table or an Iceberg table. Thread-safe.

    Args:
        path: The table: see `tamis.sources.recognition`.
        name: The name of the table in errors; the path by default.
        index_location: The directory of `spark.tamis.index.location`; None: in the table.
        cache_directory: Where data derived from the index is kept; None: the cache of the user.

    Raises:
        PublishError: The storage cannot be reached, or it is not clear which table it is.
    """

    def __init__(
        self,
        path: str,
        name: str | None = None,
        *,
        index_location: str | None = None,
        cache_directory: str | None = None,
    ) -> None:
        self.name = path if name is None else name
        self._source = _published(lambda: open_source(path, self.name))
        self._index_location = index_location
        self._cache_directory = cache_directory
        self._footers = Footers(self.name)
        self._indexes = Indexes()
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._made_of: tuple[object, ...] = ()
        self._due = 0.0
        #: Snapshots that some component uses, and the last ones.
        self._used: WeakValueDictionary[str, Snapshot] = WeakValueDictionary()
        self._recent = Recent[Snapshot](_VERSIONS)

    def current(self) -> Snapshot:
        """Return the table as it is now, or was a moment ago.

        Raises:
            PublishError: It is not a table of Parquet files, or a file cannot be read.
        """
        with self._lock:
            if self._snapshot is None or time.monotonic() >= self._due:
                started = time.monotonic()
                self._snapshot = self._renewed()
                now = time.monotonic()
                self._due = now + max(_RELIST, _SHARE * (now - started))
            return self._snapshot

    def last(self) -> Snapshot:
        """Return the table as `current` has last returned it, without listing it again.

        Raises:
            PublishError: It has not been listed before, and cannot be.
        """
        return self._snapshot or self.current()

    def at(self, version: str) -> Snapshot:
        """Return the table at a version, as `Snapshot.version` names it.

        A directory has one version, the last listing.

        Raises:
            PublishError: There is no such version, or it cannot be read.
        """
        if not version:
            return self.last()
        with self._lock:
            known = self._used.get(version)
            if known is None:
                listing = _published(lambda: self._source.listing_of(version))
                known = self._read(listing, None, None, Footers(self.name))
                self._keep(known)
            return known

    def as_of(self, moment: Moment) -> Snapshot:
        """Return the table at a time.

        Raises:
            PublishError: It has no version of that time, or has no versions.
        """
        return self.at(_published(lambda: self._source.version_at(moment)))

    def _renewed(self) -> Snapshot:
        listing = _published(self._source.listing)
        index = self._index()
        before = self._snapshot
        is_same = self._made_of == (listing.state, index)
        if before is not None and is_same and all(each.has_time for each in listing.files):
            return before
        if before is None and listing.columns is None and not listing.files:
            raise PublishError(
                f"{self.name} has no data files, so its columns are not known: write a file first"
            )
        snapshot = self._read(listing, index, before, self._footers)
        self._made_of = (listing.state, index)
        self._keep(snapshot)
        return snapshot

    def _keep(self, snapshot: Snapshot) -> None:
        if not snapshot.version:
            return
        self._used[snapshot.version] = snapshot
        self._recent.keep(snapshot.version, snapshot)

    def _read(
        self,
        listing: Listing,
        index: OpenIndex | None,
        before: Snapshot | None,
        footers: Footers,
    ) -> Snapshot:
        fields, read = _published(lambda: footers.read(listing))
        values = listing.partitions.values
        if listing.columns is not None:
            schema = table_schema(listing.columns)
        elif before is not None and not listing.files:  # emptied: its columns stay
            schema, fields = before.schema, fields_of(before.schema)
        else:
            own = [pa.field(name, each.type) for name, each in values.items()]
            schema = pa.schema([*table_schema(fields), *own])
        keys = None if index is None else self._keys(listing)
        leaves = leaves_of(table_schema(fields))
        statistics = table_statistics(read, leaves, listing.partitions, keys, index)
        reader = PartReader(self.name, schema, listing, fields)
        return Snapshot(listing.version, schema, listing.files, read, statistics, reader)

    def _keys(self, listing: Listing) -> FileKeys:
        """Return the keys by which an index knows the files."""
        files = listing.files
        directories = dict.fromkeys(each.directory for each in files)
        uris = [f"{self._source.directory_uri}/{quoted(each)}" for each in directories]

        def column(values: Sequence[object], data_type: pa.DataType) -> pa.ChunkedArray:
            return pa.chunked_array([pa.array(values, data_type)])

        return FileKeys(
            tuple(each.rstrip("/") for each in uris),
            column(listing.partitions.group.tolist(), pa.int32()),
            column([quoted(file.path.rpartition("/")[2]) for file in files], pa.string()),
            column([file.size for file in files], pa.int64()),
            column([(file.mtime_ns or 0) // 1_000_000 for file in files], pa.int64()),
        )

    def _index(self) -> OpenIndex | None:
        """Return the statistics index of the directory; None if there is none that can be used."""
        if self._source.directory_uri is None:
            return None
        outcome = self._indexes.find(
            self._source.directory_uri,
            self._index_location,
            {},
            self._cache_directory,
            epoch=0,
        )
        if not isinstance(outcome, OpenIndex):
            return None
        is_alike = outcome.reading is None and not outcome.pointer.case_sensitive
        return outcome if is_alike else None


def _published(read: Callable[[], _T]) -> _T:
    """Return what a source returns, with its error as one of this package."""
    try:
        return read()
    except SourceError as problem:
        raise PublishError(str(problem)) from problem
