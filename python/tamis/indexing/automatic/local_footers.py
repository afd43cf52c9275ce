"""Footers of files, read in this process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.indexing.build.generation import Generation, assemble
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.executor_job import harvest
from tamis.indexing.read.freshness import OLDEST
from tamis.indexing.read.snapshot import FileKeys
from tamis.indexing.storage import FileSystems

__all__ = ["read_footers", "readable"]

#: Threads that wait for storage.
_CONCURRENT: Final = 8
#: Milliseconds for which a file is too young if its storage has whole seconds: it may be replaced
#: by another of the same size within the same second.
_YOUNG: Final = 3000


def read_footers(
    keys: FileKeys, leaves: Sequence[Leaf], case_sensitive: bool, settings: Mapping[str, str]
) -> tuple[pa.Table, pa.Table]:
    """Return the statistics of files and of their row groups, in the order of the files.

    A file that has changed since it was listed, or may change unnoticed, has no statistics.

    Args:
        keys: The files: at least one.
        leaves: The columns to describe.
        case_sensitive: Whether columns are matched by exact name.
        settings: The `fs.*` settings of the storage.
    """
    oldest = time.time() * 1000 - _YOUNG  # before reading: a file may be replaced afterwards
    listed = pa.record_batch(
        {
            "ordinal": pa.array(np.arange(len(keys))),
            "uri": pa.array(keys.uris(), pa.string()),
            "size": keys.size.combine_chunks(),
        }
    )
    (read,) = harvest([listed], leaves, case_sensitive, settings)
    files, row_groups = (
        pa.ipc.open_stream(read.column(name)[0].as_py()).read_all()
        for name in ("files", "row_groups")
    )
    # The file that was read is the listed one if it still is after reading.
    unchanged = pa.array(_unchanged(keys, settings, oldest), pa.bool_())
    records = pc.if_else(unchanged, files.column("num_records"), pa.scalar(None))
    place = files.column_names.index("num_records")
    files = files.set_column(place, "num_records", records)
    return files, row_groups.sort_by([("file", "ascending"), ("start", "ascending")])


def _unchanged(keys: FileKeys, settings: Mapping[str, str], oldest: float) -> list[bool]:
    """Return for each file whether it still has the listed size and modification time.

    If the storage has whole seconds, a file that is younger than `oldest` counts as changed.
    """
    systems = FileSystems(settings)

    def is_unchanged(uri: str, size: int, mtime: int) -> bool:
        try:
            file_system, path = systems.locate(uri)
            info = file_system.get_file_info(path)
        except Exception:  # storage may raise anything
            return False
        if info.mtime_ns is None or info.size != size or mtime < OLDEST:
            return False
        if info.mtime_ns % 1_000_000_000 == 0:
            # in whole seconds, also where Spark lists milliseconds, as on HDFS
            return info.mtime_ns // 1_000_000_000 == mtime // 1000 and mtime < oldest
        return bool(info.mtime_ns // 1_000_000 == mtime)

    with ThreadPoolExecutor(_CONCURRENT) as pool:
        columns = keys.uris(), keys.size.to_pylist(), keys.mtime.to_pylist()
        return list(pool.map(is_unchanged, *columns))


def readable(
    keys: FileKeys, leaves: Sequence[Leaf], files: pa.Table, row_groups: pa.Table
) -> Generation:
    """Make a generation of the files that could be read. The arguments are as in `read_footers`."""
    is_read = pc.is_valid(files.column("num_records")).to_numpy(zero_copy_only=False)
    chosen = np.flatnonzero(is_read)
    place = np.cumsum(is_read) - 1
    owner = row_groups.column("file").to_numpy()
    kept = row_groups.set_column(0, "file", pa.array(place[owner], pa.int64()))
    return assemble(
        keys.take(chosen), leaves, files.take(pa.array(chosen)), kept.filter(is_read[owner])
    )
