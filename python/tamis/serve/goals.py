"""What a question asks beyond filters: each kind of goal and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tamis.expr.nodes import Expr
from tamis.plan.fully_matching import fully_matching_blocks
from tamis.plan.limit import enough_files
from tamis.plan.scan import ScanDecision
from tamis.serve.aggregates import answer_aggregates
from tamis.serve.asked import Asked, nothing, reason_document
from tamis.tables.parquet import ScanInput
from tamis.wire.goals import AggregateGoal, FilesAnswer, GoalAnswer, LimitGoal
from tamis.wire.kept import encode_kept
from tamis.wire.messages import PlanRequest

__all__ = ["answer_goal", "reason_document"]


def answer_goal(
    request: PlanRequest, found: ScanInput, conjuncts: Sequence[Expr], decision: ScanDecision
) -> GoalAnswer | None:
    """The answer to the request's goal; None: it has none."""
    if request.goal is None:
        return None
    return _GOALS[type(request.goal)](request.goal, Asked(found, conjuncts, decision))


def _limit(goal: LimitGoal, asked: Asked) -> GoalAnswer:
    kept = asked.decision.kept
    matching = fully_matching_blocks(asked.conjuncts, asked.found.segments, kept)
    files = enough_files(goal.rows, matching, asked.found.num_records, len(kept))
    if files is None:
        return nothing("LIMIT_NOT_COVERED", rows=goal.rows)
    return FilesAnswer(encode_kept(files))


_GOALS: Final[dict[type, Callable[[Any, Asked], GoalAnswer]]] = {
    LimitGoal: _limit,
    AggregateGoal: answer_aggregates,
}
