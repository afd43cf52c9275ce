"""Comparisons: =, <>, <, <=, >, >=, <=> of two values, with columns or constants on either side.

In Spark NaN is greater than every other value and equal to itself. With x and y each an ordinary
value, NaN or NULL:

    x < y       y ordinary   y NaN    y NULL          x = y       y ordinary   y NaN    y NULL
    x ordinary  by value     true     NULL            x ordinary  by value     false    NULL
    x NaN       false        false    NULL            x NaN       false        true     NULL
    x NULL      NULL         NULL     NULL            x NULL      NULL         NULL     NULL

Every other operator reduces to these two: x > y is y < x, x <= y is NOT (y < x), x <> y is
NOT (x = y), and x <=> y is x = y if neither is NULL, true if both are NULL, false if one is NULL.

For ordinary values in [xl, xu] and [yl, yu], some pair satisfies x < y only if xl < yu, and some
pair satisfies x >= y only if yl <= xu. Edges need not be attained: then a flag is True although no
row needs it, which is sound. If one side is a function of a string, evaluation.nodes.preimages also
compares the string itself. If values were recorded (evaluation.recorded), x = constant also uses
them. Signed zeros need no special case: -0.0 = 0.0 in numpy as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, Bounds, Edge, Flags
from tamis.evaluation.domain.buckets import hashed, may_share
from tamis.evaluation.domain.edge_values import comparable
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.order import may_be_less, may_be_less_equal
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.functions.strings.preimages import narrowed_by_preimage
from tamis.evaluation.interpreter import value
from tamis.evaluation.nodes.literal import literal
from tamis.evaluation.row_statistics import members_of, narrowed
from tamis.evaluation.statistics import Members, Statistics
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
            return equal(x, y, _recorded(expr, statistics))
        case Comparison.NOT_EQUAL:
            return equal(x, y, _recorded(expr, statistics)).negated()
        case Comparison.LESS:
            return less(x, y)
        case Comparison.GREATER:
            return less(y, x)
        case Comparison.LESS_EQUAL:
            return less(y, x).negated()
        case Comparison.GREATER_EQUAL:
            return less(x, y).negated()
        case Comparison.NULL_SAFE_EQUAL:
            return null_safe_equal(x, y, _recorded(expr, statistics))


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The recorded values of one side, and the other side, a constant."""

    members: Members
    constant: Edge

    def may_equal(self, members: Members) -> Flags:
        return members.may_match(self.constant)

    def may_differ(self, members: Members) -> Flags:
        return members.may_miss(self.constant)


def _recorded(expr: Compare, statistics: Statistics) -> _Recorded | None:
    match expr:
        case Compare(left=side, right=Literal() as constant):
            pass
        case Compare(left=Literal() as constant, right=side):
            pass
        case _:
            return None
    members = members_of(side, statistics)
    edge = literal(constant, statistics).lower  # None: NULL, NaN or not a value of its type
    return None if members is None or edge is None else _Recorded(members, edge)


_Refinement = tuple[Members, Callable[[Members], Flags]]


def _refined(flags: Iterable[Flags], refinement: _Refinement | None) -> Flags:
    """Return where every flag is True, narrowed by the recorded members if there are any."""
    return all_of(flags) if refinement is None else narrowed(all_of(flags), *refinement)


def less(x: Bounds, y: Bounds) -> TruthSet:
    """Return the truth set of x < y."""
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


def equal(x: Bounds, y: Bounds, recorded: _Recorded | None = None) -> TruthSet:
    """Return the truth set of x = y.

    Args:
        x: The left side.
        y: The right side.
        recorded: The recorded values of one side, if the other side is a constant.
    """
    return TruthSet(
        lambda: any_of(
            (
                _refined(
                    (
                        x.can_be_value,
                        y.can_be_value,
                        # The intervals meet.
                        may_be_less_equal(x, y),
                        may_be_less_equal(y, x),
                        *_share_buckets(x, y),
                        *_share_buckets(y, x),
                    ),
                    # Some recorded value is the constant.
                    None if recorded is None else (recorded.members, recorded.may_equal),
                ),
                all_of((x.can_be_nan, y.can_be_nan)),
            )
        ),
        lambda: any_of(
            (
                # Some pair is ordered one way or the other: they are not the same single point.
                _refined(
                    (
                        x.can_be_value,
                        y.can_be_value,
                        any_of((may_be_less(x, y), may_be_less(y, x))),
                    ),
                    # Some recorded value is not the constant.
                    None if recorded is None else (recorded.members, recorded.may_differ),
                ),
                all_of((x.can_be_nan, y.can_be_value)),
                all_of((x.can_be_value, y.can_be_nan)),
            )
        ),
        lambda: any_of((x.can_be_null, y.can_be_null)),
    )


def _share_buckets(x: Bounds, y: Bounds) -> Iterator[Flags]:
    """Yield where the hash of x allows x = y, if y is the same single value in all containers."""
    if not x.buckets or y.lower is None or y.upper is None or not len(y.lower) == len(y.upper) == 1:
        return
    if isinstance(y.lower, pa.Array):
        is_constant = y.lower[0].is_valid and y.lower[0] == y.upper[0]
    else:
        is_constant = bool(y.lower[0] == y.upper[0])
    constant = hashed(y.lower, y.type) if is_constant else None
    if constant is not None:
        # Every ordinary value of y is this constant, so an equal x has the same hash.
        yield from (may_share(buckets, constant) for buckets in x.buckets)


def null_safe_equal(x: Bounds, y: Bounds, recorded: _Recorded | None = None) -> TruthSet:
    """Return the truth set of x <=> y, which is never NULL."""
    both = equal(x, y, recorded)
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
