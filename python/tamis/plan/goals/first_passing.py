"""Find the files in which a row at the near edge of the sort key is known to pass the filters.

    file    rows with phrase <> ''    least phrase of them
    f1      12                        'about'
    f2      5                         'car'

`WHERE phrase <> '' ORDER BY phrase LIMIT 2` needs no file whose least phrase comes after 'car',
although other rows of all files have the phrase '': one row of f1 and one of f2 pass, and are at or
before 'car'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Edge, Flags
from tamis.evaluation.interpreter import truth
from tamis.evaluation.statistics import LimitedStatistics, Passing, Statistics
from tamis.expr.condition_keys import condition_key
from tamis.expr.nodes import Column, Expr
from tamis.files.arrow_edges import as_array
from tamis.plan.goals.fully_matching import can_match_fully
from tamis.plan.passing_rows import PassingStatistics

__all__ = ["passes_first"]


@dataclass(frozen=True, slots=True)
class _OneRow(LimitedStatistics):
    """One row of each container, whose value of a column is known."""

    column: Column
    known: Bounds

    def bounds(self, column: Column) -> Bounds:
        return self.known if column.path == self.column.path else self.whole.bounds(column)

    def slice(self, start: int, stop: int) -> Statistics:
        known = self.known.slice(start, stop)
        return _OneRow(self.whole.slice(start, stop), self.column, known)

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return _OneRow(self.whole.take(ordinals), self.column, self.known.take(ordinals))


def passes_first(
    column: Column,
    descending: bool,
    conjuncts: Sequence[Expr],
    statistics: Statistics,
    bounds: Bounds,
) -> Flags:
    """Return where some row at the near edge of the column is for certain to pass all conjuncts.

    Args:
        column: The sort key.
        descending: Whether the near edge is the upper one.
        conjuncts: All conjuncts of the filter, in their order.
        statistics: What is known of the rows that pass.
        bounds: The bounds of the column in these statistics.
    """
    count = statistics.num_containers
    flags = np.zeros(count, np.bool_)
    # -0.0 and 0.0 are one edge, and functions tell them apart
    if not isinstance(statistics, PassingStatistics) or column.type.is_floating:
        return flags
    # as for fully matching files: the row has to come out of Spark's reader
    if not all(map(can_match_fully, conjuncts)):
        return flags
    edge = bounds.upper if descending else bounds.lower
    if edge is None:
        return flags
    near = as_array(edge, count, column.type)
    row = _OneRow(statistics, column, _at(column, edge))

    def passes(surely: Flags, others: Sequence[Expr]) -> Flags:
        # Some row has this edge and passes the rest: it passes a conjunct that is true for every
        # row that passes these, and has this value.
        for conjunct in others:
            if not surely.any():
                break
            of_row = truth(conjunct, row)
            surely = surely & ~(of_row.can_be_false | of_row.can_be_null)
        return surely

    for condition in statistics.conditions:
        passing = Passing(condition, column)
        attained = statistics.whole.attained(passing)
        recorded = statistics.whole.expression(passing)
        surely = _is_attained(recorded, attained, descending, column, near)
        flags |= passes(surely, [each for each in conjuncts if condition_key(each) != condition])
    for learnt in statistics.learnt:
        attained = YES if learnt.is_whole else NO
        surely = _is_attained(learnt.bounds(column), attained, descending, column, near)
        others = [each for i, each in enumerate(conjuncts) if i not in learnt.conjuncts]
        flags |= passes(surely, others)
    return flags


def _is_attained(
    limited: Bounds | None, attained: Flags, descending: bool, column: Column, near: pa.Array
) -> Flags:
    """Return where the near edge is for certain the value of a row that passes.

    Args:
        limited: The bounds of the rows that pass; None: nothing is known of them.
        attained: Whether the edges that are known are values of such rows.
        descending: Whether the near edge is the upper one.
        column: The column.
        near: The near edge that all bounds together have.
    """
    count = len(near)
    if limited is None or limited.type != column.type:
        return np.zeros(count, np.bool_)
    edge = limited.upper if descending else limited.lower
    known = limited.upper_known if descending else limited.lower_known
    # Other bounds may be tighter. Then they contradict this edge, and nothing is certain.
    same = pc.fill_null(pc.equal(as_array(edge, count, column.type), near), False)
    flags = np.asarray(same.to_numpy(zero_copy_only=False)) & attained
    return flags & limited.can_be_value & (YES if known is None else known)


def _at(column: Column, edge: Edge) -> Bounds:
    """Return the bounds of one row whose value of a column is the edge."""
    return Bounds(column.type, edge, edge, NO, NO, YES)
