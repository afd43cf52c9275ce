"""The files of a Delta table, from its log. The package `deltalake` reads the log.

What PROTOCOL.md of Delta says is kept here:

- Paths are relative to the table, or URIs; both are percent-encoded.
- Partition values come from the log, also if a file has the column. Empty text is NULL.
- With column mapping, files name a column by its id or by its physical name.
- Rows of a deletion vector are not rows of the table.

A table with another reader feature is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from tamis.indexing.storage import split_uri
from tamis.sources.errors import SourceError
from tamis.sources.fields import Field
from tamis.sources.file_source import DataFile, DeletedRows, FileSource, Listing, Moment, Storage
from tamis.sources.libraries import library
from tamis.sources.partitions import Partitions

__all__ = ["DeltaSource"]

_READ: Final = frozenset(
    (
        *("columnMapping", "deletionVectors", "timestampNtz", "typeWidening"),
        *("typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck"),
    )
)
_GREATEST_READER: Final = 3
_TYPES: Final = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


class DeltaSource(FileSource):
    """A Delta table.

    Args:
        storage: The directory of the table.
        location: The directory as deltalake opens it.
        table: The table as the user has named it, for errors.
    """

    def __init__(self, storage: Storage, location: str, table: str) -> None:
        self._storage = storage
        self._location = location
        self._table = table

    def listing(self) -> Listing:
        return self._listing(self._open())

    def listing_of(self, version: str) -> Listing:
        table, number = self._open(), _number(version, self._table)
        if number > table.version():  # deltalake 1.6 looks for later versions one by one
            raise SourceError(
                f"{self._table} has no version {number}: the last is {table.version()}"
            )
        try:
            table.load_as_version(number)
        except Exception as problem:
            raise self._unreadable(problem) from problem
        return self._listing(table)

    def version_at(self, moment: Moment) -> str:
        if moment.unit == "VERSION":
            return str(_number(moment.value, self._table))
        table, time = self._open(), _time(moment, self._table)
        try:
            commits = table.history()
            table.load_as_version(time)
        except Exception as problem:
            raise self._unreadable(problem) from problem
        # The log has the times of writers, and deltalake compares those of its files, which differ
        # if a table was copied. deltalake returns the first version for earlier times.
        until = [
            int(each["version"])
            for each in commits
            if each.get("timestamp") is not None and each["timestamp"] <= time.timestamp() * 1000
        ]
        if not until or max(until) != table.version():
            raise SourceError(
                f"{self._table}: its log does not show with certainty which version was current at "
                f"{moment.value}: pass a VERSION"
            )
        return str(table.version())

    def no_versions(self) -> SourceError:
        return SourceError(f"{self._table} has no such version")

    def _open(self) -> Any:
        deltalake = library("deltalake", self._table, "a Delta table", "delta")
        if "%" in self._storage.root:
            # deltalake 1.6 decodes the path twice, and would open another directory
            raise SourceError(
                f"{self._table} is a Delta table with % in its path, which deltalake cannot open: "
                "rename the directory"
            )
        try:
            return deltalake.DeltaTable(self._location)
        except Exception as problem:
            raise self._unreadable(problem) from problem

    def _unreadable(self, problem: Exception) -> SourceError:
        text = " ".join(str(problem).split())
        return SourceError(f"{self._table} is a Delta table that cannot be read ({text})")

    def _listing(self, table: Any) -> Listing:
        try:
            self._require_readable(table.protocol())
            mode = table.metadata().configuration.get("delta.columnMapping.mode", "none")
            columns = tuple(_field(each, mode, self._table) for each in table.schema().fields)
            added = pa.table(table.get_add_actions())
            names = list(table.metadata().partition_columns)
            deleted = self._deleted(table)
        except SourceError:
            raise
        except Exception as problem:
            raise self._unreadable(problem) from problem
        files = [
            DataFile(self._name(path), size, None)
            for path, size in zip(
                added.column("path").to_pylist(),
                added.column("size_bytes").to_pylist(),
                strict=True,
            )
        ]
        if set(deleted) - {each.path for each in files}:
            raise SourceError(
                f"{self._table} has a deletion vector for a file that is not in the table"
            )
        order = sorted(range(len(files)), key=lambda place: files[place].path)
        values = _values(added, names, columns, order, self._table)
        partitions = Partitions(len(files), np.arange(len(files), dtype=np.int32), values)
        version = str(table.version())
        return Listing(
            self._storage,
            tuple(files[place] for place in order),
            partitions,
            columns,
            deleted=deleted,
            version=version,
            state=(version, table.metadata().id),
        )

    def _require_readable(self, protocol: Any) -> None:
        unknown = sorted(set(protocol.reader_features or ()) - _READ)
        if unknown:
            raise SourceError(
                f"{self._table} is a Delta table with the reader feature {unknown[0]}, which is "
                "not supported: drop the feature (ALTER TABLE … DROP FEATURE)"
            )
        if protocol.min_reader_version > _GREATEST_READER:
            raise SourceError(
                f"{self._table} is a Delta table that requires the reader version "
                f"{protocol.min_reader_version}, which is not supported"
            )

    def _deleted(self, table: Any) -> Mapping[str, DeletedRows]:
        if "deletionVectors" not in (table.protocol().reader_features or ()):
            return {}
        vectors = pa.table(table.deletion_vectors())
        deleted: dict[str, DeletedRows] = {}
        for uri, kept in zip(vectors["filepath"], vectors["selection_vector"], strict=True):
            # rows after the end of the vector are not deleted
            flags = np.asarray(kept.values.to_numpy(zero_copy_only=False), np.bool_)
            places = np.flatnonzero(~flags).astype(np.int64)
            if len(places):
                deleted[self._name(uri.as_py())] = partial(np.copy, places)
        return deleted

    def _name(self, path: str) -> str:
        """Return how a `DataFile` names a path of the log."""
        if ":" not in path.partition("/")[0]:
            inside = unquote(path)
            return inside if not inside.startswith("/") else self._storage.name_of(inside)
        scheme, authority, inside = split_uri(path)
        own_scheme, own_authority, _ = split_uri(self._location)
        if (_family(scheme), authority) != (_family(own_scheme), own_authority):
            raise SourceError(
                f"{self._table} has the file {path}, which is not in the storage of the table: "
                "publish a table with all of its files in one storage"
            )
        is_path = self._storage.root.startswith("/")
        return self._storage.name_of(inside if is_path else authority + inside)


def _family(scheme: str) -> str:
    return "s3" if scheme in ("s3", "s3a", "s3n") else scheme


def _field(field: Any, mode: str, table: str, path: str = "") -> Field:
    """Return a column with its children."""
    where = f"{path}.{field.name}" if path else field.name
    data_type, children = _typed(field.type, mode, table, where)
    if mode == "none":
        return Field(field.name, data_type, field.name, children=children)
    metadata = field.metadata or {}
    physical = metadata.get("delta.columnMapping.physicalName")
    number = metadata.get("delta.columnMapping.id")
    if mode not in ("name", "id") or physical is None or number is None:
        raise SourceError(f"{table}: the column {where} lacks its column mapping (mode {mode})")
    by_id = int(number) if mode == "id" else None
    return Field(field.name, data_type, physical, by_id, exact=True, children=children)


def _typed(data_type: Any, mode: str, table: str, where: str) -> tuple[Any, tuple[Field, ...]]:
    """Return the pyarrow type of a type of Delta, and what is inside of it."""
    kind = json.loads(data_type.to_json())
    name = kind if isinstance(kind, str) else kind.get("type")
    if name == "struct":
        fields = tuple(_field(each, mode, table, where) for each in data_type.fields)
        _require_distinct(fields, table, f"the struct {where}")
        return pa.struct([pa.field(each.name, each.type) for each in fields]), fields
    if name == "array":
        inner, below = _typed(data_type.element_type, mode, table, f"{where}.element")
        return pa.list_(inner), (Field("element", inner, "element", children=below),)
    if name == "map":
        key, key_fields = _typed(data_type.key_type, mode, table, f"{where}.key")
        value, value_fields = _typed(data_type.value_type, mode, table, f"{where}.value")
        inner_fields = (
            Field("key", key, "key", children=key_fields),
            Field("value", value, "value", children=value_fields),
        )
        return pa.map_(key, value), inner_fields
    if isinstance(name, str) and name.startswith("decimal("):
        precision, scale = name[len("decimal(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale)), ()
    if name not in _TYPES:
        raise SourceError(
            f"{table}: the column {where} has the type {name}, which is not supported"
        )
    return _TYPES[name], ()


def _require_distinct(fields: Sequence[Field], table: str, what: str) -> None:
    if len({each.name.lower() for each in fields}) < len(fields):
        raise SourceError(f"{table}: {what} has names that differ in case only")


def _values(
    added: pa.Table,
    names: Sequence[str],
    columns: Sequence[Field],
    order: Sequence[int],
    table: str,
) -> dict[str, pa.Array]:
    """Return the partition values of the files, in an order."""
    types = {each.name: each.type for each in columns}
    if not names:
        return {}
    if "partition" not in added.schema.names:
        raise SourceError(f"{table} is a Delta table whose partition values are not known")
    partition = added.column("partition").combine_chunks()
    chosen = pa.array(order, pa.int64())
    known = {each.name for each in partition.type}
    missing = [name for name in names if name not in known or name not in types]
    if missing:
        raise SourceError(f"{table}: the values of the partition column {missing[0]} are not known")
    flat = dict(zip((each.name for each in partition.type), partition.flatten(), strict=True))
    return {name: flat[name].cast(types[name]).take(chosen) for name in names}


def _number(text: str, table: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise SourceError(f"{table} has no version {text[:40]!r}: versions are numbers from 0 on")
    return int(text)


def _time(moment: Moment, table: str) -> datetime:
    try:
        time = datetime.fromisoformat(moment.value)
    except ValueError as problem:
        raise SourceError(
            f"{table}: {moment.value[:40]!r} is not a date, or a date and a time"
        ) from problem
    return time if time.tzinfo else time.replace(tzinfo=UTC)
