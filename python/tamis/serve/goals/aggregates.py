"""Answers to the goal of an aggregate, from its documents and the statistics of the scan."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.expr.nodes import Column
from tamis.expr.sql import to_sql
from tamis.plan.goals.aggregate import Answered, NotTextError, answer
from tamis.plan.goals.contributions import Aggregate, Function
from tamis.plan.goals.fully_matching import fully_matching
from tamis.plan.goals.unraised_errors import files_that_may_raise
from tamis.serve.goals.goal_context import GoalContext, nothing
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.constants import plain_constant
from tamis.wire.goals import (
    AggregateAnswer,
    AggregateGoal,
    GoalAnswer,
    NothingAnswer,
    PartialDocument,
)
from tamis.wire.kept import encode_kept

__all__ = ["answer_aggregates"]


def answer_aggregates(goal: AggregateGoal, context: GoalContext) -> GoalAnswer:
    """Return the files that statistics answer for, with their values, or why there are none."""
    aggregates = _aggregates(goal)
    if isinstance(aggregates, NothingAnswer):
        return aggregates
    scan, kept = context.scan, context.decision.kept
    matching = fully_matching(context.conjuncts, scan.segments, kept)
    if kept.any() and (scan.num_records is None or not matching.any()):
        return nothing("AGGREGATE_NOT_COVERED")
    records = scan.num_records
    if records is None:  # then no file is kept
        records = np.zeros(len(kept), np.int64)
    raising = files_that_may_raise(context.conjuncts, scan.segments, kept & ~matching)
    keys = _keys(goal, scan.directories)

    def answered_for(some: list[Aggregate]) -> Answered:
        return answer(some, scan.segments, kept, matching, records, keys, raising)

    try:
        answered = answered_for(aggregates)
        if answered.is_nothing and kept.any():
            with_column = [each for each in aggregates if each.column is not None]
            return _not_certain(
                [each for each in with_column if answered_for([each]).is_nothing] or with_column
            )
    except NotTextError as problem:
        return _not_certain([problem.aggregate])
    groups = [
        PartialDocument(partial.key, [plain_constant(value) for value in partial.values])
        for partial in answered.partials
    ]
    return AggregateAnswer(encode_kept(answered.left), answered.covered, answered.skipped, groups)


def _aggregates(goal: AggregateGoal) -> list[Aggregate] | NothingAnswer:
    arguments = [each.argument for each in goal.aggregates]
    # decoded together, because the documents state a time zone only once
    decoded = iter(decode_conjuncts([each for each in arguments if each is not None]))
    aggregates = []
    for each in goal.aggregates:
        function = Function(each.function)
        column = None if each.argument is None else next(decoded)
        if not (isinstance(column, Column) or (column is None and function is Function.COUNT)):
            name = "" if column is None else to_sql(column)
            return nothing("AGGREGATE_NOT_UNDERSTOOD", aggregate=f"{function}({name})")
        aggregates.append(Aggregate(function, column))
    return aggregates


def _keys(goal: AggregateGoal, directories: npt.NDArray[np.int32]) -> npt.NDArray[np.intp] | None:
    if goal.keys is None:
        return None
    return np.array(goal.keys, np.intp)[directories]


def _not_certain(aggregates: list[Aggregate]) -> NothingAnswer:
    """Return the reason for the first aggregate of a column. Callers pass only uncertain ones."""
    for each in aggregates:
        if each.column is not None:
            column = ".".join(each.column.path)
            name = f"{each.function}({column})"
            return nothing("AGGREGATE_NOT_CERTAIN", aggregate=name, column=column)
    return nothing("AGGREGATE_NOT_COVERED")
