"""The columns of ORC, CSV and JSON files whose values do not depend on the query or the JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tamis.indexing.executor.columns_schema import Leaf, leaves_of
from tamis.indexing.format.recording_spec import Entry, is_char
from tamis.indexing.read.reader_options import Reading

__all__ = ["is_of_reader", "readable_schema", "row_leaves"]

#: ORC stores wall-clock fields, which Spark converts to a moment in the time zone of the JVM that
#: reads them. So the value may differ between executors.
_CLOCKS: Final = ("timestamp", "timestamp_ntz")


def row_leaves(schema: str, reading: Reading, malformed: str | None) -> tuple[Leaf, ...]:
    """Return the leaves of a schema (Spark's JSON) that can have statistics.

    Beside those that `leaves_of` leaves out, these are left out: columns with a default, which
    Spark fills in for files without them; CHAR columns, which Spark pads when it reads them;
    timestamps of ORC; and the column of malformed records, whose content depends on the other
    columns that are read.
    """
    charred = {path for path, field in _fields(json.loads(schema), ()) if is_char(field)}
    return tuple(
        leaf
        for leaf in leaves_of(readable_schema(schema, malformed))
        if not leaf.has_default
        and not any(leaf.path[: k + 1] in charred for k in range(len(leaf.path)))
        and not (reading.format == "orc" and leaf.type in _CLOCKS)
    )


def readable_schema(schema: str, malformed: str | None) -> str:
    """Return the schema without the column of malformed records and columns with a default."""
    document = json.loads(schema)
    document["fields"] = [
        field
        for field in document["fields"]
        if field["name"] != malformed and not _has_default(field)
    ]
    return json.dumps(document)


def is_of_reader(entry: Entry, reading: Reading) -> bool:
    """Return whether the values of an entry depend on the JVM that reads them."""
    return reading.format == "orc" and any(kind in _CLOCKS for _, kind in entry.guards)


def _has_default(field: dict[str, Any]) -> bool:
    metadata = field.get("metadata") or {}
    return "EXISTS_DEFAULT" in metadata or "CURRENT_DEFAULT" in metadata


def _fields(
    struct: dict[str, Any], parents: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for field in struct["fields"]:
        path = (*parents, field["name"])
        yield path, field
        if isinstance(field["type"], dict) and field["type"].get("type") == "struct":
            yield from _fields(field["type"], path)
