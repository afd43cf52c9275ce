"""A directory of Parquet files that is offered to other engines.

table = PublishedTable("/data/orders")
current = table.current()                 the files as they are listed now
parts = current.surviving(predicates)     row groups that may have matching rows
exact = exact_filters(parts, 2)           which of two predicates all of their rows pass
rows = current.reader.batches(parts[0], ["id"])
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import pyarrow as pa

from tamis.indexing.read.reader import Indexes, OpenIndex
from tamis.indexing.read.snapshot import FileKeys
from tamis.indexing.storage import StorageUnreachableError, open_file_system
from tamis.publish.errors import PublishError
from tamis.publish.footers import FileFooter, Footers, leaves_of
from tamis.publish.listing import DataFile, list_files
from tamis.publish.partitions import Partitions, partitions_of
from tamis.publish.pruning import Snapshot
from tamis.publish.reading import PartReader
from tamis.publish.statistics import table_statistics

__all__ = ["PublishedTable"]

#: The directory is listed again after a second, or ten times the time that listing it takes.
_RELIST: Final = 1.0
_SHARE: Final = 10
#: Characters other than letters and digits that java.net.URI does not escape in a path.
_UNQUOTED: Final = "/-_.~!$&'()*+,;=:@"


class PublishedTable:
    """A directory of Parquet files. Thread-safe.

    Args:
        path: The directory: a path of this machine, or a URI that pyarrow can open.
        name: The name of the table in errors; the path by default.
        index_location: The directory of `spark.tamis.index.location`; None: in the table.
        cache_directory: Where data derived from the index is kept; None: the cache of the user.

    Raises:
        PublishError: The storage cannot be reached.
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
        self._uri = path.rstrip("/") if "://" in path else _file_uri(path)
        try:
            self._file_system, root = open_file_system(self._uri, {})
        except StorageUnreachableError as problem:
            raise PublishError(str(problem)) from problem
        self._root = root.rstrip("/")
        self._index_location = index_location
        self._cache_directory = cache_directory
        self._footers = Footers(self._file_system, self._root, self.name)
        self._indexes = Indexes()
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._made_of: tuple[object, ...] = ()
        self._due = 0.0

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

    def _renewed(self) -> Snapshot:
        files = list_files(self._file_system, self._root, self.name)
        index = self._index()
        before = self._snapshot
        if before is not None and self._made_of == (files, index):
            return before
        if before is None and not files:
            raise PublishError(
                f"{self.name} has no data files, so its columns are not known: write a file first"
            )
        snapshot = self._read(files, index, before)
        self._made_of = (files, index)
        return snapshot

    def _read(
        self, files: tuple[DataFile, ...], index: OpenIndex | None, before: Snapshot | None
    ) -> Snapshot:
        partitions = partitions_of(files, self.name)
        if before is not None and not files:  # emptied: its columns stay
            schema, leaves = before.schema, leaves_of(before.schema)
            footers: tuple[FileFooter, ...] = ()
        else:
            data, footers = self._footers.read(files, partitions.values)
            values = [pa.field(name, each.type) for name, each in partitions.values.items()]
            schema, leaves = pa.schema([*data, *values]), leaves_of(data)
        statistics = table_statistics(
            footers, leaves, partitions, self._keys(files, partitions), index
        )
        reader = PartReader(
            self._file_system, self._root, self.name, schema, _constants(partitions)
        )
        return Snapshot(schema, files, footers, statistics, reader)

    def _keys(self, files: Sequence[DataFile], partitions: Partitions) -> FileKeys:
        """Return the keys by which an index knows the files."""
        directories = [f"{self._uri}/{_quoted(each)}" for each in partitions.directories]

        def column(values: Sequence[object], data_type: pa.DataType) -> pa.ChunkedArray:
            return pa.chunked_array([pa.array(values, data_type)])

        return FileKeys(
            tuple(each.rstrip("/") for each in directories),
            column(partitions.group.tolist(), pa.int32()),
            column([_quoted(file.path.rpartition("/")[2]) for file in files], pa.string()),
            column([file.size for file in files], pa.int64()),
            column([file.mtime_ns // 1_000_000 for file in files], pa.int64()),
        )

    def _index(self) -> OpenIndex | None:
        """Return the statistics index of the directory; None if there is none that can be used."""
        outcome = self._indexes.find(
            self._uri, self._index_location, {}, self._cache_directory, epoch=0
        )
        if not isinstance(outcome, OpenIndex):
            return None
        is_alike = outcome.reading is None and not outcome.pointer.case_sensitive
        return outcome if is_alike else None


def _constants(partitions: Partitions) -> dict[str, dict[str, pa.Scalar]]:
    return {
        directory: {name: values[place] for name, values in partitions.values.items()}
        for place, directory in enumerate(partitions.directories)
    }


def _file_uri(path: str) -> str:
    """Return the URI of a local path as Hadoop writes it.

    >>> _file_uri("/data/ü b/t/")
    'file:/data/ü%20b/t'
    """
    path = unquote(path.removeprefix("file:")) if path.startswith("file:") else path
    return "file:" + _quoted(os.path.abspath(Path(path).expanduser()))


def _quoted(path: str) -> str:
    return "".join(c if ord(c) > 127 else quote(c, safe=_UNQUOTED) for c in path)
