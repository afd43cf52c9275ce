"""The columns of a table, as far as recorded statistics depend on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tamis.errors import StatisticsIndexError
from tamis.expr.sql import identifier

__all__ = ["Schema", "columns_at", "guards_of", "is_char"]


class Schema:
    """The data and partition columns of a table, from Spark's JSON."""

    def __init__(self, schema: str, partition_schema: str, case_sensitive: bool) -> None:
        data, partitions = json.loads(schema), json.loads(partition_schema)
        self.fields: list[dict[str, Any]] = [*data["fields"], *partitions["fields"]]
        self.partitions = [field["name"] for field in partitions["fields"]]
        self.json = json.dumps({"type": "struct", "fields": self.fields})
        self._fold: Callable[[str], str] = (lambda s: s) if case_sensitive else str.lower

    def along(self, path: Sequence[str]) -> list[dict[str, Any]]:
        """Return the fields along a path, from the column to the deepest one that exists."""
        fields = self.fields
        fields_along: list[dict[str, Any]] = []
        for part in path:
            named = [f for f in fields if self._fold(f["name"]) == self._fold(part)]
            if not named:
                break
            fields_along.append(named[0])
            kind = named[0]["type"]
            is_struct = isinstance(kind, dict) and kind.get("type") == "struct"
            fields = kind["fields"] if is_struct else []
        return fields_along

    def is_partition(self, name: str) -> bool:
        return self._fold(name) in map(self._fold, self.partitions)


# How the shim parses a value: from SQL and the JSON of a schema to a document. See PredicateParser.


def columns_at(paths: Sequence[tuple[str, ...]], schema: Schema) -> tuple[tuple[str, ...], ...]:
    """Return paths as the schema spells them, without the variables of lambdas."""
    spelled = (tuple(str(field["name"]) for field in schema.along(path)) for path in paths)
    return tuple(dict.fromkeys(path for path in spelled if path))


def guards_of(
    paths: Sequence[tuple[str, ...]], schema: Schema, name: str
) -> tuple[tuple[str, str], ...]:
    """Return SQL and type of each date and timestamp column at these paths.

    Raises:
        StatisticsIndexError: A column at these paths cannot be recorded soundly.
    """
    guards = []
    for path in paths:
        along = schema.along(path)
        if not along:  # the variable of a lambda
            continue
        field = along[-1]
        kind = field["type"]
        # Settings decide whether Spark pads the values when it reads them. The metadata of a column
        # also names a CHAR inside it.
        charred = [each for each in (*along, *_inside(field)) if is_char(each)]
        if charred and "string" in json.dumps(kind):
            raise StatisticsIndexError(
                f"statistics of {name} cannot be recorded: {charred[0]['name']} is a CHAR column, "
                f"whose values Spark pads. Change the column to STRING, or leave {name} out."
            )
        if schema.is_partition(path[0]):
            # Another table, or ADD PARTITION … LOCATION, gives the same files other values. So do
            # other time zones, for timestamps.
            raise StatisticsIndexError(
                f"{name} reads {path[0]}, a partition column, whose values are not in the files: "
                "leave it out"
            )
        if isinstance(kind, str):
            if kind in _OLD:
                guards.append((identifier(path), kind))
        elif any(f'"{old}"' in json.dumps(kind) for old in _OLD):
            raise StatisticsIndexError(
                f"{name} reads {field['name']}, which has dates or timestamps inside a list, map "
                "or struct: use a field of the struct; what lists and maps contain cannot be "
                "recorded"
            )
    return tuple(guards)


_CHAR: Final = "__CHAR_VARCHAR_TYPE_STRING"


def is_char(field: Mapping[str, Any]) -> bool:
    """Return whether a field is a CHAR column or holds one.

    >>> is_char({"name": "c", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "struct<a:char(5)>"}})
    True
    """
    # VARCHAR is read unchanged
    kind = str((field.get("metadata") or {}).get(_CHAR, "")).lower()
    return "char" in kind.replace("varchar", "")


_OLD: Final = ("date", "timestamp", "timestamp_ntz")


def _inside(field: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a field and all struct fields nested in it."""
    yield field
    pending: list[Any] = [field["type"]]
    while pending:
        kind = pending.pop()
        if not isinstance(kind, dict):
            continue
        for inner in kind.get("fields", []):
            yield inner
            pending.append(inner["type"])
        pending += [kind.get(part) for part in ("elementType", "keyType", "valueType")]
