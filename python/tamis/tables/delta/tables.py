"""The logs that are open in this process."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from tamis.indexing.read.snapshot import FileKeys
from tamis.recent import Recent
from tamis.tables.delta.columns import TableColumns, table_columns
from tamis.tables.delta.delta_statistics import DeltaStatistics
from tamis.tables.delta.errors import SnapshotUnreadable, unreadable
from tamis.tables.delta.log_files import LogFile, LogFiles
from tamis.tables.delta.paths import keys_of_listing
from tamis.tables.delta.replay import LogReplay
from tamis.wire.delta import DeltaSnapshot

__all__ = ["DeltaTables", "statistics_of"]

_MOST_REPLAYS: Final = 8


class DeltaTables:
    """The logs that this process has read. Thread-safe."""

    def __init__(self) -> None:
        self._files = LogFiles()
        # The key has ids of objects, which the entry keeps alive.
        self._replays = Recent[tuple[LogReplay, tuple[LogFile, ...]]](_MOST_REPLAYS)
        self._lock = threading.Lock()

    def statistics_of(
        self,
        snapshot: DeltaSnapshot,
        files: FileKeys,
        storage: Mapping[str, str],
        cache_directory: str | None,
    ) -> DeltaStatistics:
        """Return the statistics of the files of a listing: see the function of the same name."""
        try:
            columns = table_columns(
                snapshot.schema, snapshot.column_mapping, snapshot.partition_columns
            )
            read = self._files.read(snapshot, columns, storage, cache_directory)
            replay = self._replay(read, columns)
            return DeltaStatistics(replay, replay.rows_of(keys_of_listing(files)))
        except SnapshotUnreadable:
            raise
        except Exception as problem:  # the query must run whatever is wrong with the log
            raise unreadable(f"{snapshot.root}/_delta_log", problem) from problem

    def _replay(self, files: tuple[LogFile, ...], columns: TableColumns) -> LogReplay:
        key = (columns.digest, tuple(map(id, files)))
        with self._lock:
            return self._replays.get_or(key, lambda: (LogReplay(files, columns), files))[0]


_open = DeltaTables()


def statistics_of(
    snapshot: DeltaSnapshot,
    files: FileKeys,
    storage: Mapping[str, str],
    cache_directory: str | None,
) -> DeltaStatistics:
    """Return what the log of a Delta table says about the files of a listing, in its order.

    Files that the log does not describe have unknown statistics.

    Args:
        snapshot: The files of the log, as Delta has resolved them.
        files: The listing, which may be a part of the table.
        storage: The Hadoop settings `fs.*` (see `indexing.storage`).
        cache_directory: The directory of the local cache; None: that of the user.

    Raises:
        SnapshotUnreadable: The log cannot be read. The query runs without its statistics.
    """
    return _open.statistics_of(snapshot, files, storage, cache_directory)
