"""The local cache: bounds of one column as raw aligned arrays, mapped rather than read.

    <cache>/<version>/<index>/<generation>/<entry>/lower.npy, …     as index/arrays.py writes them
    <cache>/<version>/<index>/<generation>/<entry>/words.bits       bloom filters: see recordings
    <cache>/<version>/<index>/<generation>/listing/table.arrow      keys of the indexed files
    <cache>/<version>/<index>/<generation>/row_groups/table.arrow   where their row groups lie

Everything in it can be made again: an entry that cannot be read is made anew, and without a
directory to write to the arrays stay in memory.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import platformdirs
import pyarrow as pa

from tamis._version import __version__
from tamis.evaluate.bounds import Bounds
from tamis.expr.types import DataType
from tamis.index.arrays import map_bounds, write_bounds
from tamis.index.memory import give_back

T = TypeVar("T")

# Raise it when arrays of an older tamis of the same version would be read wrongly.
_VERSION = f"{__version__}-2"
# Generations of one index that are not the newest go when they were not opened for so long, in s.
_IDLE = 3600.0
_LIMIT = 20 << 30  # bytes
# What reading damaged arrays and tables raises.
_UNREADABLE = (OSError, ValueError, EOFError, pa.ArrowException)


@dataclass(frozen=True, slots=True)
class LocalCache:
    """The cache of one generation of one index. directory None: nothing is kept on disk."""

    directory: Path | None

    @staticmethod
    def of(index_uri: str, generation: str, configured: str | None) -> LocalCache:
        """The cache of a generation, in the configured directory or the user's.

        A directory that cannot be made, or that others may write to, is not used.
        """
        try:
            base = Path(configured) if configured else Path(platformdirs.user_cache_dir("tamis"))
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory = base / _VERSION / _digest(index_uri) / _digest(generation)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for each in (directory, directory.parent, directory.parent.parent):
                status = each.stat()
                if status.st_uid != os.getuid() or status.st_mode & 0o022:
                    return LocalCache(None)
            os.utime(directory)  # it was opened now
            _sweep(directory)
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
        """The bounds of so many rows kept under a name, made and kept when they are not there.

        make(True) gives them in blocks, each with its number of rows; make(False) in one.
        """
        if self.directory is not None:
            entry = self.directory / _digest(name)
            try:
                return map_bounds(entry, data_type, rows)
            except _UNREADABLE:
                pass  # not there, or damaged
            try:
                _publish(entry, lambda draft: write_bounds(draft, make(True), rows))
                give_back()
                return map_bounds(entry, data_type, rows)
            except _UNREADABLE:
                pass
        ((_, bounds),) = make(False)
        give_back()
        return bounds

    def table(self, name: str, make: Callable[[], pa.Table]) -> pa.Table:
        """The table kept under a name, in one record batch, made and kept when it is not there."""
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
        """What `read` finds in the folder of an entry, which `write` fills when it is not there.

        `make`: the same without a folder. What `write` and `make` raise is raised, save OSError and
        ValueError: then there is no folder.
        """
        if self.directory is not None:
            entry = self.directory / name
            try:
                return read(entry)
            except _UNREADABLE:
                pass  # not there, or damaged
            try:
                _publish(entry, write)
                give_back()
                return read(entry)
            except _UNREADABLE:
                pass
        return make()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _publish(entry: Path, write: Callable[[Path], None]) -> None:
    """Writes an entry beside its place and moves it there in one step."""
    draft = entry.with_name(f".{entry.name}.{secrets.token_hex(4)}")
    draft.mkdir(mode=0o700)
    try:
        write(draft)
        try:
            draft.rename(entry)
        except OSError:  # there already: another process was faster, or what lies there is damaged
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


def _sweep(current: Path) -> None:
    """Removes other generations of this index that are idle, then the oldest of all over _LIMIT.

    A process that has them mapped keeps its pages.
    """
    now = time.time()
    for other in current.parent.iterdir():
        if other != current and now - other.stat().st_mtime > _IDLE:
            shutil.rmtree(other, ignore_errors=True)
    generations = sorted(
        (folder.stat().st_mtime, folder) for folder in current.parent.parent.glob("*/*")
    )
    sizes = {folder: _size(folder) for _, folder in generations}
    total = sum(sizes.values())
    for _, folder in generations:
        if total <= _LIMIT:
            return
        if folder != current:
            shutil.rmtree(folder, ignore_errors=True)
            total -= sizes[folder]


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
