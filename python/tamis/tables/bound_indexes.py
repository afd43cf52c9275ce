"""Indexes of Iceberg tables and of mapped Delta tables, for the schemas with which queries read."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.bound_row_groups import BoundRowGroups
from tamis.indexing.read.bound_statistics import BoundStatistics
from tamis.indexing.read.field_binding import FieldBinding, other_table
from tamis.indexing.read.field_ids import iceberg_reading
from tamis.indexing.read.index_statistics import IndexStatistics
from tamis.indexing.read.mapped_columns import delta_reading, unmapped
from tamis.indexing.read.open_indexes import OpenIndex
from tamis.indexing.read.reader_options import Reading
from tamis.indexing.read.row_groups import RowGroups
from tamis.recent import Recent
from tamis.tables.index_problems import other_files
from tamis.wire.delta import DeltaSnapshot
from tamis.wire.iceberg import IcebergSnapshot
from tamis.wire.scans import ScanRequest

__all__ = ["BoundIndexes"]

_MOST: Final = 32


class BoundIndexes:
    """The indexes of this process as queries see them. Thread-safe."""

    def __init__(self) -> None:
        # The key has the id of an index, which the entry keeps alive.
        self._bound = Recent[tuple[OpenIndex, OpenIndex]](_MOST)

    def bound(self, index: OpenIndex, request: ScanRequest) -> OpenIndex | IndexUnusable:
        """Return an index whose columns are those of a request, or why it cannot be used.

        The result is the same object for equal requests.
        """
        snapshot = request.iceberg or request.delta
        assert snapshot is not None
        key = (id(index), _columns_of(snapshot))
        known = self._bound.get(key)
        if known is not None:
            return known[1]
        groups = index.row_groups
        if not isinstance(index.statistics, IndexStatistics) or not isinstance(groups, RowGroups):
            return index  # it is bound already
        try:
            now = _reading_of(snapshot)
            built = index.reading
            if built is None and request.delta is not None:
                built = unmapped(index.pointer.schema)
            if built is None or built.format != now.format:
                why = "it describes Parquet files by the names of their columns"
                return other_files(request, why)
            why_other = other_table(built, now)
            if why_other is not None:
                return other_files(request, why_other)
            fields = FieldBinding(built, now)
            statistics = BoundStatistics(index.statistics, fields)
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            return other_files(request, f"the schema has an unexpected form ({problem!r:.200})")
        made = replace(index, statistics=statistics, row_groups=BoundRowGroups(groups, fields))
        return self._bound.get_or(key, lambda: (index, made))[1]


def _columns_of(snapshot: IcebergSnapshot | DeltaSnapshot) -> bytes:
    """Return what a reading is made of. Which files are read, and when, does not matter."""
    if isinstance(snapshot, DeltaSnapshot):
        parts = [snapshot.schema, snapshot.column_mapping, snapshot.partition_columns]
        return msgspec.json.encode(parts)
    return msgspec.json.encode(
        [snapshot.schema, snapshot.specs, snapshot.name_mapping, snapshot.table_uuid]
    )


def _reading_of(snapshot: IcebergSnapshot | DeltaSnapshot) -> Reading:
    if isinstance(snapshot, DeltaSnapshot):
        return delta_reading(snapshot.schema, snapshot.column_mapping, snapshot.partition_columns)
    return iceberg_reading(snapshot)
