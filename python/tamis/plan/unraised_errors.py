"""Files that must be read because a filter may raise an error for one of their rows.

A scan leaves out files for two kinds of reasons, and each has its rule for errors in ANSI mode:

- The filters rule a file out, or are true of every row of it: statistics decide, no row is
  evaluated, and nothing is raised. Every engine that skips data does so.
- Something else makes the rows of a file useless: they cannot be among the first of an ORDER BY
  with LIMIT, they cannot change a MIN or MAX, or they have no partner in a join. Plain Spark
  evaluates the filter on these rows all the same, and fails where it raises. So such a file is read
  unless it is proven that no conjunct raises in it.

LIMIT without ORDER BY promises no particular rows, and run-time filters leave out files as Spark's
own dynamic partition pruning does: neither looks for errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.evaluate.bounds import Flags
from tamis.evaluate.raising import can_raise, may_raise
from tamis.expr.nodes import Expr
from tamis.plan.scan import Segment, kept_blocks

__all__ = ["files_that_may_raise"]


def files_that_may_raise(
    conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags
) -> Flags:
    """One flag a file: it is kept, and one of the conjuncts may raise for one of its rows.

    A file that no segment covers may raise wherever a conjunct can raise at all.
    """
    risky = [each for each in conjuncts if can_raise(each)]
    if not risky:
        return np.zeros(len(kept), np.bool_)
    found = kept.copy()
    for ordinals, block in kept_blocks(segments, kept):
        flags = np.zeros(len(ordinals), np.bool_)
        for each in risky:
            flags |= may_raise(each, block)
        # a file in two segments raises nothing if either of them proves it
        found[ordinals] &= flags
    return found
