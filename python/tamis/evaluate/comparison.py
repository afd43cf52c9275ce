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
Where one side is a function of a string, evaluate.preimages asks that string as well.
Where values were recorded (evaluate.recorded), x = constant is asked of them as well.
Signed zeros need no care: -0.0 = 0.0 in numpy as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from tamis.evaluate.bounds import NO, Bounds, Edge, Flags
from tamis.evaluate.buckets import hashed, may_share
from tamis.evaluate.flags import all_of, any_of
from tamis.evaluate.interpreter import value
from tamis.evaluate.literal import literal
from tamis.evaluate.order import may_be_less, may_be_less_equal
from tamis.evaluate.preimages import narrowed_by_preimage
from tamis.evaluate.recorded import Members, members_of, narrowed
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.storage import comparable
from tamis.evaluate.truth import TruthSet
from tamis.expr.nodes import Compare, Comparison, Literal

__all__ = ["compare", "equal", "less", "null_safe_equal"]


def compare(expr: Compare, statistics: Statistics) -> TruthSet:
    x = value(expr.left, statistics)
    y = value(expr.right, statistics)
    if x is None or y is None or not comparable(x.type, y.type):
        return TruthSet.anything()
    return narrowed_by_preimage(_compared(expr, x, y, statistics), expr, statistics)


def _compared(expr: Compare, x: Bounds, y: Bounds, statistics: Statistics) -> TruthSet:
    match expr.op:
        case Comparison.EQUAL:
            return equal(x, y, _held(expr, statistics))
        case Comparison.NOT_EQUAL:
            return equal(x, y, _held(expr, statistics)).negated()
        case Comparison.LESS:
            return less(x, y)
        case Comparison.GREATER:
            return less(y, x)
        case Comparison.LESS_EQUAL:
            return less(y, x).negated()
        case Comparison.GREATER_EQUAL:
            return less(x, y).negated()
        case Comparison.NULL_SAFE_EQUAL:
            return null_safe_equal(x, y, _held(expr, statistics))


@dataclass(frozen=True, slots=True)
class _Held:
    """What was recorded of the values of one side, and the constant that the other side is."""

    members: Members
    constant: Edge

    def may_equal(self, members: Members) -> Flags:
        return members.may_match(self.constant)

    def may_differ(self, members: Members) -> Flags:
        return members.may_miss(self.constant)


def _held(expr: Compare, statistics: Statistics) -> _Held | None:
    match expr:
        case Compare(left=side, right=Literal() as constant):
            pass
        case Compare(left=Literal() as constant, right=side):
            pass
        case _:
            return None
    members = members_of(side, statistics)
    edge = literal(constant, statistics).lower  # None: NULL, NaN or no value of its type
    return None if members is None or edge is None else _Held(members, edge)


_Question = tuple[Members, Callable[[Members], Flags]]


def _asked(flags: Iterable[Flags], question: _Question | None) -> Flags:
    """Where every flag is True and, where there are members to ask, they may as well."""
    return all_of(flags) if question is None else narrowed(all_of(flags), *question)


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


def equal(x: Bounds, y: Bounds, held: _Held | None = None) -> TruthSet:
    """x = y. `held`: the values of one side, where the other one is a constant."""
    return TruthSet(
        lambda: any_of(
            (
                _asked(
                    (
                        x.can_be_value,
                        y.can_be_value,
                        # The intervals meet.
                        may_be_less_equal(x, y),
                        may_be_less_equal(y, x),
                        *_share_buckets(x, y),
                        *_share_buckets(y, x),
                    ),
                    # One of the values is the constant.
                    None if held is None else (held.members, held.may_equal),
                ),
                all_of((x.can_be_nan, y.can_be_nan)),
            )
        ),
        lambda: any_of(
            (
                # Not both of them the same single point: some pair is ordered one way or the other.
                _asked(
                    (
                        x.can_be_value,
                        y.can_be_value,
                        any_of((may_be_less(x, y), may_be_less(y, x))),
                    ),
                    # One of the values is not the constant.
                    None if held is None else (held.members, held.may_differ),
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


def null_safe_equal(x: Bounds, y: Bounds, held: _Held | None = None) -> TruthSet:
    """x <=> y: never NULL."""
    both = equal(x, y, held)
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
