"""A scan that a question is about: the files that Spark listed, and the filters.

Every question has one. The goal of a question may refer to further scans.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tamis.wire.delta import DeltaSnapshot
from tamis.wire.file_sets import Kept
from tamis.wire.iceberg import IcebergSnapshot

__all__ = [
    "AutomaticIndex",
    "IndexOptions",
    "PartitionColumn",
    "RememberedKeys",
    "ScanRequest",
    "Snapshot",
    "Table",
]


class Snapshot(msgspec.Struct, frozen=True):
    """The file table of one listing, mapped from `<directory>/<fingerprint>.*.arrow`."""

    fingerprint: str
    directory: str
    files: int


class PartitionColumn(msgspec.Struct, frozen=True):
    name: str
    type: str


class Table(msgspec.Struct, frozen=True):
    name: str = ""
    roots: list[str] = []
    partition_columns: list[PartitionColumn] = []
    case_sensitive: bool = False


class AutomaticIndex(msgspec.Struct, frozen=True):
    """That files without an index shall be indexed.

    - `schema`: Spark's JSON of the data columns.
    - `max_files`: the most files that are indexed for one table.
    - `patience_ms`: the most milliseconds for which planning waits until they are.
    """

    schema: str
    max_files: int
    patience_ms: int


class IndexOptions(msgspec.Struct, frozen=True):
    """How to use an index.

    - `epoch`: counts this session's changes of it, to invalidate caches.
    - `patience_ms`: the most milliseconds for which planning waits for its storage.
    """

    enabled: bool = True
    location: str | None = None
    epoch: int = 0
    patience_ms: int = 60_000
    automatic: AutomaticIndex | None = None


class RememberedKeys(msgspec.Struct, frozen=True):
    """How to find what earlier scans have learnt about the files (see wire.remembered).

    - `reading`: a digest of the settings under which files are read.
    - `keys`: the key of each conjunct; null if it has none.
    """

    reading: str
    keys: list[str | None]


class ScanRequest(msgspec.Struct, frozen=True):
    """The files of a scan, how Spark reads them, and the filters.

    - `conjuncts`: expression documents (see wire.catalyst).
    - `declarations`: the declarations of functions in this session (see serve.declarations).
    - `among`: the files to consider; null means all.
    - `reading`: how Spark reads files that are not Parquet (see indexing.read.reader_options).
    - `delta`, `iceberg`: where the format of the table records statistics of the files.
    - `remembered`: the keys of the conjuncts; null: what was learnt before is not used.
    """

    snapshot: Snapshot
    table: Table = Table()
    index: IndexOptions = IndexOptions()
    storage: dict[str, str] = {}
    cache_directory: str | None = None
    conjuncts: list[Any] = []
    declarations: list[str] = []
    among: Kept | None = None
    reading: str | None = None
    delta: DeltaSnapshot | None = None
    iceberg: IcebergSnapshot | None = None
    remembered: RememberedKeys | None = None
