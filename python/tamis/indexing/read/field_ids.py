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
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tamis.indexing.read.reader_options import ICEBERG, Reading
from tamis.wire.iceberg import IcebergSnapshot

__all__ = ["FieldBinding", "fixed_by_partitions", "iceberg_reading", "ids_in", "other_table"]

Path: TypeAlias = tuple[str, ...]
Names: TypeAlias = Mapping[int, Sequence[str]]

_UUID: Final = "table-uuid"
_MAPPING: Final = "schema.name-mapping.default"
_DEFAULT: Final = "initial-default"
#: Promotions that keep every value. Those of decimals are in `_is_promotion`.
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
    return frozenset(
        path for path, each in _fields_of(reading).items() if each.is_fixed_by_partitions
    )


def ids_in(reading: Reading) -> dict[Path, tuple[int, ...]]:
    """Return the ids of all fields that are not in lists or maps, by their paths.

    Those of a field are the ids of the structs around it and its own.
    """
    return {path: each.ids for path, each in _fields_of(reading).items()}


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a schema.

    Attributes:
        ids: The ids of the structs around it and its own.
        type: Its type, see `_essential`.
        defaults: The initial defaults along `ids`.
        names: The names by which files without ids have it, everything around it and inside it.
        is_fixed_by_partitions: Its values, or some inside it, may come from the metadata.
    """

    ids: tuple[int, ...]
    type: Any
    defaults: tuple[Any, ...]
    names: tuple[tuple[int, tuple[str, ...]], ...]
    is_fixed_by_partitions: bool

    def has_values_of(self, other: _Field) -> bool:
        """Return whether both have the same values in every file, after a conversion at most."""
        return (
            self.ids == other.ids
            and self.defaults == other.defaults
            and self.names == other.names
            and not self.is_fixed_by_partitions
            and not other.is_fixed_by_partitions
        )


def _fields_of(reading: Reading) -> dict[Path, _Field]:
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
) -> Iterator[tuple[Path, _Field]]:
    for each in struct["fields"]:
        here = (*path, str(each["name"]))
        own_ids = (*ids, int(each["id"]))
        own_defaults = (*defaults, each.get(_DEFAULT))
        inside = tuple(_ids_inside(each["type"]))
        yield (
            here,
            _Field(
                own_ids,
                each["type"],
                own_defaults,
                tuple((k, tuple(names.get(k, ()))) for k in (*own_ids, *inside)),
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


@dataclass(frozen=True, eq=False)
class FieldBinding:
    """The fields that a query reads, and those of the index that have the same values.

    Attributes:
        built: The reading for which the index was built.
        now: The reading of the query.
    """

    built: Reading
    now: Reading
    _built: dict[Path, _Field] = field(init=False, repr=False)
    _now: dict[Path, _Field] = field(init=False, repr=False)
    _paths: dict[tuple[int, ...], Path] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        built, now = _fields_of(self.built), _fields_of(self.now)
        object.__setattr__(self, "_built", built)
        object.__setattr__(self, "_now", now)
        object.__setattr__(self, "_paths", {each.ids: path for path, each in built.items()})

    def path_in_index(self, path: Path) -> Path | None:
        """Return the path under which the index has a column of the query; None: it has not."""
        now = self._now.get(path)
        before = None if now is None else self._paths.get(now.ids)
        if now is None or before is None:
            return None
        built = self._built[before]
        same_type = built.type == now.type or _is_promotion(built.type, now.type)
        return before if same_type and built.has_values_of(now) else None

    def reads_the_same(self, paths: Sequence[Path]) -> bool:
        """Return whether an expression over these columns reads the same values as in the index.

        An expression is found by what it computes from the names of columns.
        """
        for path in paths:
            built, now = self._built.get(path), self._now.get(path)
            if built is None or now is None:
                return False
            # The expression may compute something else from another type.
            if built.type != now.type or not built.has_values_of(now):
                return False
        return bool(paths)

    def is_used(self, path: Path) -> bool:
        """Return whether a column of the index has the values of a column of the query."""
        return any(self.path_in_index(each) == path for each in self._now)


def _is_promotion(before: Any, after: Any) -> bool:
    """Return whether a type was promoted to another without a change of any value.

    >>> _is_promotion("int", "long"), _is_promotion("decimal(9, 2)", "decimal(12, 2)")
    (True, True)
    >>> _is_promotion("long", "int"), _is_promotion("date", "timestamp")
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
