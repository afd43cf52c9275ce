"""What decides which values Delta reads from a data file: the place of a column, and its type.

With column mapping, Delta gives Spark's Parquet reader another schema than the table has: one with
the physical names of all fields (mode `name`), or one whose fields have ids, by which that reader
then finds them (mode `id`). So the values of a column in a file, which never changes, depend on the
physical names, or the ids, of the column and of everything around it and inside it, and on types.
They do not depend on its name. A table without column mapping is one whose columns have their
names as physical names; so have its old columns if column mapping is turned on later.

Values of partition columns come from the log, so these columns are left out.

Source: Delta transaction log protocol, "Column Mapping"; DeltaParquetFileFormat of Delta 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tamis.indexing.read.fields import Field, Path
from tamis.indexing.read.reader_options import DELTA, Reading

__all__ = ["delta_reading", "fields_of", "logical_name", "other_table", "unmapped"]

_MODE: Final = "delta.columnMapping.mode"
_ID: Final = "delta.columnMapping.id"
_PHYSICAL: Final = "delta.columnMapping.physicalName"
#: Metadata of fields with which Spark reads other values.
_KEPT: Final = ("EXISTS_DEFAULT", "__CHAR_VARCHAR_TYPE_STRING", "__COLLATIONS")


def delta_reading(schema: str, column_mapping: str, partition_columns: Sequence[str]) -> Reading:
    """Return what decides which values are read from the data files: see `DeltaSnapshot`.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: The schema has an unexpected form.
    """
    if column_mapping not in ("none", "name", "id"):
        raise ValueError(f"the unknown column mapping {column_mapping}")
    partitions = {name.lower() for name in partition_columns}
    fields = [
        each for each in json.loads(schema)["fields"] if each["name"].lower() not in partitions
    ]
    essential = _essential({"type": "struct", "fields": fields}, column_mapping)
    return Reading(
        DELTA, json.dumps(essential, ensure_ascii=False), "", {_MODE: column_mapping}, {}, {}
    )


def unmapped(schema: str) -> Reading:
    """Return that of the columns of files (Spark's JSON) in a table without column mapping."""
    return delta_reading(schema, "none", ())


def _essential(kind: Any, mode: str) -> Any:
    """Return a type with names and places, but without comments and what only writers need."""
    if isinstance(kind, str):
        return kind
    if kind["type"] != "struct":  # an array or a map
        inside = ("elementType", "keyType", "valueType")
        kept = ("type", *inside)
        return {k: _essential(kind[k], mode) if k in inside else kind[k] for k in kept if k in kind}
    fields = []
    for each in kind["fields"]:
        metadata = each.get("metadata") or {}
        fields.append(
            {
                "name": str(each["name"]),
                "physical": str(each["name"] if mode == "none" else metadata[_PHYSICAL]),
                **({"id": int(metadata[_ID])} if mode == "id" else {}),
                "type": _essential(each["type"], mode),
                "metadata": {k: metadata[k] for k in _KEPT if k in metadata},
            }
        )
    return {"type": "struct", "fields": fields}


def other_table(built: Reading, now: Reading) -> str | None:
    """Return why nothing that was recorded under one reading holds under another; None: some does.

    >>> a, b = (delta_reading('{"fields": []}', mode, []) for mode in ("none", "id"))
    >>> other_table(a, a), other_table(a, b)
    (None, 'delta.columnMapping.mode was none and now is id')
    """
    modes = built.options[_MODE], now.options[_MODE]
    # names and ids do not identify the same column of a file
    if modes[0] != modes[1] and "id" in modes:
        return f"{_MODE} was {modes[0]} and now is {modes[1]}"
    return None


def fields_of(reading: Reading) -> dict[Path, Field]:
    """Return all fields that are not in lists or maps, by their paths."""
    return dict(_fields(json.loads(reading.schema), (), (), ()))


def _fields(
    struct: Any, path: Path, place: tuple[int | str, ...], metadata: tuple[Any, ...]
) -> Iterator[tuple[Path, Field]]:
    for each in struct["fields"]:
        here, there = (*path, each["name"]), (*place, each.get("id", each["physical"]))
        along = (*metadata, each["metadata"])
        yield here, Field(there, each["type"], along)
        if isinstance(each["type"], dict) and each["type"]["type"] == "struct":
            yield from _fields(each["type"], here, there, along)


def logical_name(reading: Reading, path: str) -> str:
    """Return the dotted path of a column of a file with the names of the table, as far as known.

    >>> field = {"name": "a", "type": "long", "metadata": {"delta.columnMapping.physicalName": "p"}}
    >>> reading = delta_reading(json.dumps({"fields": [field]}), "name", [])
    >>> logical_name(reading, "p"), logical_name(reading, "q")
    ('a', 'q')
    """
    kind: Any = json.loads(reading.schema)
    names: list[str] = []
    while isinstance(kind, Mapping) and kind["type"] == "struct" and path:
        found = [
            each
            for each in kind["fields"]
            if path == each["physical"] or path.startswith(f"{each['physical']}.")
        ]
        if not found:
            break
        names.append(found[0]["name"])
        path = path[len(found[0]["physical"]) + 1 :]
        kind = found[0]["type"]
    return ".".join([*names, path] if path else names)
