"""Rewrites that preserve the value of a predicate for every row, in three-valued logic.

    flatten     a AND (b AND c)          a AND b AND c        the same for OR
    NOT down    NOT (a AND b)            NOT a OR NOT b       the same for OR
                NOT (x < y)              x >= y               also for floats: NaN is ordered
                NOT NOT a                a
                NOT b                    b = false            if b is a boolean column
    fold        a AND true, a AND false  a, false             the same for OR
                x = NULL                 NULL                 all comparisons except <=>
                x <=> NULL               x IS NULL
    list        x = 1 OR x = 2 OR …      x IN (1, 2, …)       if many; AND of <> becomes NOT IN

`NOT (x <=> y)`, `NOT (x IN …)` and `NOT (x IS NULL)` have no shorter form and are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Comparison,
    Evaluated,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    type_of,
)
from tamis.expr.types import BOOLEAN

__all__ = ["FALSE", "NULL", "TRUE", "conjoin", "disjoin", "simplify", "without_outcomes"]

TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)
NULL = Literal(None, BOOLEAN)

#: At least this many equalities of one value are combined into a list.
_MANY: Final = 8


def simplify(expr: Expr) -> Expr:
    """Apply all rewrites, from the top down.

    >>> from tamis.expr.sql import to_sql
    >>> from tamis.expr.types import LONG
    >>> below = Compare(Comparison.LESS, Column(("a",), LONG), Literal(5, LONG))
    >>> to_sql(simplify(Not(And((below, TRUE, And((below, Column(("b",), BOOLEAN))))))))
    'a >= 5L OR a >= 5L OR b = false'
    """
    match expr:
        case And(parts=parts):
            return _listed(conjoin(simplify(part) for part in parts))
        case Or(parts=parts):
            return _listed(disjoin(simplify(part) for part in parts))
        case Not(child=child):
            return _negate(child)
        case Compare():
            return _fold_comparison(expr)
        case _:
            return expr


def without_outcomes(expr: Expr) -> Expr:
    """Return a predicate without what Spark has found out about single values."""
    match expr:
        case And(parts=parts):
            return And(tuple(map(without_outcomes, parts)))
        case Or(parts=parts):
            return Or(tuple(map(without_outcomes, parts)))
        case Not(child=child):
            return Not(without_outcomes(child))
        case Evaluated(predicate=predicate):
            return predicate
        case _:
            return expr


def conjoin(parts: Iterable[Expr]) -> Expr:
    """Return the flattened AND of the parts; true if there are none.

    A NULL part is kept: with it the AND is never true, but may be false.
    """
    return _combine(And, parts, neutral=TRUE, absorbing=FALSE)


def disjoin(parts: Iterable[Expr]) -> Expr:
    """Return the flattened OR of the parts; false if there are none."""
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
    """Return the simplified form of NOT expr."""
    match expr:
        case Not(child=child):
            return simplify(child)
        case And(parts=parts):
            return _listed(disjoin(_negate(part) for part in parts))
        case Or(parts=parts):
            return _listed(conjoin(_negate(part) for part in parts))
        case Literal(type=data_type, value=value) if data_type == BOOLEAN:
            return NULL if value is None else Literal(not value, BOOLEAN)
        case Column(type=data_type) if data_type == BOOLEAN:
            # true -> false, false -> true, NULL -> NULL, the same as NOT.
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
            # A comparison with NULL, except <=>, is NULL for every row.
            return IsNull(other) if expr.op is Comparison.NULL_SAFE_EQUAL else NULL
    return expr


def _listed(expr: Expr) -> Expr:
    """Combine the equalities of each value that has many of them into one list.

    x = 1 OR x = 2 is true, false and NULL for the same rows as x IN (1, 2), and x IN (1, NULL) OR
    x = 2 for the same rows as x IN (1, 2, NULL). An AND of <> and NOT IN is the negation of this.
    """
    if not isinstance(expr, And | Or) or len(expr.parts) < _MANY:
        return expr
    sides = [_equality(part, isinstance(expr, And)) for part in expr.parts]
    counts = Counter(side.value for side in sides if side is not None)
    lists: dict[Expr, list[In]] = {value: [] for value, n in counts.items() if n >= _MANY}
    if not lists:
        return expr
    parts: list[Expr | None] = []
    for part, side in zip(expr.parts, sides, strict=True):
        if side is None or side.value not in lists:
            parts.append(part)
            continue
        if not lists[side.value]:
            parts.append(None)  # the place of the list
        lists[side.value].append(side)
    made = iter(lists.values())
    whole = [_joined(next(made), expr) if part is None else part for part in parts]
    return whole[0] if len(whole) == 1 else type(expr)(tuple(whole))


def _joined(lists: list[In], whole: And | Or) -> Expr:
    options = dict.fromkeys(option for each in lists for option in each.options)
    joined = In(lists[0].value, tuple(options), any(each.has_null for each in lists))
    return joined if isinstance(whole, Or) else Not(joined)


def _equality(part: Expr, negated: bool) -> In | None:
    """Return the part, or with `negated` its negation, as a list. None if it has no such form."""
    match part:
        case Not(child=In() as listed) if negated:
            return listed if listed.options else None
        case In() if not negated:
            return part if part.options else None
        case Compare(op=op, left=left, right=right):
            if op is not (Comparison.NOT_EQUAL if negated else Comparison.EQUAL):
                return None
            value, constant = (right, left) if isinstance(left, Literal) else (left, right)
            if not isinstance(constant, Literal) or isinstance(value, Literal):
                return None
            is_usable = constant.value is not None and constant.type == type_of(value)
            return In(value, (constant.value,)) if is_usable else None
        case _:
            return None
