"""What decides which values Iceberg reads from a data file: field ids, and how a file lacks them.

Iceberg finds columns by field id, whatever their names are. The values of a field in a data file
never change as long as these are the same:

- its id and those of the structs around it, its type, and its initial default, which files without
  the field have. Ids are unique in a table only, which its UUID identifies.
- the names that `schema.name-mapping.default` gives to these ids, by which Iceberg finds columns in
  files without ids (those of `add_files`). Without a mapping, it numbers their columns.
- that no partition spec has the field as it is: such values may come from the metadata.

So an index stores a description of these as a Reading, and queries use what it records of fields
with an equal description: after a column was renamed, its statistics still hold, and after another
column got its name, they are not mistaken for those of the other.

Source: Iceberg table specification, "Schemas" and "Column Projection".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tamis.indexing.read.fields import Field, Path
from tamis.indexing.read.reader_options import ICEBERG, Reading
from tamis.wire.iceberg import IcebergSnapshot

__all__ = [
    "fields_of",
    "fixed_by_partitions",
    "iceberg_reading",
    "is_promotion",
    "other_table",
]

Names: TypeAlias = Mapping[int, Sequence[str]]

_UUID: Final = "table-uuid"
_MAPPING: Final = "schema.name-mapping.default"
_DEFAULT: Final = "initial-default"
#: Promotions that keep every value. Those of decimals are in `is_promotion`.
_PROMOTIONS: Final = (("int", "long"), ("float", "double"))


def iceberg_reading(snapshot: IcebergSnapshot) -> Reading:
    """Return what decides which values are read from the data files of a table.

    Raises:
        ValueError, LookupError, TypeError: The metadata has an unexpected form.
    """
    options = {_UUID: snapshot.table_uuid or ""}
    if snapshot.name_mapping is not None:
        names = dict(sorted(_names(json.loads(snapshot.name_mapping))))
        options[_MAPPING] = json.dumps(names, ensure_ascii=False)
    sources = {
        int(source)
        for spec in snapshot.specs
        for each in json.loads(spec)["fields"]
        if each["transform"] == "identity"
        for source in ([each["source-id"]] if "source-id" in each else each["source-ids"])
    }
    schema = _essential(json.loads(snapshot.schema))
    return Reading(
        ICEBERG,
        json.dumps(schema, ensure_ascii=False),
        json.dumps(sorted(sources)),
        options,
        {},
        {},
    )


def _names(mapping: Sequence[Any]) -> Iterator[tuple[int, list[str]]]:
    for each in mapping:
        if each.get("field-id") is not None:
            yield int(each["field-id"]), sorted(map(str, each["names"]))
        yield from _names(each.get("fields") or [])


def _essential(kind: Any) -> Any:
    """Return a type without comments, and without what only writers need."""
    if isinstance(kind, str):
        return kind
    if kind["type"] != "struct":  # a list or a map
        inside = ("element", "key", "value")
        return {k: _essential(v) if k in inside else v for k, v in sorted(kind.items())}
    kept = ("id", "name", _DEFAULT)
    fields = [
        {**{k: each[k] for k in kept if k in each}, "type": _essential(each["type"])}
        for each in kind["fields"]
    ]
    return {"type": "struct", "fields": fields}


def other_table(built: Reading, now: Reading) -> str | None:
    """Return why nothing that was recorded under one reading holds under another; None: some does.

    >>> a = Reading("iceberg", '{"fields": []}', "[]", {"table-uuid": "a"}, {}, {})
    >>> b = Reading("iceberg", '{"fields": []}', "[]", {"table-uuid": "b"}, {}, {})
    >>> other_table(a, a), other_table(a, b)
    (None, 'it was built for another table at this place')
    """
    if not built.options.get(_UUID) or built.options.get(_UUID) != now.options.get(_UUID):
        return "it was built for another table at this place"
    if (_MAPPING in built.options) != (_MAPPING in now.options):
        # Without a mapping, columns of files without ids are numbered: all of them may be others.
        return f"{_MAPPING} was set or removed since it was built"
    return None


def fixed_by_partitions(reading: Reading) -> frozenset[Path]:
    """Return the paths of the fields whose values may come from the metadata of partitions."""
    return frozenset(path for path, each in fields_of(reading).items() if each.is_of_partitions)


def fields_of(reading: Reading) -> dict[Path, Field]:
    """Return all fields that are not in lists or maps, by their paths."""
    names = json.loads(reading.options.get(_MAPPING, "{}"))
    known = {int(key): each for key, each in names.items()}
    sources = frozenset(json.loads(reading.partitions))
    return dict(_fields(json.loads(reading.schema), (), (), (), known, sources))


def _fields(
    struct: Any,
    path: Path,
    ids: tuple[int, ...],
    defaults: tuple[Any, ...],
    names: Names,
    sources: frozenset[int],
) -> Iterator[tuple[Path, Field]]:
    for each in struct["fields"]:
        here = (*path, str(each["name"]))
        own_ids = (*ids, int(each["id"]))
        own_defaults = (*defaults, each.get(_DEFAULT))
        inside = tuple(_ids_inside(each["type"]))
        yield (
            here,
            Field(
                own_ids,
                each["type"],
                # the names by which files without ids have it, everything around it and inside it
                (own_defaults, tuple((k, tuple(names.get(k, ()))) for k in (*own_ids, *inside))),
                not sources.isdisjoint((*own_ids, *inside)),
            ),
        )
        if isinstance(each["type"], dict) and each["type"]["type"] == "struct":
            yield from _fields(each["type"], here, own_ids, own_defaults, names, sources)


def _ids_inside(kind: Any) -> Iterator[int]:
    if isinstance(kind, str):
        return
    for each in kind.get("fields", []):
        yield int(each["id"])
        yield from _ids_inside(each["type"])
    for part in ("element", "key", "value"):
        if part in kind:
            yield int(kind[f"{part}-id"])
            yield from _ids_inside(kind[part])


def is_promotion(before: Any, after: Any) -> bool:
    """Return whether a type was promoted to another without a change of any value.

    >>> is_promotion("int", "long"), is_promotion("decimal(9, 2)", "decimal(12, 2)")
    (True, True)
    >>> is_promotion("long", "int"), is_promotion("date", "timestamp")
    (False, False)
    """
    if not (isinstance(before, str) and isinstance(after, str)):
        return False
    if (before, after) in _PROMOTIONS:
        return True
    old, new = _decimal(before), _decimal(after)
    return old is not None and new is not None and old[1] == new[1] and old[0] <= new[0]


def _decimal(kind: str) -> tuple[int, int] | None:
    if not (kind.startswith("decimal(") and kind.endswith(")")):
        return None
    precision, _, scale = kind[len("decimal(") : -1].partition(",")
    return int(precision), int(scale)
