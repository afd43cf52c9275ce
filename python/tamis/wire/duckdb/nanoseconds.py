"""TIMESTAMP_NS: values finer than the microseconds in which tamis evaluates times.

The expression of a time v has the value m = ⌊v⌋, its microsecond. What statistics prove about v,
they also prove about m: bounds in nanoseconds are widened to microseconds, and a partition by day
or hour depends only on m. For v and w with microseconds m and n

    v < w    implies m <= n, and follows from m < n       (the same for <=)
    v = w    implies m = n

If w is a constant that is a whole microsecond, v < w is equivalent to m < n. So a predicate P lies
between two that can be evaluated, S ⇒ P ⇒ W, and all three are NULL for the same rows. It is
written as

    W AND (S OR ?)      true where S is true, false where W is false, unknown in between

with an opaque `?`. This also holds under NOT.
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
    """Return `left op right` for times in nanoseconds. A Fraction is a constant in microseconds."""
    if not isinstance(right, Fraction):
        return _between_microseconds(op, left, right)
    microsecond = math.floor(right)
    require(-(1 << 63) <= microsecond < 1 << 63)
    constant = Literal(microsecond, TIMESTAMP_NTZ)
    if right == microsecond and op in (Comparison.LESS, Comparison.GREATER_EQUAL):
        # If v < c, then m <= v < c. If v >= c, then m >= c, because m is the greatest whole
        # microsecond that is <= v.
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
    """Return whether the expression is not NULL. The result itself is never NULL."""
    return Not(IsNull(expr))


def among(left: Expr, microseconds: tuple[Fraction, ...], has_null: bool) -> Expr:
    """Return `left IN (constants)`, which implies that one of them has the value's microsecond."""
    options = tuple(dict.fromkeys(math.floor(each) for each in microseconds))
    require(all(-(1 << 63) <= each < 1 << 63 for each in options))
    if not has_null:
        return And((In(left, options), _IN_BETWEEN))
    return Or((And((In(left, options), _IN_BETWEEN)), NULL))  # NULL, never false, without a match
