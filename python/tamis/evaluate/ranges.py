"""What the parts of a conjunction say of one column, said together.

    c > 5 AND c <= 9              6 <= c <= 9, in one go
    c < 5 AND c > 10              false: no file need be looked at
    c IN (1, 5, 9) AND c > 4      c IN (5, 9)
    c > 5 AND c < 6               false, of whole numbers
    c = 1 AND c IS NULL           false
    c > 5 AND (c < 3 OR d = 1)    c > 5 AND d = 1

The result is *true* of the same rows, and no more is promised: where it is not true it may be false
and the predicate NULL, or the other way round. For "which files" and "do all rows match" that is
enough: both ask of which rows it is true. Below a NOT it would not be, so NOT is first brought down
to the leaves, and what stays below one is not touched. Nor is an OR of thousands of parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import islice
from typing import Final

from tamis.evaluate.value_sets import NotUnderstood, ValueSet, column_of, true_values
from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Within,
    walk,
)
from tamis.expr.rewrites import FALSE, NULL, conjoin, disjoin, simplify

__all__ = ["is_long", "narrowed", "narrowed_conjuncts", "without_contradictions"]

_LONG_LIST: Final = 100
#: What has more nodes is long: put together it would cost more than it spares.
_MOST_NODES: Final = 2_000


def is_long(expr: Expr) -> bool:
    """Whether a predicate has thousands of parts, as programs write them."""
    return sum(1 for _ in islice(walk(expr), _MOST_NODES + 1)) > _MOST_NODES


def narrowed(expr: Expr) -> Expr:
    """A predicate that is true of the same rows, the ranges of each column being intersected.

    >>> from tamis.expr.sql import to_sql
    >>> from tamis.expr.types import LONG
    >>> a = Column(("a",), LONG)
    >>> above = Compare(Comparison.GREATER, a, Literal(5, LONG))
    >>> to_sql(narrowed(And((above, Compare(Comparison.LESS, a, Literal(9, LONG))))))
    'a >= 6L AND a <= 8L'
    >>> to_sql(narrowed(And((above, Compare(Comparison.LESS, a, Literal(6, LONG))))))
    'false'
    """
    return _narrowed(simplify(expr))


def narrowed_conjuncts(conjuncts: Iterable[Expr]) -> tuple[Expr, ...]:
    """The same of predicates all of which are to be true; none is left where that is no limit."""
    whole = _narrowed(conjoin(map(simplify, conjuncts)))
    match whole:
        case And(parts=parts):
            return parts
        case Literal(value=True):
            return ()
        case _:
            return (whole,)


def without_contradictions(expr: Expr) -> Expr:
    """The simplified predicate as it was given, with false for what no row can make true.

    >>> from tamis.expr.sql import to_sql
    >>> from tamis.expr.types import LONG
    >>> a, b = (Column((name,), LONG) for name in "ab")
    >>> both = And(tuple(Compare(Comparison.EQUAL, a, Literal(n, LONG)) for n in (1, 2)))
    >>> to_sql(without_contradictions(Or((both, IsNull(b)))))
    'b IS NULL'
    """
    match expr:
        case Or() if is_long(expr):
            return expr
        case Or(parts=parts):
            return disjoin(map(without_contradictions, parts))
        case And(parts=parts):
            clean = [without_contradictions(part) for part in parts]
            leaves = conjoin(part for part in clean if not isinstance(part, Or))
            return FALSE if _narrowed(leaves) == FALSE else conjoin(clean)
        case _:
            return expr


def _narrowed(expr: Expr) -> Expr:
    match expr:
        case And(parts=parts):
            return _conjunction(parts)
        case Or() if is_long(expr):
            return expr
        case Or(parts=parts):
            return disjoin(map(_narrowed, parts))
        case _:
            return _conjunction((expr,))


def _conjunction(parts: Sequence[Expr]) -> Expr:
    by_column: dict[Column, list[Expr]] = {}
    choices: list[Or] = []
    others: list[Expr] = []
    for part in parts:
        if part in (FALSE, NULL):
            return FALSE  # no row makes all of the parts true
        column = column_of(part)
        if column is not None:
            by_column.setdefault(column, []).append(part)
        elif isinstance(part, Or):
            choices.append(part)
        else:
            others.append(part)
    by_column = {column: _of_column(column, about) for column, about in by_column.items()}
    told = [part for about in by_column.values() for part in about]
    if FALSE in told:
        return FALSE
    left = [_narrowed_choice(choice, by_column) for choice in choices]
    if FALSE in left:
        return FALSE
    if all(isinstance(each, Or) for each in left):
        return conjoin((*told, *left, *others))
    # One branch was left of a choice: what it says joins the rest. There are fewer choices now.
    return _narrowed(conjoin((*told, *left, *others)))


def _narrowed_choice(choice: Or, by_column: dict[Column, list[Expr]]) -> Expr:
    """An OR beside which other parts are true: they hold in each of its branches too."""
    if is_long(choice):
        return choice
    return disjoin(_narrowed(_with_known(branch, by_column)) for branch in choice.parts)


def _with_known(branch: Expr, by_column: dict[Column, list[Expr]]) -> Expr:
    """The branch, and what is known besides of the columns that it limits itself."""
    parts = branch.parts if isinstance(branch, And) else (branch,)
    limited = dict.fromkeys(map(column_of, parts))
    known = (part for column in limited if column is not None for part in by_column.get(column, ()))
    return conjoin((branch, *(part for part in known if not _is_long(part))))


def _is_long(part: Expr) -> bool:
    """Whether the part is a list that is not worth going through again in every branch."""
    listed = part.child if isinstance(part, Not) else part
    return isinstance(listed, In) and len(listed.options) > _LONG_LIST


def _of_column(column: Column, parts: list[Expr]) -> list[Expr]:
    """Parts that say of a column together what these do."""
    parts = _without_implied(parts)
    if len(parts) == 1 and isinstance(parts[0], In) and parts[0].options:
        return parts  # a list by itself, of whatever length: nothing to put together
    sets, others = _understood(parts)
    known = list(sets)
    if not known:
        return parts
    try:
        together = reduce(ValueSet.intersected, sets.values()).settled(column.type)
    except (TypeError, ValueError, ArithmeticError):
        return parts  # constants that do not compare with each other
    if together.options == () and not together.nan:
        return [IsNull(column), *others] if together.null else [FALSE]
    if len(known) == 1 or together.null:
        return parts
    return [*_said(column, together, known), *others]


def _understood(parts: list[Expr]) -> tuple[dict[Expr, ValueSet], list[Expr]]:
    """The values of which each part is true, and the parts of which that is not known."""
    sets: dict[Expr, ValueSet] = {}
    others = []
    for part in parts:
        try:
            sets[part] = true_values(part)
        except (NotUnderstood, TypeError, ValueError, ArithmeticError):
            others.append(part)  # a constant is no value of the column's type
    return sets, others


def _without_implied(parts: list[Expr]) -> list[Expr]:
    """Without IS NOT NULL beside what is true of no NULL: Spark adds it to every comparison."""
    needed = [part for part in parts if not _is_not_null(part)]
    rejects_null = any(not isinstance(part, IsNull | Not) for part in needed)
    return needed if rejects_null else parts


def _is_not_null(part: Expr) -> bool:
    return isinstance(part, Not) and isinstance(part.child, IsNull)


def _said(column: Column, values: ValueSet, parts: list[Expr]) -> list[Expr]:
    if values.options is not None:
        for part in parts:
            if isinstance(part, In) and part.options == values.options:
                return [part]  # and what was made of the node once still is
        options = (*values.options, float("nan")) if values.nan else values.options
        if len(options) == 1:
            return [Compare(Comparison.EQUAL, column, Literal(options[0], column.type))]
        return [In(column, options)]
    if values.lower is None and values.upper is None:
        return parts
    inside = Within(column, values.lower, values.upper, values.upper_open, values.nan)
    return [inside, *(part for part in parts if _excludes(part))]


def _excludes(part: Expr) -> bool:
    """Whether a part takes single values out, which no range says."""
    match part:
        case Compare(op=Comparison.NOT_EQUAL) | Not(child=In() | Compare()):
            return True
        case _:
            return False
