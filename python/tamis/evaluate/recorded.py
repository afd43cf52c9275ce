"""What was recorded of the rows themselves, beyond the bounds of columns.

An index may hold bounds of expressions, found by their key, and members: which ordinary values (not
NULL, not NaN) a container holds, of a column or of an expression.

    a container holds 3, 7, NULL; asked about the options   3     3, 7    5     3, 5
    may_match    an option is among its values              yes   yes     no    yes
    may_miss     a value is not among the options           yes   no      yes   yes

A list of the values answers both exactly. A bloom filter answers the first, sometimes with yes
where it is no, and always says yes to the second. Nothing known: yes to both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import Bounds, Edge, Flags, is_always
from tamis.expr.nodes import Call, Column, Expr, Literal, Opaque, type_of
from tamis.expr.types import DataType

__all__ = [
    "Members",
    "Recorded",
    "Subject",
    "expression_of",
    "members_in",
    "members_of",
    "narrowed",
    "recorded_bounds",
]

#: A column, or the key of an expression.
Subject: TypeAlias = Column | str


class Members(Protocol):
    """Which ordinary values each of n containers holds. `options`: an edge of comparable type."""

    def may_match(self, options: Edge) -> Flags:
        """False where no ordinary value equals one of the options."""
        ...

    def may_miss(self, options: Edge) -> Flags:
        """False where every ordinary value equals one of the options."""
        ...

    def parts(self) -> Mapping[str, Members]:
        """By the kind of what was recorded ("values", "bloom") the members that rest on it."""
        ...

    def slice(self, start: int, stop: int) -> Members: ...

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members: ...


class Recorded(Protocol):
    """Statistics that may hold more than bounds of columns. Nothing here raises."""

    def expression(self, key: str) -> Bounds | None:
        """What was recorded of the expression with this key; None: nothing."""
        ...

    def members(self, subject: Subject) -> Members | None:
        """What was recorded of the values of a column or expression; None: nothing."""
        ...


def _recorded(statistics: object) -> Recorded | None:
    # most statistics are bounds of columns and nothing else, and need not say so
    return cast(Recorded, statistics) if hasattr(statistics, "members") else None


def recorded_bounds(expr: Expr, statistics: object) -> Bounds | None:
    """What was recorded of an expression; None: nothing, or of another type."""
    if not isinstance(expr, Call | Opaque) or expr.key is None:
        return None
    recorded = _recorded(statistics)
    found = None if recorded is None else recorded.expression(expr.key)
    if found is None or type_of(expr) not in (None, found.type):
        return None
    return found


def expression_of(statistics: object, key: str) -> Bounds | None:
    """`statistics.expression(key)`, of statistics that need not have any."""
    recorded = _recorded(statistics)
    return None if recorded is None else recorded.expression(key)


def members_in(statistics: object, subject: Subject) -> Members | None:
    """`statistics.members(subject)`, of statistics that need not have any."""
    recorded = _recorded(statistics)
    return None if recorded is None else recorded.members(subject)


def members_of(expr: Expr, statistics: object) -> Members | None:
    """What was recorded of the values of an expression; None: nothing."""
    match expr:
        case Column():
            return members_in(statistics, expr)
        case Call(key=str(key)) | Opaque(key=str(key)):
            found = members_in(statistics, key)
            if found is not None:
                return found
    match expr:
        case Call(name="Cast", arguments=(child,), type=wanted) if _keeps_values(child, wanted):
            return members_of(child, statistics)
        case _:
            return None


def _keeps_values(child: Expr, wanted: DataType) -> bool:
    """Whether a cast changes the type of a value and nothing else, so that equal stays equal."""
    given = type_of(child)
    if given is None or isinstance(child, Literal):
        return False
    if given.is_integral and wanted.is_integral:
        (least, greatest), (from_least, from_greatest) = wanted.domain, given.domain
        return least <= from_least and from_greatest <= greatest
    return (given.name, wanted.name) == ("float", "double")


def narrowed(flags: Flags, members: Members | None, ask: Callable[[Members], Flags]) -> Flags:
    """The flags, asked further where they are True: bounds are cheaper than members."""
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
