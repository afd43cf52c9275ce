"""The files of an Iceberg table, from its metadata. The package `pyiceberg` reads the metadata.

What Iceberg's specification says is kept here:

- Columns are matched by field id. A file without ids is read by the name mapping of the table.
- A file that lacks a column has the partition value, if it is partitioned by the column itself,
  else the initial default, else NULL (Column Projection).
- Rows of position delete files are not rows of the table.

Equality deletes, deletion vectors, encryption and formats other than Parquet are refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tamis.sources.errors import SourceError
from tamis.sources.file_source import DataFile, DeletedRows, FileSource, Listing, Moment, Storage
from tamis.sources.iceberg_fields import absent_values, fields_of_schema, names_by_id
from tamis.sources.iceberg_statistics import ManifestStatistics
from tamis.sources.libraries import library
from tamis.sources.partitions import Partitions

__all__ = ["IcebergSource", "catalog_table", "metadata_table"]

_GREATEST_FORMAT: Final = 3
_EMPTY: Final = "empty"  # the version of a table without a snapshot


def metadata_table(location: str, table: str) -> Any:
    """Return the table that a metadata file describes, as pyiceberg reads it.

    Args:
        location: The location of the file, as Iceberg writes locations.
        table: The table as the user has named it, for errors.

    Raises:
        SourceError: The file cannot be read.
    """
    tables = library("pyiceberg.table", table, "an Iceberg table", "iceberg")
    try:
        return tables.StaticTable.from_metadata(location)
    except Exception as problem:
        raise _unreadable(table, problem) from problem


def catalog_table(name: str, table: str) -> Any:
    """Return a table of a catalog that pyiceberg is configured for, as it is now.

    Args:
        name: The names of the catalog, the namespace and the table, with dots.
        table: The table as the user has named it, for errors.

    Raises:
        SourceError: There is no such catalog or table.
    """
    catalogs = library("pyiceberg.catalog", table, "an Iceberg table", "iceberg")
    catalog, _, inside = name.partition(".")
    if not catalog or not inside:
        raise SourceError(f"{table}: {name} does not have the form catalog.namespace.table")
    try:
        return catalogs.load_catalog(catalog).load_table(inside)
    except Exception as problem:
        raise _unreadable(table, problem) from problem


class IcebergSource(FileSource):
    """An Iceberg table.

    Args:
        load: Returns the table as pyiceberg reads it, in its current state.
        table: The table as the user has named it, for errors.
    """

    def __init__(self, load: Callable[[], Any], table: str) -> None:
        self._load = load
        self._table = table
        self._last: Listing | None = None
        self._keeps_statistics = False

    def keep_statistics(self) -> None:
        """Let listings know what the manifests prove, which takes about 20 KB per file."""
        self._keeps_statistics = True

    def listing(self) -> Listing:
        table, last = self._load(), self._last
        if last is None or last.state != _state(table):
            snapshot = table.metadata.current_snapshot_id
            last = self._listing(table, snapshot, table.metadata.current_schema_id)
            self._last = last
        return last

    def listing_of(self, version: str) -> Listing:
        snapshot, _, rest = version.partition(":")
        schema = rest.partition(":")[0]
        if not (snapshot == _EMPTY or snapshot.isdigit()) or not schema.isdigit():
            raise self.no_versions()
        table, number = self._load(), None if snapshot == _EMPTY else int(snapshot)
        if version != _version(table, number, int(schema)):
            raise self.no_versions()  # the name mapping is another one
        return self._listing(table, number, int(schema))

    def version_at(self, moment: Moment) -> str:
        table = self._load()
        if moment.unit == "VERSION":
            is_number = moment.value.isascii() and moment.value.isdigit()
            snapshot = table.metadata.snapshot_by_id(int(moment.value)) if is_number else None
        else:
            snapshot = table.snapshot_as_of_timestamp(_milliseconds(moment, self._table))
        if snapshot is None:
            raise SourceError(f"{self._table} has no snapshot at {moment.value[:40]}")
        schema = snapshot.schema_id
        if schema is None:
            schema = table.metadata.current_schema_id
        return _version(table, snapshot.snapshot_id, schema)

    def no_versions(self) -> SourceError:
        return SourceError(
            f"{self._table} no longer has the snapshot or the schema with which the query was "
            "planned: run the query again"
        )

    def _listing(self, table: Any, snapshot: int | None, schema_id: int) -> Listing:
        metadata = table.metadata
        if metadata.format_version > _GREATEST_FORMAT:
            raise SourceError(
                f"{self._table} has the Iceberg format version {metadata.format_version}, which is "
                "not supported"
            )
        schema = next((s for s in metadata.schemas if s.schema_id == schema_id), None)
        if schema is None or (snapshot is not None and metadata.snapshot_by_id(snapshot) is None):
            raise self.no_versions()
        try:
            aliases = names_by_id(metadata.name_mapping())
            tasks = [] if snapshot is None else self._tasks(table, snapshot)
        except SourceError:
            raise
        except Exception as problem:
            raise _unreadable(self._table, problem) from problem
        tasks.sort(key=lambda each: str(each.file.file_path))
        columns = fields_of_schema(schema, aliases, self._table)
        entries = [each.file for each in tasks]
        for each in entries:
            _require_readable(each, self._table)
        storages = _Storages(table, self._table)
        paths = [storages.path(each.file_path) for each in entries]
        if len(set(paths)) < len(paths):
            twice = next(each for each in paths if paths.count(each) > 1)
            raise SourceError(
                f"{self._table} has the file {twice} twice, which is not supported: compact the "
                "table (rewrite_data_files)"
            )
        storage = storages.storage
        return Listing(
            storage,
            tuple(
                DataFile(storage.name_of(path), each.file_size_in_bytes, None)
                for path, each in zip(paths, entries, strict=True)
            ),
            Partitions(len(entries), np.arange(len(entries), dtype=np.int32), {}),
            columns,
            absent=absent_values(schema, metadata.specs(), entries, columns, self._table),
            deleted=_deleted(tasks, storages, self._table),
            ruled_out=(
                ManifestStatistics(metadata, entries, columns).ruled_out
                if self._keeps_statistics
                else None
            ),
            version=_version(table, snapshot, schema_id),
            state=_state(table),
        )

    def _tasks(self, table: Any, snapshot: int) -> list[Any]:
        if not _manifest_list(table, snapshot):
            raise SourceError(
                f"{self._table} has a snapshot without a manifest list, which is not supported: "
                "rewrite the manifests (rewrite_manifests)"
            )
        try:
            return list(table.scan(snapshot_id=snapshot).plan_files())
        except (ValueError, NotImplementedError) as problem:
            if "equality delete" not in str(problem):
                raise
            raise SourceError(
                f"{self._table} has equality deletes, which are not supported: compact the table "
                "(rewrite_data_files)"
            ) from problem


def _manifest_list(table: Any, snapshot: int) -> str:
    """Return the location of the manifest list of a snapshot; empty if it has none."""
    return table.metadata.snapshot_by_id(snapshot).manifest_list or ""


def _state(table: Any) -> tuple[str, str]:
    """Return what differs if the table or its storage does.

    The properties of the storage may have credentials that expire.
    """
    return table.metadata_location, repr(sorted(table.io.properties.items()))


def _version(table: Any, snapshot: int | None, schema_id: int) -> str:
    """Return the version of a snapshot with a schema, and with the name mapping of the table."""
    version = f"{_EMPTY if snapshot is None else snapshot}:{schema_id}"
    mapping = table.metadata.properties.get("schema.name-mapping.default")
    return version if not mapping else f"{version}:{sha256(mapping.encode()).hexdigest()[:16]}"


def _unreadable(table: str, problem: Exception) -> SourceError:
    text = " ".join(str(problem).split())[:500]
    return SourceError(f"{table} is an Iceberg table that cannot be read ({text})")


def _milliseconds(moment: Moment, table: str) -> int:
    try:
        time = datetime.fromisoformat(moment.value)
    except ValueError as problem:
        raise SourceError(
            f"{table}: {moment.value[:40]!r} is not a date, or a date and a time"
        ) from problem
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(time.timestamp() * 1000)


def _require_readable(file: Any, table: str) -> None:
    if str(file.file_format.value).upper() != "PARQUET":
        raise SourceError(
            f"{table}: {file.file_path} has the format {file.file_format.value}, which is not "
            "supported: rewrite it as Parquet"
        )
    if file.key_metadata is not None:
        raise SourceError(f"{table}: {file.file_path} is encrypted, which is not supported")


@dataclass(frozen=True, slots=True)
class _Location:
    """A location as Iceberg writes it. Nothing in it is escaped."""

    scheme: str
    authority: str
    path: str

    @staticmethod
    def of(text: str) -> _Location:
        scheme, colon, rest = text.partition(":")
        if not colon or "/" in scheme:
            return _Location("file", "", text)
        if not rest.startswith("//"):
            return _Location(scheme.lower(), "", rest)
        authority, slash, path = rest[2:].partition("/")
        return _Location(scheme.lower(), authority, slash + path)

    @property
    def family(self) -> tuple[str, str]:
        scheme = "s3" if self.scheme in ("s3", "s3a", "s3n") else self.scheme
        return scheme, "" if scheme == "file" else self.authority


class _Storages:
    """Finds the paths of files. All must be in the file system of the table."""

    def __init__(self, table: Any, name: str) -> None:
        self._location = _Location.of(table.metadata.location)
        self._io = table.io
        self._name = name

    @cached_property
    def storage(self) -> Storage:
        """Where the table is."""
        scheme, authority = self._location.family
        file_system: Any
        if scheme == "file":
            file_system = pafs.LocalFileSystem()
        else:
            opener = getattr(self._io, "fs_by_scheme", None)
            if opener is None:
                raise SourceError(
                    f"{self._name} is in {scheme}://{authority}, which pyarrow cannot read"
                )
            file_system = opener(self._location.scheme, authority)
        return Storage(file_system, self._inside(self._location).rstrip("/"))

    def path(self, text: str) -> str:
        """Return the path of a file in the file system.

        Raises:
            SourceError: It is in another file system.
        """
        location = _Location.of(text)
        if location.family != self._location.family:
            raise SourceError(
                f"{self._name} has the file {text}, which is not in the storage of the table: "
                "publish a table with all of its files in one storage"
            )
        return self._inside(location)

    def name(self, text: str) -> str:
        """Return how a `DataFile` names a file."""
        return self.storage.name_of(self.path(text))

    def _inside(self, location: _Location) -> str:
        is_path = location.scheme in ("file", "hdfs", "viewfs")
        return location.path if is_path else location.authority + location.path


def _deleted(tasks: Sequence[Any], storages: _Storages, table: str) -> dict[str, DeletedRows]:
    reader = _PositionDeletes(storages, table)
    deleted: dict[str, DeletedRows] = {}
    for task in tasks:
        if not task.delete_files:
            continue
        for each in task.delete_files:
            _require_position_deletes(each, table)
        deleted[storages.name(task.file.file_path)] = reader.of(
            task.file.file_path, [d.file_path for d in task.delete_files]
        )
    return deleted


def _require_position_deletes(file: Any, table: str) -> None:
    if str(file.file_format.value).upper() == "PUFFIN":
        raise SourceError(
            f"{table} has deletion vectors, which are not supported: compact the table "
            "(rewrite_data_files)"
        )
    _require_readable(file, table)


class _PositionDeletes:
    """Reads position delete files, each once. Thread-safe."""

    def __init__(self, storages: _Storages, table: str) -> None:
        self._storages = storages
        self._table = table
        self._lock = threading.Lock()
        self._read: dict[str, pa.Table] = {}

    def of(self, file: str, delete_files: Collection[str]) -> DeletedRows:
        """Return the deleted rows of a data file."""

        def places() -> npt.NDArray[np.int64]:
            places_by_file = [self._places(each, file) for each in sorted(delete_files)]
            return np.unique(np.concatenate(places_by_file))

        return places

    def _places(self, delete_file: str, file: str) -> npt.NDArray[np.int64]:
        with self._lock:
            if delete_file not in self._read:
                self._read[delete_file] = self._table_of(delete_file)
            content = self._read[delete_file]
        chosen = content.filter(pc.equal(content.column("file_path"), file))
        places: npt.NDArray[np.int64] = chosen.column("pos").to_numpy().astype(np.int64)
        return places

    def _table_of(self, delete_file: str) -> pa.Table:
        path = self._storages.path(delete_file)
        try:
            with self._storages.storage.file_system.open_input_file(path) as source:
                content = pq.ParquetFile(source).read(["file_path", "pos"])
        except (OSError, pa.ArrowException) as problem:
            raise SourceError(
                f"{self._table}: the delete file {delete_file} cannot be read ({problem})"
            ) from problem
        content = content.cast(pa.schema({"file_path": pa.string(), "pos": pa.int64()}))
        if content.column("pos").null_count or content.column("file_path").null_count:
            raise SourceError(f"{self._table}: the delete file {delete_file} contains NULL")
        return content
