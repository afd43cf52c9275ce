"""Answers to the goals of questions: what a query needs besides its filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tamis.classification.pushdown import Pushdown
from tamis.expr.nodes import Expr
from tamis.plan.goals.fully_matching import fully_matching, fully_matching_blocks
from tamis.plan.goals.limit import enough_files
from tamis.plan.goals.unraised_errors import files_that_may_raise
from tamis.plan.joins.clustering import is_clustered
from tamis.plan.residual_split import saved_by_splitting
from tamis.plan.scan_decision import ScanDecision
from tamis.serve.goals.aggregates import answer_aggregates
from tamis.serve.goals.facts import answer_facts
from tamis.serve.goals.goal_context import GoalContext, nothing, reason_document
from tamis.serve.goals.joins import answer_join
from tamis.serve.goals.order import answer_order
from tamis.serve.goals.topk import answer_topk
from tamis.tables.scan_input import ScanInput
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.goals import (
    AggregateGoal,
    ClusteredAnswer,
    ClusteredGoal,
    FactsGoal,
    FilesAnswer,
    GoalAnswer,
    JoinGoal,
    LimitGoal,
    OrderGoal,
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
        for ordinals in fully_matching_blocks(
            context.conjuncts, segments, kept, context.decision.known
        )
    )
    files = enough_files(
        goal.rows, matching, context.scan.num_records, context.scan.sizes.to_numpy()
    )
    if files is None:
        return nothing("LIMIT_NOT_COVERED", rows=goal.rows)
    return FilesAnswer(encode_kept(files))


def _split(goal: SplitGoal, context: GoalContext) -> GoalAnswer:
    kept, decision = context.decision.kept, context.decision
    residual = [
        each
        for each, outcome in zip(context.conjuncts, decision.conjuncts, strict=True)
        if outcome.pushdown is not Pushdown.EXACT
    ]
    matching = fully_matching(context.conjuncts, context.scan.segments, kept, decision.known)
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
    TopKGoal: answer_topk,
    SplitGoal: _split,
    JoinGoal: answer_join,
    ClusteredGoal: _clustered,
    AggregateGoal: answer_aggregates,
    FactsGoal: answer_facts,
    OrderGoal: answer_order,
}
