"""The files of logs that this process has read, and those in the local cache.

A file of a log is read once. It is known by its URI, size and modification time, because a table
may be created again at the same place.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.fs as pafs

from tamis.indexing.read.cache import LocalCache
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.storage import FileSystems
from tamis.recent import Recent
from tamis.tables.delta.actions import Sidecar, read_actions
from tamis.tables.delta.added_files import AddedFiles, column_type, joined, statistics_table
from tamis.tables.delta.checkpoints import CheckpointFile
from tamis.tables.delta.columns import TableColumns
from tamis.tables.delta.errors import SnapshotUnreadable, unreadable
from tamis.tables.delta.statistics_json import StatisticsDecoder
from tamis.wire.delta import DeltaSnapshot

__all__ = ["LogFile", "LogFiles"]

# Raise it when tables in the local cache were written differently.
_FORMAT: Final = "delta-1"
_MOST_BYTES: Final = 512 << 20
#: The size that a file counts with at least.
_LEAST_BYTES: Final = _MOST_BYTES // 20_000
_MOST_SETTINGS: Final = 8
_READERS: Final = 16
_SIDECARS: Final = b"sidecars"
_sidecars = msgspec.json.Decoder(list[Sidecar])

T = TypeVar("T")
R = TypeVar("R")


class _Identity(NamedTuple):
    """A state of a file: size in bytes, time in nanoseconds since 1970."""

    uri: str
    size: int
    mtime: int


@dataclass(frozen=True, slots=True, eq=False)
class LogFile:
    """What a file of a log says about data files.

    - `added`: see `added_files`.
    - `removed`: keys of removed files; none of a checkpoint.
    - `sidecars`: the further files of a v2 checkpoint.
    """

    added: pa.Table
    removed: pa.Array
    sidecars: tuple[Sidecar, ...] = ()

    @property
    def nbytes(self) -> int:
        return int(self.added.nbytes + self.removed.nbytes)


class LogFiles:
    """The files of logs. Thread-safe."""

    def __init__(self) -> None:
        self._kept = Recent[LogFile](_MOST_BYTES, lambda file: max(file.nbytes, _LEAST_BYTES))
        self._reading = [threading.Lock() for _ in range(_READERS)]
        self._systems = Recent[FileSystems](_MOST_SETTINGS)

    def read(
        self,
        snapshot: DeltaSnapshot,
        columns: TableColumns,
        storage: Mapping[str, str],
        cache_directory: str | None,
    ) -> tuple[LogFile, ...]:
        """Return the files of a log in their order: those of the checkpoint, then the commits.

        Raises:
            SnapshotUnreadable: One is missing, damaged, or has another layout.
        """
        # A file is not read twice by queries at the same time.
        with self._reading[hash(snapshot.root) % _READERS]:
            systems = self._file_systems(storage)
            reader = _Reader(self, snapshot.root, columns, systems, cache_directory)
            return reader.read(snapshot)

    def _file_systems(self, storage: Mapping[str, str]) -> FileSystems:
        """Return file systems with these settings, which keep their connections."""
        return self._systems.get_or(frozenset(storage.items()), lambda: FileSystems(dict(storage)))

    def get(self, key: tuple[_Identity, str, str]) -> LogFile | None:
        return self._kept.get(key)

    def keep(self, key: tuple[_Identity, str, str], file: LogFile) -> None:
        self._kept.keep(key, file)


class _Reader:
    """Reads the log of one table."""

    def __init__(
        self,
        files: LogFiles,
        root: str,
        columns: TableColumns,
        systems: FileSystems,
        cache_directory: str | None,
    ) -> None:
        self._files = files
        self._root = root
        self._columns = columns
        self._systems = systems
        self._cache_directory = cache_directory
        self._decoder: StatisticsDecoder | None = None

    def read(self, snapshot: DeltaSnapshot) -> tuple[LogFile, ...]:
        checkpoint = self._identities(snapshot.checkpoint)
        commits = self._identities(snapshot.commits)
        parts = []
        for identity in checkpoint:
            part = self._checkpoint_file(identity, checkpoint)
            sidecars = [_sidecar(identity.uri, each) for each in part.sidecars]
            parts += [part, *(self._checkpoint_file(each, checkpoint) for each in sidecars)]
        return (*parts, *self._commits(commits))

    def _identities(self, uris: Sequence[str]) -> list[_Identity]:
        def find(uri: str) -> _Identity:
            try:
                system, path = self._systems.locate(uri)
                info = system.get_file_info(path)
            except Exception as problem:  # whatever a storage raises
                raise unreadable(uri, problem) from problem
            if info.type != pafs.FileType.File:
                raise unreadable(uri, "it does not exist")
            return _Identity(uri, info.size or 0, info.mtime_ns or 0)

        return _in_threads(find, uris)

    def _commits(self, identities: Sequence[_Identity]) -> list[LogFile]:
        found: dict[_Identity, LogFile] = {}
        missing = []
        for identity in identities:
            kept = self._files.get(self._key(identity))
            if kept is None:
                missing.append(identity)
            else:
                found[identity] = kept
        contents = _in_threads(self._content, missing)
        actions = [
            read_actions(content, identity.uri, self._root)
            for identity, content in zip(missing, contents, strict=True)
        ]
        # one table, because each table takes a millisecond or more
        whole = self._table([joined([each.added for each in actions])])
        start = 0
        for identity, each in zip(missing, actions, strict=True):
            table = whole.slice(start, len(each.added.keys))
            start += table.num_rows
            found[identity] = LogFile(table, each.removed)
            self._files.keep(self._key(identity), found[identity])
        return [found[each] for each in identities]

    def _checkpoint_file(self, identity: _Identity, checkpoint: Sequence[_Identity]) -> LogFile:
        """Return a file of a checkpoint, which is in memory, in the local cache, or is read."""
        kept = self._files.get(self._key(identity))
        if kept is not None:
            return kept
        try:
            file = self._read_checkpoint(identity, checkpoint)
        except SnapshotUnreadable:
            raise
        except Exception as problem:  # whatever a storage or a damaged file raises
            raise unreadable(identity.uri, problem) from problem
        self._files.keep(self._key(identity), file)
        return file

    def _read_checkpoint(self, identity: _Identity, checkpoint: Sequence[_Identity]) -> LogFile:
        if identity.uri.endswith(".json"):
            return self._json_checkpoint(identity)
        made: list[pa.Table] = []

        def make() -> pa.Table:
            made.append(self._parquet(identity))
            return made[0]

        generation = _digest(_FORMAT, self._columns.digest, *map(repr, checkpoint))
        cache = LocalCache.of(f"delta {self._root}", generation, self._cache_directory)
        table = cache.table(_digest(repr(identity)), make)
        if not made and not self._is_sound(table):
            table = make()
        if made:
            release_unused_memory()
        sidecars = _sidecars.decode(table.schema.metadata[_SIDECARS])
        return LogFile(table, pa.array([], pa.binary()), tuple(sidecars))

    def _parquet(self, identity: _Identity) -> pa.Table:
        """Return the table of a Parquet file, whose metadata names its sidecars."""
        system, path = self._systems.locate(identity.uri)
        with system.open_input_file(path) as source:
            file = CheckpointFile(source, identity.uri, self._root)
            table = self._table(file.added())
            sidecars = msgspec.json.encode(file.sidecars())
        return table.replace_schema_metadata({_SIDECARS: sidecars})

    def _is_sound(self, table: pa.Table) -> bool:
        """Return whether a table of the local cache is one of these columns, and undamaged."""
        try:
            table.validate(full=True)
            known = {"key", "records", "deleted", "is_tight"}
            _sidecars.decode(table.schema.metadata[_SIDECARS])
            return known <= set(table.column_names) and all(
                each.type == column_type(each.name, self._columns) for each in table.schema
            )
        except (pa.ArrowException, ValueError, IndexError, KeyError, TypeError):
            return False

    def _json_checkpoint(self, identity: _Identity) -> LogFile:
        actions = read_actions(self._content(identity), identity.uri, self._root)
        # its removed files are tombstones: see CheckpointFile
        no_keys = pa.array([], pa.binary())
        return LogFile(self._table([actions.added]), no_keys, actions.sidecars)

    def _table(self, added: Iterable[AddedFiles]) -> pa.Table:
        if self._decoder is None:
            self._decoder = StatisticsDecoder(self._columns)
        parts = [statistics_table(each, self._columns, self._decoder) for each in added]
        if not parts:
            parts = [statistics_table(joined([]), self._columns, self._decoder)]
        return pa.concat_tables(parts, promote_options="default")

    def _content(self, identity: _Identity) -> bytes:
        try:
            system, path = self._systems.locate(identity.uri)
            with system.open_input_stream(path, compression=None) as source:
                content: bytes = source.read()
        except Exception as problem:  # whatever a storage raises
            raise unreadable(identity.uri, problem) from problem
        if len(content) != identity.size:
            raise unreadable(identity.uri, "it changed while it was read")
        return content

    def _key(self, identity: _Identity) -> tuple[_Identity, str, str]:
        return identity, self._root, self._columns.digest


def _in_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    if len(items) <= 1:
        return [function(each) for each in items]
    with ThreadPoolExecutor(min(_READERS, len(items))) as pool:
        return list(pool.map(function, items))


def _sidecar(checkpoint: str, sidecar: Sidecar) -> _Identity:
    """Return where a sidecar is: in the folder `_sidecars` beside the checkpoint, or at a URI."""
    uri = sidecar.path
    if ":" not in uri:
        if "/" in uri:
            raise unreadable(checkpoint, f"it refers to the sidecar {uri} in another folder")
        uri = f"{checkpoint.rpartition('/')[0]}/_sidecars/{uri}"
    return _Identity(uri, sidecar.size_in_bytes, sidecar.modification_time)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]
