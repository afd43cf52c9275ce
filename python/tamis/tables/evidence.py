"""The statistics behind a decision, as cells of the public `files` table.

The cells are the raw content of the index, or, for a table of a format, what the metadata of the
format and an index prove together. Passing them to `tamis.evaluate` returns the verdicts of the
planner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.exact_counts import UNKNOWN
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column, Expr, columns_of, walk
from tamis.expr.types import DataType
from tamis.files.arrow_edges import as_array, in_column_type
from tamis.files.columns import count_array
from tamis.files.table import dotted
from tamis.indexing.executor.columns_schema import Leaf, arrow_type, is_known
from tamis.tables.scan_input import Part, ScanInput

__all__ = ["NamedColumns", "cells_of", "named_columns"]

#: Columns by path, with the type as which each is read. None if only an opaque part names it.
NamedColumns = Mapping[tuple[str, ...], DataType | None]

_KINDS = ("min", "max", "null_count", "nan_count")


def named_columns(conjuncts: Sequence[Expr]) -> NamedColumns:
    """Return the columns that conjuncts name, with their types.

    >>> from tamis.expr.nodes import IsNull, Opaque
    >>> from tamis.expr.types import LONG
    >>> found = named_columns([IsNull(Column(("a",), LONG)), Opaque("f(b)", (("b",),))])
    >>> [(path, str(data_type)) for path, data_type in found.items()]
    [(('a',), 'long'), (('b',), 'None')]
    """
    paths = dict.fromkeys(path for conjunct in conjuncts for path in columns_of(conjunct))
    types: dict[tuple[str, ...], DataType | None] = dict.fromkeys(paths)
    for conjunct in conjuncts:
        for node in walk(conjunct):
            if isinstance(node, Column):
                types[node.path] = node.type
    return types


def cells_of(
    scan: ScanInput, columns: NamedColumns
) -> Iterator[tuple[slice | npt.NDArray[np.intp], dict[str, pa.Array]]]:
    """Yield for each part the ordinals of its files and their columns of cells by name.

    Columns without a cell that is not null are left out.
    """
    for part, segment in zip(scan.parts, scan.segments, strict=True):
        ordinals = np.arange(len(scan.directories), dtype=np.intp)[part.ordinals]
        records = _records(scan, ordinals)
        cells = {"num_records": records}
        for path, data_type in columns.items():
            column_cells = _of_partition(scan, path, data_type, ordinals, records)
            if column_cells is None and scan.is_recorded:
                column_cells = _of_bounds(segment.statistics, path, data_type, records)
            elif column_cells is None:
                column_cells = _of_index(part, path, data_type)
            cells.update({f"{kind}.{dotted(path)}": each for kind, each in column_cells.items()})
        non_null = {n: each for n, each in cells.items() if each.null_count < len(each)}
        yield part.ordinals, non_null


def _records(scan: ScanInput, ordinals: npt.NDArray[np.intp]) -> pa.Array:
    if scan.num_records is None:
        return pa.nulls(len(ordinals), pa.int64())
    return count_array(scan.num_records[ordinals])


def _of_index(
    part: Part, path: tuple[str, ...], data_type: DataType | None
) -> Mapping[str, pa.Array]:
    if part.index is None:
        return {}
    whole = part.index.statistics.cells(path, data_type)
    rows = part.rows
    return {
        kind: whole[kind][rows] if isinstance(rows, slice) else whole[kind].take(pa.array(rows))
        for kind in _KINDS
        if kind in whole
    }


def _of_bounds(
    statistics: Statistics, path: tuple[str, ...], data_type: DataType | None, records: pa.Array
) -> Mapping[str, pa.Array]:
    """Return the cells that bounds are worth. What they do not prove is null: not known.

    Bounds of files with deleted rows hold for the rows that are left, too.
    """
    if data_type is None or not is_known(str(data_type)):
        return {}
    n, column = len(records), Column(path, data_type)
    bounds, certain = statistics.bounds(column), statistics.certain(column)
    wanted = arrow_type(Leaf(path, str(data_type)))
    cells = {}
    # a file that has only NULL and NaN has no bounds
    has_values = np.broadcast_to(bounds.can_be_value, n)
    for kind, edge, known in (
        ("min", bounds.lower, bounds.lower_known),
        ("max", bounds.upper, bounds.upper_known),
    ):
        # an edge that is not known may be the extreme of its type, which is no value of the file
        shown = has_values if known is None else has_values & np.broadcast_to(known, n)
        try:
            values = in_column_type(as_array(edge, n, data_type), data_type, wanted)
        except (pa.ArrowException, ValueError):
            continue  # a bound outside of the type, such as a decimal of more digits
        cells[kind] = pc.if_else(pa.array(shown), values, pa.scalar(None, values.type))
    # No row can be NULL, or each one is: neither a value nor NaN. Otherwise the format has to know.
    only_nulls = ~(bounds.can_be_value | bounds.can_be_nan)
    counts = np.broadcast_to(certain.nulls, n)
    counts = np.where(np.broadcast_to(bounds.can_be_null, n), counts, 0)
    cells["null_count"] = pc.if_else(
        pa.array(np.broadcast_to(only_nulls, n)), records, count_array(counts)
    )
    if data_type.is_floating:
        nans = np.where(np.broadcast_to(bounds.can_be_nan, n), UNKNOWN, 0)
        cells["nan_count"] = count_array(nans)
    return cells


def _of_partition(
    scan: ScanInput,
    path: tuple[str, ...],
    data_type: DataType | None,
    ordinals: npt.NDArray[np.intp],
    records: pa.Array,
) -> Mapping[str, pa.Array] | None:
    """Return the cells of a partition column, or None if the column is not one.

    A partition column has a single value in all rows of a file. If that value is NULL and the
    number of rows is not known, the cells prove nothing, because a null cell means not known.
    """
    partitions = scan.partitions
    name = partitions.names(Column(path, data_type or _ANY))
    if name is None:
        return None
    values, own = partitions.values.get(name), partitions.types[name]
    wrong_type = data_type is not None and own != data_type
    if values is None or own is None or wrong_type or not is_known(str(own)):
        return {}
    each = values.take(pa.array(scan.directories[ordinals]))
    nothing, zero = pa.nulls(len(each), pa.int64()), pa.scalar(0, pa.int64())
    is_nan = pc.fill_null(pc.is_nan(each), False) if own.is_floating else None
    cells = {
        "null_count": pc.if_else(pc.is_valid(each), zero, records if len(records) else nothing)
    }
    if is_nan is not None:
        cells["nan_count"] = pc.if_else(is_nan, records, zero)
        each = pc.if_else(is_nan, pa.scalar(None, each.type), each)
    return {"min": each, "max": each, **cells}


_ANY = DataType("string")
