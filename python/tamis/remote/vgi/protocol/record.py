"""Writing and reading records: batches of one row, whose columns are the fields.

    text, bytes, int, float, bool   the Arrow type of the same name
    enumeration                     a dictionary of the member names, in upper case
    optional                        a nullable column
    schema                          its serialized form, without the end of a stream
    other record                    its stream, as bytes

A record is written with every field, in the order of the protocol: some implementations compare
schemas. It is read by name: unknown fields are ignored, and absent ones are None, false or empty.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tamis.remote.vgi.protocol.framing import (
    READ_FAILURES,
    MalformedMessage,
    batch_of,
    stream_bytes,
)

__all__ = [
    "ENUMERATION",
    "TEXTS",
    "Record",
    "needed",
    "optional",
    "row_of",
    "single_row",
]

TEXTS: Final = pa.list_(pa.string())
ENUMERATION: Final = pa.dictionary(pa.int16(), pa.string())


def needed(name: str, data_type: Any) -> pa.Field:
    """Return a field that is not NULL."""
    return pa.field(name, data_type, nullable=False)


def optional(name: str, data_type: Any) -> pa.Field:
    """Return a field that may be NULL."""
    return pa.field(name, data_type)


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of a record.

    >>> point = Record(
    ...     "Point", pa.schema([needed("x", pa.int64()), optional("label", pa.string())])
    ... )
    >>> point.unpack(point.pack(x=1))
    {'x': 1, 'label': None}
    """

    name: str
    schema: pa.Schema

    def pack(self, **values: Any) -> bytes:
        """Return the stream of a record. A field without a value is NULL, or false or empty."""
        return stream_bytes(row_of(self.schema, values))

    def unpack(self, body: bytes, fields: Collection[str] | None = None) -> dict[str, Any]:
        """Return the values of a record.

        Args:
            body: The stream of the record.
            fields: The names of the fields to return; None: all.

        Raises:
            MalformedMessage: The bytes are not such a record.
        """
        return single_row(self.schema, batch_of(body, self.name), self.name, fields)


def row_of(schema: pa.Schema, values: Mapping[str, Any]) -> pa.RecordBatch:
    """Return a batch of one row. A field without a value is NULL, or false or empty.

    Raises:
        KeyError: A value has no field, or a field that is not NULL has no value.
    """
    unknown = values.keys() - set(schema.names)
    if unknown:
        raise KeyError(f"unknown fields: {sorted(unknown)}")
    columns = []
    for field in schema:
        value = values.get(field.name)
        if value is None and not field.nullable:
            value = _empty(field)
        if isinstance(value, Mapping) and pa.types.is_map(field.type):
            value = list(value.items())
        columns.append(pa.array([value], field.type))
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def single_row(
    schema: pa.Schema, batch: pa.RecordBatch, what: str, fields: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the values of a batch of one row, which may lack columns and have others.

    Raises:
        MalformedMessage: It has another number of rows, the same column twice, a column of another
            type, or NULL in a field that is not NULL.
    """
    if batch.num_rows != 1:
        raise MalformedMessage(f"{what} has {batch.num_rows} rows instead of one")
    row = {}
    for field in schema:
        if fields is not None and field.name not in fields:
            continue
        places = batch.schema.get_all_field_indices(field.name)
        if len(places) > 1:
            raise MalformedMessage(f"{what} has {len(places)} columns named {field.name}")
        value = _value(field, batch.column(places[0]), what) if places else None
        if value is None and not field.nullable:
            value = _absent(field, what)
        row[field.name] = value
    return row


def _value(field: pa.Field, column: pa.Array, what: str) -> Any:
    target = _plain(field.type)
    try:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.type != target:
            column = _widened(column, target)
        (value,) = column.to_pylist()
    except READ_FAILURES as error:
        raise MalformedMessage(
            f"{what}.{field.name} is {column.type} instead of {target}"
        ) from error
    return dict(value) if value is not None and pa.types.is_map(target) else value


def _plain(data_type: Any) -> Any:
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type


def _widened(column: pa.Array, target: Any) -> pa.Array:
    """Return the column in another type of the same kind, such as large_binary for binary.

    Raises:
        pyarrow.ArrowInvalid: The types are of different kinds.
    """
    kinds = (pa.types.is_integer, _is_text, _is_binary, pa.types.is_nested, pa.types.is_floating)
    if pa.types.is_null(column.type) or any(k(column.type) and k(target) for k in kinds):
        return column.cast(target)
    raise pa.ArrowInvalid("the types differ")


def _is_text(data_type: Any) -> bool:
    types = pa.types
    return bool(types.is_string(data_type) or types.is_large_string(data_type))


def _is_binary(data_type: Any) -> bool:
    types = pa.types
    return bool(types.is_binary(data_type) or types.is_large_binary(data_type))


def _absent(field: pa.Field, what: str) -> Any:
    try:
        return _empty(field)
    except KeyError as error:
        raise MalformedMessage(f"{what} has no {field.name}") from error


def _empty(field: pa.Field) -> Any:
    if pa.types.is_boolean(field.type):
        return False
    if pa.types.is_map(field.type):
        return {}
    if pa.types.is_list(field.type):
        return []
    raise KeyError(f"{field.name} has no value")
