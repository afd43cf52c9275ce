"""The public `files` table as Statistics: one row per container, statistics by column name.

    num_records                 int64, the number of rows of the container
    min.c  max.c                the type of column c; may be wider than the data
    null_count.c  nan_count.c   int64
    partition.<field>           the value of a partition field of the spec
    null_count.partition.<field>
                                int64, the number of rows for which this value is NULL

Names use dots for struct fields. A part that contains a dot itself may be quoted: min.`b.c`.

A null cell and an absent column both mean "not known", and so does a name that occurs twice. A
partition value is NULL if its cell is null and its count is the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.domain.exact_counts import UNCERTAIN, Certain
from tamis.evaluation.domain.intersection import forget, intersect
from tamis.evaluation.statistics import BlockStatistics, SelectedStatistics, Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds
from tamis.files.columns import count_column, plain
from tamis.files.exact_counts import certain_columns, is_true
from tamis.files.partition import PartitionField, Transform, TransformKind
from tamis.files.transforms import partition_bounds

__all__ = ["ArrowStatistics", "dotted", "spellings"]

#: Statistics that prove a row: if one of them is known, the container is not empty.
_WITNESSES = ("min.", "max.")
_COUNTS = ("null_count.", "nan_count.")


def dotted(path: tuple[str, ...]) -> str:
    """Return the name of a column in reports and settings, with dots between struct fields.

    A part that contains a dot itself is quoted, so that the column `b.c` is not mistaken for the
    field c of the struct b.

    >>> dotted(("b", "c")), dotted(("b.c",))
    ('b.c', '`b.c`')
    """
    return ".".join(f"`{part}`" if "." in part else part for part in path)


def spellings(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that a column may have in a file table; the first one present is used.

    The name without quotes ("b.c") is unambiguous too: if two columns of a schema have the same
    dotted path, both of them are opaque in expressions (see `Column`).

    >>> spellings(("s", "x")), spellings(("b.c",))
    (('s.x',), ('`b.c`', 'b.c'))
    """
    return tuple(dict.fromkeys((dotted(path), ".".join(path))))


