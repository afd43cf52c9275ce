"""The columns of an Iceberg table, and the values of those that a file lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from tamis.sources.errors import SourceError
from tamis.sources.fields import Field

__all__ = ["absent_values", "fields_of_schema", "names_by_id"]

_TYPES: Final = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
}


def names_by_id(mapping: Any) -> dict[int, frozenset[str]]:
    """Return the names of fields in files without field ids, by `schema.name-mapping.default`.

    Args:
        mapping: The name mapping as pyiceberg reads it; None: there is none.
    """
    return {} if mapping is None else dict(_mapped(list(mapping)))


def _mapped(fields: Sequence[Any]) -> Iterator[tuple[int, frozenset[str]]]:
    for each in fields:
        if each.field_id is not None:
            yield each.field_id, frozenset(each.names)
        yield from _mapped(each.fields)


def fields_of_schema(
    schema: Any, aliases: Mapping[int, frozenset[str]], table: str
) -> tuple[Field, ...]:
    """Return the columns of a schema.

    Args:
        schema: A schema of pyiceberg.
        aliases: Names in files without field ids.
        table: The table as the user has named it, for errors.

    Raises:
        SourceError: A type is not supported, or two names differ in case only.
    """
    return _struct(schema.fields, aliases, table, "")


def _struct(
    fields: Sequence[Any], aliases: Mapping[int, frozenset[str]], table: str, where: str
) -> tuple[Field, ...]:
    if len({each.name.lower() for each in fields}) < len(fields):
        what = f"the struct {where}" if where else "the table"
        raise SourceError(f"{table}: {what} has names that differ in case only")
    if where and any(each.initial_default is not None for each in fields):
        raise SourceError(
            f"{table}: a field of {where} has an initial default, which is supported for top-level "
            "columns only"
        )
    return tuple(
        _field(each, aliases, table, f"{where}.{each.name}" if where else each.name)
        for each in fields
    )


def _field(each: Any, aliases: Mapping[int, frozenset[str]], table: str, where: str) -> Field:
    kind = each.field_type
    children: tuple[Field, ...] = ()
    if kind.is_struct:
        children = _struct(kind.fields, aliases, table, where)
        data_type = pa.struct([pa.field(child.name, child.type) for child in children])
    elif hasattr(kind, "element_field"):
        children = (_field(kind.element_field, aliases, table, f"{where}.element"),)
        data_type = pa.list_(children[0].type)
    elif hasattr(kind, "key_field"):
        children = tuple(
            _field(inner, aliases, table, f"{where}.{inner.name}")
            for inner in (kind.key_field, kind.value_field)
        )
        data_type = pa.map_(children[0].type, children[1].type)
    else:
        data_type = _primitive(str(kind), table, where)
    names = aliases.get(each.field_id, frozenset())
    return Field(each.name, data_type, each.name, each.field_id, aliases=names, children=children)


def _primitive(name: str, table: str, where: str) -> Any:
    if name.startswith("decimal("):
        precision, scale = name[len("decimal(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    if name.startswith("fixed["):
        return pa.binary(int(name[len("fixed[") : -1]))
    if name == "uuid":
        return pa.uuid()
    if name not in _TYPES:
        raise SourceError(
            f"{table}: the column {where} has the type {name}, which is not supported"
        )
    return _TYPES[name]


def absent_values(
    schema: Any,
    specs: Mapping[int, Any],
    files: Sequence[Any],
    columns: Sequence[Field],
    table: str,
) -> dict[str, pa.Array]:
    """Return what files that lack a column have instead of NULL, one value per file.

    That is the partition value, if the file is partitioned by the column itself, else the initial
    default of the column. A NULL as partition value is a value.

    Args:
        schema: The schema as pyiceberg reads it.
        specs: The partition specs by id.
        files: The data files, as pyiceberg reads their entries.
        columns: The columns of the schema.
        table: The table as the user has named it, for errors.

    Raises:
        SourceError: A field of a struct is a partition value, or a value is malformed.
    """
    places = {number: _identities(spec) for number, spec in specs.items()}
    used = {number for each in files for number in places[each.spec_id]}
    top = {each.id for each in columns}
    inside = (used - top) & set(schema.field_ids)
    if inside:
        name = schema.find_column_name(min(inside))
        raise SourceError(
            f"{table} is partitioned by {name}, a field of a struct, which is not supported"
        )
    defaults = {each.field_id: each.initial_default for each in schema.fields}
    values = {}
    for column in columns:
        assert column.id is not None
        default = defaults[column.id]
        if column.id not in used and default is None:
            continue
        cells = [
            each.partition[places[each.spec_id][column.id]]
            if column.id in places[each.spec_id]
            else default
            for each in files
        ]
        values[column.name] = _array(cells, column, table)
    return values


def _identities(spec: Any) -> dict[int, int]:
    """Return the places of partition values that are those of a column, by the id of the column.

    Of several fields with one source, any has the value of the column.
    """
    return {
        each.source_id: place
        for place, each in enumerate(spec.fields)
        if str(each.transform) == "identity"
    }


def _array(cells: Sequence[Any], column: Field, table: str) -> pa.Array:
    plain = [each.bytes if isinstance(each, UUID) else each for each in cells]
    try:
        return pa.array(plain, column.type)
    except (pa.ArrowException, ValueError, TypeError) as problem:
        raise SourceError(
            f"{table}: a partition value or default of {column.name} is not of type {column.type}"
        ) from problem
