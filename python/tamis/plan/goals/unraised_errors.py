"""Find the files that must be read because a filter may raise an error for one of their rows.

A scan leaves out files for two kinds of reasons. Each has its own rule for errors in ANSI mode:

- The filters rule out the file, or are true for all of its rows. Statistics decide, no row is
  evaluated, and no error is raised. Every engine that skips data behaves like this.
- The rows of the file cannot affect the result for another reason: they cannot be among the first
  rows of an ORDER BY with LIMIT, they cannot change a MIN or MAX, or they have no match in a join.
  Plain Spark still evaluates the filter on these rows, and fails if it raises. So the file is read
  unless it is proven that no conjunct raises for any of its rows.

LIMIT without ORDER BY and run-time filters leave out files without checking for errors. A LIMIT
promises no particular rows, and Spark's own dynamic partition pruning leaves out files in the same
way. But a LIMIT does not choose a file in which the SELECT list may raise an error, because plain
Spark may have stopped before that file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.raising import can_raise, may_raise
from tamis.expr.nodes import Expr
from tamis.files.segments import Segment
from tamis.plan.scan_decision import kept_blocks

__all__ = ["files_that_may_raise"]


def files_that_may_raise(
    conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags
) -> Flags:
    """Return one flag per file, set if it is kept and a conjunct may raise for one of its rows.

    A conjunct that can raise at all may raise in any file that no segment covers.
    """
    risky = [each for each in conjuncts if can_raise(each)]
    if not risky:
        return np.zeros(len(kept), np.bool_)
    raising = kept.copy()
    for ordinals, block in kept_blocks(segments, kept):
        flags = np.zeros(len(ordinals), np.bool_)
        for each in risky:
            flags |= may_raise(each, block)
        # For a file in two segments it is enough that either of them proves that nothing raises.
        raising[ordinals] &= flags
    return raising
