"""Comparisons: =, <>, <, <=, >, >=, <=> of two values, columns and constants on either side.

Spark orders NaN above every other value and equal to itself, so that NaN is one more point at the
end of the line. With x, y each an ordinary value, NaN or NULL:

    x < y       y ordinary   y NaN    y NULL          x = y       y ordinary   y NaN    y NULL
    x ordinary  by value     true     NULL            x ordinary  by value     false    NULL
    x NaN       false        false    NULL            x NaN       false        true     NULL
    x NULL      NULL         NULL     NULL            x NULL      NULL         NULL     NULL

Every other operator is one of these two: x > y is y < x, x <= y is NOT (y < x), x <> y is
NOT (x = y), and x <=> y is x = y where neither is NULL, true where both are, false where one is.

Of ordinary values in [xl, xu] and [yl, yu] some pair has x < y only if xl < yu, and some pair has
x >= y only if yl <= xu. Edges need not be attained: that only makes an answer "may" too often.
Signed zeros need no care: -0.0 = 0.0 in numpy as in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tamis.evaluate.bounds import NO, Bounds, Flags
from tamis.evaluate.buckets import hashed, may_share
from tamis.evaluate.flags import all_of, any_of
from tamis.evaluate.interpreter import value
from tamis.evaluate.order import may_be_less, may_be_less_equal
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.storage import comparable
from tamis.evaluate.truth import TruthSet
from tamis.expr.nodes import Compare, Comparison

__all__ = ["compare", "equal", "less", "null_safe_equal"]


def compare(expr: Compare, statistics: Statistics) -> TruthSet:
    x = value(expr.left, statistics)
    y = value(expr.right, statistics)
    if x is None or y is None or not comparable(x.type, y.type):
        return TruthSet.anything()
    match expr.op:
        case Comparison.EQUAL:
            return equal(x, y)
        case Comparison.NOT_EQUAL:
            return equal(x, y).negated()
        case Comparison.LESS:
            return less(x, y)
        case Comparison.GREATER:
            return less(y, x)
        case Comparison.LESS_EQUAL:
            return less(y, x).negated()
        case Comparison.GREATER_EQUAL:
            return less(x, y).negated()
        case Comparison.NULL_SAFE_EQUAL:
            return null_safe_equal(x, y)


def less(x: Bounds, y: Bounds) -> TruthSet:
    """x < y."""
    return TruthSet(
        lambda: any_of(
            (
                all_of((x.can_be_value, y.can_be_value, may_be_less(x, y))),
                all_of((x.can_be_value, y.can_be_nan)),
            )
        ),
        lambda: any_of(
            (
                all_of((x.can_be_value, y.can_be_value, may_be_less_equal(y, x))),
                all_of((x.can_be_nan, any_of((y.can_be_value, y.can_be_nan)))),
            )
        ),
        lambda: any_of((x.can_be_null, y.can_be_null)),
    )


def equal(x: Bounds, y: Bounds) -> TruthSet:
    """x = y."""
    return TruthSet(
        lambda: any_of(
            (
                all_of(
                    (
                        x.can_be_value,
                        y.can_be_value,
                        # The intervals meet.
                        may_be_less_equal(x, y),
                        may_be_less_equal(y, x),
                        *_share_buckets(x, y),
                        *_share_buckets(y, x),
                    )
                ),
                all_of((x.can_be_nan, y.can_be_nan)),
            )
        ),
        lambda: any_of(
            (
                # Not both of them the same single point: some pair is ordered one way or the other.
                all_of(
                    (
                        x.can_be_value,
                        y.can_be_value,
                        any_of((may_be_less(x, y), may_be_less(y, x))),
                    )
                ),
                all_of((x.can_be_nan, y.can_be_value)),
                all_of((x.can_be_value, y.can_be_nan)),
            )
        ),
        lambda: any_of((x.can_be_null, y.can_be_null)),
    )


def _share_buckets(x: Bounds, y: Bounds) -> Iterator[Flags]:
    """Where x may equal y by its hash, y being one value that is the same in all containers."""
    if not x.buckets or y.lower is None or y.upper is None or not len(y.lower) == len(y.upper) == 1:
        return
    if isinstance(y.lower, pa.Array):
        is_constant = y.lower[0].is_valid and y.lower[0] == y.upper[0]
    else:
        is_constant = bool(y.lower[0] == y.upper[0])
    constant = hashed(y.lower, y.type) if is_constant else None
    if constant is not None:
        # Ordinary values of y are this constant: what equals it has its hash.
        yield from (may_share(buckets, constant) for buckets in x.buckets)


def null_safe_equal(x: Bounds, y: Bounds) -> TruthSet:
    """x <=> y: never NULL."""
    both = equal(x, y)
    return TruthSet(
        lambda: any_of((both.can_be_true, all_of((x.can_be_null, y.can_be_null)))),
        lambda: any_of(
            (
                both.can_be_false,
                all_of((x.can_be_null, any_of((y.can_be_value, y.can_be_nan)))),
                all_of((y.can_be_null, any_of((x.can_be_value, x.can_be_nan)))),
            )
        ),
        NO,
    )
