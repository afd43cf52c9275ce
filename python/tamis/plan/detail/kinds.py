"""Find the kinds of statistics by which a conjunct rules out files.

    bounds      minima, maxima and NULL counts of columns, and partition values
    expression  recorded bounds of an expression
    values      recorded lists of values
    bloom       recorded Bloom filters
    evaluated   values that a file can hold, for which Spark has evaluated the conjunct

Each recorded kind is evaluated together with the bounds. It decides if it rules out a file that the
bounds alone do not. The values of the last kind follow from lists or bounds. It decides if it rules
out a file that none of the others does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.statistics import LimitedStatistics, Members, Recorded, Subject
from tamis.expr.nodes import Expr
from tamis.expr.rewrites import without_outcomes
from tamis.files.segments import Segment
from tamis.plan.scan_decision import Order, narrow

__all__ = ["BOUNDS", "deciding_kinds"]

BOUNDS: Final = "bounds"
_EXPRESSION: Final = "expression"
_EVALUATED: Final = "evaluated"
_RECORDED: Final = (_EXPRESSION, "values", "bloom")


def deciding_kinds(
    conjunct: Expr, segments: Sequence[Segment], ruled_out: Flags
) -> tuple[str, ...]:
    """Return the kinds of statistics by which the conjunct alone rules out files.

    Args:
        conjunct: The conjunct.
        segments: The statistics of the files.
        ruled_out: One flag per file, set if the conjunct rules it out with all statistics, or if
            the file holds no row.

    >>> from tamis.files.example import FILES
    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal
    >>> from tamis.expr.types import LONG
    >>> above = Compare(Comparison.GREATER, Column(("c",), LONG), Literal(5, LONG))
    >>> deciding_kinds(above, [Segment(slice(0, 4), FILES)], np.array([True, False, False, False]))
    ('bounds',)
    """
    decided = ruled_out & ~_empty(segments, len(ruled_out))
    if not decided.any():
        return ()
    ruled = without_outcomes(conjunct)
    by_bounds = _ruled_out(ruled, segments, len(decided), frozenset()) & decided
    kinds = [BOUNDS] if by_bounds.any() else []
    left = decided & ~by_bounds
    if left.any():
        for kind in _RECORDED:
            flags = _ruled_out(ruled, segments, len(decided), frozenset({kind}))
            if (flags & decided & ~by_bounds).any():
                kinds.append(kind)
                left &= ~flags
    if left.any() and ruled != conjunct:
        kinds.append(_EVALUATED)
    return tuple(kinds)


def _ruled_out(
    conjunct: Expr, segments: Sequence[Segment], files: int, kinds: frozenset[str]
) -> Flags:
    kept = np.ones(files, np.bool_)
    order = Order([conjunct])
    for each in segments:
        narrow(kept, Segment(each.ordinals, _Only(each.statistics, kinds)), order)
    return ~kept


def _empty(segments: Sequence[Segment], files: int) -> Flags:
    empty = np.zeros(files, np.bool_)
    for segment in segments:
        flags = segment.statistics.empty()
        if flags is not None:
            empty[segment.ordinals] = flags
    return empty


@dataclass(frozen=True, slots=True)
class _Only(LimitedStatistics):
    """Statistics with only some of the recorded kinds."""

    kinds: frozenset[str]

    def expression(self, key: Recorded) -> Bounds | None:
        return self.whole.expression(key) if _EXPRESSION in self.kinds else None

    def members(self, subject: Subject) -> Members | None:
        members = self.whole.members(subject)
        parts = {} if members is None else members.parts()
        # At most one kind is left, because kinds are evaluated one at a time.
        return next((part for kind, part in parts.items() if kind in self.kinds), None)
