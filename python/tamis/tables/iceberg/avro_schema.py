"""Avro schemas in the form that polars reads.

polars refuses some default values, such as the one of `block_size_in_bytes` in manifests of version
1 that pyiceberg writes, and it does not resolve names of types. Only what describes the encoding is
kept, and each use of a named type has its own definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["plain_schema"]

_KEPT: Final = ("type", "size", "symbols", "logicalType", "precision", "scale")
_NAMED: Final = ("record", "fixed", "enum")


def plain_schema(schema: Any) -> Any:
    """Return a schema that describes the same encoding, without references and default values.

    Raises:
        ValueError: A type refers to itself.

    >>> plain_schema(
    ...     {
    ...         "type": "record",
    ...         "name": "r",
    ...         "fields": [{"name": "x", "field-id": 1, "default": 5, "type": "long"}],
    ...     }
    ... )
    {'type': 'record', 'name': 't1', 'fields': [{'name': 'x', 'type': 'long'}]}
    """
    return _Types().plain(schema, ())


class _Types:
    """The named types of a schema."""

    def __init__(self) -> None:
        self._defined: dict[str, Mapping[str, Any]] = {}
        self._names = 0

    def plain(self, schema: Any, inside: tuple[str, ...]) -> Any:
        if isinstance(schema, str):
            if schema in inside:
                raise ValueError(f"the type {schema} contains itself")
            definition = self._defined.get(schema)
            return schema if definition is None else self.plain(definition, inside)
        if isinstance(schema, list):
            return [self.plain(each, inside) for each in schema]
        if isinstance(schema["type"], dict | list):
            return self.plain(schema["type"], inside)
        plain = {name: schema[name] for name in _KEPT if name in schema}
        if schema["type"] in _NAMED:
            name = str(schema["name"])
            self._defined[name] = schema
            self._names += 1
            plain["name"] = f"t{self._names}"
            inside = (*inside, name)
        if "fields" in schema:
            plain["fields"] = [
                {"name": each["name"], "type": self.plain(each["type"], inside)}
                for each in schema["fields"]
            ]
        if "items" in schema:
            plain["items"] = self.plain(schema["items"], inside)
        return plain
