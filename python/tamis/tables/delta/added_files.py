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

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tamis.expr.types import LONG
from tamis.files.columns import Side
from tamis.tables.delta.columns import StatisticsColumn, TableColumns
from tamis.tables.delta.edges import outer_edge
from tamis.tables.delta.statistics_json import StatisticsDecoder
from tamis.tables.delta.values import arrow_type, from_checkpoint, from_json

__all__ = ["AddedFiles", "column_type", "joined", "statistics_table"]


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


def joined(parts: Sequence[AddedFiles]) -> AddedFiles:
    """Return the files of parts without structs, one part after the other."""
    assert all(each.structs is None for each in parts)
    return AddedFiles(
        pa.concat_arrays([pa.array([], pa.binary()), *(each.keys for each in parts)]),
        [text for each in parts for text in each.texts],
        None,
        [has for each in parts for has in each.has_vector],
        [count for each in parts for count in each.cardinality],
    )


def statistics_table(
    added: AddedFiles, columns: TableColumns, decoder: StatisticsDecoder
) -> pa.Table:
    """Return the table of this module."""
    recorded = _Recorded(added, decoder)
    records = recorded.counts(("numRecords",))
    # writers that do not count rows may write 0
    records = pc.if_else(pc.greater(records, 0), records, pa.scalar(None, pa.int64()))
    # an absent `tightBounds` means true
    is_tight = pc.and_(pc.fill_null(recorded.tight(), True), pc.invert(recorded.has_vector))
    cells = {
        "key": added.keys,
        "records": records,
        "deleted": _deleted(added),
        "is_tight": is_tight,
    }
    for ordinal, column in enumerate(columns.columns):
        if column.has_bounds:
            cells[f"min.{ordinal}"] = recorded.edge(ordinal, column, Side.LOWER)
            cells[f"max.{ordinal}"] = recorded.edge(ordinal, column, Side.UPPER)
        counts = recorded.counts(("nullCount", *column.physical), ordinal)
        cells[f"nulls.{ordinal}"] = _trusted_nulls(counts, records, is_tight, column)
    return pa.table(
        {
            name: array
            for name, array in cells.items()
            if "." not in name or array.null_count < len(array)
        }
    )


def column_type(name: str, columns: TableColumns) -> pa.DataType:
    """Return the type of a column of a table of this module."""
    fixed = {"key": pa.binary(), "is_tight": pa.bool_()}
    kind, _, ordinal = name.partition(".")
    if kind in ("min", "max"):
        return edge_type(columns.columns[int(ordinal)])
    return fixed.get(name, pa.int64())


class _Recorded:
    """The recorded statistics: those of the texts, and of the structs where there is no text."""

    def __init__(self, added: AddedFiles, decoder: StatisticsDecoder) -> None:
        self._count = len(added.keys)
        self._without_text = pa.array([each is None for each in added.texts], pa.bool_())
        has_texts = self._without_text.false_count > 0
        self._texts = decoder.decode(added.texts) if has_texts else None
        self._structs = added.structs
        self.has_vector = pa.array(added.has_vector, pa.bool_())

    def counts(self, path: tuple[str, ...], ordinal: int = 0) -> pa.Array:
        """Return numbers of rows or NULLs. `ordinal`: the column, for numbers of NULLs."""
        texts = None
        if self._texts is not None:
            if path == ("numRecords",):
                values = self._texts.counts()
            else:
                values = self._texts.values("nullCount", ordinal)
            texts = from_json(values, LONG)
        structs = self._child(path)
        if structs is not None:
            structs = structs.cast(pa.int64()) if pa.types.is_integer(structs.type) else None
        return self._chosen(texts, structs, pa.int64())

    def tight(self) -> pa.Array:
        texts = None
        if self._texts is not None:
            texts = pa.array(self._texts.tight(), pa.bool_())
        structs = self._child(("tightBounds",))
        if structs is not None and not pa.types.is_boolean(structs.type):
            structs = None
        return self._chosen(texts, structs, pa.bool_())

    def edge(self, ordinal: int, column: StatisticsColumn, side: Side) -> pa.Array:
        """Return outer bounds of a column on one side."""
        kind = "minValues" if side is Side.LOWER else "maxValues"
        texts = None
        if self._texts is not None:
            values = self._texts.values(kind, ordinal)
            texts = outer_edge(from_json(values, column.type), column, side)
        structs = self._child((kind, *column.physical))
        if structs is not None:
            structs = from_checkpoint(structs, column.type)
        if structs is not None:
            structs = outer_edge(structs, column, side, from_checkpoint=True)
        return self._chosen(texts, structs, edge_type(column))

    def _child(self, path: tuple[str, ...]) -> pa.Array | None:
        """Return a field of the structs; None if there is no such field, or several."""
        if self._structs is None:
            return None
        try:
            return pc.struct_field(self._structs, list(path))
        except (pa.ArrowException, KeyError, TypeError):
            return None

    def _chosen(
        self, texts: pa.Array | None, structs: pa.Array | None, data_type: pa.DataType
    ) -> pa.Array:
        if texts is None:  # no text at all
            return pa.nulls(self._count, data_type) if structs is None else structs
        if structs is None:
            return texts
        return pc.if_else(self._without_text, structs, texts)


def edge_type(column: StatisticsColumn) -> pa.DataType:
    """Return the type of the bounds of a column."""
    return pa.large_binary() if column.type.name == "string" else arrow_type(column.type)


def _deleted(added: AddedFiles) -> pa.Array:
    rows = [
        count if has else 0 for has, count in zip(added.has_vector, added.cardinality, strict=True)
    ]
    deleted = from_json(rows, LONG)
    return pc.if_else(pc.greater_equal(deleted, 0), deleted, pa.scalar(None, pa.int64()))


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
