"""The columns of a Delta table that its log may have statistics of."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tamis.expr.types import DataType
from tamis.tables.delta.errors import SnapshotUnreadable

__all__ = ["StatisticsColumn", "TableColumns", "table_columns"]

_PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"
_TYPE_CHANGES: Final = "delta.typeChanges"
_COLLATIONS: Final = "__COLLATIONS"
#: delta-rs counts the nulls of maps and lists under the last part of their paths in Parquet, which
#: may also be the name of a column.
_PARTS_OF_COLLECTIONS: Final = frozenset({"key", "value", "key_value", "element", "item", "list"})
#: Delta records no bounds of these types, and other writers write them in different ways.
_WITHOUT_BOUNDS: Final = frozenset({"boolean", "binary"})


@dataclass(frozen=True, slots=True)
class StatisticsColumn:
    """A column without fields of its own.

    - `path`: logical names.
    - `physical`: the names in the statistics.
    - `is_widened`: whether its type has changed, so that old statistics were written as another.
    - `counts_nulls`: whether all writers count its NULLs and nothing else under this name.
    """

    path: tuple[str, ...]
    physical: tuple[str, ...]
    type: DataType
    is_widened: bool
    counts_nulls: bool

    @property
    def has_bounds(self) -> bool:
        return self.type.name not in _WITHOUT_BOUNDS

    @property
    def is_nested(self) -> bool:
        return len(self.path) > 1


@dataclass(frozen=True)
class TableColumns:
    """The columns that may have statistics. Their ordinals identify them in `LogFile` tables."""

    columns: tuple[StatisticsColumn, ...]

    @cached_property
    def digest(self) -> str:
        """A text that differs if statistics would be read differently."""
        return hashlib.sha256(repr(self.columns).encode()).hexdigest()

    def find(self, path: Sequence[str]) -> tuple[int, StatisticsColumn] | None:
        """Return a column and its ordinal. Delta's names are unique regardless of case."""
        ordinal = self._ordinals.get(_folded(path))
        return None if ordinal is None else (ordinal, self.columns[ordinal])

    @cached_property
    def _ordinals(self) -> Mapping[tuple[str, ...], int]:
        return {_folded(each.path): ordinal for ordinal, each in enumerate(self.columns)}


def table_columns(
    schema: str, column_mapping: str, partition_columns: Sequence[str]
) -> TableColumns:
    """Return the columns of a schema: see `DeltaSnapshot`.

    Columns that are partitioned by, collated, or of a type that tamis does not compare are left
    out, and so are those whose names are not unique or that have no physical name.

    Raises:
        SnapshotUnreadable: The schema is not one, or the mapping is unknown.
    """
    if column_mapping not in ("none", "name", "id"):
        raise SnapshotUnreadable(
            "delta.schema_unreadable",
            f"the Delta table has the unknown column mapping {column_mapping}, so the statistics "
            "of its log are not used",
        )
    try:
        fields = json.loads(schema)["fields"]
        partitions = {name.lower() for name in partition_columns}
        kept = [each for each in fields if each["name"].lower() not in partitions]
        has_collections = any(_has_collection(each["type"]) for each in fields)
        found = list(_columns(kept, column_mapping != "none", (), (), has_collections))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise SnapshotUnreadable(
            "delta.schema_unreadable",
            "the schema of the Delta table cannot be read, so the statistics of its log are not "
            f"used ({type(problem).__name__}: {problem})",
        ) from problem
    names = Counter(_folded(each.path) for each in found)
    physical = Counter(each.physical for each in found)
    # the names of structs in the statistics, which cannot be those of a value
    structs = {each.physical[:k] for each in found for k in range(1, len(each.physical))}
    return TableColumns(
        tuple(
            each
            for each in found
            if names[_folded(each.path)] == physical[each.physical] == 1
            and each.physical not in structs
        )
    )


def _columns(
    fields: Sequence[Mapping[str, Any]],
    is_mapped: bool,
    path: tuple[str, ...],
    physical: tuple[str, ...],
    has_collections: bool,
) -> Iterator[StatisticsColumn]:
    for field in fields:
        metadata = field.get("metadata") or {}
        own = metadata.get(_PHYSICAL_NAME) if is_mapped else field["name"]
        if not isinstance(own, str):
            continue  # not known under which name
        data_type = field["type"]
        to, under = (*path, field["name"]), (*physical, own)
        if isinstance(data_type, dict):
            if data_type.get("type") == "struct":
                inner = data_type["fields"]
                yield from _columns(inner, is_mapped, to, under, has_collections)
            continue
        parsed = DataType.parse(data_type)
        if parsed is None or metadata.get(_COLLATIONS):
            continue
        ambiguous = has_collections and own.lower() in _PARTS_OF_COLLECTIONS
        yield StatisticsColumn(
            to, under, parsed, bool(metadata.get(_TYPE_CHANGES)), counts_nulls=not ambiguous
        )


def _has_collection(data_type: Any) -> bool:
    if not isinstance(data_type, dict):
        return False
    if data_type.get("type") == "struct":
        return any(_has_collection(each["type"]) for each in data_type["fields"])
    return True


def _folded(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.lower() for part in path)
