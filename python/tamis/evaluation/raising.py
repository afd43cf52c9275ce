"""Where a predicate may raise an error for some row of a container.

In ANSI mode, Spark's default, `10 / x > 1` raises if x is 0. Invalid casts, overflows and indexes
out of range raise too. Spark evaluates a filter on every row that it reads. So skipping a file for
any reason other than the filter itself may suppress an error.

    container     10 / x > 1 with x in     may raise
    f1            1 .. 5                   no: the bounds prove that x is not 0
    f2            0 .. 5                   yes
    f3            not known                yes

A node raises nothing by itself if it is

- a comparison, a logical operator, a column or a constant;
- a function that is defined for every argument (`never_raises` of its entry);
- a function whose evalMode gives NULL or wraps around, and that rounds no DECIMAL of more than 34
  digits (`_ROUNDS`); or
- a function whose bounds are proven in the container, because a rule proves nothing where a row
  might raise (evaluation.domain.interval).

Every other node may raise.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Edge, Flags
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.evaluated import may_be_unknown
from tamis.evaluation.functions.registry import FUNCTION_ENTRIES
from tamis.evaluation.interpreter import PREDICATES, truth, value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Evaluated, Expr, Literal, Opaque, children_of, walk

__all__ = ["can_raise", "may_raise"]

_NEVER: Final = frozenset(entry.name for entry in FUNCTION_ENTRIES if entry.never_raises)

#: Modes in which arithmetic and casts give NULL, wrap around or saturate.
_QUIET: Final = ("LEGACY", "TRY")

#: Functions that round DECIMAL results away from zero, and raise in any mode if the result has a
#: digit more than its type then (seen on Spark 4.1). -x and |x| round to the 34 digits of
#: MathContext.DECIMAL128: -9999999999999999999999999999.9999999999 becomes -1E+28, which
#: DECIMAL(38,10) does not hold. The others round to a scale: round(x, -3) of 38 nines.
_ROUNDS: Final = frozenset({"UnaryMinus", "Abs", "Round", "BRound", "RoundCeil", "RoundFloor"})
_UNROUNDED_DIGITS: Final = 34


def can_raise(expr: Expr) -> bool:
    """Return whether the predicate might raise for any row of any container.

    >>> from tamis.expr.nodes import Column
    >>> from tamis.expr.types import DATE, INTEGER
    >>> can_raise(Call("Year", (Column(("day",), DATE),), (), INTEGER))
    False
    >>> can_raise(Opaque("f(x)"))
    True
    """
    return any(_can_raise_itself(node) for node in walk(expr))


def may_raise(expr: Expr, statistics: Statistics) -> Flags:
    """Return in which containers the predicate may raise for some row.

    The result has one flag per container, or a single flag for all of them.
    """
    if not can_raise(expr):
        return NO
    children = (may_raise(child, statistics) for child in children_of(expr))
    if isinstance(expr, Evaluated):
        # Evaluation of the whole predicate raised nothing for the values whose outcome is known.
        return all_of((may_be_unknown(expr, statistics), may_raise(expr.predicate, statistics)))
    if not _can_raise_itself(expr):
        return any_of(children)
    if not isinstance(expr, Call):
        return YES
    return any_of((_unproven(expr, statistics), *children))


def _can_raise_itself(expr: Expr) -> bool:
    match expr:
        case Opaque():
            return True
        case Call(name="Like", arguments=(_, Literal(value=str() as pattern), *_)):
            # An escape in front of an ordinary character is an error.
            return str(expr.option("escapeChar") or "\\") in pattern
        case Call(name=name, type=data_type) if name in _ROUNDS and data_type.is_decimal:
            quiet = (data_type.precision or 0) <= _UNROUNDED_DIGITS
            return not (quiet and expr.option("evalMode") in _QUIET)
        case Call(name=name):
            return name not in _NEVER and expr.option("evalMode") not in _QUIET
        case _:
            return False


def _unproven(call: Call, statistics: Statistics) -> Flags:
    """Return where no rule has proven anything about the call, so a row might raise."""
    if call.name in PREDICATES:
        truths = truth(call, statistics)
        return all_of((truths.can_be_true, truths.can_be_false, truths.can_be_null))
    bounds = value(call, statistics)
    if bounds is None:
        return YES
    return all_of((bounds.can_be_null, bounds.can_be_value, ~_is_bounded(bounds)))


def _is_bounded(bounds: Bounds) -> Flags:
    """Return where an edge is tighter than the type. Unproven edges are its extremes, or null."""
    least: float
    greatest: float
    if bounds.type.is_floating:
        least, greatest = -np.inf, np.inf
    elif bounds.type.is_discrete:
        least, greatest = bounds.type.domain
    else:
        least = greatest = np.nan  # unused: Arrow edges are null where nothing is known
    return any_of(
        (
            _differs(bounds.lower, bounds.lower_known, least),
            _differs(bounds.upper, bounds.upper_known, greatest),
        )
    )


def _differs(edge: Edge | None, known: Flags | None, extreme: float) -> Flags:
    if edge is None:
        return NO
    if isinstance(edge, pa.Array):
        return np.asarray(edge.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    return all_of((edge != extreme, YES if known is None else known))
