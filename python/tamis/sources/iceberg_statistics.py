"""What the manifests of an Iceberg table prove about its data files, before any file is opened.

A manifest has the partition values of a file and, for some columns, bounds, the number of NULLs and
the number of NaNs. Metrics are found by field id, so they follow a column that is renamed, and a
column that is added again under an old name has none. Deleted rows make bounds wider than needed,
which is sound. Anything that is not as expected here is unknown, and proves nothing:

- metrics of fields of structs, and of elements of lists and maps
- bounds of another length than those of the type of the column or of a type that it was promoted
  from, such as those of a date that became a timestamp; bounds that are NaN or inverted
- a number of values that is not the number of rows
- bounds of timestamps that may be in other units: Iceberg's `add_files` copies those of Parquet's
  TIMESTAMP_MILLIS as they are
- a number of NULLs of text or binary values, unless all are NULL: row groups without that number
  can make it too small (apache/iceberg#17557)
- buckets, if a predicate compares the column as a decimal: the hash of a decimal is another one
- partition values that are floating-point numbers, or of a column whose type has changed except
  from int to long; transforms that tamis does not know

Source: Iceberg table specification, "Manifests", "Binary single-value serialization" and "Schema
Evolution".
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.expr.nodes import Column, Expr, columns_of, walk
from tamis.files.partition import PartitionField, Transform, TransformKind
from tamis.files.table import dotted
from tamis.files.verdicts import evaluate
from tamis.sources.fields import Field

__all__ = ["ManifestStatistics"]

_EPOCH: Final = date(1970, 1, 1)
_PROMOTED: Final = frozenset({"int", "long"})
#: The bounds of a timestamp in microseconds have greater amounts than this, except within four
#: months of 1970. The times of this century in milliseconds have smaller ones.
_LEAST_MICROSECONDS: Final = 10**13
#: The length of the bounds of a type, and the formats of Python's struct by length.
_NUMBERS: Final[dict[Any, dict[int, str]]] = {
    pa.bool_(): {1: "<?"},
    pa.int32(): {4: "<i"},
    pa.int64(): {4: "<i", 8: "<q"},
    pa.float32(): {4: "<f"},
    pa.float64(): {4: "<f", 8: "<d"},
    pa.date32(): {4: "<i"},
    pa.timestamp("us"): {8: "<q"},
    pa.timestamp("us", "UTC"): {8: "<q"},
}


class ManifestStatistics:
    """The statistics of data files.

    Args:
        metadata: The metadata of the table, as pyiceberg reads it.
        files: The data files, as pyiceberg reads their entries.
        columns: The columns of the table.
    """

    def __init__(self, metadata: Any, files: Sequence[Any], columns: Sequence[Field]) -> None:
        self._specs: Mapping[int, Any] = metadata.specs()
        self._files = files
        self._columns = columns
        self._types: dict[int, set[str]] = {}
        for schema in metadata.schemas:
            for each in schema.fields:
                self._types.setdefault(each.field_id, set()).add(str(each.field_type))

    def ruled_out(self, predicate: Expr) -> npt.NDArray[np.bool_]:
        """Return which files have no row for which the predicate is true."""
        out = np.zeros(len(self._files), np.bool_)
        names = {path[0] for path in columns_of(predicate) if len(path) == 1}
        decimals = {
            each.path[0]
            for each in walk(predicate)
            if isinstance(each, Column) and each.type.name == "decimal"
        }
        columns = [each for each in self._columns if each.name in names]
        specs = np.array([each.spec_id for each in self._files], np.int64)
        for number in np.unique(specs):
            places = np.flatnonzero(specs == number)
            table, fields = self._table(
                int(number), [self._files[n] for n in places.tolist()], columns, decimals
            )
            answer = evaluate(predicate, table, fields)
            out[places] = [each == "none" for each in answer.to_pylist()]
        return out

    def _table(
        self,
        spec: int,
        files: Sequence[Any],
        columns: Sequence[Field],
        decimals: Collection[str],
    ) -> tuple[pa.Table, list[PartitionField]]:
        """Return the statistics of files with one partition spec, as `evaluate` expects them."""
        rows = [each.record_count for each in files]
        cells: dict[str, pa.Array] = {"num_records": pa.array(rows, pa.int64())}
        fields = []
        for column in columns:
            cells |= _metrics(column, files)
        for place, partition, transform in self._partition_fields(spec):
            source = next((each for each in columns if each.id == partition.source_id), None)
            if source is None or not self._has_values(source):
                continue
            is_decimal = pa.types.is_decimal(source.type)
            is_bucket = transform.kind is TransformKind.BUCKET
            if is_bucket and source.name in decimals and not is_decimal:
                continue
            values = [_plain(each.partition[place]) for each in files]
            is_own = transform.kind in (TransformKind.IDENTITY, TransformKind.TRUNCATE)
            typed = _typed(values, source.type if is_own else pa.int32())
            if typed is None:
                continue
            name = f"\x01{place}"  # no path of a column has this name
            cells[f"partition.{name}"] = typed
            nulls = [n if value is None else 0 for n, value in zip(rows, values, strict=True)]
            cells[f"null_count.partition.{name}"] = pa.array(nulls, pa.int64())
            fields.append(PartitionField(dotted((source.name,)), str(transform), name))
        return pa.table(cells), fields

    def _partition_fields(self, spec: int) -> Iterator[tuple[int, Any, Transform]]:
        for place, each in enumerate(self._specs[spec].fields):
            transform = Transform.parse(str(each.transform))
            if transform is not None and transform.kind is not TransformKind.VOID:
                yield place, each, transform

    def _has_values(self, column: Field) -> bool:
        """Return whether partition values mean what the type of the column says."""
        assert column.id is not None
        types = self._types[column.id]
        return (len(types) == 1 or types <= _PROMOTED) and not pa.types.is_floating(column.type)


def _metrics(column: Field, files: Sequence[Any]) -> dict[str, pa.Array]:
    """Return the columns `min`, `max`, `null_count` and `nan_count`, for a column of a type with
    bounds."""
    if not _has_bounds(column.type):
        return {}
    bounds = [_bounds(column, each) for each in files]
    name = dotted((column.name,))
    cells = {
        f"null_count.{name}": pa.array([_nulls(column, each) for each in files], pa.int64()),
        f"nan_count.{name}": pa.array(
            [(each.nan_value_counts or {}).get(column.id) for each in files], pa.int64()
        ),
    }
    for kind, values in zip(("min", "max"), zip(*bounds, strict=True), strict=True):
        typed = _typed(values, column.type)
        if typed is not None:
            cells[f"{kind}.{name}"] = typed
    return cells


def _has_bounds(data_type: Any) -> bool:
    types = pa.types
    is_text = types.is_string(data_type) or types.is_binary(data_type)
    return data_type in _NUMBERS or is_text or types.is_decimal(data_type)


def _nulls(column: Field, file: Any) -> int | None:
    """Return the number of NULLs of a column; None: unknown."""
    nulls = (file.null_value_counts or {}).get(column.id)
    values = (file.value_counts or {}).get(column.id, file.record_count)
    if nulls is None or values != file.record_count or not 0 <= nulls <= values:
        return None
    is_text = pa.types.is_string(column.type) or pa.types.is_binary(column.type)
    return None if is_text and nulls < values else int(nulls)


def _bounds(column: Field, file: Any) -> tuple[Any, Any]:
    """Return the bounds of a column; None: unknown."""
    lower = _value((file.lower_bounds or {}).get(column.id), column.type)
    upper = _value((file.upper_bounds or {}).get(column.id), column.type)
    if lower is not None and upper is not None and _ordered(lower) > _ordered(upper):
        return None, None
    if pa.types.is_timestamp(column.type):
        if any(each is not None and abs(each) < _LEAST_MICROSECONDS for each in (lower, upper)):
            return None, None
        if upper is not None and upper % 1000 == 0:
            upper += 999  # some writers cut it to milliseconds (delta-io/delta#7444)
    return lower, upper


def _ordered(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _value(data: bytes | None, data_type: Any) -> Any:
    """Return the value of a bound; None if it is unknown.

    >>> _value(b"\\x05\\0\\0\\0", pa.int64()), _value(b"\\x05\\0\\0\\0", pa.timestamp("us"))
    (5, None)
    >>> _value(b"\\xff\\x38", pa.decimal128(9, 2))
    Decimal('-2.00')
    """
    if data is None:
        return None
    types = pa.types
    if data_type in _NUMBERS:
        form = _NUMBERS[data_type].get(len(data))
        value = None if form is None else struct.unpack(form, data)[0]
        return None if isinstance(value, float) and math.isnan(value) else value
    if types.is_string(data_type):
        try:
            return data.decode()
        except UnicodeDecodeError:
            return None
    if types.is_binary(data_type):
        return bytes(data)
    if types.is_decimal(data_type) and 1 <= len(data) <= 16:
        unscaled = int.from_bytes(data, "big", signed=True)
        if len(str(abs(unscaled))) <= data_type.precision:
            digits = tuple(map(int, str(abs(unscaled))))
            return Decimal((int(unscaled < 0), digits, -data_type.scale))
    return None


def _plain(value: Any) -> Any:
    """Return a partition value as a number where it is a date."""
    return (value - _EPOCH).days if type(value) is date else value


def _typed(values: Sequence[Any], data_type: Any) -> pa.Array | None:
    """Return the values in a type; None if one of them is not of it."""
    try:
        if pa.types.is_date(data_type):
            return pa.array(values, pa.int32()).cast(data_type)
        if pa.types.is_timestamp(data_type):
            return pa.array(values, pa.int64()).cast(data_type)
        return pa.array(values, data_type)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
