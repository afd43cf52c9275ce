"""Filters of branches that are applied to rows, on executors. Imports pyarrow only.

A filter is a tree of tuples:

    ("and", [filter, …])       ("=", "column", constant)
    ("or", [filter, …])        ("=", "column", "other column")

It keeps the rows for which it is true, as SQL does: a comparison with NULL is not true. Floating
types are excluded, because pyarrow orders NaN in another way than Spark and DuckDB.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["RowFilter", "passing_rows"]

RowFilter: TypeAlias = tuple[Any, ...]

_OPERATORS: Final = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


def passing_rows(batch: pa.RecordBatch, row_filter: RowFilter) -> pa.RecordBatch:
    """Return the rows for which the filter is true.

    >>> rows = pa.record_batch({"n": pa.array([1, None, 3], pa.int64())})
    >>> passing_rows(rows, (">", "n", pa.scalar(1, pa.int64()))).to_pydict()
    {'n': [3]}
    """
    return batch.filter(_truth(batch, row_filter))


def _truth(batch: pa.RecordBatch, row_filter: RowFilter) -> Any:
    if row_filter[0] in ("and", "or"):
        combine = pc.and_kleene if row_filter[0] == "and" else pc.or_kleene
        return reduce(combine, (_truth(batch, each) for each in row_filter[1]))
    operator, column, other = row_filter
    right = batch.column(other) if isinstance(other, str) else other
    return pc.call_function(_OPERATORS[operator], [batch.column(column), right])
