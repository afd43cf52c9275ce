"""Reading Parquet files of the log: checkpoints, their parts, and sidecars of v2 checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.tables.delta.actions import ADAPTIVE_METADATA, Sidecar
from tamis.tables.delta.added_files import AddedFiles
from tamis.tables.delta.errors import adaptive_metadata, unreadable
from tamis.tables.delta.paths import keys_in_log

__all__ = ["CheckpointFile"]

#: Rows that are decoded at a time.
_BATCH: Final = 1 << 16
_FEATURES: Final = ("readerFeatures", "writerFeatures")


class CheckpointFile:
    """A Parquet file of the log.

    Its removed files are not read: these are tombstones, and a file that was added again with
    another deletion vector is among them.

    Args:
        source: The open file.
        uri: Its URI, for errors.
        root: The URL-encoded URI of the table.

    Raises:
        SnapshotUnreadable: It has another layout.
        OSError, pa.ArrowException: It is damaged.
    """

    def __init__(self, source: Any, uri: str, root: str) -> None:
        self._file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=True)
        self._schema: pa.Schema = self._file.schema_arrow
        self._uri = uri
        self._root = root
        names = self._schema.names
        if ADAPTIVE_METADATA in names or self._has_adaptive_metadata():
            raise adaptive_metadata(uri)
        if "add" not in names and "sidecar" not in names:
            raise unreadable(uri, "it has neither the column add nor the column sidecar")

    def sidecars(self) -> tuple[Sidecar, ...]:
        """Return the files that a top-level file refers to."""
        if "sidecar" not in self._schema.names:
            return ()
        column = self._rows(["sidecar"]).column("sidecar")
        rows = column.filter(pc.is_valid(column)).to_pylist()
        return tuple(
            Sidecar(each["path"], each["sizeInBytes"], each["modificationTime"]) for each in rows
        )

    def added(self) -> Iterator[AddedFiles]:
        """Yield the files that are added, in batches of moderate size."""
        fields = self._fields("add")
        if "path" not in fields:
            return
        names = [f"add.{each}" for each in ("path", "stats", "deletionVector") if each in fields]
        if "stats_parsed" in fields and not self._has_all_texts(fields):
            names.append("add.stats_parsed")
        for batch in self._file.iter_batches(_BATCH, columns=names):
            column = batch.column(0)
            column = column.filter(pc.is_valid(pc.struct_field(column, "path")))
            yield self._batch(
                {each.name: pc.struct_field(column, each.name) for each in column.type}
            )

    def _batch(self, parts: Mapping[str, pa.Array]) -> AddedFiles:
        paths = parts["path"]
        absent = [None] * len(paths)
        texts: Sequence[str | None] = absent
        if "stats" in parts:
            texts = parts["stats"].cast(pa.string()).to_pylist()
        has_vector: Sequence[bool] = [False] * len(paths)
        cardinality: Sequence[int | None] = absent
        if "deletionVector" in parts:
            has_vector = pc.is_valid(parts["deletionVector"]).to_pylist()
            if "cardinality" in {each.name for each in parts["deletionVector"].type}:
                cardinality = pc.struct_field(parts["deletionVector"], "cardinality").to_pylist()
        keys = keys_in_log(paths.cast(pa.string()).to_pylist(), self._root)
        return AddedFiles(keys, texts, parts.get("stats_parsed"), has_vector, cardinality)

    def _fields(self, name: str) -> set[str]:
        """Return the names of the fields of a column; none if it is not a struct."""
        if name not in self._schema.names:
            return set()
        data_type = self._schema.field(name).type
        return {each.name for each in data_type} if pa.types.is_struct(data_type) else set()

    def _rows(self, names: Sequence[str]) -> pa.Table:
        return self._file.read(columns=list(names))

    def _has_all_texts(self, fields: set[str]) -> bool:
        """Return whether the footer shows that each added file has statistics in JSON."""
        if "stats" not in fields:
            return False
        metadata = self._file.metadata
        places = {metadata.schema.column(k).path: k for k in range(metadata.num_columns)}
        for group in range(metadata.num_row_groups):
            nulls = []
            for name in ("add.path", "add.stats"):
                if name not in places:
                    return False
                statistics = metadata.row_group(group).column(places[name]).statistics
                if statistics is None or not statistics.has_null_count:
                    return False
                nulls.append(statistics.null_count)
            if nulls[0] != nulls[1]:
                return False
        return True

    def _has_adaptive_metadata(self) -> bool:
        present = [each for each in _FEATURES if each in self._fields("protocol")]
        if not present:
            return False
        column = self._rows([f"protocol.{each}" for each in present]).column("protocol")
        return any(
            ADAPTIVE_METADATA in (features or ())
            for row in column.filter(pc.is_valid(column)).to_pylist()
            for features in row.values()
        )
