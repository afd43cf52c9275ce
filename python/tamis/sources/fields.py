"""The columns of a table, and which columns of a file they are.

    table              matched by              formats
    id 1: amount       the field id            Iceberg, Delta with column mapping by id
    amount             the physical name       Delta with column mapping by name
    amount             the name, in any case   directories, other Delta tables

A file may lack columns, and have further ones, which do not belong to the table: a column that was
dropped and added again under the same name has another id. The elements of lists and the keys and
values of maps are matched by their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.indexing.executor.field_paths import id_of

__all__ = ["BoundField", "Field", "bind", "fields_of", "ids_of", "stored_path", "table_schema"]


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table; or a field of a struct, an element, a key or a value inside of one.

    - `name`, `type`: its name and type in the table.
    - `physical`: its name in files, if it is not matched by id.
    - `id`: the field id in files; None: it is matched by name.
    - `exact`: whether the case of a name in a file matters.
    - `aliases`: names in files that have no field ids.
    - `children`: those of a nested type.
    """

    name: str
    type: Any
    physical: str
    id: int | None = None
    exact: bool = False
    aliases: frozenset[str] = frozenset()
    children: tuple[Field, ...] = ()


#: What is in the place of each field of a table, in the order of the table. None: nothing.
Bound: TypeAlias = "tuple[BoundField | None, ...]"


@dataclass(frozen=True, slots=True)
class BoundField:
    """A field of a file that is a field of the table.

    - `field`: the field of the table.
    - `place`: its place among the fields that surround it in the file.
    - `stored`: the field of the file.
    - `children`: those of a nested type, in the order of the table.
    - `is_alike`: whether names and order of everything inside are those of the table.
    """

    field: Field
    place: int
    stored: Any
    children: Bound
    is_alike: bool

    def type_of(self, stored: Any) -> Any:
        """Return a type of the file with the names of the table."""
        if self.is_alike:
            return stored
        inner = [
            pa.field(child.field.name, child.type_of(_inner(stored)[child.place].type))
            for child in self.children
            if child is not None
        ]
        if pa.types.is_struct(stored):
            return pa.struct(inner)
        if pa.types.is_map(stored):
            return pa.map_(inner[0].type, inner[1].type)
        return pa.list_(inner[0].type)

    def array_of(self, array: pa.Array) -> pa.Array:
        """Return values of the file with the names of the table, NULL where the file lacks a field.

        The types of leaves stay those of the file.
        """
        if self.is_alike:
            return array
        if pa.types.is_struct(array.type):
            parts = array.flatten()  # with the NULLs of the struct
            fields = [
                pa.nulls(len(array), inner.type)
                if child is None
                else child.array_of(parts[child.place])
                for child, inner in zip(self.children, self.field.children, strict=True)
            ]
            names = [each.name for each in self.field.children]
            return pa.StructArray.from_arrays(fields, names, mask=array.is_null())
        if pa.types.is_fixed_size_list(array.type) or pa.types.is_large_list(array.type):
            array = array.cast(pa.list_(array.type.value_type))
        # a copy, which is not a slice of other values
        array = array.take(pa.array(range(len(array)), pa.int64()))
        inner = [child for child in self.children if child is not None]
        if pa.types.is_map(array.type):
            keys, items = inner[0].array_of(array.keys), inner[1].array_of(array.items)
            return pa.MapArray.from_arrays(array.offsets, keys, items, mask=array.is_null())
        values = inner[0].array_of(array.values)
        return pa.ListArray.from_arrays(array.offsets, values, mask=array.is_null())


def table_schema(fields: Sequence[Field]) -> pa.Schema:
    """Return the schema of a table."""
    return pa.schema([pa.field(each.name, each.type) for each in fields])


def fields_of(schema: pa.Schema) -> tuple[Field, ...]:
    """Return the fields of a table that are matched by name, in any case."""
    return tuple(_named(each.name, each.type) for each in schema)


def _named(name: str, data_type: Any) -> Field:
    inner = _inner(data_type)
    children = tuple(_named(each.name, each.type) for each in inner)
    return Field(name, data_type, name, children=children)


