"""The statistics of columns, in the form of the protocol."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tamis.publish.column_facts import column_facts
from tamis.publish.pruning import Snapshot
from tamis.remote.vgi.protocol.records import STATISTICS

__all__ = ["statistics_of"]


def statistics_of(snapshot: Snapshot) -> pa.RecordBatch | None:
    """Return one row per column; None if the table has no columns.

    A bound that is not known is NULL. A column that may have NaN, which is the greatest value, has
    no maximum.
    """
    fields = list(snapshot.schema)
    if not fields:
        return None
    facts = [column_facts(snapshot.statistics, each) for each in fields]
    upper = [None if each.can_be_nan else each.maximum for each in facts]
    columns = {
        "column_name": [each.name for each in fields],
        "has_null": [each.can_be_null for each in facts],
        "has_not_null": [each.can_be_value or each.can_be_nan for each in facts],
    }
    arrays = [
        pa.array(columns.get(field.name, [None] * len(fields)), field.type) for field in STATISTICS
    ]
    types = list(dict.fromkeys(each.type for each in fields))
    bounds = [_union(fields, types, each) for each in ([one.minimum for one in facts], upper)]
    schema = pa.schema(
        [
            STATISTICS.field(0),
            *(pa.field(name, bounds[0].type) for name in ("min", "max")),
            *list(STATISTICS)[1:],
        ]
    )
    return pa.RecordBatch.from_arrays([arrays[0], *bounds, *arrays[1:]], schema=schema)


def _union(
    fields: Sequence[pa.Field], types: Sequence[pa.DataType], values: Sequence[pa.Scalar | None]
) -> pa.UnionArray:
    """Return one value per column, in a union of the types of the columns."""
    codes = [types.index(each.type) for each in fields]
    children = [
        _child(
            data_type,
            [
                value if types[code] == data_type else None
                for code, value in zip(codes, values, strict=True)
            ],
        )
        for data_type in types
    ]
    names = [str(place) for place in range(len(types))]
    return pa.UnionArray.from_sparse(
        pa.array(codes, pa.int8()), children, names, list(range(len(types)))
    )


def _child(data_type: pa.DataType, values: Sequence[pa.Scalar | None]) -> pa.Array:
    cells = [pa.nulls(1, data_type) if each is None else pa.repeat(each, 1) for each in values]
    return pa.concat_arrays(cells)
