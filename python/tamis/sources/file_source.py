"""What a source of files is: a directory, a Delta table, an Iceberg table.

A listing is complete: with it, the rows of the table at one version can be read, whatever happens
to the table meanwhile, as long as its files exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs

from tamis.expr.nodes import Expr
from tamis.indexing.read.freshness import OLDEST
from tamis.sources.errors import SourceError
from tamis.sources.fields import Field
from tamis.sources.partitions import Partitions

__all__ = ["DataFile", "DeletedRows", "FileSource", "Listing", "Moment", "RuledOut", "Storage"]

#: Returns the places of deleted rows of a file, in ascending order.
DeletedRows: TypeAlias = Callable[[], npt.NDArray[np.int64]]
#: Returns for each file whether it has no row for which a predicate is true, without opening it.
RuledOut: TypeAlias = Callable[[Expr], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table.

    - `path`: the path below the root, with `/`. A file outside of the root has its path in the file
      system, with `/` in front.
    - `size`: bytes.
    - `mtime_ns`: the modification time in nanoseconds since 1970; None if the format promises that
      files do not change.
    """

    path: str
    size: int
    mtime_ns: int | None

    @property
    def has_time(self) -> bool:
        """Whether another file of the same path and size would have another time."""
        return self.mtime_ns is None or self.mtime_ns // 1_000_000 >= OLDEST

    @property
    def directory(self) -> str:
        """The directory below the root; empty for the root itself."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """Where the files of a table are.

    - `file_system`: the file system.
    - `root`: the directory of the table, as a path of the file system.
    """

    file_system: pafs.FileSystem
    root: str

    def path_of(self, file: DataFile) -> str:
        """Return the path of a file in the file system.

        >>> store = Storage(pafs.LocalFileSystem(), "/data/t")
        >>> [store.path_of(DataFile(path, 0, 0)) for path in ("p=1/a", "/other/b")]
        ['/data/t/p=1/a', '/other/b']
        """
        if not file.path.startswith("/"):
            return f"{self.root}/{file.path}"
        # object stores have bucket/key
        return file.path if self.root.startswith("/") else file.path[1:]

    def name_of(self, path: str) -> str:
        """Return how a `DataFile` names a path of the file system.

        >>> Storage(pafs.LocalFileSystem(), "/data/t").name_of("/data/t/p=1/a")
        'p=1/a'
        """
        inside = path.removeprefix(f"{self.root}/")
        return inside if inside != path and not inside.startswith("/") else "/" + path.lstrip("/")


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The files of a table at one time.

    - `storage`: where the files are.
    - `files`: the files.
    - `partitions`: columns whose values replace those of the files.
    - `columns`: the columns of the table; None: those of its files.
    - `absent`: values of columns that a file may lack, by column, one per group of `partitions`.
      Other columns that a file lacks are NULL.
    - `deleted`: the deleted rows of files that have some, by path.
    - `ruled_out`: what the metadata of the table proves about its files; None: nothing.
    - `version`: by which the source finds the same files again; empty if it cannot.
    - `state`: differs if anything about the listing does, as far as the source knows.
    """

    storage: Storage
    files: tuple[DataFile, ...]
    partitions: Partitions
    columns: tuple[Field, ...] | None = None
    absent: Mapping[str, pa.Array] = field(default_factory=dict)
    deleted: Mapping[str, DeletedRows] = field(default_factory=dict)
    ruled_out: RuledOut | None = None
    version: str = ""
    state: object = None


@dataclass(frozen=True, slots=True)
class Moment:
    """A time to travel to.

    - `unit`: VERSION or TIMESTAMP.
    - `value`: a number; or a date, or a date and a time in ISO 8601, by default in UTC.
    """

    unit: str
    value: str


class FileSource(ABC):
    """A table whose files can be listed. Methods raise SourceError if the table cannot be read.

    - `directory_uri`: the URI of a directory that may have a statistics index.
    """

    directory_uri: str | None = None

    @abstractmethod
    def listing(self) -> Listing:
        """Return the files of the table now."""

    def listing_of(self, version: str) -> Listing:
        """Return the files that the table had at a version, as `Listing.version` names it."""
        raise self.no_versions()

    def version_at(self, moment: Moment) -> str:
        """Return the version of the table at a time."""
        raise self.no_versions()

    @abstractmethod
    def no_versions(self) -> SourceError:
        """Return the error for a table that cannot be read at an earlier version."""
