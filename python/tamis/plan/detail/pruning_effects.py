"""What each conjunct rules out on its own, and in addition to the conjuncts before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Expr
from tamis.files.segments import Segment
from tamis.plan.detail.kinds import deciding_kinds
from tamis.plan.scan_decision import Order, narrow

__all__ = ["MOST_TOGETHER", "Effect", "effects"]

#: The first conjuncts are each evaluated together with all before them, which is quadratic.
MOST_TOGETHER = 32


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """What one conjunct rules out, with one flag per file.

    - `alone`: the conjunct rules the file out, or the file holds no row.
    - `added`: the conjuncts up to this one rule the file out, and those before it do not. None if
      there are too many conjuncts to compute this.
    - `kinds`: the kinds of statistics by which the conjunct rules out files: see
      tamis.plan.detail.kinds.
    """

    alone: Flags
    added: Flags | None
    kinds: tuple[str, ...] = ()


def effects(conjuncts: Sequence[Expr], segments: Sequence[Segment], files: int) -> list[Effect]:
    """Return what each conjunct rules out, of all files.

    Taken together, the `added` files are those that a scan with all of the conjuncts leaves out:

    >>> from tamis.files.example import FILES
    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal
    >>> from tamis.expr.types import LONG
    >>> above = Compare(Comparison.GREATER, Column(("c",), LONG), Literal(5, LONG))
    >>> [
    ...     (int(each.alone.sum()), int(each.added.sum()))
    ...     for each in effects([above, above], [Segment(slice(0, 4), FILES)], 4)
    ... ]
    [(1, 1), (1, 0)]
    """
    result = []
    left = np.ones(files, np.bool_)
    for number, conjunct in enumerate(conjuncts):
        alone = np.ones(files, np.bool_)
        for segment in segments:
            narrow(alone, segment, Order([conjunct]))
        added = None
        if number < MOST_TOGETHER:
            before = left.copy()
            # Evaluated together: x < 5 AND x > 10 rules out every file, though neither does alone.
            for segment in segments:
                narrow(left, segment, Order(conjuncts[: number + 1]))
            added = before & ~left
        result.append(Effect(~alone, added, deciding_kinds(conjunct, segments, ~alone)))
    return result
