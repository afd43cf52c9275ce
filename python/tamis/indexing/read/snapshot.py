"""The listing of a table, which the JVM writes and Python maps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PARTITION = "partition."


def canonical(uri: str) -> str:
    """Return the spelling without an empty authority: Spark writes `file:/t` and `file:///t`."""
    scheme, separator, rest = uri.partition(":///")
    return f"{scheme}:/{rest}" if separator and "/" not in scheme else uri


@dataclass(frozen=True, slots=True, eq=False)
class FileKeys:
    """The keys that identify data files, one row per file.

    A file that was rewritten differs in size or mtime.

    Attributes:
        directories: URIs of directories, URL-encoded, without a trailing slash.
        group: The index into `directories`, int32.
        name: The last part of the path, URL-encoded.
        size: Size in bytes.
        mtime: Modification time in milliseconds since 1970.
    """

    directories: tuple[str, ...]
    group: pa.ChunkedArray
    name: pa.ChunkedArray
    size: pa.ChunkedArray
    mtime: pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.name)

    def take(self, ordinals: npt.NDArray[np.int64]) -> FileKeys:
        """Return the keys of the files at these ordinals; without a copy if these are all files."""
        if len(ordinals) == len(self) and np.array_equal(ordinals, np.arange(len(self))):
            return self
        chosen = pa.array(ordinals)
        return FileKeys(
            self.directories,
            self.group.take(chosen),
            self.name.take(chosen),
            self.size.take(chosen),
            self.mtime.take(chosen),
        )

    def uris(self) -> list[str]:
        """The URL-encoded URI of every file."""
        groups = self.group.to_pylist()
        names = self.name.to_pylist()
        return [
            f"{self.directories[group]}/{name}" for group, name in zip(groups, names, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A listing: its files in order, and the partition values of every directory."""

    files: FileKeys
    partitions: dict[str, pa.Array]  # by partition column: one value per directory; null is NULL

    @property
    def group(self) -> npt.NDArray[np.int32]:
        group: npt.NDArray[np.int32] = self.files.group.to_numpy()
        return group


def open_snapshot(directory: str, fingerprint: str) -> Snapshot:
    """Memory-map the two files of a snapshot.

    Raises:
        OSError, ValueError: A file is missing or damaged. Subclasses of pyarrow are raised as well.
    """
    files = mapped(snapshot_path(directory, fingerprint, "files"))
    groups = mapped(snapshot_path(directory, fingerprint, "groups"))
    return Snapshot(
        FileKeys(
            tuple(groups.column("directory").to_pylist()),
            files.column("group"),
            files.column("name"),
            files.column("size"),
            files.column("mtime"),
        ),
        {
            name[len(PARTITION) :]: groups.column(name).combine_chunks()
            for name in groups.column_names
            if name.startswith(PARTITION)
        },
    )


def snapshot_path(directory: str, fingerprint: str, part: str) -> Path:
    """Return the path at which the JVM writes `part` ("files" or "groups") of a snapshot."""
    return Path(directory, f"{fingerprint}.{part}.arrow")


def mapped(path: Path) -> pa.Table:
    """Memory-map an Arrow IPC file: it takes no memory, and stays readable if it is removed."""
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()
