"""Aggregates with FILTER (WHERE …): for which containers all rows count, or none does.

    rows of x   count(*) FILTER (WHERE x > 4)    sum(x) FILTER (WHERE x > 4)
    5 .. 9      that of all rows                 that of all rows
    1 .. 4      0                                NULL
    3 .. 6      (the file is read)

Containers are files or groups of them. Plain Spark evaluates the condition for every row that
passes the filters of the query. So a container is read if the condition may raise an error there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.interpreter import truth
from tamis.evaluation.raising import can_raise, may_raise
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Expr
from tamis.plan.goals.aggregate_functions import Aggregate, cells_to_combine
from tamis.plan.goals.fully_matching import can_match_fully
from tamis.plan.scan_decision import together

__all__ = ["counting", "decide", "of_counting"]


def counting(condition: Expr, statistics: Statistics) -> tuple[Flags, Flags]:
    """Return where all rows count, and where either all of them count or none."""
    if not can_match_fully(condition):
        nowhere = np.zeros(statistics.num_containers, np.bool_)
        return nowhere, nowhere
    counts, decided = decide([together(condition)], statistics)
    if can_raise(condition):
        # no row of a container that is not read would raise
        decided = decided & ~may_raise(condition, statistics)
    return counts, decided


def decide(conjuncts: Sequence[Expr], statistics: Statistics) -> tuple[Flags, Flags]:
    """Return where all rows of a container pass, and where either all of them pass or none."""
    n = statistics.num_containers
    all_pass, none_passes = np.ones(n, np.bool_), np.zeros(n, np.bool_)
    for conjunct in conjuncts:
        truths = truth(conjunct, statistics)
        # neither false nor NULL for any row, so true for all rows
        all_pass &= ~(truths.can_be_false | truths.can_be_null)
        # One conjunct that is true for no row is enough: no row passes the AND.
        none_passes |= ~truths.can_be_true
    return all_pass & ~none_passes, all_pass | none_passes


def of_counting(
    aggregate: Aggregate, name: str, cells: Mapping[str, pa.Array], counts: Flags
) -> dict[str, pa.Array]:
    """Return the contributions where all rows count, and those of no rows elsewhere.

    Args:
        name: The prefix of the names of the columns, see `cells_to_combine`.
        cells: The contributions of all rows. There may be none.
        counts: Where all rows count.
    """
    # MIN and MAX of no rows are NULL, and they have no registers; their COUNT and each limb of
    # their SUM are 0
    is_null = aggregate.function.is_null_of_nothing
    nothing = pa.nulls(len(counts)) if is_null else pa.array(np.zeros(len(counts), np.int64))
    flags = pa.array(counts)
    return {
        cell: pc.if_else(flags, cells[cell], pa.scalar(None if is_null else 0, cells[cell].type))
        if cell in cells
        else nothing
        for cell in cells_to_combine(aggregate, name)
    }
