"""One schema for the files of a table, and the conversion of their columns to it.

The types are those of pyarrow, in one form each: `string` for large strings, views and
dictionaries, `timestamp[…, UTC]` for every time zone. INT96 is a timestamp in UTC, as for Spark.

Files may differ as with Spark's `mergeSchema`. In addition, numbers are widened:

    a column is missing                          NULL
    integers, or FLOAT and DOUBLE                the wider type
    timestamps in s, ms or us                    the finer unit
    decimals of one scale                        the greater precision
    structs; lists and maps of these             their fields are merged
    other types                                  an error

Names are compared without case, as by DuckDB, and by Spark unless it is configured otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.sources.errors import SourceError

__all__ = ["converted", "file_schema", "fits", "merged"]

_SIGNED: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_UNSIGNED: Final = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_FLOATING: Final = (pa.float32(), pa.float64())
_FORMS: Final = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
#: Extension types that DuckDB and Spark's reader understand. The others are read as their storage.
_EXTENSIONS: Final = frozenset({"arrow.uuid", "arrow.json"})
_UNITS: Final = ("s", "ms", "us")
_MOST_DIGITS: Final = 38


def file_schema(schema: pq.ParquetSchema, where: str) -> pa.Schema:
    """Return the columns of a file in published types. All of them may be NULL.

    Raises:
        SourceError: Two names differ in case only, or a type cannot be published.
    """
    columns = schema.to_arrow_schema()
    leaves = iter([schema.column(i).physical_type for i in range(len(schema.names))])
    folded = [name.lower() for name in columns.names]
    if len(set(folded)) < len(folded):
        twice = next(name for name in folded if folded.count(name) > 1)
        raise SourceError(
            f"{where} has several columns whose names differ from {twice} in case only: rename all "
            "but one"
        )
    try:
        return pa.schema([pa.field(each.name, _form(each.type, leaves)) for each in columns])
    except (NotImplementedError, StopIteration) as problem:
        raise SourceError(f"{where} has a column that cannot be published: {problem}") from problem


def _form(data_type: Any, leaves: Iterator[str]) -> Any:
    """Return the published form of a type. `leaves`: the physical types of its leaf columns."""
    types = pa.types
    if types.is_struct(data_type):
        return pa.struct([pa.field(each.name, _form(each.type, leaves)) for each in data_type])
    if types.is_map(data_type):
        key = _form(data_type.key_type, leaves)
        return pa.map_(key, _form(data_type.item_type, leaves))
    if types.is_fixed_size_list(data_type):
        return pa.list_(_form(data_type.value_type, leaves))
    if types.is_nested(data_type):
        return pa.list_(_form(data_type.value_type, leaves))
    return _leaf_form(data_type, next(leaves))


def _leaf_form(data_type: Any, physical: str) -> Any:
    types = pa.types
    if isinstance(data_type, pa.BaseExtensionType):
        is_known = data_type.extension_name in _EXTENSIONS
        return data_type if is_known else _leaf_form(data_type.storage_type, physical)
    if types.is_dictionary(data_type):
        return _leaf_form(data_type.value_type, physical)
    if physical == "INT96":
        return pa.timestamp("us", "UTC")
    if types.is_timestamp(data_type):
        return pa.timestamp(data_type.unit, None if data_type.tz is None else "UTC")
    if types.is_decimal(data_type):
        if data_type.precision > _MOST_DIGITS:
            raise NotImplementedError(f"{data_type} has more than {_MOST_DIGITS} digits")
        return pa.decimal128(data_type.precision, data_type.scale)
    return _FORMS.get(data_type, data_type)


def merged(schemas: Sequence[tuple[str, pa.Schema]], table: str) -> pa.Schema:
    """Return the schema of a table, given the schemas of its files and their paths.

    Raises:
        SourceError: Two files have types that cannot be merged.

    >>> narrow, wide = pa.schema({"a": pa.int32()}), pa.schema({"A": pa.int64(), "b": pa.string()})
    >>> merged([("x", narrow), ("y", wide)], "t")
    a: int64
    b: string
    """
    result = pa.schema([])
    paths = {schema: path for path, schema in reversed(schemas)}  # the first path of each schema
    for schema, path in reversed(paths.items()):
        try:
            result = pa.schema(_merged_fields(list(result), list(schema)))
        except NotImplementedError as problem:
            raise SourceError(
                f"{table}: {path} has {problem}: rewrite the files with one type"
            ) from problem
    # a column that has only NULLs may have no type
    return pa.schema([_typed(each) for each in result])


def fits(own: Any, wanted: Any) -> bool:
    """Return whether a column of one type can be read as another one without changing a value.

    >>> fits(pa.int32(), pa.int64()), fits(pa.int64(), pa.int32()), fits(pa.int32(), pa.string())
    (True, False, False)
    """
    try:
        return bool(_wider(wanted, own, "") == wanted)
    except NotImplementedError:
        return False


def _merged_fields(left: list[pa.Field], right: list[pa.Field]) -> list[pa.Field]:
    fields = {each.name.lower(): each for each in left}
    for each in right:
        known = fields.setdefault(each.name.lower(), each)
        if known.type != each.type:
            fields[each.name.lower()] = known.with_type(_wider(known.type, each.type, each.name))
    return list(fields.values())


def _wider(left: Any, right: Any, name: str) -> Any:
    types = pa.types
    if left == right or types.is_null(right):
        return left
    if types.is_null(left):
        return right
    for family in (_SIGNED, _UNSIGNED, _FLOATING):
        if left in family and right in family:
            return max(left, right, key=family.index)
    if types.is_decimal(left) and types.is_decimal(right) and left.scale == right.scale:
        return max(left, right, key=lambda each: each.precision)
    if _are_moments(left, right):
        return max(left, right, key=lambda each: _UNITS.index(each.unit))
    if types.is_struct(left) and types.is_struct(right):
        return pa.struct(_merged_fields(list(left), list(right)))
    if types.is_list(left) and types.is_list(right):
        return pa.list_(_wider(left.value_type, right.value_type, name))
    if types.is_map(left) and types.is_map(right):
        item = _wider(left.item_type, right.item_type, name)
        return pa.map_(_wider(left.key_type, right.key_type, name), item)
    raise NotImplementedError(f"the type {right} for {name}, but other files have {left}")


def _are_moments(left: Any, right: Any) -> bool:
    """Return whether both are timestamps of one kind, so that the finer unit holds both."""
    if not (pa.types.is_timestamp(left) and pa.types.is_timestamp(right)):
        return False
    return bool(left.tz == right.tz and {left.unit, right.unit} <= set(_UNITS))


def _typed(field: pa.Field) -> pa.Field:
    return field.with_type(pa.int32()) if pa.types.is_null(field.type) else field


def converted(column: pa.Array, data_type: Any) -> pa.Array:
    """Return a column of a file in its published type. No value changes.

    Raises:
        pyarrow.ArrowException: The types do not fit.

    >>> converted(pa.array([{"a": 1}, None]), pa.struct({"b": pa.string(), "A": pa.int64()}))[0]
    <pyarrow.StructScalar: [('b', None), ('A', 1)]>
    """
    if column.type == data_type:
        return column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), data_type)
    if pa.types.is_dictionary(column.type):
        return converted(column.dictionary_decode(), data_type)
    if isinstance(column.type, pa.BaseExtensionType):
        return converted(column.storage, data_type)
    if isinstance(data_type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(data_type, converted(column, data_type.storage_type))
    if pa.types.is_struct(column.type) and pa.types.is_struct(data_type):
        children = dict(zip((f.name.lower() for f in column.type), column.flatten(), strict=True))
        fields = [
            converted(children[each.name.lower()], each.type)
            if each.name.lower() in children
            else pa.nulls(len(column), each.type)
            for each in data_type
        ]
        return pa.StructArray.from_arrays(fields, fields=list(data_type), mask=column.is_null())
    return column.cast(data_type)
