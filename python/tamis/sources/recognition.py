"""Which kind of table a path is.

    /data/orders                          a directory of Parquet files
    /data/orders with _delta_log/         a Delta table
    /data/orders with metadata/v3.meta…   an Iceberg table without a catalog
    …/metadata/00003-….metadata.json      an Iceberg table as this file describes it
    iceberg:catalog.namespace.table       an Iceberg table of a catalog of pyiceberg

Only the catalog of an Iceberg table knows which metadata file is the current one: a file may be
that of a commit that has failed. Without a catalog, writers rename the file of a commit to the next
number, so the greatest number is current (Iceberg's specification, "File System Tables").
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import pyarrow.fs as pafs

from tamis.indexing.storage import StorageUnreachableError, open_file_system, split_uri
from tamis.sources.delta import DeltaSource
from tamis.sources.directory import DirectorySource
from tamis.sources.errors import SourceError
from tamis.sources.file_source import FileSource, Storage
from tamis.sources.iceberg import IcebergSource, catalog_table, metadata_table

__all__ = ["open_source", "quoted", "uri_of"]

#: Characters other than letters and digits that java.net.URI does not escape in a path.
_UNQUOTED: Final = "/-_.~!$&'()*+,;=:@"
_CATALOG: Final = "iceberg:"
_METADATA: Final = ".metadata.json"
_NUMBERED: Final = re.compile(r"v([0-9]{1,9})(\.gz)?\.metadata\.json")
_HINT: Final = "version-hint.text"


def open_source(path: str, table: str) -> FileSource:
    """Return the source of the files of a table.

    Args:
        path: A path of this machine, a URI that pyarrow can open, or a table of a catalog.
        table: The table as the user has named it, for errors.

    Raises:
        SourceError: The storage cannot be reached, or it is not clear which table it is.
    """
    if path.startswith(_CATALOG):
        name = path.removeprefix(_CATALOG)
        return IcebergSource(lambda: catalog_table(name, table), table)
    uri = uri_of(path)
    try:
        file_system, root = open_file_system(uri, {})
    except StorageUnreachableError as problem:
        raise SourceError(
            f"{table} cannot be read ({problem}): check its path and the credentials"
        ) from problem
    storage = Storage(file_system, root.rstrip("/"))
    if path.endswith(_METADATA):
        location = _location(uri, storage.root)
        return IcebergSource(lambda: metadata_table(location, table), table)
    try:
        if _is_directory(storage, "_delta_log"):
            return DeltaSource(storage, _location(uri, storage.root), table)
        if _is_directory(storage, "metadata") and _metadata_names(storage):
            return IcebergSource(
                lambda: metadata_table(_location(uri, _current(storage, table)), table), table
            )
    except OSError as problem:
        raise SourceError(f"{table} cannot be read ({problem})") from problem
    return DirectorySource(storage, uri, table)


def _is_directory(storage: Storage, name: str) -> bool:
    info = storage.file_system.get_file_info(f"{storage.root}/{name}")
    return bool(info.type == pafs.FileType.Directory)


def _metadata_names(storage: Storage) -> list[str]:
    """Return the names of metadata files of Iceberg."""
    entries = storage.file_system.get_file_info(pafs.FileSelector(f"{storage.root}/metadata"))
    names = (each.base_name for each in entries if each.type == pafs.FileType.File)
    return [name for name in names if name.endswith(_METADATA) or name == _HINT]


def _current(storage: Storage, table: str) -> str:
    """Return the path of the current metadata file of a table without a catalog.

    Raises:
        SourceError: It is not known which file is the current one.
    """
    try:
        names = _metadata_names(storage)
    except OSError as problem:
        raise SourceError(f"{table} cannot be listed ({problem})") from problem
    numbered = {int(match[1]): match[0] for name in names if (match := _NUMBERED.fullmatch(name))}
    others = [name for name in names if name != _HINT and not _NUMBERED.fullmatch(name)]
    if others or not numbered:
        newest = f"{storage.root}/metadata/{max(others, default='….metadata.json')}"
        raise SourceError(
            f"{table} is an Iceberg table of a catalog, and only the catalog knows its current "
            f"state: pass iceberg:catalog.namespace.table, or a metadata file such as {newest}"
        )
    return f"{storage.root}/metadata/{numbered[max(numbered)]}"


def _location(uri: str, path: str) -> str:
    """Return a location as libraries open it, for a path of the file system of a URI."""
    scheme, authority, _ = split_uri(uri)
    if scheme == "file":
        return path
    return f"{scheme}://{authority}{path}" if path.startswith("/") else f"{scheme}://{path}"


def uri_of(path: str) -> str:
    """Return the URI of a path as Hadoop writes it. A URI stays as it is.

    >>> uri_of("/data/ü b/t/"), uri_of("s3://bucket/t/")
    ('file:/data/ü%20b/t', 's3://bucket/t')
    """
    if "://" in path:
        return path.rstrip("/")
    path = unquote(path.removeprefix("file:")) if path.startswith("file:") else path
    return "file:" + quoted(os.path.abspath(Path(path).expanduser()))


def quoted(path: str) -> str:
    """Return a path as java.net.URI escapes it."""
    return "".join(c if ord(c) > 127 else quote(c, safe=_UNQUOTED) for c in path)
