"""The data files of a snapshot of Iceberg, for the shim.

They are written to `<id>.iceberg.arrow`, with one row per file, ordered by location:

    location   utf8, as Iceberg writes it
    uri        utf8, URL-encoded, as Hadoop's `new Path(location).toUri.toString` writes it; null
               if all are as their locations
    size       int64, bytes
    manifest   int32, the place of its manifest in the answer

Manifests that take longer to read than a query may wait are read to their end in the background.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotReady
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import pyarrow as pa

from tamis.expr.rewrites import simplify
from tamis.serve.scans.arrow_export import written
from tamis.tables.unreadable import SnapshotUnreadable
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.iceberg_files import (
    IcebergFilesAnswer,
    IcebergFilesRequest,
    read_iceberg_files_request,
)
from tamis.wire.messages import write_answer

if TYPE_CHECKING:
    from tamis.tables.iceberg import ChosenManifests, IcebergFiles

__all__ = ["write_iceberg_files"]

#: The files are None if a listing that the shim has serves.
_Read: TypeAlias = "tuple[ChosenManifests, IcebergFiles | None]"

#: `tamis.tables.iceberg.UnreadableCode.STORAGE`, whose package imports polars.
_STORAGE: Final = "iceberg.storage"
_PENDING: Final = "they are still being read; a later query will use them"


def write_iceberg_files(question: str) -> str:
    """Write the data files for an IcebergFilesRequest.

    Raises:
        TamisError: The request cannot be read.
        OSError: The file cannot be written.
    """
    request = read_iceberg_files_request(question)
    try:
        chosen, files = _READING.of(request).result(request.patience_ms / 1000)
    except NotReady:
        return write_answer(IcebergFilesAnswer(request.id, problem=_PENDING, is_pending=True))
    except SnapshotUnreadable as problem:
        may_pass = problem.code == _STORAGE
        return write_answer(IcebergFilesAnswer(request.id, problem=problem.text, may_pass=may_pass))
    if files is None:
        return write_answer(IcebergFilesAnswer(request.id, known=chosen.known))
    is_location = files.uris.equals(files.locations)
    table = pa.table(
        {
            "location": files.locations,
            "uri": pa.nulls(len(files), pa.string()) if is_location else files.uris,
            "size": pa.array(files.sizes, pa.int64()),
            "manifest": pa.array(files.manifests_of_files, pa.int32()),
        }
    )
    written(table, request.directory, request.id, "iceberg")
    return write_answer(
        IcebergFilesAnswer(
            request.id,
            len(files),
            files.manifests,
            chosen.snapshot.manifests,
            files.total_files,
            # how many rows of the other files are deleted is not known
            None if files.has_deletes else files.total_records,
        )
    )


def _read(request: IcebergFilesRequest) -> _Read:
    # imported only here, because polars takes a while
    from tamis.tables.iceberg import choose_manifests, open_snapshot

    conjuncts = [simplify(each) for each in decode_conjuncts(request.conjuncts)]
    chosen = choose_manifests(
        request.snapshot, request.storage, conjuncts, request.among, request.known
    )
    if chosen.known is not None:
        return chosen, None
    return chosen, open_snapshot(chosen.snapshot, request.storage, request.cache_directory)


class _Reading:
    """The snapshots that are being read. Requests of the same one share the work."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(4, "tamis-iceberg-files")
        self._running: dict[Hashable, Future[_Read]] = {}
        self._lock = threading.Lock()

    def of(self, request: IcebergFilesRequest) -> Future[_Read]:
        """Return the files of a snapshot, when they are read."""
        what = (request.snapshot, request.conjuncts, request.among, request.known)
        key = (msgspec.json.encode(what), tuple(sorted(request.storage.items())))
        with self._lock:
            running = self._running.get(key)
            if running is None:
                running = self._threads.submit(_read, request)
                self._running[key] = running
        running.add_done_callback(lambda _: self._forget(key))
        return running

    def _forget(self, key: Hashable) -> None:
        # the open snapshots remember what was read
        with self._lock:
            self._running.pop(key, None)


_READING: Final = _Reading()
