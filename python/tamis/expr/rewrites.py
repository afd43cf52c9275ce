"""Rewrites that keep the meaning of a predicate on every row, in three-valued logic.

    flatten     a AND (b AND c)          a AND b AND c        and of OR
    NOT down    NOT (a AND b)            NOT a OR NOT b       and of OR
                NOT (x < y)              x >= y               NaN is ordered, so for floats too
                NOT NOT a                a
                NOT b                    b = false            b a boolean column
    fold        a AND true, a AND false  a, false             and of OR
                x = NULL                 NULL                 so for every comparison but <=>
                x <=> NULL               x IS NULL

`NOT (x <=> y)`, `NOT (x IN …)` and `NOT (x IS NULL)` have no shorter form and stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Literal,
    Not,
    Or,
)
from tamis.expr.types import BOOLEAN

__all__ = ["FALSE", "NULL", "TRUE", "conjoin", "disjoin", "simplify"]

TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)
NULL = Literal(None, BOOLEAN)


def simplify(expr: Expr) -> Expr:
    """All of the rewrites, from the top down.

    >>> from tamis.expr.sql import to_sql
    >>> from tamis.expr.types import LONG
    >>> below = Compare(Comparison.LESS, Column(("a",), LONG), Literal(5, LONG))
    >>> to_sql(simplify(Not(And((below, TRUE, And((below, Column(("b",), BOOLEAN))))))))
    'a >= 5L OR a >= 5L OR b = false'
    """
    match expr:
        case And(parts=parts):
            return conjoin(simplify(part) for part in parts)
        case Or(parts=parts):
            return disjoin(simplify(part) for part in parts)
        case Not(child=child):
            return _negate(child)
        case Compare():
            return _fold_comparison(expr)
        case _:
            return expr


def conjoin(parts: Iterable[Expr]) -> Expr:
    """AND of the parts, flattened; true where there are none.

    A NULL part stays: with it the AND is never true, but it may be false.
    """
    return _combine(And, parts, neutral=TRUE, absorbing=FALSE)


def disjoin(parts: Iterable[Expr]) -> Expr:
    """OR of the parts, flattened; false where there are none."""
    return _combine(Or, parts, neutral=FALSE, absorbing=TRUE)


def _combine(
    node: type[And] | type[Or], parts: Iterable[Expr], neutral: Literal, absorbing: Literal
) -> Expr:
    flat: list[Expr] = []
    for part in parts:
        if part == absorbing:
            return absorbing
        if isinstance(part, node):
            flat.extend(part.parts)
        elif part != neutral:
            flat.append(part)
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else node(tuple(flat))


def _negate(expr: Expr) -> Expr:
    """What NOT expr simplifies to."""
    match expr:
        case Not(child=child):
            return simplify(child)
        case And(parts=parts):
            return disjoin(_negate(part) for part in parts)
        case Or(parts=parts):
            return conjoin(_negate(part) for part in parts)
        case Literal(type=data_type, value=value) if data_type == BOOLEAN:
            return NULL if value is None else Literal(not value, BOOLEAN)
        case Column(type=data_type) if data_type == BOOLEAN:
            # true -> false, false -> true, NULL -> NULL, as NOT has it.
            return Compare(Comparison.EQUAL, expr, FALSE)
        case Compare(op=op, left=left, right=right) if op.negated is not None:
            return _fold_comparison(Compare(op.negated, left, right))
        case Compare():
            folded = _fold_comparison(expr)
            return Not(folded)
        case _:
            return Not(expr)


def _fold_comparison(expr: Compare) -> Expr:
    for one, other in ((expr.left, expr.right), (expr.right, expr.left)):
        if isinstance(one, Literal) and one.value is None:
            # A comparison with NULL is NULL in every row.
            return IsNull(other) if expr.op is Comparison.NULL_SAFE_EQUAL else NULL
    return expr
