"""The filters that are sent to Airport servers.

A server receives filters as DuckDB's document, evaluates them in its own way, and must return every
row that passes. Some servers in use lose rows for correct documents: for wide and signed numbers,
arithmetic, casts, decimals and moments far from today. Others fail on constants that are zero or
empty. So only these forms are sent, which such servers have been seen to evaluate correctly:

    column = <> < <= > >= constant, column IN (…), column NOT IN (…)
    column IS NULL, column IS NOT NULL
    starts_with, ends_with and contains of a text column
    AND and OR of these

The constant has exactly the type of the column, and is not NULL, not zero for dates, times and
floating-point numbers, and not an empty text. Everything else stays with Spark, which applies the
sent filters again as well.

NaN is above all numbers in Spark. A server that filters Arrow data with DuckDB 1.4 or 1.5 loses it
for > and >=. Both are sent only if another conjunct excludes NaN, as in a range, or if the server
declares the filters that it applies exactly, which promises Spark's order.

A conjunct that is not sent only makes the answer larger. An OR is sent only if all of its operands
can be sent. The same applies to an AND, which here is always inside an OR.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

import pyarrow as pa

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Value,
)
from tamis.remote.contract import JoinKeys
from tamis.wire.duckdb import to_duckdb

__all__ = ["filter_document", "keys_filter", "sendable"]

#: The Arrow types of columns that filters may use, by the type that Spark gives the column.
_TYPES: Final = {
    "boolean": (pa.bool_(),),
    "byte": (pa.int8(),),
    "short": (pa.int16(),),
    "integer": (pa.int32(),),
    "long": (pa.int64(),),
    "float": (pa.float32(),),
    "double": (pa.float64(),),
    "string": (pa.string(), pa.large_string(), pa.string_view()),
    "date": (pa.date32(),),
    "timestamp_ntz": (pa.timestamp("us"),),
}
_TEXT_FUNCTIONS: Final = frozenset({"StartsWith", "EndsWith", "Contains"})
_LOWER_BOUNDS: Final = (Comparison.GREATER, Comparison.GREATER_EQUAL)
_MOST_OPTIONS: Final = 1000  # of join keys in one list
_EPOCH: Final = date(1970, 1, 1)
_DAYS: Final = ((date.min - _EPOCH).days, (date.max - _EPOCH).days)
_MICROSECONDS: Final = (1, (date(2100, 1, 1) - _EPOCH).days * 86_400_000_000)


def sendable(
    filters: Sequence[Expr], schema: pa.Schema, *, orders_nan: bool = False
) -> list[Expr | None]:
    """Return the form in which each conjunct is sent; None for those that are not sent.

    Args:
        filters: Conjuncts. Rows that fail one of them may be lost.
        schema: The columns of the table, as the server declares them.
        orders_nan: Whether NaN is above all numbers for the server, as it is for Spark.

    >>> from tamis.expr.types import LONG
    >>> over = Compare(Comparison.GREATER, Column(("n",), LONG), Literal(5, LONG))
    >>> sendable([over], pa.schema({"n": pa.uint64()}))
    [None]
    >>> sendable([over], pa.schema({"n": pa.int64()})) == [over]
    True
    """
    # DuckDB does not distinguish names by case
    folded = Counter(name.lower() for name in schema.names)
    types = {
        field.name: field.type
        for field in schema
        if folded[field.name.lower()] == 1 and '"' not in field.name
    }
    keeping_nan = frozenset(types) if orders_nan else _columns_without_nan(filters)
    return [_sendable(conjunct, types, keeping_nan) for conjunct in filters]


def keys_filter(keys: JoinKeys) -> Expr:
    """Return the filter for keys of a join: the list, or for many keys a range that holds them.

    >>> from tamis.expr.types import LONG
    >>> n = Column(("n",), LONG)
    >>> keys_filter(JoinKeys(n, (1, 2))) == In(n, (1, 2))
    True
    >>> keys_filter(JoinKeys(n, tuple(range(5000)))).parts[1].right.value
    4999
    """
    column, options = keys.column, keys.options
    # NaN has no place in the order of Python, so min and max could miss keys
    if len(options) <= _MOST_OPTIONS or column.type.is_floating:
        return In(column, options)
    ends = {
        Comparison.GREATER_EQUAL: min(options),  # type: ignore[type-var]
        Comparison.LESS_EQUAL: max(options),  # type: ignore[type-var]
    }
    return And(tuple(Compare(op, column, Literal(end, column.type)) for op, end in ends.items()))


def filter_document(forms: Sequence[Expr | None], schema: pa.Schema) -> str:
    """Return the document of the forms that `sendable` returns; empty if none is sent.

    >>> from tamis.expr.types import LONG
    >>> over = Compare(Comparison.GREATER, Column(("n",), LONG), Literal(5, LONG))
    >>> document = filter_document([over, None], pa.schema({"n": pa.int64()}))
    >>> json.loads(document)["filters"][0]["type"]
    'COMPARE_GREATERTHAN'
    """
    sent = [form for form in forms if form is not None]
    return json.dumps(to_duckdb(sent, schema.names)) if sent else ""


def _columns_without_nan(conjuncts: Sequence[Expr]) -> frozenset[str]:
    """Return the columns that are not NaN in a row for which all conjuncts are true."""
    return frozenset(
        column.path[0] for column in map(_column_without_nan, conjuncts) if column is not None
    )


def _column_without_nan(conjunct: Expr) -> Column | None:
    match conjunct:
        case Compare(
            op=Comparison.LESS | Comparison.LESS_EQUAL | Comparison.EQUAL,
            left=Column() as column,
            right=Literal(value=float(bound)),
        ):
            return None if math.isnan(bound) else column  # NaN is above every other number
        case In(value=Column() as column, options=options):
            return None if any(each != each for each in options) else column
    return None


def _sendable(expr: Expr, types: dict[str, Any], keeping_nan: frozenset[str]) -> Expr | None:
    """Return the form in which a predicate is sent; None if it is not sent.

    Args:
        expr: A predicate.
        types: The Arrow types of the columns that filters may use.
        keeping_nan: Columns of which the server loses no NaN that it has to return.
    """
    match expr:
        case And(parts=parts):
            inside = keeping_nan | _columns_without_nan(parts)
            return _with_all(expr, [_sendable(part, types, inside) for part in parts])
        case Or(parts=parts):
            return _with_all(expr, [_sendable(part, types, keeping_nan) for part in parts])
        case Compare(op=op, left=Column() as column, right=Literal(value=value)):
            loses_nan = op in _LOWER_BOUNDS and column.path[0] not in keeping_nan
            if op is Comparison.NULL_SAFE_EQUAL or (column.type.is_floating and loses_nan):
                return None
            return expr if _is_compared(column, [value], types) else None
        case Not(child=Compare(op=Comparison.EQUAL) as child):
            # servers have been seen to lose the NOT of other forms
            return _sendable(replace(child, op=Comparison.NOT_EQUAL), types, keeping_nan)
        case In(value=Column() as column, options=options):
            # a NULL in the list makes no row pass
            return replace(expr, has_null=False) if _is_compared(column, options, types) else None
        case Not(child=In(value=Column() as column, options=options, has_null=False)):
            return expr if _is_compared(column, options, types) else None
        case IsNull(child=Column() as column) | Not(child=IsNull(child=Column() as column)):
            return expr if _is_known(column, types) else None
        case Call(name=name, arguments=(Column() as column, Literal(value=str(text)))):
            is_text = column.type.name == "string" and name in _TEXT_FUNCTIONS
            return expr if is_text and _is_compared(column, [text], types) else None
    return None


def _with_all(expr: And | Or, sent: Sequence[Expr | None]) -> Expr | None:
    """Return the AND or OR of the forms of its operands; None if one of them is not sent."""
    parts = tuple(each for each in sent if each is not None)
    return replace(expr, parts=parts) if len(parts) == len(sent) else None


def _is_known(column: Column, types: dict[str, Any]) -> bool:
    """Return whether a column of the table has the type that the filter has for it."""
    return len(column.path) == 1 and types.get(column.path[0]) in _TYPES.get(column.type.name, ())


def _is_compared(column: Column, values: Sequence[Value], types: dict[str, Any]) -> bool:
    are_safe = len(values) > 0 and all(_is_safe(each, column.type.name) for each in values)
    return are_safe and _is_known(column, types)


def _is_safe(value: Value, data_type: str) -> bool:
    match value:
        case bool():
            return True
        case str():
            return value != "" and "\0" not in value
        case float():
            return math.isfinite(value) and value != 0
        case int() if data_type == "date":
            return _DAYS[0] <= value <= _DAYS[1] and value != 0
        case int() if data_type == "timestamp_ntz":
            return _MICROSECONDS[0] <= value < _MICROSECONDS[1]
        case int():
            return True
    return False
