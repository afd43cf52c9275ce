"""The values of partition fields, in the types that the `files` table expects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

from tamis.expr.types import DataType
from tamis.files.partition import Transform, TransformKind
from tamis.tables.iceberg.schema import SchemaColumn, Spec, SpecField, arrow_type

__all__ = ["fields_of_column", "partition_type", "to_partition_type"]

Convert: TypeAlias = Callable[[pa.Array], pa.Array | None]

#: Transforms whose values have the type of the source.
_OWN: tuple[TransformKind, ...] = (TransformKind.IDENTITY, TransformKind.TRUNCATE)


def fields_of_column(
    column: SchemaColumn, spec: Spec, format_version: int
) -> Iterator[tuple[SpecField, Transform]]:
    """Yield the fields of a spec whose values prove something about a column.

    Left out are fields of several columns, unknown transforms and `void`. Values of floating-point
    columns are left out, and so are buckets of timestamps in version 3: a column that was a date
    has buckets of days.
    """
    if column.type is None or column.type.is_floating:
        return
    for each in spec.fields:
        transform = Transform.parse(each.transform)
        if each.source != column.id or transform is None or transform.kind is TransformKind.VOID:
            continue
        is_promotable = format_version >= 3 and column.type.name in ("timestamp", "timestamp_ntz")
        if transform.kind is TransformKind.BUCKET and is_promotable:
            continue
        yield each, transform


def partition_type(data_type: DataType, transform: Transform) -> pa.DataType:
    """Return the Arrow type of the values of a partition field, given the type of its source."""
    return arrow_type(data_type) if transform.kind in _OWN else pa.int32()


def to_partition_type(data_type: DataType, transform: Transform) -> Convert:
    """Return a function that converts values of a manifest to `partition_type`.

    It returns None if the values have a type that neither the column has nor the column was
    promoted from.
    """
    if transform.kind in _OWN:
        return lambda values: _of_source(values, arrow_type(data_type))

    def ordinals(values: pa.Array) -> pa.Array | None:
        if transform.kind is TransformKind.DAY and pa.types.is_date32(values.type):
            return values.cast(pa.int32())
        return values if values.type == pa.int32() else None

    return ordinals


def _of_source(values: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    given = values.type
    if given == wanted:
        return values
    is_promoted = (given, wanted) in (
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
    )
    if pa.types.is_decimal(given) and pa.types.is_decimal(wanted):
        is_promoted = given.scale == wanted.scale and given.precision <= wanted.precision
    if is_promoted:
        return values.cast(wanted)
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(wanted) and given.unit == wanted.unit:
        return values.view(wanted)  # manifests keep no zone here
    return None
