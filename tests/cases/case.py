"""Tables of cases: `data | hits | misses | full`.

    data    the rows of one file
    hits    predicates for which the file must be read
    misses  predicates for which it must not be read
    full    predicates that every row satisfies, so that the filter need not be applied

The tables state what tamis must prove. They run on statistics alone, on real files, and against
Spark: `to_sql` of a predicate is Spark SQL over the column names used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tamis.expr.nodes import Column, Compare, Comparison, Expr, In, IsNull, Literal, Not
from tamis.expr.types import BOOLEAN, DataType
from tests.differential.generate import POOLS
from tests.differential.rows import Row, order_key


@dataclass(frozen=True)
class Case:
    """A file with one column. `data` contains the value of `column` in each row."""

    column: Column
    data: tuple[Any, ...]
    hits: tuple[Expr, ...] = ()
    misses: tuple[Expr, ...] = ()
    full: tuple[Expr, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple({self.column.path: value} for value in self.data)

    @property
    def files(self) -> pa.Table:
        """The statistics that a writer would record for these rows: one file."""
        return statistics_of(self.column, [self.data])


def statistics_of(column: Column, files: list[tuple[Any, ...]]) -> pa.Table:
    name, arrow = ".".join(column.path), arrow_type(column.type)
    ordinary = [sorted(filter(_is_ordinary, data), key=order_key) for data in files]
    table = {
        "num_records": pa.array([len(data) for data in files], pa.int64()),
        f"min.{name}": pa.array([each[0] if each else None for each in ordinary], arrow),
        f"max.{name}": pa.array([each[-1] if each else None for each in ordinary], arrow),
        f"null_count.{name}": pa.array([data.count(None) for data in files], pa.int64()),
    }
    if column.type.is_floating:
        nans = [sum(v is not None and math.isnan(v) for v in data) for data in files]
        table[f"nan_count.{name}"] = pa.array(nans, pa.int64())
    return pa.table(table)


def arrow_type(data_type: DataType) -> pa.DataType:
    if data_type.is_decimal:
        return pa.decimal128(data_type.precision, data_type.scale)
    return POOLS[data_type][1]


def _is_ordinary(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def compare(op: str, column: Column, value: Any) -> Expr:
    return Compare(Comparison(op), column, Literal(value, column.type))


def comparisons(op: str, column: Column, *values: Any) -> tuple[Expr, ...]:
    """Return `column op value` for each value, and the equivalent `value op' column`."""
    there = [compare(op, column, value) for value in values]
    back = [
        Compare(Comparison(op).swapped, Literal(value, column.type), column) for value in values
    ]
    return (*there, *back)


def is_in(column: Column, *options: Any, null: bool = False) -> Expr:
    return In(column, options, null)


def not_in(column: Column, *options: Any, null: bool = False) -> Expr:
    return Not(In(column, options, null))


def is_null(column: Column) -> Expr:
    return IsNull(column)


def is_not_null(column: Column) -> Expr:
    return Not(IsNull(column))


TRUE, FALSE, UNKNOWN = (Literal(value, BOOLEAN) for value in (True, False, None))
