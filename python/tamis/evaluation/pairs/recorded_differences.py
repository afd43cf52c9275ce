"""From recorded comparisons and subtractions to bounds of the difference of their bases.

The difference is left - right, at the scale of both bases, in 64 bits; the ends of 64 bits mean
that nothing is known on that side. For bases whose differences are not exact (floating-point
numbers, strings) it is -1, 0 or 1: the order of the two values, with NaN as the greatest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.flags import all_of
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.domain.interval import interval
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import fits
from tamis.evaluation.interpreter import truth_of_bounds, value
from tamis.evaluation.pairs.relations import Pair, Subtraction, is_exact
from tamis.evaluation.pairs.terms import proven
from tamis.evaluation.statistics import Relation, RelationKind, Statistics
from tamis.expr.nodes import Comparison
from tamis.expr.types import BOOLEAN, DAY_TIME_INTERVAL, LONG, DataType

__all__ = [
    "GREATEST",
    "LEAST",
    "SIGNS",
    "cannot_wrap",
    "difference_of",
    "equality_of",
    "mirrored",
    "recorded_relation",
    "scaled",
]

LEAST, GREATEST = LONG.domain
#: Greater shifts may overflow.
_MOST_SHIFT: Final = 1 << 62
Longs = npt.NDArray[np.int64]

#: The signs of left - right for which a comparison is true.
SIGNS: Final = {
    Comparison.EQUAL: {0},
    Comparison.NOT_EQUAL: {-1, 1},
    Comparison.LESS: {-1},
    Comparison.LESS_EQUAL: {-1, 0},
    Comparison.GREATER: {1},
    Comparison.GREATER_EQUAL: {0, 1},
    Comparison.NULL_SAFE_EQUAL: {0},
}


def difference_of(pair: Pair | Subtraction, recorded: Bounds, statistics: Statistics) -> Bounds:
    """Return the difference of the bases, given the recorded bounds of a pair of them.

    Args:
        pair: The recorded expression.
        recorded: Its bounds.
        statistics: The bounds of its operands, which show where it cannot have overflowed.
    """
    bounds = (
        _of_comparison(pair, recorded)
        if isinstance(pair, Pair)
        else _of_subtraction(pair, recorded)
    )
    sound = all_of((proven(pair.left, statistics), proven(pair.right, statistics)))
    if isinstance(pair, Subtraction):
        sound = all_of((sound, cannot_wrap(pair, statistics)))
    assert bounds.lower is not None
    assert bounds.upper is not None
    return Bounds(
        LONG,
        np.where(sound, bounds.lower, LEAST),
        np.where(sound, bounds.upper, GREATEST),
        bounds.can_be_null | ~sound,
        NO,
        bounds.can_be_value | ~sound,
    )


def _recorded_type(pair: Pair | Subtraction) -> DataType:
    if isinstance(pair, Pair):
        return BOOLEAN
    return LONG if pair.type == DAY_TIME_INTERVAL else pair.type  # in microseconds


def mirrored(difference: Bounds) -> Bounds:
    """Return right - left, given left - right."""
    assert difference.lower is not None
    assert difference.upper is not None
    # The least number of 64 bits has no negation. It means "not known", as does the greatest.
    lower = np.where(difference.upper == GREATEST, LEAST, -difference.upper)
    upper = np.where(difference.lower == LEAST, GREATEST, -difference.lower)
    flags = difference.can_be_null, NO, difference.can_be_value
    return Bounds(LONG, lower, upper, *flags)


def equality_of(pair: Pair, recorded: Bounds) -> Bounds | None:
    """Return the bounds of left = right of the bases; None if the comparison does not decide it."""
    if not pair.is_plain:
        return None
    match pair.op:
        case Comparison.EQUAL:
            return recorded
        case Comparison.NOT_EQUAL if recorded.lower is not None and recorded.upper is not None:
            flags = recorded.can_be_null, NO, recorded.can_be_value
            return Bounds(BOOLEAN, 1 - recorded.upper, 1 - recorded.lower, *flags)
        case Comparison.NULL_SAFE_EQUAL:
            # It is false or NULL (where one side is NULL) if <=> is false, and true or NULL if <=>
            # is true.
            return Bounds(BOOLEAN, recorded.lower, recorded.upper, YES, NO, YES)
    return None


def cannot_wrap(pair: Subtraction, statistics: Statistics) -> Flags:
    """Return where no subtraction overflows its type without an error.

    That is where the difference of any two values of the operands is a value of the type.
    """
    if not pair.wraps:
        return YES
    left, right = (interval(value(each, statistics)) for each in pair.arguments)
    if left is None or right is None:
        return NO
    low, low_exact = int64_overflow.subtract(left.lower, right.upper)
    high, high_exact = int64_overflow.subtract(left.upper, right.lower)
    flags: Flags = low_exact & high_exact & fits(pair.type, low, high)
    return flags


def _of_comparison(pair: Pair, recorded: Bounds) -> Bounds:
    truths = truth_of_bounds(recorded)
    true, false = truths.can_be_true, truths.can_be_false
    when_true = SIGNS[pair.op]
    # A sign is possible if the comparison can have the truth value that it gives.
    negative, zero, positive = (true if sign in when_true else false for sign in (-1, 0, 1))
    least, most = pair.shift
    if max(abs(least), abs(most)) > _MOST_SHIFT:
        return Bounds(LONG, np.array([LEAST]), np.array([GREATEST]), YES, NO, YES)
    # difference + shift is < 0, <= 0, >= 0 or > 0 in every row, for some shift from least to most.
    upper = np.where(positive, GREATEST, np.where(zero, -least, -least - 1))
    lower = np.where(negative, LEAST, np.where(zero, -most, -most + 1))
    if pair.op is Comparison.NULL_SAFE_EQUAL:
        # It is never NULL: rows in which a side is NULL are among the true and the false ones.
        return Bounds(LONG, lower, upper, YES, NO, YES)
    return Bounds(LONG, lower, upper, recorded.can_be_null, NO, recorded.can_be_value)


def _of_subtraction(pair: Subtraction, recorded: Bounds) -> Bounds:
    x = interval(recorded)
    assert x is not None
    if not is_exact(pair.left):
        # Floating-point subtraction rounds, but keeps the sign: x - y is 0 only if x = y, thanks to
        # subnormal numbers. It is NaN if x or y is, or if both are the same infinity.
        lower = np.where(x.can_be_nan, -1, np.sign(x.lower)).astype(np.int64)
        upper = np.where(x.can_be_nan, 1, np.sign(x.upper)).astype(np.int64)
        return Bounds(LONG, lower, upper, x.can_be_null, NO, x.can_be_value | x.can_be_nan)
    # difference = value * unit - shift, for a shift from least to most
    factor = pair.unit * 10**pair.scale / Fraction(10) ** (x.type.scale or 0)
    least, most = pair.shift
    lower = scaled(np.where(x.known, x.lower, LEAST), factor, -most, LEAST)
    upper = scaled(np.where(x.known, x.upper, GREATEST), factor, -least, GREATEST)
    return Bounds(LONG, lower, upper, x.can_be_null, NO, x.can_be_value)


def scaled(edge: Longs, factor: Fraction, plus: int, unknown: int) -> Longs:
    """Return edge * factor + plus, rounded outward.

    Args:
        edge: The edges. `unknown` means that an edge is not known.
        factor: The factor, which is positive.
        plus: The summand.
        unknown: LEAST for a lower edge, GREATEST for an upper one. The result is this where it does
            not fit 64 bits.

    >>> scaled(np.array([7, -7]), Fraction(1, 2), 1, LEAST).tolist()
    [4, -3]
    >>> scaled(np.array([7, -7]), Fraction(1, 2), 1, GREATEST).tolist()
    [5, -2]
    """
    if abs(plus) > GREATEST or factor.numerator > GREATEST or factor.denominator > GREATEST:
        return np.full(len(edge), unknown)
    known = edge != unknown
    if factor.numerator == 1:
        product, exact = edge, YES
    else:
        product, exact = int64_overflow.multiply(edge, np.array([factor.numerator]))
    if factor.denominator != 1:
        if unknown == LEAST:
            product = product // factor.denominator
        else:
            product = int64_overflow.ceil_divide(product, factor.denominator)
    total, fits_64 = int64_overflow.add(product, np.array([plus]))
    return np.where(known & exact & fits_64, total, unknown)


def recorded_relation(
    relation: Relation,
    recorded: Iterable[tuple[Pair | Subtraction, Bounds | None, bool]],
    statistics: Statistics,
) -> Bounds | None:
    """Return what recorded expressions say about a relation; None if they say nothing.

    Args:
        relation: The relation.
        recorded: Expressions over the two values: each with its bounds, and whether its left side
            is the right side of the relation.
        statistics: The statistics of the operands.
    """
    differences, equalities = [], []
    for pair, bounds, is_mirrored in recorded:
        if bounds is None or bounds.type != _recorded_type(pair):
            continue
        difference = difference_of(pair, bounds, statistics)
        differences.append(mirrored(difference) if is_mirrored else difference)
        equality = equality_of(pair, bounds) if isinstance(pair, Pair) else None
        equalities += [] if equality is None else [equality]  # the same in both directions
    if relation.kind is RelationKind.EQUALITY:
        return reduce(intersect, equalities) if equalities else None
    if not differences:
        return None
    whole = reduce(intersect, differences)
    return reduce(_without_zero, equalities, whole)


def _without_zero(difference: Bounds, equality: Bounds) -> Bounds:
    """Return the difference, which is not 0 where both sides are never equal.

    Whole numbers other than 0 are at least 1 or at most -1.
    """
    lower, upper = difference.lower, difference.upper
    assert lower is not None
    assert upper is not None
    is_never_zero = ~truth_of_bounds(equality).can_be_true
    return replace(
        difference,
        lower=np.where(is_never_zero & (lower == 0), 1, lower),
        upper=np.where(is_never_zero & (upper == 0), -1, upper),
    )
