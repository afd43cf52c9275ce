"""Guess which share of the rows passes a predicate, where statistics do not tell.

The guesses are those of textbooks (Selinger et al., SIGMOD 1979), with searches in texts as rare as
equality. No query result depends on them: a wrong guess costs time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)

__all__ = ["LEAST", "Distinct", "share_that_passes"]

#: No predicate is guessed to be rarer.
LEAST: Final = 0.0001
_EQUAL: Final = 0.05
_RANGE: Final = 1 / 3
_UNKNOWN: Final = 0.1


#: Returns how many values a column has, or None.
Distinct = Callable[[Column], float | None]


def share_that_passes(expr: Expr, distinct: Distinct = lambda column: None) -> float:
    """Return the guessed share of the rows for which a predicate is true, from LEAST to 1.

    Args:
        expr: A predicate.
        distinct: Returns how many different values a file has of a column, at most, as far as that
            is known.

    >>> from tamis.expr.types import STRING
    >>> mode = Column(("mode",), STRING)
    >>> is_mail = Compare(Comparison.EQUAL, mode, Literal("MAIL", STRING))
    >>> share_that_passes(is_mail), share_that_passes(Not(is_mail))
    (0.05, 0.95)
    """
    return min(1.0, max(LEAST, _share(expr, distinct)))


def _share(expr: Expr, distinct: Distinct) -> float:
    match expr:
        case And(parts=parts):
            return prod(_share(part, distinct) for part in parts)
        case Or(parts=parts):
            return 1 - prod(1 - _share(part, distinct) for part in parts)
        case Not(child=child):
            return 1 - _share(child, distinct)
        case IsNull() | Call():
            return _EQUAL
        case Compare(op=op, left=left):
            is_equal = op in (Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL)
            return _of_value(left, distinct) if is_equal else _RANGE
        case In(value=value, options=options):
            return min(0.5, _of_value(value, distinct) * len(options))
        case Literal(value=value):
            return 1.0 if value is True else 0.0
        case _:
            return _UNKNOWN


def _of_value(operand: Expr, distinct: Distinct) -> float:
    count = distinct(operand) if isinstance(operand, Column) else None
    return _EQUAL if count is None else 1 / max(1.0, count)
