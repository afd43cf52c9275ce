"""Columns: the name behind a binding, the path to a field of a struct, and its type.

The `alias` of a node is the name of the column in the query. It may be anything, and may differ
between two nodes of one column. Only `column_binding_names_by_index[binding.column_index]` counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tamis.wire.duckdb.document import NotUnderstood, mapping, require, text
from tamis.wire.duckdb.types import LogicalType, keeps_value, logical_type

__all__ = ["Columns", "Place", "spelling_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """A column, or a field of one.

    `type` is the type in the document. `stored` is the type in the schema, None without a schema.
    """

    path: tuple[str, ...]
    type: LogicalType
    stored: LogicalType | None

    def field(self, name: str) -> Place:
        """Return a field of a struct. DuckDB's names are case-insensitive."""
        spelling = spelling_of(name, [each for each, _ in self.type.fields])
        field_type = dict(self.type.fields)[spelling]
        if self.stored is None:
            return Place((*self.path, spelling), field_type, None)
        stored = dict(self.stored.fields)
        spelling = spelling_of(name, list(stored))
        return Place((*self.path, spelling), field_type, stored[spelling])

    def field_at(self, position: int) -> Place:
        """Return a field by its position, from 1."""
        require(1 <= position <= len(self.type.fields))
        return self.field(self.type.fields[position - 1][0])

    @property
    def source(self) -> LogicalType:
        """The type of the values in the files.

        It differs from `type` where DuckDB reads a column with a cast, or has pushed the extraction
        of a field into the scan: then the binding is that of the struct, but the type that of the
        field.

        Raises:
            NotUnderstood: `type` cannot hold all values of the files.
        """
        if self.stored is None:
            # Files store a UUID as bytes or as text, and only a schema shows which.
            require(self.type.id != "UUID")
            return self.type
        if self.type.id == "UUID":
            require(self.stored.id == "UUID" or self.stored == LogicalType("BLOB", 16))
            return self.type
        if self.type.id == "BLOB" and self.stored.id == "BLOB":
            return self.type
        require(keeps_value(self.stored, self.type))
        return self.stored


class Columns:
    """The columns of a document."""

    def __init__(self, names: Sequence[object], schema: Mapping[str, LogicalType] | None) -> None:
        self._names = names
        self._schema = schema

    def name(self, node: Mapping[str, Any]) -> str:
        """Return the name of the column of a BOUND_COLUMN_REF."""
        index = mapping(node.get("binding")).get("column_index")
        # A depth above 0 means a column of an outer query.
        require(node.get("depth", 0) == 0)
        if type(index) is not int or not 0 <= index < len(self._names):
            raise NotUnderstood
        return text(self._names[index])

    def place(self, node: Mapping[str, Any]) -> Place:
        """Return the column of a BOUND_COLUMN_REF."""
        name = self.name(node)
        declared = None if node.get("return_type") is None else logical_type(node["return_type"])
        if declared is not None and declared.id in ("INVALID", "UNKNOWN", "ANY"):
            declared = None
        if self._schema is None:
            if declared is None:
                raise NotUnderstood
            return Place((name,), declared, None)
        spelling = spelling_of(name, list(self._schema))
        stored = self._schema[spelling]
        return Place((spelling,), stored if declared is None else declared, stored)

    def require_own_name(self, path: tuple[str, ...]) -> None:
        """Raise NotUnderstood if another column may have this dotted path (see expr.nodes.Column).

        Without a schema it is not known whether there is a struct b besides a column `b.c`.
        """
        dotted = ".".join(path)
        if self._schema is None:
            require(
                not any("." in part for part in path)
                and (len(path) == 1 or dotted not in self._names)
            )
        else:
            require(sum(each == dotted for each in _dotted_paths(self._schema.items())) == 1)


def _dotted_paths(fields: Iterable[tuple[str, LogicalType]], prefix: str = "") -> Iterator[str]:
    for name, data_type in fields:
        yield prefix + name
        yield from _dotted_paths(data_type.fields, f"{prefix}{name}.")


def spelling_of(name: str, names: list[str]) -> str:
    """Return the one of the names that equals `name`, or equals it if case is ignored."""
    if names.count(name) == 1:
        return name
    alike = [each for each in names if each.casefold() == name.casefold()]
    require(len(alike) == 1)
    return alike[0]