def _inner(data_type: Any) -> list[pa.Field]:
    """Return the fields inside of a nested type."""
    if isinstance(data_type, pa.BaseExtensionType) or not pa.types.is_nested(data_type):
        return []
    if pa.types.is_map(data_type):
        return [data_type.key_field, data_type.item_field]
    return [data_type.field(place) for place in range(data_type.num_fields)]


def ids_of(schema: pa.Schema) -> tuple[int | None, ...]:
    """Return the field ids of all columns and of everything inside of them."""
    return tuple(id_of(each) for field in schema for each in _walk(field))


def _walk(field: pa.Field) -> Iterator[pa.Field]:
    yield field
    for each in _inner(field.type):
        yield from _walk(each)


def bind(fields: Sequence[Field], schema: pa.Schema) -> Bound:
    """Return the columns of a file that are columns of a table.

    Args:
        fields: The columns of the table.
        schema: The columns of the file, with their field ids.

    Raises:
        ValueError: The columns are matched by id, but the file has no ids and the table no name
            mapping; or two columns of the file match one of the table.

    >>> schema = pa.schema({"b": pa.int32(), "A": pa.string()})
    >>> bound = bind(fields_of(pa.schema({"a": pa.string(), "c": pa.int8()})), schema)
    >>> bound[0].place, bound[1]
    (1, None)
    """
    has_ids = any(each is not None for each in ids_of(schema))
    by_id = any(each.id is not None for each in fields)
    if by_id and not has_ids and not any(each.aliases for each in fields):
        raise ValueError(
            "has no field ids, and the table has no name mapping (schema.name-mapping.default)"
        )
    return _bound(fields, list(schema), has_ids)


def stored_path(bound: Bound, path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the path in a file of a leaf of the table, outside of lists and maps.

    Returns:
        None if the file lacks it, or has something else in its place.
    """
    for each in bound:
        if each is not None and each.field.name == path[0]:
            if len(path) == 1:
                return (each.stored.name,)
            below = stored_path(each.children, path[1:])
            return None if below is None else (each.stored.name, *below)
    return None


def _bound(fields: Sequence[Field], stored: Sequence[pa.Field], has_ids: bool) -> Bound:
    bound = []
    for field in fields:
        places = [k for k, each in enumerate(stored) if _is_same(field, each, has_ids)]
        if len(places) > 1:
            raise ValueError(f"has several columns for {field.name}")
        bound.append(_bound_to(field, places[0], stored[places[0]], has_ids) if places else None)
    return tuple(bound)


def _is_same(field: Field, stored: pa.Field, has_ids: bool) -> bool:
    if field.id is not None:
        return id_of(stored) == field.id if has_ids else stored.name in field.aliases
    if field.exact:
        return bool(stored.name == field.physical)
    return bool(stored.name.lower() == field.physical.lower())


def _bound_to(field: Field, place: int, stored: pa.Field, has_ids: bool) -> BoundField:
    inner = _inner(stored.type)
    children: Bound = ()
    if field.children and pa.types.is_struct(field.type) and pa.types.is_struct(stored.type):
        children = _bound(field.children, inner, has_ids)
        is_alike = len(inner) == len(children) and all(
            child is not None
            and child.is_alike
            and child.place == k
            and child.field.name == child.stored.name
            for k, child in enumerate(children)
        )
        return BoundField(field, place, stored, children, is_alike)
    if field.children and len(inner) == len(field.children) and _are_alike(field.type, stored.type):
        children = tuple(
            _bound_to(child, k, each, has_ids)
            for k, (child, each) in enumerate(zip(field.children, inner, strict=True))
        )
        is_alike = all(child is not None and child.is_alike for child in children)
        return BoundField(field, place, stored, children, is_alike)
    return BoundField(field, place, stored, (), True)


def _are_alike(left: Any, right: Any) -> bool:
    """Return whether both are maps, or both are lists of some kind."""
    if pa.types.is_struct(left) or pa.types.is_struct(right):
        return False
    return bool(pa.types.is_map(left) == pa.types.is_map(right))
