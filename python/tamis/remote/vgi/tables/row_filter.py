"""Filters of branches that are applied to rows, on executors. Imports pyarrow only.

A filter is a tree of tuples:

    ("and", [filter, …])       ("=", "column", constant)         ("is null", "column")
    ("or", [filter, …])        ("=", "column", "other column")   ("column", "boolean column")
    ("not", filter)            ("in", "column", constants, whether NULL is among them)
    ("constant", value)        ("StartsWith", "column", "text")

It keeps the rows for which it is true, as SQL does: a comparison with NULL is not true. NaN equals
itself and is above all other numbers, as in Spark and DuckDB.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["RowFilter", "all_pass", "passing_rows"]

RowFilter: TypeAlias = tuple[Any, ...]

_OPERATORS: Final = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_MATCHES: Final = {
    "StartsWith": pc.starts_with,
    "EndsWith": pc.ends_with,
    "Contains": pc.match_substring,
}


def passing_rows(batch: pa.RecordBatch, row_filter: RowFilter) -> pa.RecordBatch:
    """Return the rows for which the filter is true.

    >>> rows = pa.record_batch({"n": pa.array([1, None, 3], pa.int64())})
    >>> passing_rows(rows, (">", "n", pa.scalar(1, pa.int64()))).to_pydict()
    {'n': [3]}
    """
    return batch.filter(_truth(batch, row_filter))


def all_pass(batch: pa.RecordBatch, row_filter: RowFilter) -> bool:
    """Return whether the filter is true for every row."""
    return bool(passing_rows(batch, row_filter).num_rows == batch.num_rows)


def _truth(batch: pa.RecordBatch, row_filter: RowFilter) -> Any:
    kind, *rest = row_filter
    match kind:
        case "and" | "or":
            combine = pc.and_kleene if kind == "and" else pc.or_kleene
            return reduce(combine, (_truth(batch, each) for each in rest[0]))
        case "not":
            return pc.invert(_truth(batch, rest[0]))
        case "constant":
            return pa.repeat(pa.scalar(rest[0], pa.bool_()), batch.num_rows)
        case "column":
            return batch.column(rest[0])
        case "is null":
            return batch.column(rest[0]).is_null()
        case "in":
            return _membership(batch.column(rest[0]), rest[1], rest[2])
    left = batch.column(rest[0])
    if kind in _MATCHES:
        return _MATCHES[kind](left, rest[1])
    right = batch.column(rest[1]) if isinstance(rest[1], str) else rest[1]
    return _compared(kind, left, right)


def _membership(column: Any, options: Any, has_null: bool) -> Any:
    unknown = pa.scalar(None, pa.bool_())
    if pa.types.is_floating(column.type):
        is_among = pa.repeat(pa.scalar(False), len(column))
        for each in options:
            is_among = pc.or_(is_among, pc.fill_null(_compared("=", column, each), False))
    else:
        is_among = pc.is_in(column, value_set=options)
    # NULL if the value is NULL, or nothing matches and NULL is an option.
    known = pc.if_else(is_among, True, unknown if has_null else False)
    return pc.if_else(column.is_null(), unknown, known)


def _compared(op: str, left: Any, right: Any) -> Any:
    if not pa.types.is_floating(left.type):
        return pc.call_function(_OPERATORS[op], [left, right])
    if op in (">", ">="):
        return _compared("<" if op == ">" else "<=", right, left)
    if op == "<>":
        return pc.invert(_compared("=", left, right))
    nan_left, nan_right = pc.is_nan(left), pc.is_nan(right)
    # pyarrow: a comparison with NaN is false
    by_nan = {
        "=": pc.and_(nan_left, nan_right),
        "<": pc.and_(pc.invert(nan_left), nan_right),
        "<=": nan_right,
    }[op]
    # NULL if a side is NULL: `or` is not Kleene's
    return pc.or_(pc.call_function(_OPERATORS[op], [left, right]), by_nan)
