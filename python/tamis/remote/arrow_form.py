"""The form in which Spark reads Arrow columns.

    Arrow                                     read as
    uint8, uint16, uint32, uint64             int16, int32, int64, decimal(20, 0)
    float16                                   float32
    date64; timestamps coarser than 1 us      date32; timestamps in us
    large, view and fixed-size variants       string, binary, list
    dictionary                                its values
    arrow.uuid                                the text of the UUID
    arrow.json                                string

Each conversion keeps every value. Spark has no type for the others, such as timestamp[ns], time and
decimals beyond 38 digits. This module imports only pyarrow, because it also runs on executors.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

__all__ = ["converted", "readable_type"]

_KEPT: Final = frozenset(
    {
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.date32(),
        pa.string(),
        pa.binary(),
    }
)
_WIDENED: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_MOST_DIGITS: Final = 38


def readable_type(data_type: Any) -> Any:
    """Return the type in which Spark reads a column of this type; None if there is none.

    >>> readable_type(pa.uint64())
    Decimal128Type(decimal128(20, 0))
    >>> readable_type(pa.list_(pa.field("element", pa.uint8())))
    ListType(list<element: int16>)
    >>> readable_type(pa.timestamp("ns")) is None
    True
    """
    if data_type in _KEPT:
        return data_type
    if data_type in _WIDENED:
        return _WIDENED[data_type]
    if isinstance(data_type, pa.BaseExtensionType):
        return _of_extension(data_type)
    types = pa.types
    if types.is_dictionary(data_type):
        return readable_type(data_type.value_type)
    if types.is_timestamp(data_type):
        return None if data_type.unit == "ns" else pa.timestamp("us", data_type.tz)
    if types.is_decimal(data_type):
        precision, scale = data_type.precision, data_type.scale
        is_readable = precision <= _MOST_DIGITS and 0 <= scale <= precision
        return pa.decimal128(precision, scale) if is_readable else None
    if types.is_fixed_size_binary(data_type):
        return pa.binary()
    return _of_nested(data_type)


def _of_extension(data_type: Any) -> Any:
    name = data_type.extension_name
    if name == "arrow.uuid":
        return pa.string()
    if name == "arrow.json":
        return readable_type(data_type.storage_type)
    return None


def _of_nested(data_type: Any) -> Any:
    types = pa.types
    if types.is_struct(data_type):
        fields = [_nullable(each) for each in data_type]
        return None if any(each is None for each in fields) else pa.struct(fields)
    if types.is_map(data_type):
        key, item = _field(data_type.key_field), _nullable(data_type.item_field)
        return None if key is None or item is None else pa.map_(key, item)
    if (
        types.is_list(data_type)
        or types.is_large_list(data_type)
        or types.is_fixed_size_list(data_type)
    ):
        element = _nullable(data_type.value_field)
        return None if element is None else pa.list_(element)
    return None


def _field(field: Any) -> Any:
    """Return a field inside another one. Extension types are converted at the top level only."""
    if isinstance(field.type, pa.BaseExtensionType):
        return None
    readable = readable_type(field.type)
    return None if readable is None else field.with_type(readable)


def _nullable(field: Any) -> Any:
    """Return a field that may be NULL: a server may be wrong about NOT NULL, as for columns."""
    readable = _field(field)
    return None if readable is None else readable.with_nullable(True)


def converted(column: pa.Array) -> pa.Array:
    """Return a column in the type in which Spark reads it.

    Raises:
        pyarrow.ArrowInvalid: A value does not fit, which the types of the table above exclude.
        pyarrow.ArrowNotImplementedError: Spark has no type for the column.

    >>> converted(pa.array([2**64 - 1], pa.uint64())).to_pylist()
    [Decimal('18446744073709551615')]
    """
    readable = readable_type(column.type)
    if readable is None:
        raise pa.ArrowNotImplementedError(f"Spark has no type for {column.type}")
    if isinstance(column.type, pa.BaseExtensionType):
        is_uuid = column.type.extension_name == "arrow.uuid"
        column = _uuid_texts(column.storage) if is_uuid else column.storage
    return column if column.type == readable else column.cast(readable)


def _uuid_texts(storage: pa.Array) -> pa.Array:
    import uuid

    texts = [None if each is None else str(uuid.UUID(bytes=each)) for each in storage.to_pylist()]
    return pa.array(texts, pa.string())
