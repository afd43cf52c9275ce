"""Automatic indexing: an index of every small listing without one, built when a scan is planned.

Spark's tests write thousands of tables and index none. Here the sidecar reads the footers of the
files of a listing before it plans the scan, writes an ordinary index into a scratch directory and
opens it, so that pruning, exact filters and goals are based on real statistics.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.indexing.build.generation import assemble, pointer_to
from tamis.indexing.executor.columns_schema import Leaf, leaves_of
from tamis.indexing.executor.executor_job import harvest_stream
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.open_indexes import OpenIndex, open_index
from tamis.indexing.read.snapshot import FileKeys, Snapshot
from tamis.indexing.storage import FileSystems
from tamis.tables.parquet import ParquetTables
from tamis.wire.scans import ScanRequest

MAX_FILES = 200  # larger listings get no index: reading their footers would delay every query
_MAX_OPEN = 64
_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_NO_COLUMNS = json.dumps({"type": "struct", "fields": []})

Entry = tuple[str, int, int]  # uri, size in bytes, modification time in milliseconds


class SelfIndexingTables(ParquetTables):
    """Answers from the index of a table, or from one built from the footers of its files."""

    def __init__(self, scratch: Path) -> None:
        super().__init__()
        self._scratch = scratch
        self._made: OrderedDict[str, OpenIndex | None] = OrderedDict()
        self._making = threading.Lock()

    def usable_indexes(
        self, request: ScanRequest, snapshot: Snapshot
    ) -> tuple[tuple[OpenIndex, ...], tuple[IndexUnusable, ...]]:
        usable, problems = super().usable_indexes(request, snapshot)
        if usable or problems or request.reading is not None or not request.index.enabled:
            return usable, problems
        if not 0 < len(snapshot.files) <= MAX_FILES:
            return (), ()
        made = self._index_of(snapshot.files, request.table.case_sensitive)
        return ((), ()) if made is None else ((made,), ())

    def _index_of(self, files: FileKeys, case_sensitive: bool) -> OpenIndex | None:
        text = json.dumps([case_sensitive, list(entries_of(files))])
        key = hashlib.sha256(text.encode()).hexdigest()[:24]
        with self._making:
            if key not in self._made:
                self._made[key] = index_listing(files, case_sensitive, self._scratch / key)
            self._made.move_to_end(key)
            while len(self._made) > _MAX_OPEN:
                self._made.popitem(last=False)
            return self._made[key]


def entries_of(files: FileKeys) -> Iterator[Entry]:
    """Yield URI, size and modification time of every file of a listing."""
    return zip(files.uris(), files.size.to_pylist(), files.mtime.to_pylist(), strict=True)


def index_listing(files: FileKeys, case_sensitive: bool, directory: Path) -> OpenIndex | None:
    """Return an index of the files that are unchanged since the listing; None if there are none.

    Args:
        files: The listing.
        case_sensitive: Whether the session resolves names case-sensitively.
        directory: Where the index is written; it must be empty.
    """
    systems = FileSystems({})
    entries = list(entries_of(files))
    unchanged = [i for i, entry in enumerate(entries) if _is_unchanged(systems, entry)]
    if not unchanged:
        return None
    described = files.take(np.array(unchanged))
    leaves = _leaves_of_files(systems, [entries[i][0] for i in unchanged], case_sensitive)
    statistics, row_groups = _harvest([entries[i] for i in unchanged], leaves, case_sensitive)
    # The keys are those of the listing, so the footers must belong to the listed files. If a file
    # were replaced while its footer is read, its bounds would be stored under the old key.
    if not all(_is_unchanged(systems, entries[i]) for i in unchanged):
        return None
    content = assemble(described, leaves, statistics, row_groups)
    root = files.directories[0]
    store = Store.at(root, directory.as_uri(), {})
    segment = store.write_segment(content.files, content.row_groups)
    store.commit(pointer_to(segment, content, root, _NO_COLUMNS, _NO_COLUMNS, case_sensitive))
    return open_index(store, str(directory / "cache"))


def _is_unchanged(systems: FileSystems, entry: Entry) -> bool:
    uri, size, mtime = entry
    if not uri.startswith("file:"):
        return False
    try:
        file_system, path = systems.locate(uri)
        info = file_system.get_file_info(path)
    except (OSError, ValueError):
        return False
    return info.size == size and info.mtime_ns is not None and info.mtime_ns // 10**6 == mtime


def _harvest(
    entries: list[Entry], leaves: tuple[Leaf, ...], case_sensitive: bool
) -> tuple[pa.Table, pa.Table]:
    """Return the tables of files and row groups, as a build reads them on the executors."""
    listed = pa.table(
        {
            "ordinal": pa.array(range(len(entries)), pa.int64()),
            "uri": pa.array([uri for uri, _, _ in entries], pa.string()),
            "size": pa.array([size for _, size, _ in entries], pa.int64()),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, listed.schema) as writer:
        writer.write_table(listed)
    streams = harvest_stream(sink.getvalue().to_pybytes(), leaves, case_sensitive, {})
    files, row_groups = (
        pa.concat_tables(pa.ipc.open_stream(pair[i]).read_all() for pair in streams) for i in (0, 1)
    )
    return (
        files.sort_by("ordinal"),
        row_groups.sort_by([("file", "ascending"), ("start", "ascending")]),
    )


def _leaves_of_files(
    systems: FileSystems, uris: list[str], case_sensitive: bool
) -> tuple[Leaf, ...]:
    """Return the columns of all files with the schemas at writing; the first type of a column wins.

    A build uses the schema of the table, which the sidecar does not receive.
    """
    merged: dict[str, Leaf] = {}
    for uri in uris:
        try:
            file_system, path = systems.locate(uri)
            with file_system.open_input_file(path) as file:
                leaves = leaves_of(schema_of(pq.read_metadata(file)))
        except Exception:  # an unreadable file gets unknown statistics
            continue
        for leaf in leaves:
            name = leaf.name if case_sensitive else leaf.name.lower()
            known = merged.setdefault(name, leaf)
            if leaf.has_default and not known.has_default:
                merged[name] = Leaf(known.path, known.type, True)
    return tuple(merged.values())


def schema_of(metadata: pq.FileMetaData) -> str:
    """Return the Spark schema of a file as JSON: the one from its writer, or an inferred one."""
    written = (metadata.metadata or {}).get(_SPARK_SCHEMA)
    if written is not None:
        return str(written, "utf-8")
    return json.dumps(_struct(metadata.schema.to_arrow_schema()))


_SPARK_TYPES = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.uint64(): "decimal(20,0)",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
}


def _struct(fields: Any) -> dict[str, Any]:
    described = [
        {"name": field.name, "type": kind, "nullable": True, "metadata": {}}
        for field in fields
        if (kind := _spark_type(field.type)) is not None
    ]
    return {"type": "struct", "fields": described}


def _spark_type(kind: pa.DataType) -> Any:
    """Return the type that Spark infers; None for a type without statistics here."""
    if pa.types.is_struct(kind):
        return _struct([kind.field(i) for i in range(kind.num_fields)])
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        # INT96 has no zone and is read in nanoseconds; for Spark it is a TIMESTAMP.
        return "timestamp" if kind.tz is not None or kind.unit == "ns" else "timestamp_ntz"
    return _SPARK_TYPES.get(kind)
