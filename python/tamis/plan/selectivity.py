"""Guess which share of the rows passes a predicate, where statistics do not tell.

The guesses are those of textbooks (Selinger et al., SIGMOD 1979), with searches in texts as rare as
equality. No query result depends on them: a wrong guess costs time.
"""

from __future__ import annotations

from math import prod
from typing import Final

from tamis.expr.nodes import And, Call, Compare, Comparison, Expr, In, IsNull, Literal, Not, Or

__all__ = ["LEAST", "share_that_passes"]

#: No predicate is guessed to be rarer.
LEAST: Final = 0.001
_EQUAL: Final = 0.05
_RANGE: Final = 1 / 3
_UNKNOWN: Final = 0.1


def share_that_passes(expr: Expr) -> float:
    """Return the guessed share of the rows for which a predicate is true, from LEAST to 1.

    >>> from tamis.expr.nodes import Column
    >>> from tamis.expr.types import STRING
    >>> mode = Column(("mode",), STRING)
    >>> is_mail = Compare(Comparison.EQUAL, mode, Literal("MAIL", STRING))
    >>> share_that_passes(is_mail), share_that_passes(Not(is_mail))
    (0.05, 0.95)
    """
    return min(1.0, max(LEAST, _share(expr)))


def _share(expr: Expr) -> float:
    match expr:
        case And(parts=parts):
            return prod(map(_share, parts))
        case Or(parts=parts):
            return 1 - prod(1 - _share(part) for part in parts)
        case Not(child=child):
            return 1 - _share(child)
        case IsNull() | Call():
            return _EQUAL
        case Compare(op=op):
            return _EQUAL if op in (Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL) else _RANGE
        case In(options=options):
            return min(0.5, _EQUAL * len(options))
        case Literal(value=value):
            return 1.0 if value is True else 0.0
        case _:
            return _UNKNOWN
