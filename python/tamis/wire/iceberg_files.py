"""The messages about the data files of an Iceberg table between the shim and Python."""

from __future__ import annotations

from typing import Any

import msgspec

from tamis.wire.file_sets import Kept
from tamis.wire.iceberg import IcebergSnapshot
from tamis.wire.messages import VERSION, read_versioned

__all__ = ["IcebergFilesAnswer", "IcebergFilesRequest", "read_iceberg_files_request"]


class IcebergFilesRequest(msgspec.Struct, frozen=True):
    """A request to write the data files of a snapshot as an Arrow file to `directory`.

    - `conjuncts`: files may be left out if none of their rows satisfies all of these expression
      documents.
    - `among`: locations of data manifests; files of others may be left out, too. Null: any.
    - `known`: the manifests of listings that the shim has, as in `IcebergSnapshot.manifests`.
    - `storage`: the Hadoop settings `fs.*` of the session. They may contain keys.
    - `patience_ms`: the most milliseconds for which planning waits.
    """

    version: int
    id: str
    directory: str
    snapshot: IcebergSnapshot
    conjuncts: list[Any] = []
    among: list[str] | None = None
    known: list[Kept] = []
    storage: dict[str, str] = {}
    cache_directory: str | None = None
    patience_ms: int = 60_000

    def __repr__(self) -> str:
        return f"IcebergFilesRequest({self.id!r}, {self.snapshot.snapshot_id})"


class IcebergFilesAnswer(msgspec.Struct, frozen=True):
    """The files were written as `<id>.iceberg.arrow`, see serve.iceberg_files.

    - `manifests`: the locations of the data manifests that were read, as Iceberg writes them.
    - `listed`: these manifests, as in `IcebergSnapshot.manifests`; null: all.
    - `table_files`, `table_records`: those of all data manifests, from the manifest list; null: not
      known. Deleted rows are counted.
    - `known`: no file was written, because the listing at this place of the request serves.
    - `problem`: why no file was written.
    - `is_pending`: the manifests are still being read, for a later query.
    - `may_pass`: the storage failed, so another attempt may succeed.
    """

    id: str
    files: int = 0
    manifests: tuple[str, ...] = ()
    listed: Kept | None = None
    table_files: int | None = None
    table_records: int | None = None
    known: int | None = None
    problem: str | None = None
    is_pending: bool = False
    may_pass: bool = False
    version: int = VERSION


_request = msgspec.json.Decoder(IcebergFilesRequest)


def read_iceberg_files_request(text: str | bytes) -> IcebergFilesRequest:
    """Read an IcebergFilesRequest. Raises as read_versioned does."""
    return read_versioned(_request, text)
