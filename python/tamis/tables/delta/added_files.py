"""The statistics of the files that one file of the log adds, as a table.

    key            binary: see `paths`
    records        int64: rows of the file, deleted ones too; null: unknown
    deleted        int64: rows in its deletion vector; null: unknown
    is_tight       bool: the bounds are those of rows that are not deleted
    min.<k> max.<k> the type of `values.arrow_type` (strings: binary): outer bounds of column k
    nulls.<k>      int64: NULLs of column k among `records`; null: unknown

k is the ordinal in `TableColumns`. A column that is never known is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.files.columns import Side
from tamis.tables.delta.columns import StatisticsColumn, TableColumns
from tamis.tables.delta.edges import outer_edge
from tamis.tables.delta.statistics_json import KINDS, StatisticsDecoder
from tamis.tables.delta.values import arrow_type, from_checkpoint, from_json

__all__ = ["AddedFiles", "column_type", "statistics_table"]

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AddedFiles:
    """The `add` actions of a file of the log, in its order.

    - `keys`: see `paths`.
    - `texts`: `stats`, None if absent.
    - `structs`: `stats_parsed`; None if the file of the log does not have it.
    - `has_vector`: whether there is a deletion vector.
    - `cardinality`: its rows; None if there is none, or they are not known.
    """

    keys: pa.Array
    texts: Sequence[str | None]
    structs: pa.Array | None
    has_vector: Sequence[bool]
    cardinality: Sequence[int | None]


def statistics_table(
    added: AddedFiles, columns: TableColumns, decoder: StatisticsDecoder
) -> pa.Table:
    """Return the table of this module."""
    objects = decoder.decode(added.texts)
    from_structs = None
    if added.structs is not None:
        from_structs = pa.array([each is None for each in added.texts])
    records = _records(decoder.counts(objects))
    tight = pa.array(decoder.tight(objects), pa.bool_())
    if from_structs is not None:
        other = _child(added.structs, ("numRecords",))
        if other is not None and pa.types.is_integer(other.type):
            records = pc.if_else(from_structs, _positive(other.cast(pa.int64())), records)
        other = _child(added.structs, ("tightBounds",))
        if other is not None and pa.types.is_boolean(other.type):
            tight = pc.if_else(from_structs, other, tight)
    has_vector = pa.array(added.has_vector, pa.bool_())
    # an absent `tightBounds` means true
    is_tight = pc.and_(pc.fill_null(tight, True), pc.invert(has_vector))
    cells = {
        "key": added.keys,
        "records": records,
        "deleted": _deleted(added),
        "is_tight": is_tight,
    }
    for ordinal, column in enumerate(columns.columns):
        for name, array in _statistics(
            objects, ordinal, column, decoder, added.structs, from_structs
        ):
            if name == "nulls":
                array = _trusted_nulls(array, records, is_tight, column)
            if array.null_count < len(array):
                cells[f"{name}.{ordinal}"] = array
    return pa.table(cells)


def column_type(name: str, columns: TableColumns) -> pa.DataType:
    """Return the type of a column of a table of this module."""
    fixed = {"key": pa.binary(), "is_tight": pa.bool_()}
    kind, _, ordinal = name.partition(".")
    if kind in ("min", "max"):
        data_type = columns.columns[int(ordinal)].type
        return pa.large_binary() if data_type.name == "string" else arrow_type(data_type)
    return fixed.get(name, pa.int64())


def _statistics(
    objects: Sequence[Any],
    ordinal: int,
    column: StatisticsColumn,
    decoder: StatisticsDecoder,
    structs: pa.Array | None,
    from_structs: pa.Array | None,
) -> Iterator[tuple[str, pa.Array]]:
    """Yield the outer bounds of a column, and its number of NULLs as it is recorded."""
    for name, kind in zip(("min", "max", "nulls"), KINDS, strict=True):
        values = decoder.values(objects, kind, ordinal)
        if values is None:
            continue
        if name == "nulls":
            array = pa.array([_count(each) for each in values], pa.int64())
        else:
            side = Side.LOWER if name == "min" else Side.UPPER
            array = outer_edge(from_json(values, column.type), column, side)
        other = None if structs is None else _child(structs, (kind, *column.physical))
        if other is not None:
            if name == "nulls":
                known = pa.types.is_integer(other.type)
                other = other.cast(pa.int64()) if known else None
            else:
                other = from_checkpoint(other, column.type)
                if other is not None:
                    other = outer_edge(other, column, side, from_checkpoint=True)
            if other is not None:
                array = pc.if_else(from_structs, other, array)
        yield name, array


def _child(structs: pa.Array | None, path: tuple[str, ...]) -> pa.Array | None:
    """Return a field of structs; None if there is no such field, or several."""
    try:
        return pc.struct_field(structs, list(path))
    except (pa.ArrowException, KeyError, TypeError):
        return None


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value < 1 << 62 else None


def _records(counts: Sequence[int | None]) -> pa.Array:
    return _positive(pa.array([_count(each) for each in counts], pa.int64()))


def _positive(counts: pa.Array) -> pa.Array:
    """Return counts of rows. Writers that do not count rows may write 0."""
    return pc.if_else(pc.greater(counts, 0), counts, pa.scalar(None, pa.int64()))


def _deleted(added: AddedFiles) -> pa.Array:
    rows = [
        _count(count) if has else 0
        for has, count in zip(added.has_vector, added.cardinality, strict=True)
    ]
    return pa.array(rows, pa.int64())


def _trusted_nulls(
    counts: pa.Array, records: pa.Array, is_tight: pa.Array, column: StatisticsColumn
) -> pa.Array:
    """Return the counts of NULLs that are certain.

    - If bounds are not tight, the count is that of all rows, deleted or not, if it is 0 or all
      rows, and stale otherwise (PROTOCOL.md, "Per-file Statistics").
    - Of fields of structs, Delta counts the rows whose struct is NULL, but delta-kernel-rs does
      not. So only a count of all rows is certain.
    """
    if not column.counts_nulls:
        return pa.nulls(len(counts), pa.int64())
    is_all = pc.equal(counts, records)  # null if one of them is not known
    is_none = pc.equal(counts, 0)
    is_possible = pc.and_(pc.greater_equal(counts, 0), pc.less_equal(counts, records))
    if column.is_nested:
        certain = is_all
    else:
        certain = pc.or_kleene(pc.or_kleene(is_all, is_none), pc.and_kleene(is_tight, is_possible))
    return pc.if_else(pc.fill_null(certain, False), counts, pa.scalar(None, pa.int64()))
