"""Where a Parquet file has the fields of a table, if not under their names.

By field id, as in Iceberg:

    table              ids      file                                  path in the file
    s.x                1, 3     s (1) with the fields x (3), y (4)    s.x
    s.x, renamed       1, 3     old (1) with the fields z (3)         old.z
    s.x                1, 3     s (1) with the fields x (7)           none

This module also runs on executors, so it imports nothing from this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

#: The field ids of the structs around a field, from the outside, and its own.
Ids = tuple[int, ...]

_ID: Final = b"PARQUET:field_id"


@dataclass(frozen=True)
class ByIds:
    """Files have each of some fields under its id."""

    ids: tuple[Ids, ...]


@dataclass(frozen=True)
class ByNames:
    """Files have each of some fields under another path."""

    paths: tuple[tuple[str, ...], ...]


#: For each column of a table, where files have it.
Stored = ByIds | ByNames


def all_ids(schema: Any) -> tuple[int | None, ...]:
    """Return the ids of all fields of a Parquet schema that are not in lists or maps."""
    return tuple(id_of(field) for field in _walk(list(schema.to_arrow_schema())))


def _walk(fields: Sequence[pa.Field]) -> Iterator[pa.Field]:
    for field in fields:
        yield field
        if pa.types.is_struct(field.type):
            yield from _walk(_inside(field))


def stored_paths(schema: pa.Schema, wanted: Sequence[Ids]) -> list[tuple[str, ...] | None]:
    """Return the path of each field in a file; None: the file does not have it once, by its id.

    >>> field = pa.field("b", pa.int32(), metadata={"PARQUET:field_id": "7"})
    >>> stored_paths(pa.schema([field]), [(7,), (8,)])
    [('b',), None]
    """
    return [_path(list(schema), ids) for ids in wanted]


def _path(fields: Sequence[pa.Field], ids: Ids) -> tuple[str, ...] | None:
    found = [field for field in fields if id_of(field) == ids[0]]
    if len(found) != 1:
        return None
    (field,) = found
    if len(ids) == 1:
        return (field.name,)
    if not pa.types.is_struct(field.type):
        return None
    below = _path(_inside(field), ids[1:])
    return None if below is None else (field.name, *below)


def _inside(struct: pa.Field) -> list[pa.Field]:
    return [struct.type.field(i) for i in range(struct.type.num_fields)]


def id_of(field: pa.Field) -> int | None:
    """Return the id of a field of a file; None: it has none."""
    text = (field.metadata or {}).get(_ID)
    number = None if text is None else int(text)
    return None if number is None or number < 0 else number
