"""Which filters a worker gets, and which of them Spark need not apply again.

A predicate whose form and types have the same meaning in Spark and in DuckDB, whose semantics the
workers follow, can be sent as required: the worker applies it exactly, or fails. The encoding of
version 1 has fewer of these forms (`filter_list`), and no such requests: there, a predicate is
applied exactly if the function declares this of all filters.

    form or type              why both agree
    = <> < <= > >=, <=>       NULL if an operand is NULL, except <=>, which is IS NOT DISTINCT FROM
    AND, OR, NOT              three-valued logic
    IN                        NULL if nothing matches and there is a NULL; the empty list is not
                              sent: for NULL it is NULL in Spark and false in VGI
    IS NULL                   never NULL
    startswith, endswith,     case-sensitive, on the bytes; NULL if an operand is NULL; an empty
    contains                  text is part of every text
    LIKE                      the same as one of these or =, if it has no other wildcards
    isnan(x)                  x IS NOT DISTINCT FROM NaN: false for NULL
    integers, BOOLEAN, DATE   one order
    DECIMAL(p, s)             both sides have the same precision and scale, so no conversion
    FLOAT, DOUBLE             NaN equals itself and is the greatest value; -0.0 = 0.0
    STRING                    bytes of UTF-8; other collations have no type in tamis.expr
    BINARY                    unsigned bytes
    TIMESTAMP                 instants; the zone is for display only
    TIMESTAMP_NTZ             microseconds

Casts and arithmetic differ in overflow and errors, so they are not sent. For all other predicates a
weaker one is sent, as advisory, where there is one: the worker may leave out rows for which it is
not true, and Spark applies the filter itself.

    a AND f(x)                a
    (a AND f(x)) OR b         a OR b
    year(d) = 1995            the range of d that follows from it (tamis.plan.ranges.implied_ranges)
    s LIKE 'a%c_'             s starts with a, and contains c
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from tamis.expr.nodes import And, Call, Column, Compare, Comparison, Expr, Literal, Not, Or
from tamis.expr.rewrites import FALSE, TRUE, conjoin, disjoin, simplify
from tamis.expr.types import BOOLEAN, STRING
from tamis.plan.ranges.implied_ranges import implied
from tamis.remote.vgi.filters.encodings import Encoding
from tamis.remote.vgi.filters.filter_document import FilterDocument, Mode, NotEncodable
from tamis.remote.vgi.filters.filter_list import FilterList

__all__ = ["Sendable", "sendable"]

_WILDCARDS: Final = "%_"


@dataclass(frozen=True, slots=True)
class Sendable:
    """A predicate to send. `is_exact`: it is the filter itself, and can be required."""

    predicate: Expr
    is_exact: bool


def sendable(
    expr: Expr, columns: pa.Schema, encoding: Encoding = FilterDocument
) -> Sendable | None:
    """Return the form in which a conjunct is sent; None if nothing is sent for it.

    Args:
        expr: The conjunct.
        columns: The whole result of the function.
        encoding: The encoding that the worker understands.

    >>> from tamis.expr.sql import to_sql
    >>> from tamis.expr.types import DATE, INTEGER
    >>> day = Column(("d",), DATE)
    >>> year = Compare(Comparison.EQUAL, Call("Year", (day,), (), INTEGER), Literal(1995, INTEGER))
    >>> sent = sendable(year, pa.schema({"d": pa.date32()}))
    >>> to_sql(sent.predicate), sent.is_exact
    ("d >= DATE '1995-01-01' AND d <= DATE '1995-12-31'", False)
    """
    same = _rewritten(expr)
    document = encoding(columns)
    if _is_encodable(same, document):
        return Sendable(same, is_exact=True)
    weaker = _weaker(simplify(same), document)
    if weaker is None or isinstance(weaker, Literal) or not _is_encodable(weaker, document):
        return None
    return Sendable(weaker, is_exact=False)


def _is_encodable(expr: Expr, empty: FilterDocument | FilterList) -> bool:
    try:
        type(empty)(empty.columns).add(expr, Mode.ADVISORY)
    except NotEncodable:
        return False
    return True


def _rewritten(expr: Expr) -> Expr:
    """Return the same predicate, with LIKE written as other functions where that is exact."""
    match expr:
        case And(parts=parts):
            return And(tuple(map(_rewritten, parts)))
        case Or(parts=parts):
            return Or(tuple(map(_rewritten, parts)))
        case Not(child=child):
            return Not(_rewritten(child))
        case Call(name="Like"):
            parts_of_like = _like(expr)
            if parts_of_like is not None and parts_of_like[1]:
                return parts_of_like[0]
    return expr


def _weaker(expr: Expr, empty: FilterDocument | FilterList) -> Expr | None:
    """Return a predicate that is true wherever this one is; None if there is none to send."""
    match expr:
        case And(parts=parts):
            kept = [each for each in (_weaker(part, empty) for part in parts) if each is not None]
            return conjoin(kept) if kept else None
        case Or(parts=parts):
            weaker = [_weaker(part, empty) for part in parts]
            kept = [each for each in weaker if each is not None]
            return disjoin(kept) if len(kept) == len(weaker) else None
        case Literal():
            return expr if expr in (TRUE, FALSE) else FALSE  # NULL is not true either
        case Call(name="Like") if (parts_of_like := _like(expr)) is not None:
            if _is_encodable(parts_of_like[0], empty):
                return parts_of_like[0]
    if _is_encodable(expr, empty):
        return expr
    ranges = [each for each in implied(expr) if _is_encodable(each, empty)]
    return conjoin(ranges) if ranges else None


def _like(call: Call) -> tuple[Expr, bool] | None:
    """Return a predicate that is true wherever the LIKE is, and whether they are the same."""
    match call.arguments:
        case (Column(type=data_type) as column, Literal(value=str(pattern))) if data_type == STRING:
            pass
        case _:
            return None
    escape = call.option("escapeChar")
    if not isinstance(escape, str) or len(escape) != 1 or escape in pattern:
        return None

    def test(name: str, text: str) -> Expr:
        return Call(name, (column, Literal(text, STRING)), (), BOOLEAN)

    if not any(each in pattern for each in _WILDCARDS):
        return Compare(Comparison.EQUAL, column, Literal(pattern, STRING)), True
    first, *middle, last = _pieces(pattern)
    tests = [test("StartsWith", first)] if first else []
    tests += [test("Contains", each) for each in middle if each]
    tests += [test("EndsWith", last)] if last else []
    is_exact = "_" not in pattern and len(tests) <= 1
    return (conjoin(tests) if tests else test("Contains", "")), is_exact


def _pieces(pattern: str) -> Sequence[str]:
    """Return the texts between the wildcards."""
    return pattern.replace("_", "%").split("%")
