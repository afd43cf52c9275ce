"""Merging the parts of a conjunction that limit the same column.

    c > 5 AND c <= 9              6 <= c <= 9, as one range
    c < 5 AND c > 10              false: every file is skipped
    c IN (1, 5, 9) AND c > 4      c IN (5, 9)
    c > 5 AND c < 6               false, for whole numbers
    c = 1 AND c IS NULL           false
    c > 5 AND (c < 3 OR d = 1)    c > 5 AND d = 1

The result is *true* for exactly the rows for which the predicate is true. Nothing else is promised:
for other rows the result may be false where the predicate is NULL, or the reverse. This suffices to
decide which files to read and whether all rows match, because both depend only on the rows for
which the predicate is true. It would not suffice below a NOT. So NOT is first pushed down to the
leaves, and whatever remains below a NOT is left unchanged. An OR with thousands of parts is left
unchanged too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import islice
from typing import Final

from tamis.evaluation.nodes.value_sets import NotUnderstood, ValueSet, column_of, true_values
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
#: An expression with more nodes is long: merging its ranges would cost more than it saves.
_MOST_NODES: Final = 2_000


def is_long(expr: Expr, most: int = _MOST_NODES) -> bool:
    """Return whether a predicate has more than that many nodes, as generated predicates do."""
    return sum(1 for _ in islice(walk(expr), most + 1)) > most


def narrowed(expr: Expr) -> Expr:
    """Return a predicate true for the same rows, with the ranges of each column intersected.

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
    """Return the narrowed conjuncts of a conjunction; empty if they set no limit."""
    conjunction = _narrowed(conjoin(map(simplify, conjuncts)))
    match conjunction:
        case And(parts=parts):
            return parts
        case Literal(value=True):
            return ()
        case _:
            return (conjunction,)


def without_contradictions(expr: Expr) -> Expr:
    """Return a simplified predicate, with false in place of parts that no row can make true.

    Nothing else changes: ranges are not merged.

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
            return FALSE  # no row makes all parts true
        column = column_of(part)
        if column is not None:
            by_column.setdefault(column, []).append(part)
        elif isinstance(part, Or):
            choices.append(part)
        else:
            others.append(part)
    by_column = {column: _of_column(column, limits) for column, limits in by_column.items()}
    merged = [part for limits in by_column.values() for part in limits]
    if FALSE in merged:
        return FALSE
    left = [_narrowed_choice(choice, by_column) for choice in choices]
    if FALSE in left:
        return FALSE
    if all(isinstance(each, Or) for each in left):
        return conjoin((*merged, *left, *others))
    # Some choice was reduced to a single branch, which joins the other parts: merge again. This
    # terminates because fewer choices are left.
    return _narrowed(conjoin((*merged, *left, *others)))


def _narrowed_choice(choice: Or, by_column: dict[Column, list[Expr]]) -> Expr:
    """Narrow an OR by the other parts of its conjunction, which hold in each of its branches."""
    if is_long(choice):
        return choice
    return disjoin(_narrowed(_with_known(branch, by_column)) for branch in choice.parts)


def _with_known(branch: Expr, by_column: dict[Column, list[Expr]]) -> Expr:
    """Return the branch together with the known limits of the columns that it limits itself."""
    parts = branch.parts if isinstance(branch, And) else (branch,)
    limited = dict.fromkeys(map(column_of, parts))
    known = (part for column in limited if column is not None for part in by_column.get(column, ()))
    return conjoin((branch, *(part for part in known if not _is_long(part))))


def _is_long(part: Expr) -> bool:
    """Return whether the part is a list too long to be processed again in every branch."""
    listed = part.child if isinstance(part, Not) else part
    return isinstance(listed, In) and len(listed.options) > _LONG_LIST


def _of_column(column: Column, parts: list[Expr]) -> list[Expr]:
    """Return merged parts, true together for the same values of the column as the given parts."""
    parts = _without_implied(parts)
    if len(parts) == 1 and isinstance(parts[0], In) and parts[0].options:
        return parts  # a single list, of any length: nothing to merge
    sets, others = _understood(parts)
    known = list(sets)
    if not known:
        return parts
    try:
        together = reduce(ValueSet.intersected, sets.values()).settled(column.type)
    except (TypeError, ValueError, ArithmeticError):
        return parts  # the constants cannot be compared with each other
    if together.options == () and not together.nan:
        return [IsNull(column), *others] if together.null else [FALSE]
    if len(known) == 1 or together.null:
        return parts
    return [*_rewritten(column, together, known), *others]


def _understood(parts: list[Expr]) -> tuple[dict[Expr, ValueSet], list[Expr]]:
    """Return the values for which each part is true, and the parts for which they are unknown."""
    sets: dict[Expr, ValueSet] = {}
    others = []
    for part in parts:
        try:
            sets[part] = true_values(part)
        except (NotUnderstood, TypeError, ValueError, ArithmeticError):
            others.append(part)  # such as a constant that is not a value of the column's type
    return sets, others


def _without_implied(parts: list[Expr]) -> list[Expr]:
    """Drop IS NOT NULL beside a part that is never true for NULL.

    Spark adds IS NOT NULL to every comparison.
    """
    needed = [part for part in parts if not _is_not_null(part)]
    rejects_null = any(not isinstance(part, IsNull | Not) for part in needed)
    return needed if rejects_null else parts


def _is_not_null(part: Expr) -> bool:
    return isinstance(part, Not) and isinstance(part.child, IsNull)


def _rewritten(column: Column, values: ValueSet, parts: list[Expr]) -> list[Expr]:
    if values.options is not None:
        for part in parts:
            if isinstance(part, In) and part.options == values.options:
                return [part]  # the same node, so results cached for it are reused
        options = (*values.options, float("nan")) if values.nan else values.options
        if len(options) == 1:
            return [Compare(Comparison.EQUAL, column, Literal(options[0], column.type))]
        return [In(column, options)]
    if values.lower is None and values.upper is None:
        return parts
    inside = Within(column, values.lower, values.upper, values.upper_open, values.nan)
    return [inside, *(part for part in parts if _excludes(part))]


def _excludes(part: Expr) -> bool:
    """Return whether a part excludes single values, which a range cannot express."""
    match part:
        case Compare(op=Comparison.NOT_EQUAL) | Not(child=In() | Compare()):
            return True
        case _:
            return False
