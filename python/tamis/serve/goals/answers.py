"""Answers to the goals of questions: what a query needs besides its filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tamis.classification.pushdown import Pushdown
from tamis.expr.nodes import Expr, type_of
from tamis.expr.sql import to_sql
from tamis.plan.goals.file_keys import constant_of_edge, key_of_files, matching_files
from tamis.plan.goals.fully_matching import fully_matching, fully_matching_blocks
from tamis.plan.goals.limit import enough_files
from tamis.plan.goals.sort_keys import Group, SortKey
from tamis.plan.goals.topk import boundary, first_files
from tamis.plan.goals.unraised_errors import files_that_may_raise
from tamis.plan.joins.clustering import is_clustered
from tamis.plan.reader_losses import loses_within
from tamis.plan.residual_split import saved_by_splitting
from tamis.plan.scan_decision import ScanDecision
from tamis.serve.goals.aggregates import answer_aggregates
from tamis.serve.goals.facts import answer_facts
from tamis.serve.goals.goal_context import GoalContext, nothing, reason_document
from tamis.serve.goals.joins import answer_join
from tamis.tables.scan_input import ScanInput
from tamis.wire.catalyst import decode, decode_conjuncts
from tamis.wire.constants import value_of
from tamis.wire.goals import (
    AggregateGoal,
    ClusteredAnswer,
    ClusteredGoal,
    FactsGoal,
    FilesAnswer,
    GoalAnswer,
    JoinGoal,
    LimitGoal,
    SplitGoal,
    TopKGoal,
)
from tamis.wire.kept import encode_kept
from tamis.wire.messages import PlanRequest

__all__ = ["answer_goal", "reason_document"]


def answer_goal(
    request: PlanRequest, scan: ScanInput, conjuncts: Sequence[Expr], decision: ScanDecision
) -> GoalAnswer | None:
    """Return the answer to the request's goal. None: it has none, or there is no answer."""
    if request.goal is None:
        return None
    return _GOALS[type(request.goal)](request.goal, GoalContext(scan, conjuncts, decision))


def _limit(goal: LimitGoal, context: GoalContext) -> GoalAnswer:
    kept, segments = context.decision.kept, context.scan.segments
    raising = files_that_may_raise(decode_conjuncts(goal.outputs), segments, kept)
    matching = (
        ordinals[~raising[ordinals]]
        for ordinals in fully_matching_blocks(context.conjuncts, segments, kept)
    )
    files = enough_files(
        goal.rows, matching, context.scan.num_records, context.scan.sizes.to_numpy()
    )
    if files is None:
        return nothing("LIMIT_NOT_COVERED", rows=goal.rows)
    return FilesAnswer(encode_kept(files))


def _topk(goal: TopKGoal, context: GoalContext) -> GoalAnswer:
    kept, scan = context.decision.kept, context.scan
    key = SortKey(decode(goal.key), goal.descending, goal.nulls_first, goal.only)
    name = to_sql(key.expr)
    keys = key_of_files(key, context.conjuncts, scan.segments, kept)
    if keys is None:
        return nothing("TOPK_KEY_UNKNOWN", key=name)
    matching = matching_files(key, keys, context.conjuncts, scan.segments, kept)
    last = boundary(goal.rows, key, keys, matching, scan.num_records)
    if last is None:
        return nothing("TOPK_NOT_COVERED", key=name, rows=goal.rows)
    raising = files_that_may_raise(context.conjuncts, scan.segments, kept)
    files = first_files(key, keys, last, kept) | raising
    if files.sum() == kept.sum() > 1:
        if keys.may_be[Group.NAN].all():
            return nothing("TOPK_MAY_BE_NAN", key=name)
        return nothing("TOPK_RANGES_OVERLAP", key=name, rows=goal.rows)
    # the reader must not skip rows for which a filter would raise
    until = None if raising.any() else _until(last.value, key)
    return FilesAnswer(encode_kept(files), until)


def _until(edge: Any, key: SortKey) -> int | str | None:
    """Return the boundary as a constant for the reader's filter; None if there is none.

    There is none either if Spark's reader would lose rows with such a filter.
    """
    until = constant_of_edge(edge, key.expr)
    data_type = type_of(key.expr)
    if until is None or data_type is None:
        return None
    value = value_of(until, data_type)
    # The rows are at or before the boundary: descending keys are not below it.
    lower, upper = (value, None) if key.descending else (None, value)
    return None if loses_within(lower, upper, data_type) else until


def _split(goal: SplitGoal, context: GoalContext) -> GoalAnswer:
    kept, decision = context.decision.kept, context.decision
    residual = [
        each
        for each, outcome in zip(context.conjuncts, decision.conjuncts, strict=True)
        if outcome.pushdown is not Pushdown.EXACT
    ]
    matching = fully_matching(context.conjuncts, context.scan.segments, kept)
    rows, others = context.scan.records(matching), context.scan.records(kept & ~matching)
    if not residual or not matching.any() or rows is None or others is None:
        return nothing("SPLIT_NOT_NEEDED")
    saved = saved_by_splitting(rows, others, residual, goal.freed, goal.columns)
    if saved < goal.least * 1e6:
        return nothing(
            "SPLIT_DOES_NOT_PAY", rows=rows, saved=max(0, int(saved / 1e6)), least=goal.least
        )
    return FilesAnswer(encode_kept(matching))


def _clustered(goal: ClusteredGoal, context: GoalContext) -> GoalAnswer:
    kept = context.decision.kept
    keys = decode_conjuncts(goal.keys)
    return ClusteredAnswer([is_clustered(key, context.scan.segments, kept) for key in keys])


_GOALS: Final[dict[type, Callable[[Any, GoalContext], GoalAnswer | None]]] = {
    LimitGoal: _limit,
    TopKGoal: _topk,
    SplitGoal: _split,
    JoinGoal: answer_join,
    ClusteredGoal: _clustered,
    AggregateGoal: answer_aggregates,
    FactsGoal: answer_facts,
}
