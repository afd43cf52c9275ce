"""Reading the footers of files, and committing them to an automatic index."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.indexing.automatic.local_footers import read_footers, readable
from tamis.indexing.build.current_index import reusable_rows
from tamis.indexing.build.generation import Generation, pointer_to
from tamis.indexing.build.segments import append
from tamis.indexing.executor.columns_schema import Leaf, leaves_of
from tamis.indexing.format.layout import Pointer, Segment
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.snapshot import FileKeys, canonical

__all__ = ["Key", "Unindexed", "add_files"]

#: Files after which an index starts again, because most of them may be gone.
_MOST_FILES: Final = 1_000_000
#: Footers that are read together at first, the row groups times columns whose statistics are in
#: memory at a time (about 1 KB each), and the files that are committed together.
_FIRST: Final = 16
_CELLS: Final = 30_000
_COMMITTED: Final = 2000
#: Attempts to commit while other processes commit.
_ATTEMPTS: Final = 5
#: Seconds between searches for automatic indexes to remove.
_SWEPT: Final = 86_400.0
#: Days without use after which an automatic index is removed.
_UNUSED: Final = 30.0
#: The directory of an automatic index, below the cache directory: version of tamis and format,
#: digest of the schema, digest of the root.
_AUTOMATIC: Final = re.compile(r"automatic-[0-9][^/]*-[0-9]+/[0-9a-f]{16}/[0-9a-f]{16}")
#: The partition columns of an automatic index: it serves tables that see them differently.
_NO_COLUMNS: Final = '{"type":"struct","fields":[]}'

#: The root and the location of an index.
Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Unindexed:
    """Files that no index describes.

    Attributes:
        root: The directory of the table, a URL-encoded URI.
        location: Where automatic indexes of this schema are: see `automatic_location`.
        schema: Spark's JSON of the data columns.
        case_sensitive: Whether column names are case-sensitive.
        files: The files.
        settings: The `fs.*` settings of the storage.
    """

    root: str
    location: str
    schema: str
    case_sensitive: bool
    files: FileKeys
    settings: Mapping[str, str]

    @property
    def key(self) -> Key:
        return self.root, self.location


def add_files(
    wanted: Unindexed, note_progress: Callable[[], None] = lambda: None
) -> tuple[int, FileKeys]:
    """Read the footers of files and commit them.

    Args:
        wanted: The files.
        note_progress: Called when some footers have been read.

    Returns:
        How many of the files the index describes now, and those that could not be read.

    Raises:
        Exception: The index cannot be written. What was committed before stays.
    """
    store = Store.at(wanted.root, wanted.location, {})
    files = replace(wanted.files, directories=tuple(map(canonical, wanted.files.directories)))
    pointer = store.current()
    while pointer is not None:
        try:
            if pointer.totals.files <= _MOST_FILES:
                # another process may have added some
                files = files.take(np.flatnonzero(reusable_rows(files, store, pointer) < 0))
                break
        except IndexUnusable as problem:
            if problem.code != "index.damaged":
                raise
        # Another process may have replaced it meanwhile, and removed what was to be read.
        seen, pointer = pointer, store.current()
        if pointer is None or pointer.checksum == seen.checksum:
            store.drop()
            pointer = None
    if pointer is None:
        _remove_unused(Path(store.path).parent.parent)
    leaves = leaves_of(wanted.schema)
    missed: list[int] = []
    for start, stop, tables in _footers(wanted, files, leaves, note_progress):
        unread = np.flatnonzero(tables[0].column("num_records").is_null())
        missed += (start + unread).tolist()
        if len(unread) == stop - start:
            continue
        content = readable(files.take(np.arange(start, stop)), leaves, *tables)
        segment = store.write_segment(content.files, content.row_groups)
        store.remove_old_segments(_commit(store, wanted, segment, content))
    return len(wanted.files) - len(missed), files.take(np.array(missed, np.int64))


def _footers(
    wanted: Unindexed,
    files: FileKeys,
    leaves: Sequence[Leaf],
    note_progress: Callable[[], None],
) -> Iterator[tuple[int, int, tuple[pa.Table, pa.Table]]]:
    """Yield the first and the last file, and the statistics, of files that are committed together.

    Fewer are read together, because reading takes more memory than the result.
    """
    first = start = most = 0
    size = _FIRST
    read: list[tuple[pa.Table, pa.Table]] = []
    while start < len(files):
        stop = min(start + size, first + _COMMITTED, len(files))
        some = files.take(np.arange(start, stop))
        statistics, groups = read_footers(some, leaves, wanted.case_sensitive, wanted.settings)
        owner = pc.add(groups.column("file"), start - first)
        read.append((statistics, groups.set_column(0, "file", owner)))
        # of the file with the most row groups so far; later files may have more
        groups_of_file = pc.value_counts(groups.column("file")).field("counts")
        most = max(most, (pc.max(groups_of_file).as_py() or 0) * len(leaves))
        size = max(1, min(2 * size, _COMMITTED, _CELLS // max(1, most)))
        start = stop
        release_unused_memory()
        note_progress()
        if start == len(files) or start - first == _COMMITTED:
            all_statistics, all_groups = zip(*read, strict=True)
            yield first, start, (pa.concat_tables(all_statistics), pa.concat_tables(all_groups))
            first, read = start, []


def _commit(
    store: Store, wanted: Unindexed, segment: Segment, content: Generation
) -> Pointer | None:
    """Append a segment to the index, or commit an index of it if there is none.

    Returns:
        The index that was replaced.

    Raises:
        OSError: Other processes have changed the index each time before the segment was appended.
    """
    for _ in range(_ATTEMPTS):
        current = store.current()
        if current is None:
            break
        replaced = append(store, current, segment, content)
        if replaced is not None:
            return replaced
    else:
        raise OSError(f"other processes change {store.uri} all the time")
    store.commit(
        pointer_to(
            segment,
            content,
            wanted.root,
            wanted.schema,
            _NO_COLUMNS,
            wanted.case_sensitive,
        )
    )
    return None


def _remove_unused(version: Path) -> None:
    """Remove automatic indexes, of any version, that no query has used for a long time.

    Args:
        version: The directory of the indexes of this version.
    """
    now = time.time()
    limit = now - _UNUSED * 86400
    mark = version / ".swept"
    with suppress(OSError):
        if mark.exists() and now - mark.stat().st_mtime < _SWEPT:
            return
        mark.touch()
    for index in version.parent.glob("automatic-*/*/*"):
        if not _AUTOMATIC.fullmatch(index.relative_to(version.parent).as_posix()):
            continue  # of another program: users may choose a directory that they share
        try:
            status = index.stat()
            if status.st_mtime < limit and status.st_uid == os.getuid():
                shutil.rmtree(index)
                index.parent.rmdir()  # fails if it has other indexes
        except OSError:
            continue
