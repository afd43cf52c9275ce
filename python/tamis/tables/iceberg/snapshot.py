"""Open a snapshot of an Iceberg table: its data files and what its manifests say about them."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
from msgspec import structs

from tamis.errors import WireError
from tamis.expr.nodes import Expr
from tamis.indexing.storage import FileSystems, Settings, StorageUnreachableError
from tamis.recent import Recent
from tamis.tables.iceberg.entries import Entries
from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode
from tamis.tables.iceberg.formats import ManifestDecoder, decoder
from tamis.tables.iceberg.listing import IcebergFiles, list_files
from tamis.tables.iceberg.locations import hadoop_uri
from tamis.tables.iceberg.manifest import Manifest, ManifestFile
from tamis.tables.iceberg.manifest_cache import cached_manifest
from tamis.tables.iceberg.manifest_choice import choose
from tamis.tables.iceberg.schema import columns_of_schema, parse_specs
from tamis.tables.iceberg.summaries import matching_manifests
from tamis.wire.file_sets import Kept
from tamis.wire.iceberg import IcebergSnapshot
from tamis.wire.kept import decode_kept, encode_kept

__all__ = ["ChosenManifests", "IcebergSnapshots", "choose_manifests", "open_snapshot"]

T = TypeVar("T", bound=Sized)

_MAX_SNAPSHOTS: Final = 16
_MAX_LISTS: Final = 64
# Manifests in memory, for snapshots that share them.
_MAX_MANIFESTS: Final = 1000
# Files of all snapshots, or of all manifests. With 16 columns, one takes about 1 KB, which is
# mapped if there is a cache.
_MAX_FILES: Final = 1_000_000
_THREADS: Final = 8
# More threads than cores may wait for storage, but would only disturb each other when decoding.
_DECODING: Final = threading.BoundedSemaphore(os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class ChosenManifests:
    """The manifests of a snapshot that a query needs.

    Attributes:
        snapshot: The snapshot with these manifests, for `open_snapshot`.
        known: The place of the known set that serves, None if there is none.
    """

    snapshot: IcebergSnapshot
    known: int | None


class IcebergSnapshots:
    """The snapshots, manifest lists and manifests that are open in this process. Thread-safe."""

    def __init__(self) -> None:
        self._lists = _recent(tuple[ManifestFile, ...], _MAX_LISTS)
        self._manifests = _recent(Manifest, _MAX_MANIFESTS)
        self._snapshots = _recent(IcebergFiles, _MAX_SNAPSHOTS)

    def choose(
        self,
        descriptor: IcebergSnapshot,
        storage: Settings,
        conjuncts: Sequence[Expr],
        among: Collection[str] | None = None,
        known: Sequence[Kept] = (),
    ) -> ChosenManifests:
        """Choose the manifests of a snapshot that a query needs; see `choose_manifests`."""
        with _as_unreadable(descriptor):
            return self._choose(descriptor, storage, conjuncts, among, known)

    def _choose(
        self,
        descriptor: IcebergSnapshot,
        storage: Settings,
        conjuncts: Sequence[Expr],
        among: Collection[str] | None,
        known: Sequence[Kept],
    ) -> ChosenManifests:
        if not conjuncts and among is None:
            return ChosenManifests(structs.replace(descriptor, manifests=None), None)
        reader = _Reader(decoder(descriptor.format_version), storage)
        data = _of_data(self._manifest_list(descriptor, _hashable(storage), reader))
        needed = matching_manifests(
            data,
            {each.path: each for each in columns_of_schema(descriptor.schema)},
            parse_specs(descriptor.specs),
            descriptor.format_version,
            conjuncts,
        )
        if among is not None:
            needed &= np.isin([each.location for each in data], list(among))
        sets = [decode_kept(each, len(data)) for each in known]
        choice = choose([each.live_files for each in data], needed, sets)
        manifests = None if choice.manifests is None else encode_kept(choice.manifests)
        return ChosenManifests(structs.replace(descriptor, manifests=manifests), choice.known)

    def open(
        self, descriptor: IcebergSnapshot, storage: Settings, cache_directory: str | None
    ) -> IcebergFiles:
        """Open a snapshot; see `open_snapshot`."""
        with _as_unreadable(descriptor):
            return self._open(descriptor, storage, cache_directory)

    def _open(
        self, descriptor: IcebergSnapshot, storage: Settings, cache_directory: str | None
    ) -> IcebergFiles:
        formats = decoder(descriptor.format_version)
        specs = parse_specs(descriptor.specs)
        columns = columns_of_schema(descriptor.schema)
        settings = _hashable(storage)
        reader = _Reader(formats, storage)
        listed = self._manifest_list(descriptor, settings, reader)
        data = _of_data(listed)
        read = [each for each in _chosen(data, descriptor.manifests) if each.live_files != 0]
        # All of them: which data files a delete applies to is known only from its entry.
        deletes = [each for each in listed if each.has_deletes and each.live_files != 0]
        key = (
            descriptor.manifest_list,
            settings,
            descriptor.format_version,
            descriptor.schema,
            tuple(descriptor.specs),
            tuple(each.location for each in read),
        )

        def make() -> IcebergFiles:
            manifests = self._read([*read, *deletes], reader, cache_directory)
            return list_files(
                Entries(list(zip(read, manifests, strict=False))),
                Entries(list(zip(deletes, manifests[len(read) :], strict=True))),
                columns,
                specs,
                descriptor.format_version,
                data,
            )

        return self._snapshots.get_or(key, make)

    def _manifest_list(
        self, descriptor: IcebergSnapshot, settings: Hashable, reader: _Reader
    ) -> tuple[ManifestFile, ...]:
        location = descriptor.manifest_list
        if location is None:
            if descriptor.snapshot_id is None:
                return ()
            raise SnapshotUnreadable(
                UnreadableCode.NO_MANIFEST_LIST,
                f"the snapshot {descriptor.snapshot_id} has no manifest list: rewrite the "
                "manifests (rewrite_manifests)",
            )

        def make() -> tuple[ManifestFile, ...]:
            return reader.manifest_list(location)

        listed = self._lists.get_or((location, settings), make)
        encrypted = next((each.location for each in listed if each.is_encrypted), None)
        if encrypted is not None:
            raise SnapshotUnreadable(
                UnreadableCode.ENCRYPTED, f"the manifest {encrypted} is encrypted"
            )
        return listed

    def _read(
        self, entries: Sequence[ManifestFile], reader: _Reader, cache_directory: str | None
    ) -> list[Manifest]:
        def one(entry: ManifestFile) -> Manifest:
            def make() -> Manifest:
                return cached_manifest(
                    entry.location,
                    entry.length,
                    cache_directory,
                    lambda: reader.manifest(entry.location),
                )

            key = (entry.location, entry.length)
            return self._manifests.get_or(key, make)

        if len(entries) <= 1:
            return [one(each) for each in entries]
        with ThreadPoolExecutor(min(_THREADS, len(entries)), "tamis-iceberg") as pool:
            return list(pool.map(one, entries))


def _recent(of: type[T], most: int) -> Recent[T]:
    """Return a memory for at most so many values, which together list at most `_MAX_FILES`."""
    return Recent[T](_MAX_FILES, lambda value: max(len(value), _MAX_FILES // most))


def _of_data(listed: Sequence[ManifestFile]) -> list[ManifestFile]:
    return [each for each in listed if not each.has_deletes]


def _chosen(data: Sequence[ManifestFile], manifests: Kept | None) -> Iterable[ManifestFile]:
    return data if manifests is None else compress(data, decode_kept(manifests, len(data)))


def _hashable(storage: Settings) -> Hashable:
    return tuple(sorted(storage.items()))


@contextmanager
def _as_unreadable(descriptor: IcebergSnapshot) -> Iterator[None]:
    """Raise SnapshotUnreadable in place of what unexpected metadata raises."""
    try:
        yield
    except (
        pa.ArrowException,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        WireError,
    ) as problem:
        raise SnapshotUnreadable(
            UnreadableCode.METADATA,
            f"the metadata in {descriptor.manifest_list} is not as expected ({problem!r:.300})",
        ) from problem


class _Reader:
    """Reads metadata files from storage."""

    def __init__(self, formats: ManifestDecoder, storage: Settings) -> None:
        self._formats = formats
        self._storages = FileSystems(storage)

    def manifest_list(self, location: str) -> tuple[ManifestFile, ...]:
        return self._formats.manifest_list(self._bytes(location), location)

    def manifest(self, location: str) -> Manifest:
        data = self._bytes(location)
        with _DECODING:
            return self._formats.manifest(data, location)

    def _bytes(self, location: str) -> bytes:
        try:
            file_system, path = self._storages.locate(hadoop_uri(location))
            with file_system.open_input_file(path) as source:
                data: bytes = source.read()
                return data
        except (OSError, pa.ArrowException, StorageUnreachableError) as problem:
            raise SnapshotUnreadable(
                UnreadableCode.STORAGE, f"{location} cannot be read ({problem})"
            ) from problem


_OPEN: Final = IcebergSnapshots()


def choose_manifests(
    descriptor: IcebergSnapshot,
    storage: Settings,
    conjuncts: Sequence[Expr],
    among: Collection[str] | None = None,
    known: Sequence[Kept] = (),
) -> ChosenManifests:
    """Choose the manifests that may have a row for which all conjuncts are true.

    Reads only the manifest list, whose summaries rule out the others.

    Args:
        descriptor: The snapshot.
        storage: The Hadoop settings `fs.*` of the session.
        conjuncts: Predicates over columns, spelled as in the schema of the descriptor.
        among: The locations of manifests to choose from; None: all of them.
        known: Sets of manifests that are listed already, one of which is chosen if it serves.

    Raises:
        SnapshotUnreadable: The manifest list cannot be read here.
    """
    return _OPEN.choose(descriptor, storage, conjuncts, among, known)


def open_snapshot(
    descriptor: IcebergSnapshot, storage: Settings, cache_directory: str | None
) -> IcebergFiles:
    """Open the data files of a snapshot, or of some of its manifests.

    Each manifest is read from storage once, and then from the cache.

    Args:
        descriptor: The snapshot, with the data manifests to read.
        storage: The Hadoop settings `fs.*` of the session.
        cache_directory: The directory of the local cache; None: nothing is kept on disk.

    Returns:
        The files, from the most recent snapshots in memory if possible.

    Raises:
        SnapshotUnreadable: The snapshot cannot be read here.
    """
    return _OPEN.open(descriptor, storage, cache_directory)
