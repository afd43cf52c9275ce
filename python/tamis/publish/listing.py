"""The data files of a directory, as Spark lists them.

Spark ignores names that begin with `_` or `.`, and files that are being copied, at every level
(`HadoopFSUtils.shouldFilterOutPathName`, 4.0 to 4.3). A name with `=` is that of a partition.
Whatever else does not belong to a table of Parquet files is an error, because leaving it out could
lose rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow.fs as pafs

from tamis.publish.errors import PublishError

__all__ = ["DataFile", "list_files"]

#: Folders that only tables of other formats have.
_FORMATS: Final = {
    "_delta_log": "a Delta table",
    "metadata": "an Iceberg table",
    ".hoodie": "a Hudi table",
}


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table.

    - `path`: the path below the root, with `/`.
    - `size`: bytes.
    - `mtime_ns`: the modification time in nanoseconds since 1970.
    """

    path: str
    size: int
    mtime_ns: int

    @property
    def directory(self) -> str:
        """The directory below the root; empty for the root itself."""
        return self.path.rpartition("/")[0]


def list_files(file_system: pafs.FileSystem, root: str, table: str) -> tuple[DataFile, ...]:
    """Return the data files of a table, ordered by path.

    Args:
        file_system: The file system.
        root: The directory, as a path of the file system.
        table: The table as the user has named it, for errors.

    Raises:
        PublishError: The directory cannot be listed, or is not a table of Parquet files.
    """
    try:
        top = file_system.get_file_info(root)
        if top.type == pafs.FileType.NotFound:
            raise PublishError(f"{table} does not exist")
        if top.type != pafs.FileType.Directory:
            raise PublishError(f"{table} is not a directory: pass the directory of the files")
        entries = file_system.get_file_info(pafs.FileSelector(root, recursive=True))
    except OSError as problem:
        raise PublishError(f"{table} cannot be listed ({problem})") from problem
    return tuple(sorted(_data_files(entries, root, table), key=lambda file: file.path))


def _data_files(entries: list[pafs.FileInfo], root: str, table: str) -> Iterator[DataFile]:
    prefix = root.rstrip("/") + "/"
    for entry in entries:
        path = entry.path.removeprefix(prefix)
        parts = path.split("/")
        is_directory = entry.type == pafs.FileType.Directory
        other = _FORMATS.get(parts[0]) if is_directory or len(parts) > 1 else None
        if other is not None:
            raise PublishError(f"{table} is {other} (it has {parts[0]}), which is not supported")
        if is_directory or any(_is_hidden(part) for part in parts):
            continue
        if entry.type != pafs.FileType.File:
            raise PublishError(f"{table}: {path} is not a file that can be read")
        outside = next((part for part in parts[:-1] if "=" not in part), None)
        if outside is not None:
            raise PublishError(
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
