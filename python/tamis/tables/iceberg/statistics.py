"""Statistics of the data files of a snapshot, from their manifests.

Metrics are found by field id, so they follow a column that is renamed or moved, and a column that
is added again under an old name has none. What is not as expected is unknown, and proves nothing:

- a column without metrics. It may be absent from the file, and then NULL or its initial default,
  or its metrics were not collected: Iceberg writes the same in both cases.
- bounds that `decode_bounds` does not decode; NaN, and the other bound of the same column
- both bounds of a timestamp if one may be in other units: `add_files` copies those of Parquet's
  TIMESTAMP_MILLIS as they are
- a number of NULLs if the number of values is not that of the rows
- a number of NULLs of text and binary values, unless all are NULL: row groups without that number
  can make it too small (apache/iceberg#17557)
- the same for fields of structs: not every file format counts rows whose struct is NULL. All NULL
  is all NULL in either case.

The numbers are those of the file, before deletes: these only make bounds wider than needed. Nothing
is certain about files with deletes.

Source: Iceberg table specification, "Manifests".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.domain.exact_counts import UNCERTAIN, UNKNOWN, Certain
from tamis.evaluation.statistics import BlockStatistics, SelectedStatistics, Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.columns import count_array
from tamis.files.partition import PartitionField
from tamis.files.table import ArrowStatistics
from tamis.tables.iceberg.entries import Entries, MetricValues
from tamis.tables.iceberg.manifest import MetricKind
from tamis.tables.iceberg.partition_values import (
    fields_of_column,
    partition_type,
    to_partition_type,
)
from tamis.tables.iceberg.schema import SchemaColumn, Spec
from tamis.tables.iceberg.single_values import decode_bounds, has_bounds

__all__ = ["ManifestStatistics"]

#: The bounds of a timestamp in microseconds have greater amounts than this, except within four
#: months of 1970. The times of this century in milliseconds have smaller ones.
_LEAST_MICROSECONDS: Final = 10**13
#: The name of the only column of a table of statistics.
_NAME: Final = "c"


class ManifestStatistics(Statistics):
    """Statistics with one container per file. Those of a column are decoded on first use.

    Args:
        entries: The data files.
        columns: The columns of the schema that the query reads with.
        specs: The partition specs of the table.
        format_version: The format version of the table.
        num_records: The number of rows of each file, -1 where not known.
        has_deletes: Whether deletes may apply to a file.
    """

    def __init__(
        self,
        entries: Entries,
        columns: Mapping[tuple[str, ...], SchemaColumn],
        specs: Sequence[Spec],
        format_version: int,
        num_records: npt.NDArray[np.int64],
        has_deletes: npt.NDArray[np.bool_],
    ) -> None:
        self._entries = entries
        self._columns = columns
        self._specs = specs
        self._format_version = format_version
        self._records = num_records
        self._has_deletes = has_deletes
        self._tables: dict[SchemaColumn, ArrowStatistics] = {}

    @property
    def num_containers(self) -> int:
        return len(self._entries)

    def slice(self, start: int, stop: int) -> Statistics:
        return BlockStatistics(self, start, min(stop, self.num_containers))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self, ordinals)

    def empty(self) -> Flags | None:
        empty: Flags = self._records == 0
        return empty if empty.any() else None

    def bounds(self, column: Column) -> Bounds:
        known = self._in_schema(column)
        if known is None:
            return Bounds.unknown(column.type)
        return self._table(known).bounds(Column((_NAME,), column.type))

    def certain(self, column: Column) -> Certain:
        known = self._in_schema(column)
        if known is None:
            return UNCERTAIN
        certain = self._table(known).certain(Column((_NAME,), column.type))
        if not self._has_deletes.any():
            return certain
        return Certain(
            np.where(self._has_deletes, UNKNOWN, certain.nulls),
            certain.attained & ~self._has_deletes,
        )

    def _in_schema(self, column: Column) -> SchemaColumn | None:
        known = self._columns.get(column.path)
        # Values of another type would be compared in another way.
        return None if known is None or known.type != column.type else known

    def _table(self, column: SchemaColumn) -> ArrowStatistics:
        if column not in self._tables:
            try:
                self._tables[column] = self._decoded(column)
            except (pa.ArrowException, ValueError, TypeError, ArithmeticError, KeyError):
                # Statistics that cannot be read are not known.
                self._tables[column] = ArrowStatistics(
                    pa.table({"num_records": count_array(self._records)})
                )
        return self._tables[column]

    def _decoded(self, column: SchemaColumn) -> ArrowStatistics:
        assert column.type is not None
        cells = {"num_records": count_array(self._records)}
        cells[f"null_count.{_NAME}"] = count_array(self._nulls(column))
        if column.type.is_floating:
            cells[f"nan_count.{_NAME}"] = count_array(self._counts(MetricKind.NANS, column.id))
        if has_bounds(column.type):
            lower = self._edge(MetricKind.LOWER, column.id, column.type)
            upper = self._edge(MetricKind.UPPER, column.id, column.type)
            if lower is not None or upper is not None:
                cells |= _bounds(column.type, lower, upper)
        fields = []
        for spec in self._specs:
            for field, transform in fields_of_column(column, spec, self._format_version):
                data_type = partition_type(column.type, transform)
                convert = to_partition_type(column.type, transform)
                partition = self._entries.partition(spec.id, field.id, convert, data_type)
                if partition is None:
                    continue
                name = f"{spec.id}.{field.id}"
                nulls = np.where(partition.values.is_null(), self._records, 0)
                cells[f"partition.{name}"] = partition.values
                cells[f"null_count.partition.{name}"] = count_array(
                    np.where(partition.known, nulls, UNKNOWN)
                )
                fields.append(PartitionField(_NAME, str(transform), name))
        return ArrowStatistics(pa.table(cells), fields)

    def _counts(self, kind: MetricKind, field_id: int) -> npt.NDArray[np.int64]:
        """Return a count of each file, -1 where not known."""
        counts = np.full(len(self._entries), UNKNOWN, np.int64)
        metric = self._entries.metric(kind, field_id)
        if metric is not None:
            counts[metric.places] = np.maximum(metric.values.to_numpy(), UNKNOWN)
        return counts

    def _nulls(self, column: SchemaColumn) -> npt.NDArray[np.int64]:
        assert column.type is not None
        nulls = self._counts(MetricKind.NULLS, column.id)
        values = self._counts(MetricKind.VALUES, column.id)
        known = (nulls <= self._records) & ((values == UNKNOWN) | (values == self._records))
        if column.type.is_text or column.is_nested:
            known &= nulls == self._records
        return np.where(known, nulls, UNKNOWN)

    def _edge(self, kind: MetricKind, field_id: int, data_type: DataType) -> pa.Array | None:
        """Return a bound of each file, null where not known; None if it is known for no file."""
        metric = self._entries.metric(kind, field_id)
        return None if metric is None else self._spread(metric, data_type)

    def _spread(self, metric: MetricValues, data_type: DataType) -> pa.Array:
        values = decode_bounds(metric.values, data_type)
        source = np.full(len(self._entries), -1, np.int64)
        source[metric.places] = np.arange(len(metric.places))
        return values.take(pa.array(source, mask=source < 0))


def _bounds(
    data_type: DataType, lower: pa.Array | None, upper: pa.Array | None
) -> dict[str, pa.Array]:
    """Return the columns `min`, `max` and `attained`, given decoded bounds of each file.

    Bounds of numbers and dates are values of rows, as Iceberg's aggregates assume. Those of strings
    may be cut. Those of timestamps may be as well, by writers that keep milliseconds.
    """
    cells: dict[str, pa.Array] = {}
    if data_type.is_floating and lower is not None and upper is not None:
        # Old writers write NaN if the first value is NaN, and then neither bound can be trusted.
        both = pc.and_(lower.is_valid(), upper.is_valid())
        lower, upper = (_where(both, each) for each in (lower, upper))
    if data_type.name in ("timestamp", "timestamp_ntz"):
        lower, upper = _timestamps(lower, upper)
        lower, upper = (
            None if each is None else each.cast(_timestamp_type(data_type))
            for each in (lower, upper)
        )
        is_attained = False
    else:
        is_attained = not data_type.is_text
    if data_type.name == "date":
        lower, upper = (
            None if each is None else each.cast(pa.int32()).cast(pa.date32())
            for each in (lower, upper)
        )
    for name, each in (("min", lower), ("max", upper)):
        if each is not None:
            cells[f"{name}.{_NAME}"] = each
            count = len(each)
    cells[f"attained.{_NAME}"] = pa.array(np.full(count, is_attained))
    return cells


def _where(flags: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(flags, values, pa.scalar(None, values.type))


def _timestamp_type(data_type: DataType) -> pa.DataType:
    return pa.timestamp("us", "UTC" if data_type.name == "timestamp" else None)


def _timestamps(
    lower: pa.Array | None, upper: pa.Array | None
) -> tuple[pa.Array | None, pa.Array | None]:
    """Return bounds in microseconds, as int64, where they can be trusted."""
    trusted: Any = True
    for each in (lower, upper):
        if each is not None:
            values = each.fill_null(_LEAST_MICROSECONDS).to_numpy()
            # not abs(), which overflows
            trusted &= (values >= _LEAST_MICROSECONDS) | (values <= -_LEAST_MICROSECONDS)
    flags = pa.array(trusted)
    if lower is not None:
        lower = _where(flags, lower)
    if upper is not None:
        upper = _where(flags, upper)
        values = upper.fill_null(0).to_numpy()
        # Some writers cut it to milliseconds (delta-io/delta#7444).
        cut = (values % 1000 == 0) & (values <= np.iinfo(np.int64).max - 999)
        upper = pa.array(np.where(cut, values + 999, values), mask=np.asarray(upper.is_null()))
    return lower, upper
