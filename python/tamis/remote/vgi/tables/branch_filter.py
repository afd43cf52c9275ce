"""The filters of branches: SQL of DuckDB as a predicate, and as executors apply it to rows.

    n < 50 AND (day >= DATE '2026-01-01' OR name LIKE 'a%')

A filter restricts which rows belong to the table. So it is either understood completely, or the
table is refused.
"""

from __future__ import annotations

import pyarrow as pa

from tamis.expr.nodes import And, Call, Column, Compare, Expr, In, IsNull, Literal, Not, Or
from tamis.expr.types import BOOLEAN
from tamis.remote.vgi.filters.typed_constants import constants, is_compared
from tamis.remote.vgi.tables.row_filter import RowFilter
from tamis.wire.duckdb.sql_predicate import UnknownPredicate, parse_predicate

__all__ = ["UnknownPredicate", "parse_branch_filter", "row_filter_of"]


def parse_branch_filter(sql: str, columns: pa.Schema) -> Expr:
    """Return the filter of a branch.

    Args:
        sql: The filter.
        columns: The columns of the table. Filters cannot use dictionaries.

    Raises:
        UnknownPredicate: The filter has another syntax, an unknown column, a constant that does not
            have the type of its column, or a meaning that depends on a time zone.

    >>> from tamis.expr.sql import to_sql
    >>> to_sql(parse_branch_filter("n < 50 AND n <> -1", pa.schema({"n": pa.int64()})))
    'n < 50L AND n <> -1L'
    """
    plain = [each for each in columns if not pa.types.is_dictionary(each.type)]
    return parse_predicate(sql, pa.schema(plain))


def row_filter_of(expr: Expr, columns: pa.Schema) -> RowFilter | None:
    """Return the form in which executors apply a filter; None if they cannot.

    >>> expr = parse_branch_filter("n > 1 OR n IS NULL", pa.schema({"n": pa.int64()}))
    >>> row_filter_of(expr, pa.schema({"n": pa.int64()}))
    ('or', [('>', 'n', <pyarrow.Int64Scalar: 1>), ('is null', 'n')])
    """
    match expr:
        case And(parts=parts) | Or(parts=parts):
            inner = [row_filter_of(each, columns) for each in parts]
            kind = "and" if isinstance(expr, And) else "or"
            return None if any(each is None for each in inner) else (kind, inner)
        case Not(child=child):
            negated = row_filter_of(child, columns)
            return None if negated is None else ("not", negated)
        case Literal(value=bool() | None as value):
            return ("constant", value)
        case IsNull(child=Column(path=(name,))):
            return ("is null", name)
        case Column(path=(name,), type=data_type) if data_type == BOOLEAN:
            return ("column", name)
        case Compare(left=Column(path=(name,)) as left):
            return _comparison(expr, left, columns.field(name).type, columns)
        case In(value=Column(path=(name,), type=data_type), options=options, has_null=has_null):
            items = constants(options, data_type, columns.field(name).type)
            return None if items is None else ("in", name, items, has_null)
        case Call(name=function, arguments=(Column(path=(name,)), Literal(value=str(text)))):
            is_known = function in ("StartsWith", "EndsWith", "Contains")
            return (function, name, text) if is_known else None
    return None


def _comparison(
    expr: Compare, left: Column, arrow: pa.DataType, columns: pa.Schema
) -> RowFilter | None:
    op, (name,) = str(expr.op), left.path
    match expr.right:
        case Column(path=(other,)) if columns.field(other).type == arrow:
            return (op, name, other) if is_compared(left.type, arrow) else None
        case Literal(value=value, type=data_type) if data_type == left.type:
            constant = constants([value], data_type, arrow)
            return None if constant is None else (op, name, constant[0])
    return None
