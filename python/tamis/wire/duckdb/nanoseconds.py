"""TIMESTAMP_NS: values finer than the microseconds in which tamis evaluates times.

For a time v the expression tells m = ⌊v⌋, its microsecond. Whatever statistics say of v they say of
m too: bounds in nanoseconds are widened to microseconds, and a partition by day or hour knows only
m. For v and w with microseconds m and n

    v < w    only if m <= n, and if m < n       (also of <=)
    v = w    only if m = n

and when w is a constant, itself a whole microsecond, v < w exactly if m < n. So a predicate P lies
between two that can be evaluated, S ⇒ P ⇒ W, and all three are NULL together. It is written

    W AND (S OR ?)      true where S is, false where W is not, open in between

with an opaque `?`. That holds under NOT too.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tamis.expr.nodes import And, Compare, Comparison, Expr, In, IsNull, Literal, Not, Opaque, Or
from tamis.expr.rewrites import NULL
from tamis.expr.types import TIMESTAMP_NTZ
from tamis.wire.duckdb.document import require

__all__ = ["among", "compare"]

_IN_BETWEEN = Opaque("<nanoseconds>")


def compare(op: Comparison, left: Expr, right: Expr | Fraction) -> Expr:
    """`left op right` of times in nanoseconds; a Fraction is a constant in microseconds."""
    if not isinstance(right, Fraction):
        return _between_microseconds(op, left, right)
    microsecond = math.floor(right)
    require(-(1 << 63) <= microsecond < 1 << 63)
    constant = Literal(microsecond, TIMESTAMP_NTZ)
    if right == microsecond and op in (Comparison.LESS, Comparison.GREATER_EQUAL):
        # v < c: m <= v < c. v >= c: no whole microsecond lies between m and v, so m >= c.
        return Compare(op, left, constant)
    return _between_microseconds(op, left, constant)


def _between_microseconds(op: Comparison, left: Expr, right: Expr) -> Expr:
    match op:
        case Comparison.NOT_EQUAL:
            return Not(_between_microseconds(Comparison.EQUAL, left, right))
        case Comparison.EQUAL:
            return And((Compare(op, left, right), _IN_BETWEEN))
        case Comparison.NULL_SAFE_EQUAL:
            both_null = And((IsNull(left), IsNull(right)))
            return And((Compare(op, left, right), Or((both_null, _known(_IN_BETWEEN)))))
        case Comparison.LESS | Comparison.LESS_EQUAL:
            weaker, stronger = Comparison.LESS_EQUAL, Comparison.LESS
        case Comparison.GREATER | Comparison.GREATER_EQUAL:
            weaker, stronger = Comparison.GREATER_EQUAL, Comparison.GREATER
    return And((Compare(weaker, left, right), Or((Compare(stronger, left, right), _IN_BETWEEN))))


def _known(expr: Expr) -> Expr:
    """The expression as true or false."""
    return Not(IsNull(expr))


def among(left: Expr, microseconds: tuple[Fraction, ...], has_null: bool) -> Expr:
    """`left IN (constants)`: only if the microsecond of one of them is that of the value."""
    options = tuple(dict.fromkeys(math.floor(each) for each in microseconds))
    require(all(-(1 << 63) <= each < 1 << 63 for each in options))
    if not has_null:
        return And((In(left, options), _IN_BETWEEN))
    return Or((And((In(left, options), _IN_BETWEEN)), NULL))  # no match is NULL, never false
