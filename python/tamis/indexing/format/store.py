"""Writing, reading and dropping the durable form of an index.

A generation is written under a unique name, and then the pointer is replaced in one step. So the
old index stays current if a build is interrupted, and the later one of two concurrent builds wins.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tamis.errors import StatisticsIndexError
from tamis.indexing.format.layout import (
    CHECKSUMS,
    FILES,
    POINTER,
    ROW_GROUPS,
    VISIBLE_POINTER,
    Checksums,
    DataFile,
    NewerFormatError,
    Pointer,
    born_at,
    hidden,
    index_uri,
    is_later,
    new_generation,
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
from tamis.indexing.problems import (
    IndexMissing,
    IndexUnusable,
    rebuild_command,
    refresh_command,
    unreachable,
)
from tamis.indexing.storage import StorageUnreachableError, open_file_system, write_whole

# A generation that is younger and not current may be one that a build is still writing.
YOUNG = timedelta(hours=1)
#: Size and modification time (ns) of each pointer file; None: it does not exist.
Stamp: TypeAlias = tuple[tuple[int, int] | None, ...]
_PIECE = 1 << 22  # bytes


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

    def _inside(self, *parts: str) -> str:
        return "/".join([self.path, *parts])

    # --- reading ------------------------------------------------------------------------------

    def stamp(self) -> Stamp | None:
        """Return a value that identifies the state of the pointers; None if there is no index."""
        names = [self._inside(name) for name in (POINTER, VISIBLE_POINTER)]
        stamps = tuple(
            (info.size, info.mtime_ns or 0) if info.type == pafs.FileType.File else None
            for info in self.file_system.get_file_info(names)
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
            return unseal(self._read(name))
        except FileNotFoundError:
            return None
        except NewerFormatError as problem:
            raise IndexUnusable(
                "index.newer_format",
                f"the index {self.uri} was written by a newer version of tamis ({problem})",
                "upgrade tamis, or rebuild the index without the columns and expressions that it "
                f"records: {self.rebuild_command()}",
            ) from problem
        except (OSError, ValueError) as problem:
            raise self._problem_with(name, problem) from problem

    def checksums(self, pointer: Pointer) -> dict[str, Checksums]:
        """Return the checksums of a generation.

        Raises:
            IndexUnusable: They cannot be read.
        """
        try:
            content = self._read(place(pointer, CHECKSUMS))
            if zlib.crc32(content) != pointer.data[CHECKSUMS].checksum:
                raise ValueError("its checksum does not match")
            return msgspec.json.decode(content, type=dict[str, Checksums])
        except (OSError, ValueError, KeyError, msgspec.MsgspecError) as problem:
            raise self._problem_with(place(pointer, CHECKSUMS), problem) from problem

    def pieces(self, pointer: Pointer, name: str) -> Iterator[bytes]:
        """Yield a data file piece by piece.

        The checksum is verified after the last piece. Do not trust any piece before that.

        Raises:
            IndexUnusable: The file cannot be read, or its checksum does not match.
        """
        checksum = size = 0
        try:
            where = self._inside(place(pointer, name))
            with self.file_system.open_input_stream(where) as source:
                while piece := source.read(_PIECE):
                    size += len(piece)
                    checksum = zlib.crc32(piece, checksum)
                    yield piece
            if DataFile(size, checksum) != pointer.data[name]:
                raise ValueError("its checksum does not match")
        except (OSError, ValueError, KeyError) as problem:
            raise self._problem_with(place(pointer, name), problem) from problem

    def columns(
        self, pointer: Pointer, checksums: Checksums, name: str, wanted: Iterable[str]
    ) -> pa.Table:
        """Return some columns of a data file, without those that it does not have.

        Reads only the footer and the chunks of these columns, and verifies their checksums.

        Raises:
            IndexUnusable: They cannot be read.
        """
        with self._opened(pointer, checksums, name, wanted) as (parquet, present):
            return parquet.read(columns=present, use_threads=False)

    def batches(
        self, pointer: Pointer, checksums: Checksums, name: str, wanted: Iterable[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the same as `columns`, in batches of rows: at least one, which may be empty."""
        with self._opened(pointer, checksums, name, wanted) as (parquet, present):
            if parquet.metadata.num_rows == 0:
                yield pa.RecordBatch.from_pylist([], parquet.schema_arrow).select(present)
            yield from parquet.iter_batches(ROWS_A_GROUP, columns=present, use_threads=False)

    @contextmanager
    def _opened(
        self, pointer: Pointer, checksums: Checksums, name: str, wanted: Iterable[str]
    ) -> Iterator[tuple[pq.ParquetFile, list[str]]]:
        """Open a data file for some columns; yield it with those of the columns that it has."""
        present = [column for column in wanted if column in checksums.chunks]
        try:
            with self.file_system.open_input_file(self._inside(place(pointer, name))) as file:
                parquet = open_verified(file, pointer.data[name].size, checksums, present)
            yield parquet, present
        except (OSError, ValueError, KeyError, pa.ArrowException) as problem:
            raise self._problem_with(place(pointer, name), problem) from problem

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

    def new_generation(self) -> str:
        return new_generation()

    def write_generation(
        self,
        generation: str,
        files: pa.Table,
        row_groups: pa.Table,
        more: Mapping[str, pa.Table] | None = None,
        raw: Mapping[str, memoryview] | None = None,
    ) -> dict[str, DataFile]:
        """Write the data of a generation, which becomes current with `commit`.

        Args:
            generation: Its name.
            files: The statistics of files.
            row_groups: The statistics of row groups.
            more: Further tables, by name.
            raw: The content of further files, by name.

        Returns:
            Size and checksum of every file, by name.
        """
        self.file_system.create_dir(self._inside(generation), recursive=True)
        checksums: dict[str, Checksums] = {}
        data: dict[str, DataFile] = {}
        for name, table in {FILES: files, ROW_GROUPS: row_groups, **(more or {})}.items():
            with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
                local = Path(folder, name)
                write_parquet(table, local)
                checksums[name] = checksums_of(local)
                data[name] = self._upload(local, generation, hidden(name))
        for name, piece in (raw or {}).items():
            self._write(piece, generation, hidden(name))
            data[name] = DataFile(piece.nbytes, zlib.crc32(piece))
        content = msgspec.json.encode(checksums)
        self._write(content, generation, hidden(CHECKSUMS))
        data[CHECKSUMS] = DataFile(len(content), zlib.crc32(content))
        return data

    def commit(self, pointer: Pointer) -> None:
        """Make a generation current, in one step."""
        write_whole(self.file_system, seal(pointer), self._inside(POINTER))
        self._remove_visible_index()

    def _remove_visible_index(self) -> None:
        """Remove the index of an older tamis, which a glob over the table would read.

        A generation that an older tamis is still writing stays, so that its build does not fail.
        """
        try:
            visible = unseal(self._read(VISIBLE_POINTER))
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

    def generation_in_force(self) -> str | None:
        """Return the name of the current generation; None if there is none that can be read."""
        try:
            return self.pointer().generation
        except IndexUnusable:
            return None

    def remove_old_generations(self, but: str | None = None) -> None:
        """Remove generations that are neither current nor young, except the one named `but`.

        That one was current until now, and planners that have it open may read it a little longer.
        Never raises.
        """
        try:
            kept = {self.pointer().generation, but}
            now = datetime.now(UTC)
            for info in self.file_system.get_file_info(pafs.FileSelector(self.path)):
                born = born_at(info.base_name)
                if (
                    info.type == pafs.FileType.Directory
                    and info.base_name not in kept
                    and born is not None
                    and now - born > YOUNG
                ):
                    self.file_system.delete_dir(info.path)
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
