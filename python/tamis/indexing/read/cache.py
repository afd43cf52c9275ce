"""The local cache: bounds of one column as raw aligned arrays, mapped rather than read.

    <cache>/<version>/<index>/<generation>/<entry>/lower.npy, …   see arrays.py
    <cache>/<version>/<index>/<generation>/<entry>/words.bits     see row_statistics.py
    <cache>/<version>/<index>/<generation>/listing/table.arrow      keys of the indexed files
    <cache>/<version>/<index>/<generation>/row_groups/table.arrow   byte ranges of their row groups
    <cache>/<version>/swept                                         see cache_sweep.py

Every entry can be rebuilt from the index: an entry that cannot be read is made again. Without a
writable directory the arrays stay in memory.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import platformdirs
import pyarrow as pa

from tamis._version import __version__
from tamis.evaluation.domain.bounds import Bounds
from tamis.expr.types import DataType
from tamis.indexing.read.arrays import map_bounds, write_bounds
from tamis.indexing.read.cache_sweep import sweep_when_due
from tamis.indexing.read.memory import release_unused_memory

T = TypeVar("T")

# Raise the suffix when this code would misread arrays written earlier under the same version.
_VERSION = f"{__version__}-3"
# The exceptions that damaged arrays and tables raise.
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, pa.ArrowException)


@dataclass(frozen=True, slots=True)
class LocalCache:
    """The cache of one generation of one index.

    Attributes:
        directory: Where entries are kept. None: nothing is kept on disk.
    """

    directory: Path | None

    @staticmethod
    def of(index_uri: str, generation: str, configured: str | None) -> LocalCache:
        """Return the cache of a generation, in the configured directory or the user's.

        A directory that cannot be created, or that other users may write to, is not used.
        """
        try:
            base = Path(configured) if configured else Path(platformdirs.user_cache_dir("tamis"))
            if not configured and not base.is_absolute():  # a user without a home directory
                return LocalCache(None)
            names = _VERSION, _digest(index_uri), _digest(generation)
            directory = private_directory(base, *names)
            if directory is None:
                return LocalCache(None)
            os.utime(directory)  # records when it was last opened
            sweep_when_due(directory)
            return LocalCache(directory)
        except OSError:
            return LocalCache(None)

    def bounds(
        self,
        name: str,
        data_type: DataType,
        rows: int,
        make: Callable[[bool], Iterable[tuple[int, Bounds]]],
    ) -> Bounds:
        """Return the cached bounds of a name; make and keep them if they are missing or damaged.

        Args:
            name: The name of the entry.
            data_type: The type of the column.
            rows: The number of rows.
            make: Makes the bounds, as pairs of a number of rows and their bounds: make(True) in
                blocks, make(False) in one.
        """
        if self.directory is not None:
            entry = self.directory / _digest(name)
            try:
                return map_bounds(entry, data_type, rows)
            except _UNREADABLE:
                pass  # missing or damaged
            try:
                _publish(entry, lambda draft: write_bounds(draft, make(True), rows))
                release_unused_memory()
                return map_bounds(entry, data_type, rows)
            except _UNREADABLE:
                pass
        ((_, bounds),) = make(False)
        release_unused_memory()
        return bounds

    def table(self, name: str, make: Callable[[], pa.Table]) -> pa.Table:
        """Return the cached table of a name, in one record batch.

        A table that is missing or damaged is made and kept. Without a directory it is as `make`
        returns it.
        """
        if self.directory is None:
            return make()
        entry = self.directory / name
        try:
            return _map_table(entry / "table.arrow")
        except _UNREADABLE:
            pass
        made = make()
        try:
            _publish(entry, lambda draft: _write_table(draft / "table.arrow", made))
            return _map_table(entry / "table.arrow")
        except _UNREADABLE:
            return made

    def kept(
        self,
        name: str,
        read: Callable[[Path], T],
        write: Callable[[Path], None],
        make: Callable[[], T],
    ) -> T:
        """Return what `read` returns for the folder of an entry.

        Args:
            name: The name of the entry.
            read: Reads the folder.
            write: Fills the folder if it is missing or damaged. If it raises one of `_UNREADABLE`,
                `make` is called; other exceptions are passed on.
            make: Returns the same value without a folder. Its exceptions are passed on.
        """
        if self.directory is not None:
            entry = self.directory / name
            try:
                return read(entry)
            except _UNREADABLE:
                pass  # missing or damaged
            try:
                _publish(entry, write)
                return read(entry)
            except _UNREADABLE:
                pass
        return make()


def private_directory(base: Path, *names: str) -> Path | None:
    """Create directories inside of each other, which only this user can write to.

    Args:
        base: The directory for all of them. It may belong to another user.
        names: Their names.

    Returns:
        The last one; None if another user owns one of them or may write to it.

    Raises:
        OSError: One cannot be created.
    """
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = base
    for name in names:
        directory = directory / name
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            return None
    return directory


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _publish(entry: Path, write: Callable[[Path], None]) -> None:
    """Write an entry beside its final place and move it there in one step."""
    draft = entry.with_name(f".{entry.name}.{secrets.token_hex(4)}")
    draft.mkdir(mode=0o700)
    try:
        write(draft)
        try:
            draft.rename(entry)
        except OSError:  # it exists: another process was faster, or the existing one is damaged
            aside = entry.with_name(f"{draft.name}.old")
            entry.rename(aside)
            draft.rename(entry)
            shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write_table(path: Path, table: pa.Table) -> None:
    whole = table.combine_chunks()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, whole.schema) as writer:
        writer.write_table(whole)


def _map_table(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()
