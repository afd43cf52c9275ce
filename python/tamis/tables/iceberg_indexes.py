"""Indexes of Iceberg tables, for the schemas with which queries read them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.bound_row_groups import BoundRowGroups
from tamis.indexing.read.bound_statistics import BoundStatistics
from tamis.indexing.read.field_ids import FieldBinding, iceberg_reading, other_table
from tamis.indexing.read.index_statistics import IndexStatistics
from tamis.indexing.read.open_indexes import OpenIndex
from tamis.indexing.read.row_groups import RowGroups
from tamis.recent import Recent
from tamis.tables.index_problems import other_files
from tamis.wire.scans import ScanRequest

__all__ = ["IcebergIndexes"]

_MOST: Final = 32


class IcebergIndexes:
    """The indexes of this process as queries see them. Thread-safe."""

    def __init__(self) -> None:
        # The key has the id of an index, which the entry keeps alive.
        self._bound = Recent[tuple[OpenIndex, OpenIndex]](_MOST)

    def bound(self, index: OpenIndex, request: ScanRequest) -> OpenIndex | IndexUnusable:
        """Return an index whose columns are those of a request, or why it cannot be used.

        The result is the same object for equal requests.
        """
        assert request.iceberg is not None
        snapshot = request.iceberg
        # which files are read, and when, does not matter
        table = msgspec.json.encode(
            [snapshot.schema, snapshot.specs, snapshot.name_mapping, snapshot.table_uuid]
        )
        key = (id(index), table)
        known = self._bound.get(key)
        if known is not None:
            return known[1]
        groups = index.row_groups
        if (
            index.reading is None
            or not isinstance(index.statistics, IndexStatistics)
            or not isinstance(groups, RowGroups)
        ):
            return other_files(request, "it describes Parquet files by the names of their columns")
        try:
            now = iceberg_reading(snapshot)
            why = other_table(index.reading, now)
            if why is not None:
                return other_files(request, why)
            fields = FieldBinding(index.reading, now)
            statistics = BoundStatistics(index.statistics, fields)
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            return other_files(request, f"the schema has an unexpected form ({problem!r:.200})")
        made = replace(index, statistics=statistics, row_groups=BoundRowGroups(groups, fields))
        return self._bound.get_or(key, lambda: (index, made))[1]
