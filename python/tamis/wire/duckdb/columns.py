"""Columns: the name behind a binding, the path to a field of a struct, and its type.

A node holds an `alias`, which is what the query calls the column: it may be anything, and two nodes
of one column may differ in it. Only `column_binding_names_by_index[binding.column_index]` counts.
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
    """A column or a field of one.

    `type` is the one that the document gives it, `stored` that of the schema; None: no schema.
    """

    path: tuple[str, ...]
    type: LogicalType
    stored: LogicalType | None

    def field(self, name: str) -> Place:
        """A field of a struct; DuckDB's names do not mind upper and lower case."""
        spelling = spelling_of(name, [each for each, _ in self.type.fields])
        field_type = dict(self.type.fields)[spelling]
        if self.stored is None:
            return Place((*self.path, spelling), field_type, None)
        stored = dict(self.stored.fields)
        spelling = spelling_of(name, list(stored))
        return Place((*self.path, spelling), field_type, stored[spelling])

    def field_at(self, position: int) -> Place:
        """A field by its place, from 1."""
        require(1 <= position <= len(self.type.fields))
        return self.field(self.type.fields[position - 1][0])

    @property
    def source(self) -> LogicalType:
        """The type of the values in the files; NotUnderstood unless `type` holds all of them.

        The types differ where DuckDB reads a column with a cast, and where it has pushed the
        extraction of a field into the scan: the binding is then the struct's, the type the field's.
        """
        if self.stored is None:
            # Files hold a UUID as bytes or as text, and only a schema says which.
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
        """The name behind a BOUND_COLUMN_REF."""
        index = mapping(node.get("binding")).get("column_index")
        # A depth above 0 is a column of a query around this one.
        require(node.get("depth", 0) == 0)
        if type(index) is not int or not 0 <= index < len(self._names):
            raise NotUnderstood
        return text(self._names[index])

    def place(self, node: Mapping[str, Any]) -> Place:
        """The column of a BOUND_COLUMN_REF."""
        name = self.name(node)
        told = None if node.get("return_type") is None else logical_type(node["return_type"])
        if told is not None and told.id in ("INVALID", "UNKNOWN", "ANY"):
            told = None
        if self._schema is None:
            if told is None:
                raise NotUnderstood
            return Place((name,), told, None)
        spelling = spelling_of(name, list(self._schema))
        stored = self._schema[spelling]
        return Place((spelling,), stored if told is None else told, stored)

    def require_own_name(self, path: tuple[str, ...]) -> None:
        """NotUnderstood where another column may have this dotted path: see expr.nodes.Column.

        Without a schema nobody knows whether there is a struct b beside a column `b.c`.
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
    """The one of the names that is meant: spelled alike, or alike but for upper and lower case."""
    if names.count(name) == 1:
        return name
    alike = [each for each in names if each.casefold() == name.casefold()]
    require(len(alike) == 1)
    return alike[0]
