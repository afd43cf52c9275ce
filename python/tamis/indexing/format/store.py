"""Writing, reading and dropping the durable form of an index.

A segment is written under a unique name, and then the pointer is replaced in one step. So the old
index stays current if a build is interrupted, and the later one of two concurrent builds wins.
Tables are read as if those of all segments were one.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tamis.errors import StatisticsIndexError
from tamis.indexing.format.layout import (
    CHECKSUMS,
    FILES,
    POINTER,
    RECORDED,
    RECORDED_GROUPS,
    ROW_GROUPS,
    VISIBLE_POINTER,
    Checksums,
    DataFile,
    NewerFormatError,
    Pointer,
    Segment,
    born_at,
    hidden,
    index_uri,
    is_later,
    new_segment,
    place,
    seal,
    unseal,
)
from tamis.indexing.format.parquet_form import (
    ROWS_A_GROUP,
    checksums_of,
    open_verified,
    write_parquet,
)
from tamis.indexing.format.small_objects import KEPT_BYTES, MOST_BYTES, SmallObjects
from tamis.indexing.problems import (
    IndexMissing,
    IndexUnusable,
    rebuild_command,
    refresh_command,
    unreachable,
)
from tamis.indexing.storage import (
    StorageUnreachableError,
    is_object_store,
    make_directory,
    open_file_system,
    write_whole,
)

# A segment that is younger and not current may be one that a build is still writing.
YOUNG = timedelta(hours=1)
#: Size and modification time (ns) of each pointer file; None: it does not exist.
Stamp: TypeAlias = tuple[tuple[int, int] | None, ...]
_PIECE = 1 << 22  # bytes
#: The tables with one row per file or row group of a segment. The last two may be missing.
_ALIGNED = (FILES, ROW_GROUPS, RECORDED, RECORDED_GROUPS)
# The file that `is_writable` writes and removes.
_PROBE = ".probe"
# Files that are read at the same time.
_CONCURRENT = 8
_small_objects = SmallObjects()


@dataclass(frozen=True)
class Store:
    """The directory of one index."""

    root: str
    uri: str
    file_system: pafs.FileSystem
    path: str
    location: str | None = None  # spark.tamis.index.location; None: inside the table
    options: tuple[str, ...] | None = None  # see `command_options`; None: not known

    @staticmethod
    def at(
        root: str,
        location: str | None,
        settings: Mapping[str, str],
        options: tuple[str, ...] | None = None,
    ) -> Store:
        """Return the store of the index of a root.

        Args:
            root: The directory of the table, a URL-encoded URI.
            location: The directory of `spark.tamis.index.location`. None: inside the table.
            settings: The `fs.*` settings of the storage.
            options: The options of commands over the files, for errors. None: not known.

        Raises:
            IndexUnusable: Its storage cannot be reached.
        """
        uri = index_uri(root, location)
        try:
            return Store(root, uri, *open_file_system(uri, settings), location, options)
        except StorageUnreachableError as problem:
            raise unreachable(uri, str(problem)) from problem

    @property
    def is_in_object_store(self) -> bool:
        return is_object_store(self.file_system)

    def _inside(self, *parts: str) -> str:
        return "/".join([self.path, *parts])

    def is_writable(self) -> bool:
        """Return whether an index can be written, by writing a small file and removing it."""
        probe = self._inside(_PROBE)
        try:
            self._require_table()
            make_directory(self.file_system, self.path)
            with self.file_system.open_output_stream(probe) as stream:
                stream.write(b"tamis")
            with suppress(FileNotFoundError):  # another process has removed it
                self.file_system.delete_file(probe)
        except OSError:
            return False
        return True

    def _require_table(self) -> None:
        """Raise FileNotFoundError if the directory of the table is gone.

        Creating it again, for the index in it, would bring back a table that was dropped.
        """
        if self.location is None and isinstance(self.file_system, pafs.LocalFileSystem):
            os.stat(self.path.rpartition("/")[0])

    # --- reading ------------------------------------------------------------------------------

    def stamp(self) -> Stamp | None:
        """Return a value that identifies the state of the pointers; None if there is no index."""
        names = (POINTER, VISIBLE_POINTER)
        paths = [self._inside(name) for name in names]
        if self.is_in_object_store:
            # one request: each missing object would take two
            selector = pafs.FileSelector(self.path, allow_not_found=True)
            listed = {info.path: info for info in self.file_system.get_file_info(selector)}
            infos = [listed.get(path) for path in paths]
        else:
            infos = self.file_system.get_file_info(paths)
        stamps = tuple(
            (info.size, info.mtime_ns or 0)
            if info is not None and info.type == pafs.FileType.File
            else None
            for info in infos
        )
        return stamps if any(stamps) else None

    def pointer(self) -> Pointer:
        """Return the current pointer. If an older tamis has written one too, the later one counts.

        Raises:
            IndexMissing: There is no index.
            IndexUnusable: The pointer cannot be read.
        """
        pointer = self._pointer_in(POINTER)
        if pointer is None:
            visible = self._pointer_in(VISIBLE_POINTER)
            if visible is None:
                raise IndexMissing(
                    "index.missing",
                    f"no index at {self.uri}",
                    f"run {self.rebuild_command()}",
                )
            return visible
        try:
            visible = self._pointer_in(VISIBLE_POINTER)
        except IndexUnusable:
            return pointer
        return visible if visible is not None and is_later(visible, pointer) else pointer

    def _pointer_in(self, name: str) -> Pointer | None:
        """Return the content of one pointer file; None if it does not exist.

        Raises:
            IndexUnusable: The file cannot be read.
        """
        try:
            return self._unsealed(name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except NewerFormatError as problem:
            raise IndexUnusable(
                "index.newer_format",
                f"the index {self.uri} was written by a newer version of tamis ({problem})",
                "upgrade tamis, or rebuild the index, which discards what it records of columns "
                f"and expressions: {self.rebuild_command()}",
            ) from problem
        except (OSError, ValueError) as problem:
            raise self._problem_with(name, problem) from problem

    def _unsealed(self, name: str) -> Pointer:
        """Return the pointer in a file.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is not a pointer.
        """
        content = self._read(name)
        while True:
            try:
                return unseal(content)
            except ValueError:
                # pyarrow requests the size of an object before its bytes: if another process
                # replaces it in between, they are cut off
                again = self._read(name) if self.is_in_object_store else content
                if again == content:
                    raise
                content = again

    def _checksums(self, pointer: Pointer, segment: Segment) -> dict[str, Checksums]:
        """Return the checksums of a segment.

        Raises:
            IndexUnusable: They cannot be read.
        """
        name = place(pointer, segment, CHECKSUMS)
        try:
            if self._is_small(segment, CHECKSUMS):
                content = self._whole(pointer, segment, CHECKSUMS)
            else:
                content = self._read(name)
                if zlib.crc32(content) != segment.data[CHECKSUMS].checksum:
                    raise ValueError("its checksum does not match")
            return msgspec.json.decode(content, type=dict[str, Checksums])
        except (OSError, ValueError, KeyError, msgspec.MsgspecError) as problem:
            raise self._problem_with(name, problem) from problem

    def pieces(self, pointer: Pointer, segment: Segment, name: str) -> Iterator[bytes]:
        """Yield a data file of a segment piece by piece.

        The checksum is verified after the last piece. Do not trust any piece before that.

        Raises:
            IndexUnusable: The file cannot be read, or its checksum does not match.
        """
        checksum = size = 0
        stored = place(pointer, segment, name)
        try:
            with self.file_system.open_input_stream(self._inside(stored)) as source:
                while piece := source.read(_PIECE):
                    size += len(piece)
                    checksum = zlib.crc32(piece, checksum)
                    yield piece
            if DataFile(size, checksum) != segment.data[name]:
                raise ValueError("its checksum does not match")
        except (OSError, ValueError, KeyError) as problem:
            raise self._problem_with(stored, problem) from problem

    def columns(self, pointer: Pointer, name: str, wanted: Iterable[str] | None = None) -> pa.Table:
        """Return some columns of a table, in the order of the segments.

        Reads only the footers and the chunks of these columns, and verifies their checksums.

        Args:
            pointer: The index.
            name: The table. A segment without it has no values in it.
            wanted: The columns; None: all. Those that no segment has are left out. Where a segment
                lacks one, it is NULL.

        Raises:
            IndexUnusable: They cannot be read.
        """
        names = None if wanted is None else list(wanted)
        parts: list[tuple[int, pa.Table]] = []
        first_file = 0
        for segment in pointer.segments:
            of_groups = name in (ROW_GROUPS, RECORDED_GROUPS)
            rows = segment.row_groups if of_groups else segment.files
            table = pa.table({})
            if name in segment.data or name in (FILES, ROW_GROUPS):
                with self._opened(pointer, segment, name, names) as (parquet, present):
                    table = parquet.read(columns=present, use_threads=False)
                stored = parquet.metadata.num_rows
                if name in _ALIGNED and stored != rows:
                    place_of_table = place(pointer, segment, name)
                    raise self.damaged(f"{place_of_table} has {stored} rows instead of {rows}")
                rows = stored
            elif name not in _ALIGNED:
                rows = 0
            if first_file and "file" in table.column_names:
                place_of_file = table.column_names.index("file")
                numbers = pc.add(table.column("file"), first_file)
                table = table.set_column(place_of_file, "file", numbers)
            first_file += segment.files
            parts.append((rows, table))
        if len(parts) == 1:
            return parts[0][1]
        try:
            return _stacked(parts, names)
        except pa.ArrowException as problem:
            raise self.damaged(f"{name}: {problem}") from problem

    def batches(
        self, pointer: Pointer, name: str, wanted: Iterable[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the same in batches of rows: at least one, which may be empty.

        The table is one that every segment has. A batch lacks the columns that its segment lacks.
        """
        names = list(wanted)
        for segment in pointer.segments:
            with self._opened(pointer, segment, name, names) as (parquet, present):
                if parquet.metadata.num_rows == 0:
                    yield pa.RecordBatch.from_pylist([], parquet.schema_arrow).select(present)
                yield from parquet.iter_batches(ROWS_A_GROUP, columns=present, use_threads=False)

    def verify(self, pointer: Pointer) -> None:
        """Read all data files and verify their checksums.

        Raises:
            IndexUnusable: A file cannot be read, or is damaged.
        """
        for segment in pointer.segments:
            for name in segment.data:
                for _ in self.pieces(pointer, segment, name):
                    pass

    @contextmanager
    def _opened(
        self, pointer: Pointer, segment: Segment, name: str, wanted: Sequence[str] | None
    ) -> Iterator[tuple[pq.ParquetFile, list[str]]]:
        """Open a table of a segment for some columns; yield it with those that it has."""
        checksums = self._checksums(pointer, segment)
        stored = place(pointer, segment, name)
        try:
            of_table = checksums[name]
            present = [
                c for c in (of_table.chunks if wanted is None else wanted) if c in of_table.chunks
            ]
            with (
                pa.BufferReader(self._whole(pointer, segment, name))
                if self._is_small(segment, name)
                else self.file_system.open_input_file(self._inside(stored))
            ) as file:
                parquet = open_verified(file, segment.data[name].size, of_table, present)
            yield parquet, present
        except (OSError, ValueError, KeyError, pa.ArrowException) as problem:
            raise self._problem_with(stored, problem) from problem

    def prefetch(self, pointer: Pointer) -> None:
        """Read the small files of all segments at the same time, if each is a request.

        Never raises: what cannot be read here is read again, and reported, when it is needed.
        """
        wanted = [
            (segment, name)
            for segment in pointer.segments
            for name in (CHECKSUMS, FILES, ROW_GROUPS)
            if name in segment.data and self._is_small(segment, name)
        ]
        if not wanted or sum(segment.data[name].size for segment, name in wanted) > KEPT_BYTES:
            return

        def fetch(file: tuple[Segment, str]) -> None:
            with suppress(OSError, ValueError):
                self._whole(pointer, *file)

        with ThreadPoolExecutor(_CONCURRENT) as pool:
            list(pool.map(fetch, wanted))

    def _is_small(self, segment: Segment, name: str) -> bool:
        """Return whether a file is read as a whole, because requests are expensive."""
        return self.is_in_object_store and segment.data[name].size <= MOST_BYTES

    def _whole(self, pointer: Pointer, segment: Segment, name: str) -> bytes:
        """Return a small file.

        Raises:
            OSError: It cannot be read.
            ValueError: It has another content.
        """
        stored = place(pointer, segment, name)
        uri = f"{self.uri}/{stored}"
        return _small_objects.get(uri, segment.data[name], lambda: self._read(stored))

    def _problem_with(self, name: str, problem: Exception) -> IndexUnusable:
        if isinstance(problem, OSError) and not isinstance(problem, FileNotFoundError):
            return unreachable(self.uri, f"{name}: {problem}")
        return self.damaged(f"{name}: {problem}")

    def damaged(self, what: str) -> IndexUnusable:
        return IndexUnusable(
            "index.damaged",
            f"the index {self.uri} is damaged ({what})",
            f"run {self.refresh_command()}",
        )

    def rebuild_command(self) -> str:
        """Return the command that builds the index, without what it records in addition."""
        return rebuild_command(self.root, self.location, self.options)

    def refresh_command(self) -> str:
        """Return the command that rebuilds the index and keeps what it recorded."""
        return refresh_command(self.root, self.location, self.options)

    def _read(self, *parts: str) -> bytes:
        with self.file_system.open_input_file(self._inside(*parts)) as file:
            content: bytes = file.read()
        return content

    # --- writing ------------------------------------------------------------------------------

    def write_segment(
        self,
        files: pa.Table,
        row_groups: pa.Table,
        more: Mapping[str, pa.Table] | None = None,
        raw: Mapping[str, memoryview] | None = None,
    ) -> Segment:
        """Write a segment, which takes effect with `commit`.

        Args:
            files: The statistics of files.
            row_groups: The statistics of row groups.
            more: Further tables, by name.
            raw: The content of further files, by name.
        """
        self._require_table()
        directory = new_segment()
        make_directory(self.file_system, self._inside(directory))
        checksums: dict[str, Checksums] = {}
        data: dict[str, DataFile] = {}
        for name, table in {FILES: files, ROW_GROUPS: row_groups, **(more or {})}.items():
            with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
                local = Path(folder, name)
                write_parquet(table, local)
                checksums[name] = checksums_of(local)
                data[name] = self._upload(local, directory, hidden(name))
        for name, piece in (raw or {}).items():
            self._write(piece, directory, hidden(name))
            data[name] = DataFile(piece.nbytes, zlib.crc32(piece))
        content = msgspec.json.encode(checksums)
        self._write(content, directory, hidden(CHECKSUMS))
        data[CHECKSUMS] = DataFile(len(content), zlib.crc32(content))
        return Segment(directory, len(files), len(row_groups), data)

    def commit(self, pointer: Pointer) -> None:
        """Replace the pointer, in one step.

        Raises:
            OSError: It cannot be written, or the directory of the table is gone.
        """
        self._require_table()
        write_whole(self.file_system, seal(pointer), self._inside(POINTER))
        self._remove_visible_index()

    def _remove_visible_index(self) -> None:
        """Remove the index of an older tamis, which a glob over the table would read.

        A segment that an older tamis is still writing stays, so that its build does not fail.
        """
        try:
            visible = self._unsealed(VISIBLE_POINTER)
        except (OSError, ValueError, StatisticsIndexError):
            visible = None
        with suppress(OSError):
            if self._exists(VISIBLE_POINTER):
                self.file_system.delete_file(self._inside(VISIBLE_POINTER))
            if visible is not None:
                self.file_system.delete_dir(self._inside(visible.generation))

    def _exists(self, name: str) -> bool:
        info = self.file_system.get_file_info(self._inside(name))
        return bool(info.type == pafs.FileType.File)

    def current(self) -> Pointer | None:
        """Return the current pointer; None if there is none that can be read."""
        try:
            return self.pointer()
        except IndexUnusable:
            return None

    def remove_old_segments(self, before: Pointer | None = None) -> None:
        """Remove segments and drafts that are neither current nor young, except those of `before`.

        These were current until now, and planners that have them open may read them a little
        longer. Never raises.
        """
        try:
            kept = {
                segment.directory
                for pointer in (self.pointer(), before)
                if pointer is not None
                for segment in pointer.segments
            }
            now = datetime.now(UTC)
            for info in self.file_system.get_file_info(pafs.FileSelector(self.path)):
                if info.type == pafs.FileType.Directory:
                    born = born_at(info.base_name)
                    is_old = born is not None and now - born > YOUNG
                    if is_old and info.base_name not in kept:
                        self.file_system.delete_dir(info.path)
                elif info.base_name.startswith(f".{POINTER}.") and now - info.mtime > YOUNG:
                    self.file_system.delete_file(info.path)  # the draft of a killed process
        except (OSError, StatisticsIndexError):
            return  # the remains only take space, and the next build tries again

    def drop(self) -> None:
        """Remove the index: the pointers first, so that no query sees half of it."""
        for name in (POINTER, VISIBLE_POINTER):
            if self._exists(name):
                self.file_system.delete_file(self._inside(name))
        if self.file_system.get_file_info(self.path).type == pafs.FileType.Directory:
            self.file_system.delete_dir(self.path)

    def _upload(self, local: Path, *parts: str) -> DataFile:
        size, checksum = 0, 0
        with (
            open(local, "rb") as source,
            self.file_system.open_output_stream(self._inside(*parts)) as sink,
        ):
            while piece := source.read(_PIECE):
                sink.write(piece)
                size += len(piece)
                checksum = zlib.crc32(piece, checksum)
        return DataFile(size, checksum)

    def _write(self, content: bytes | memoryview, *parts: str) -> None:
        with self.file_system.open_output_stream(self._inside(*parts)) as sink:
            sink.write(content)


def _stacked(parts: Sequence[tuple[int, pa.Table]], wanted: Sequence[str] | None) -> pa.Table:
    """Return tables as one, each with its number of rows. Columns that a table lacks are NULL."""
    types: dict[str, pa.DataType] = {}
    for _, table in parts:
        for field in table.schema:
            types.setdefault(field.name, field.type)
    columns = {"": pa.nulls(sum(rows for rows, _ in parts))}
    names = list(types) if wanted is None else [name for name in wanted if name in types]
    for name in names:
        chunks: list[pa.Array] = []
        for rows, table in parts:
            has_it = name in table.column_names
            chunks += table.column(name).chunks if has_it else [pa.nulls(rows, types[name])]
        columns[name] = pa.chunked_array(chunks, types[name])
    return pa.table(columns).select(names)  # without columns, it still has rows