class ArrowStatistics(Statistics):
    """Statistics of an in-memory table. The bounds of a column are computed on first use."""

    def __init__(self, table: pa.Table, partition_spec: Sequence[PartitionField] = ()) -> None:
        self._table = table
        self._fields = tuple(partition_spec)
        self._bounds: dict[Column, Bounds] = {}
        self._num_records: pa.Array | None = None
        self._empty: Flags | None = None
        self._count_records()

    @property
    def num_containers(self) -> int:
        return int(self._table.num_rows)

    def empty(self) -> Flags | None:
        return self._empty

    def slice(self, start: int, stop: int) -> Statistics:
        return BlockStatistics(self, start, min(stop, self.num_containers))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return SelectedStatistics(self, ordinals)

    def bounds(self, column: Column) -> Bounds:
        if column not in self._bounds:
            try:
                self._bounds[column] = self._column_bounds(column)
            except (pa.ArrowException, ValueError, TypeError, ArithmeticError):
                # Statistics that cannot be read are not known.
                self._bounds[column] = Bounds.unknown(column.type)
        return self._bounds[column]

    def certain(self, column: Column) -> Certain:
        name = self._spelling(column.path)
        if self._num_records is None or any(field.source == name for field in self._fields):
            return UNCERTAIN
        columns = self._cells(name)
        try:
            certain = certain_columns(column.type, columns, self._num_records)
            # Without the column no bound is certain to be a value, whatever wrote the bounds.
            attained = is_true(columns["attained"]) if "attained" in columns else NO
            return replace(certain, attained=certain.attained & attained)
        except (pa.ArrowException, ValueError, TypeError, ArithmeticError):
            return UNCERTAIN

    def _column_bounds(self, column: Column) -> Bounds:
        name = self._spelling(column.path)
        cells = self._cells(name)
        minimum, maximum = cells.get("min"), cells.get("max")
        nulls, nans = cells.get("null_count"), cells.get("nan_count")
        bounds = column_bounds(column.type, minimum, maximum, nulls, nans, self._num_records)
        for field in self._fields:
            if field.source != name:
                continue
            for partition in self._partition_bounds(column.type, field, nulls):
                denied = _denied(partition, (minimum, maximum), nulls, nans)
                bounds = forget(intersect(bounds, partition), denied)
        return bounds

    def _partition_bounds(
        self, data_type: DataType, field: PartitionField, source_nulls: pa.Array | None
    ) -> Iterator[Bounds]:
        """Yield the bounds of the source of a partition field, from its values.

        The value of every transform but `void` is NULL only if that of the source is NULL.
        """
        transform = Transform.parse(field.transform)
        values = self._column(f"partition.{field.name}")
        if transform is None:
            return
        count = count_column(self._null_count(field))
        if count is not None:
            is_null = np.ones(self.num_containers, np.bool_)
            if values is not None:
                is_null = ~_valid(values)
                # a value that is NULL for some rows contradicts itself
                some = pa.array(count[1] & (count[0] != 0))
                values = pc.if_else(some, pa.scalar(None, values.type), values)
            if transform.kind is not TransformKind.VOID and self._num_records is not None:
                nulls = pa.array(count[0], mask=~(count[1] & is_null))
                agrees = pc.equal(nulls, self._num_records)
                if source_nulls is not None:
                    agrees = pc.and_(agrees, pc.fill_null(pc.equal(nulls, source_nulls), True))
                nulls = pc.if_else(agrees, nulls, pa.scalar(None, pa.int64()))
                yield column_bounds(data_type, None, None, nulls, None, self._num_records)
        if values is not None:
            yield partition_bounds(data_type, transform, values)

    def _null_count(self, field: PartitionField) -> pa.Array | None:
        """Return for how many rows the value of a partition field is NULL; None: not known.

        The name is also that of the field of a struct `partition`, if the table has one. Other
        statistics of such a field show that.
        """
        name = f"partition.{field.name}"
        others = {f"{kind}.{name}" for kind in ("min", "max", "nan_count", "attained")}
        if not others.isdisjoint(self._table.column_names):
            return None
        return self._column(f"null_count.{name}")

    def _spelling(self, path: tuple[str, ...]) -> str:
        """Return the spelling of a column under which this table has statistics.

        If it has no statistics of the column, return the spelling without quotes.
        """
        *others, plain_spelling = spellings(path)
        sources = {field.source for field in self._fields}
        for name in others:
            statistics = {kind + name for kind in (*_WITNESSES, *_COUNTS)}
            if name in sources or not statistics.isdisjoint(self._table.column_names):
                return name
        return plain_spelling

    def _cells(self, name: str) -> dict[str, pa.Array]:
        """Return the statistics of a column that this table has, by their kind."""
        kinds = ("min", "max", "null_count", "nan_count", "attained")
        columns = {kind: self._column(f"{kind}.{name}") for kind in kinds}
        return {kind: each for kind, each in columns.items() if each is not None}

    def _column(self, name: str) -> pa.Array | None:
        """Return the column of that name, or None if it is absent, ambiguous or unreadable."""
        ordinals = self._table.schema.get_all_field_indices(name)
        if len(ordinals) != 1:
            return None
        try:
            return plain(self._table.column(ordinals[0]))
        except (pa.ArrowException, ValueError, TypeError):
            return None

    def _count_records(self) -> None:
        """Determine which containers are empty, and where the number of rows can be trusted.

        If it is 0 but there is a bound or a positive count, it is wrong and counts as not known.
        """
        counted = count_column(self._column("num_records"))
        if counted is None:
            return
        counts, valid = counted
        valid = valid & (counts >= 0)
        empty = valid & (counts == 0)
        if empty.any():
            witnessed = self._witnessed()
            valid, empty = valid & ~(empty & witnessed), empty & ~witnessed
            self._empty = empty
        self._num_records = pa.array(counts, mask=~valid)

    def _witnessed(self) -> Flags:
        """Return where some statistic shows that there are rows."""
        witnessed = np.zeros(self.num_containers, np.bool_)
        for name in set(self._table.column_names):
            if not name.startswith((*_WITNESSES, *_COUNTS)):
                continue
            array = self._column(name)
            if array is None:  # if in doubt, assume rows
                witnessed |= True
            elif name.startswith(_WITNESSES):
                witnessed |= _valid(array)
            else:
                witnessed |= _positive(array)
        return witnessed


def _valid(array: pa.Array | None) -> Flags:
    if array is None:
        return NO
    return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False))


def _positive(array: pa.Array | None) -> Flags:
    """Return where a count is known and not 0: such rows exist, or the count is corrupt."""
    counted = count_column(array)
    return NO if counted is None else counted[1] & (counted[0] != 0)


def _denied(
    partition: Bounds,
    edges: tuple[pa.Array | None, pa.Array | None],
    nulls: pa.Array | None,
    nans: pa.Array | None,
) -> Flags:
    """Return where the statistics show rows of a kind that the partition value rules out."""
    has_value = _valid(edges[0]) | _valid(edges[1])
    denied = (has_value & ~partition.can_be_value) | (_positive(nulls) & ~partition.can_be_null)
    if partition.type.is_floating:
        denied = denied | (_positive(nans) & ~partition.can_be_nan)
    return denied
