"""Spark's semantics of a predicate on one row, in the plainest form: the oracle.

Values are the Python values of literals. NaN is the greatest value and equals itself, -0.0 equals
0.0, strings compare as UTF-8 bytes, and NULL is None.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Mapping
from typing import Any

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    Within,
)
from tests.differential.calls import call_value
from tests.differential.keys import order_key as order_key

Row = Mapping[tuple[str, ...], Any]


def row_value(expr: Expr, row: Row) -> Any:
    """Return the value of an expression on a row; True, False or None for a predicate."""
    match expr:
        case Literal(value=float(value), type=data_type) if data_type.name == "float":
            return ctypes.c_float(value).value
        case Literal(value=value):
            return value
        case Column(path=path):
            return row[path]
        case And(parts=parts):
            values = [row_value(part, row) for part in parts]
            return False if False in values else None if None in values else True
        case Or(parts=parts):
            values = [row_value(part, row) for part in parts]
            return True if True in values else None if None in values else False
        case Not(child=child):
            value = row_value(child, row)
            return None if value is None else not value
        case IsNull(child=child):
            return row_value(child, row) is None
        case In(value=child, options=options, has_null=has_null):
            value = row_value(child, row)
            if value is None:
                return None
            if any(order_key(value) == order_key(option) for option in options):
                return True
            return None if has_null else False
        case Compare(op=op, left=left, right=right):
            return _compare(str(op), row_value(left, row), row_value(right, row))
        case Within():
            return _within(expr, row[expr.value.path])
        case Opaque(sql=sql):
            # Any value that statistics cannot predict from the row.
            return (True, False, None)[zlib.crc32(repr((sql, sorted(row.items()))).encode()) % 3]
        case Call(arguments=arguments):
            return call_value(expr, [row_value(argument, row) for argument in arguments])


def _within(expr: Within, value: Any) -> bool | None:
    if value is None:
        return None
    if isinstance(value, float) and value != value:
        return expr.nan
    key = order_key(value)
    if expr.lower is not None and key < order_key(expr.lower):
        return False
    if expr.upper is None:
        return True
    return key < order_key(expr.upper) if expr.upper_open else key <= order_key(expr.upper)


def _compare(op: str, left: Any, right: Any) -> bool | None:
    if op == "<=>":
        if left is None or right is None:
            return left is None and right is None
        return order_key(left) == order_key(right)
    if left is None or right is None:
        return None
    x, y = order_key(left), order_key(right)
    return {"=": x == y, "<>": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]
