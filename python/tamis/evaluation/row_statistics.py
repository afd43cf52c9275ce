"""Row statistics: what an index recorded from the rows, beyond the bounds of columns.

An index may have bounds of expressions, looked up by key, and members: the ordinary values (not
NULL, not NaN) of a column or of an expression in each container.

    a container holds 3, 7, NULL; the options are    3     3, 7    5     3, 5
    may_match    an option is among the values       yes   yes     no    yes
    may_miss     a value is not among the options    yes   no      yes   yes

A list of the values decides both exactly. A Bloom filter decides may_match, with false positives,
and always returns True for may_miss. If nothing is known, both are True.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.evaluation.domain.bounds import Bounds, Flags, is_always
from tamis.evaluation.statistics import Members, Statistics
from tamis.expr.nodes import Call, Column, Expr, Literal, Opaque, type_of
from tamis.expr.types import DataType

__all__ = ["members_of", "narrowed", "recorded_bounds"]


def recorded_bounds(expr: Expr, statistics: Statistics) -> Bounds | None:
    """Return the recorded bounds of an expression; None if there are none of its type."""
    if not isinstance(expr, Call | Opaque) or expr.key is None:
        return None
    bounds = statistics.expression(expr.key)
    if bounds is None or type_of(expr) not in (None, bounds.type):
        return None
    return bounds


def members_of(expr: Expr, statistics: Statistics) -> Members | None:
    """Return the recorded values of an expression, or None."""
    match expr:
        case Column():
            return statistics.members(expr)
        case Call(key=str(key)) | Opaque(key=str(key)):
            members = statistics.members(key)
            if members is not None:
                return members
    match expr:
        case Call(name="Cast", arguments=(child,), type=wanted) if _keeps_values(child, wanted):
            return members_of(child, statistics)
        case _:
            return None


def _keeps_values(child: Expr, wanted: DataType) -> bool:
    """Return whether a cast changes only the type of a value, so equal values stay equal."""
    given = type_of(child)
    if given is None or isinstance(child, Literal):
        return False
    if given.is_integral and wanted.is_integral:
        (least, greatest), (from_least, from_greatest) = wanted.domain, given.domain
        return least <= from_least and from_greatest <= greatest
    return (given.name, wanted.name) == ("float", "double")


def narrowed(flags: Flags, members: Members | None, ask: Callable[[Members], Flags]) -> Flags:
    """Narrow the flags by the members, only where they are True.

    Bounds are cheaper to evaluate than members, so members are evaluated only where the bounds
    allow a row.
    """
    if members is None:
        return flags
    if is_always(flags):
        return ask(members)
    rows = np.flatnonzero(flags)
    if not len(rows) or len(flags) == 1:
        return flags
    narrower = np.zeros(len(flags), np.bool_)
    narrower[rows] = ask(members.take(rows))
    return narrower
