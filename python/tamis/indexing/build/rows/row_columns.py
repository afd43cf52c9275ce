"""The columns of files read as rows whose values do not depend on the query or the JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tamis.indexing.executor.columns_schema import Leaf, leaves_of
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.table_schema import is_char
from tamis.indexing.read.field_ids import fixed_by_partitions
from tamis.indexing.read.reader_options import ICEBERG, Reading

__all__ = ["is_of_reader", "readable_schema", "reads_partitions", "row_leaves"]

#: ORC stores wall-clock fields, which Spark converts to a moment in the time zone of the JVM that
#: reads them. So the value may differ between executors.
_CLOCKS: Final = ("timestamp", "timestamp_ntz")
_POLICY: Final = "spark.sql.legacy.timeParserPolicy"


def row_leaves(schema: str, reading: Reading, malformed: str | None) -> tuple[Leaf, ...]:
    """Return the leaves of a schema (Spark's JSON) that can have statistics.

    Beside those that `leaves_of` leaves out, these are left out: columns with a default, which
    Spark fills in for files without them; CHAR columns, which Spark pads when it reads them;
    timestamps of ORC; timestamps of text, if a time without a date is one of the current day;
    columns of Iceberg whose values may come from the metadata of partitions; and the column of
    malformed records, whose content depends on the other columns that are read.
    """
    fixed = fixed_by_partitions(reading) if reading.format == ICEBERG else frozenset()
    charred = {path for path, field in _fields(json.loads(schema), ()) if is_char(field)}
    return tuple(
        leaf
        for leaf in leaves_of(readable_schema(schema, malformed))
        if not leaf.has_default
        and leaf.path not in fixed
        and not any(leaf.path[: k + 1] in charred for k in range(len(leaf.path)))
        and not _depends_on_reader(leaf.type, reading)
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


def reads_partitions(entry: Entry, reading: Reading) -> bool:
    """Return whether an entry of Iceberg reads values that may come from the metadata."""
    if reading.format != ICEBERG:
        return False
    fixed = fixed_by_partitions(reading)
    paths = [*(entry.reads if entry.path is None else [entry.path])]
    paths += [path for path, _ in entry.by or ()]
    return any(path in fixed for path in paths)


def is_of_reader(entry: Entry, reading: Reading) -> bool:
    """Return whether the values of an entry depend on the JVM that reads them, or on the day."""
    return any(_depends_on_reader(kind, reading) for _, kind in entry.guards)


def _depends_on_reader(data_type: str, reading: Reading) -> bool:
    if reading.format == ICEBERG:
        return False
    if reading.format == "orc":
        return data_type in _CLOCKS
    if data_type == "timestamp":
        # Without a format, and as a fallback, Spark casts the text: 10:30 is a time of today.
        settings = {**reading.confs, **reading.options}
        falls_back = any(
            name.lower().endswith("enabledatetimeparsingfallback") and value.lower() != "false"
            for name, value in settings.items()
        )
        return "timestampformat" not in reading.options or falls_back or _is_legacy(reading)
    # SimpleDateFormat takes years with two digits as close to the current one.
    return data_type in ("date", "timestamp_ntz") and _is_legacy(reading)


def _is_legacy(reading: Reading) -> bool:
    return reading.confs.get(_POLICY, "").upper() == "LEGACY"


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
