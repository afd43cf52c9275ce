"""Aggregates per file and group of rows, where a group has the same values of some columns.

    file   by.0   by.1   rows   count   positive   negative
    f1     'A'    'F'    700    690     9130.50    -12.00
    f1     'R'    NULL   300    300     4000.00    0
    f2     'A'    'F'    1000   1000    15000.00   0

- `rows`: the number of rows of the group, at least one.
- `count`: the number of them in which the argument is not NULL. COUNT(*) has no argument.
- `positive`, `negative` of a sum: the sums of the values above and below zero. The sum of any of
  these rows, in any order, lies between them, which shows where Spark's sum cannot overflow. Null:
  unknown.
- `value` of MIN and MAX. Null although `count` is not 0: unknown.
- `registers` of approx_count_distinct: see evaluation.domain.registers.

The groups of a file are in the order of their columns, NULL first, so those of two entries with the
same columns are the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.group_places import places_of
from tamis.expr.types import DataType
from tamis.indexing.executor.columns_schema import Leaf, arrow_type
from tamis.indexing.format.aggregate_sql import APPROXIMATE, register_bytes
from tamis.indexing.format.entries import Entry

__all__ = [
    "MAX_GROUPS",
    "Groups",
    "by_names",
    "joined",
    "most_groups",
    "no_groups",
    "schema_of",
]

Longs = npt.NDArray[np.int64]

#: Nothing is recorded of a file with more groups.
MAX_GROUPS: Final = 1000
#: The most bytes of registers of a file.
_MOST_BYTES: Final = 1 << 20
_ROWS: Final = "rows"


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of files, in order.

    Attributes:
        sizes: The number of groups of each file; -1: not recorded. A file without rows has none.
        table: One row per group, file by file, with the columns of `schema_of`.
    """

    sizes: Longs
    table: pa.Table

    def __len__(self) -> int:
        return len(self.sizes)

    def take(self, ordinals: Longs) -> Groups:
        """Return the groups of the files at these ordinals, in that order."""
        places = places_of(self.sizes, ordinals)
        return Groups(self.sizes[ordinals], self.table.take(pa.array(places)))


def by_names(entry: Entry) -> list[str]:
    """Return the names of the columns of a table that hold the values of the groups."""
    return [f"by.{i}" for i in range(len(entry.by or ()))]


def schema_of(entry: Entry) -> pa.Schema:
    """Return the names and types of the columns of a table of groups."""
    assert entry.by is not None
    fields = [
        pa.field(name, arrow_type(Leaf(path, kind)))
        for name, (path, kind) in zip(by_names(entry), entry.by, strict=True)
    ]
    fields.append(pa.field(_ROWS, pa.int64()))
    if entry.path is not None or entry.key is not None:
        fields.append(pa.field("count", pa.int64()))
    if entry.kind == "sum":
        data_type = DataType.parse(entry.type)
        assert data_type is not None
        wide = pa.decimal128(38, data_type.scale or 0)
        fields += [pa.field("positive", wide), pa.field("negative", wide)]
    elif entry.kind in ("min", "max"):
        fields.append(pa.field("value", arrow_type(entry.leaf)))
    elif entry.kind == APPROXIMATE:
        fields.append(pa.field("registers", pa.binary()))
    return pa.schema(fields)


def most_groups(entry: Entry) -> int:
    """Return the most groups of a file of which an entry is recorded."""
    if entry.deviation is None:
        return MAX_GROUPS
    return min(MAX_GROUPS, _MOST_BYTES // register_bytes(entry.deviation))


def no_groups(entry: Entry, files: int, size: int = -1) -> Groups:
    """Return groups that are empty: not recorded, or of files without rows."""
    return Groups(np.full(files, size, np.int64), schema_of(entry).empty_table())


def joined(parts: Sequence[Groups]) -> Groups:
    """Return the groups of the files of all parts, in order. All have the same columns."""
    return Groups(
        np.concatenate([part.sizes for part in parts]),
        pa.concat_tables([part.table for part in parts]),
    )
