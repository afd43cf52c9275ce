"""Verdicts: whether none, some or all rows of each container satisfy a predicate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.interpreter import truth
from tamis.evaluation.nodes import operators as operators  # fills the registry
from tamis.evaluation.nodes.ranges import narrowed
from tamis.evaluation.statistics import Statistics
from tamis.evaluation.subdivision import subdivided
from tamis.evaluation.udf.declared_calls import relies_on_declaration
from tamis.evaluation.verdict import Verdict
from tamis.expr.nodes import Expr

__all__ = ["ALL", "NONE", "SOME", "Verdict", "verdicts"]

NONE, SOME, ALL = range(3)


def verdicts(expr: Expr, statistics: Statistics) -> npt.NDArray[np.int8]:
    """Return the verdict of each container: 0 is none, 1 is some, 2 is all.

    Verdicts depend only on the rows for which the predicate is true, so the ranges of a column may
    be intersected first (`narrowed` keeps exactly these rows).
    """
    truths = truth(subdivided(narrowed(expr)), statistics)
    count = statistics.num_containers
    codes = np.full(count, SOME, np.int8)
    if not relies_on_declaration(expr):
        codes[_each(~(truths.can_be_false | truths.can_be_null), count)] = ALL
    # NONE is set last: a container in which no flag is True has no rows, which is NONE, not ALL.
    codes[_each(~truths.can_be_true, count)] = NONE
    empty = statistics.empty()
    if empty is not None:
        codes[_each(empty, count)] = NONE
    return codes


def _each(flags: Flags, count: int) -> Flags:
    return np.broadcast_to(flags, (count,))
