"""The data files of a directory, as Spark lists them.

Spark ignores names that begin with `_` or `.`, and files that are being copied, at every level
(`HadoopFSUtils.shouldFilterOutPathName`, 4.0 to 4.3). A name with `=` is that of a partition.
Whatever else does not belong to a table of Parquet files is an error, because leaving it out could
lose rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow.fs as pafs

from tamis.sources.errors import SourceError
from tamis.sources.file_source import DataFile, FileSource, Listing, Storage
from tamis.sources.partitions import partitions_of

__all__ = ["DirectorySource", "list_files"]

#: Folders that only tables of other formats have.
_FORMATS: Final = {
    "_delta_log": "a Delta table",
    "metadata": "an Iceberg table",
    ".hoodie": "a Hudi table",
}


class DirectorySource(FileSource):
    """A directory of Parquet files, which may be Hive partitions.

    Args:
        storage: The directory.
        uri: Its URI.
        table: The table as the user has named it, for errors.
    """

    def __init__(self, storage: Storage, uri: str, table: str) -> None:
        self.directory_uri = uri
        self._storage = storage
        self._table = table

    def listing(self) -> Listing:
        files = list_files(self._storage, self._table)
        partitions = partitions_of([each.directory for each in files], self._table)
        return Listing(self._storage, files, partitions, state=files)

    def no_versions(self) -> SourceError:
        return SourceError(f"{self._table} is a directory of files, which has no earlier versions")


def list_files(storage: Storage, table: str) -> tuple[DataFile, ...]:
    """Return the data files of a table, ordered by path.

    Args:
        storage: The directory.
        table: The table as the user has named it, for errors.

    Raises:
        SourceError: The directory cannot be listed, or is not a table of Parquet files.
    """
    file_system, root = storage.file_system, storage.root
    try:
        top = file_system.get_file_info(root)
        if top.type == pafs.FileType.NotFound:
            raise SourceError(f"{table} does not exist: pass the path of an existing table")
        if top.type != pafs.FileType.Directory:
            raise SourceError(f"{table} is not a directory: pass the directory of the files")
        entries = file_system.get_file_info(pafs.FileSelector(root, recursive=True))
    except OSError as problem:
        raise SourceError(f"{table} cannot be listed ({problem})") from problem
    return tuple(sorted(_data_files(entries, root, table), key=lambda file: file.path))


def _data_files(entries: list[pafs.FileInfo], root: str, table: str) -> Iterator[DataFile]:
    prefix = root.rstrip("/") + "/"
    for entry in entries:
        path = entry.path.removeprefix(prefix)
        parts = path.split("/")
        is_directory = entry.type == pafs.FileType.Directory
        other = _FORMATS.get(parts[0]) if is_directory or len(parts) > 1 else None
        if other is not None:
            raise SourceError(
                f"{table} is {other} (it has {parts[0]}), which cannot be read as a directory of "
                "Parquet files"
            )
        if is_directory or any(_is_hidden(part) for part in parts):
            continue
        if entry.type != pafs.FileType.File:
            raise SourceError(f"{table}: {path} is neither a file nor a directory: remove it")
        outside = next((part for part in parts[:-1] if "=" not in part), None)
        if outside is not None:
            raise SourceError(
                f"{table}: {path} lies in the directory {outside}, which is not a partition "
                "(name=value): publish that directory as a table of its own"
            )
        yield DataFile(path, entry.size, entry.mtime_ns or 0)


def _is_hidden(name: str) -> bool:
    """Return whether Spark ignores a file or directory with this name.

    >>> [_is_hidden(name) for name in ("_SUCCESS", ".a.crc", "_p=1", "a._COPYING_", "a.parquet")]
    [True, True, False, True, False]
    """
    return (
        (name.startswith("_") and "=" not in name)
        or name.startswith(".")
        or name.endswith("._COPYING_")
    )
