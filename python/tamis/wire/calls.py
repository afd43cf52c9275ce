"""The calls of expression documents that have their own node class.

All other calls become a Call, whose rule evaluation.interpreter looks up by name. Arguments that do
not fit the node raise NotUnderstoodError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from tamis.expr.nodes import And, Compare, Comparison, Expr, IsNull, Not, Or
from tamis.wire.constants import require

__all__ = ["CALLS"]

_Build: TypeAlias = Callable[[tuple[Expr, ...]], Expr]


def _compare(op: Comparison) -> _Build:
    def build(arguments: tuple[Expr, ...]) -> Expr:
        require(len(arguments) == 2)
        return Compare(op, *arguments)

    return build


def _many(node: type[And] | type[Or]) -> _Build:
    def build(arguments: tuple[Expr, ...]) -> Expr:
        require(len(arguments) > 0)
        return node(arguments)

    return build


def _not(arguments: tuple[Expr, ...]) -> Expr:
    require(len(arguments) == 1)
    return Not(arguments[0])


def _is_null(arguments: tuple[Expr, ...]) -> Expr:
    require(len(arguments) == 1)
    return IsNull(arguments[0])


def _is_not_null(arguments: tuple[Expr, ...]) -> Expr:
    return Not(_is_null(arguments))


def _in_expressions(arguments: tuple[Expr, ...]) -> Expr:
    """Build x IN (a, b) over expressions as x = a OR x = b, which is NULL for the same rows."""
    require(len(arguments) > 1)
    value, *options = arguments
    return Or(tuple(Compare(Comparison.EQUAL, value, option) for option in options))


CALLS: Final[dict[str, _Build]] = {
    "And": _many(And),
    "Or": _many(Or),
    "Not": _not,
    "EqualTo": _compare(Comparison.EQUAL),
    "EqualNullSafe": _compare(Comparison.NULL_SAFE_EQUAL),
    "LessThan": _compare(Comparison.LESS),
    "LessThanOrEqual": _compare(Comparison.LESS_EQUAL),
    "GreaterThan": _compare(Comparison.GREATER),
    "GreaterThanOrEqual": _compare(Comparison.GREATER_EQUAL),
    "IsNull": _is_null,
    "IsNotNull": _is_not_null,
    "In": _in_expressions,
}
