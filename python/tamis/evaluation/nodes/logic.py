"""AND, OR and NOT in three-valued logic.

    AND    true   false  null        OR     true   false  null        NOT
    true   true   false  null        true   true   true   true        true   false
    false  false  false  false       false  true   false  null        false  true
    null   null   false  null        null   true   null   null        null   null

The parts are treated as independent of each other. That can only add possible truth values, so it
is sound.
"""

from __future__ import annotations

from collections.abc import Iterator

from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.interpreter import truth
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import And, Expr, Not, Or

__all__ = ["conjunction", "disjunction", "negation"]


def conjunction(expr: And, statistics: Statistics) -> TruthSet:
    parts = _Parts(expr.parts, statistics)
    return TruthSet(
        # True if every part is true; false if some part is false.
        lambda: all_of(part.can_be_true for part in parts),
        lambda: any_of(part.can_be_false for part in parts),
        # NULL if some part is NULL and every part is true or NULL.
        lambda: all_of(
            (
                any_of(part.can_be_null for part in parts),
                *(any_of((part.can_be_null, part.can_be_true)) for part in parts),
            )
        ),
    )


def disjunction(expr: Or, statistics: Statistics) -> TruthSet:
    parts = _Parts(expr.parts, statistics)
    return TruthSet(
        lambda: any_of(part.can_be_true for part in parts),
        lambda: all_of(part.can_be_false for part in parts),
        # NULL if some part is NULL and every part is false or NULL.
        lambda: all_of(
            (
                any_of(part.can_be_null for part in parts),
                *(any_of((part.can_be_null, part.can_be_false)) for part in parts),
            )
        ),
    )


def negation(expr: Not, statistics: Statistics) -> TruthSet:
    return truth(expr.child, statistics).negated()


class _Parts:
    """The truth sets of the parts, each computed on first use: an early result skips the rest."""

    __slots__ = ("_exprs", "_statistics", "_truths")

    def __init__(self, exprs: tuple[Expr, ...], statistics: Statistics) -> None:
        self._exprs = exprs
        self._statistics = statistics
        self._truths: list[TruthSet] = []

    def __iter__(self) -> Iterator[TruthSet]:
        for ordinal, expr in enumerate(self._exprs):
            if ordinal == len(self._truths):
                self._truths.append(truth(expr, self._statistics))
            yield self._truths[ordinal]
