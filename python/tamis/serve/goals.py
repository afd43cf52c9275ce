"""What a question asks beyond filters: each kind of goal and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tamis.expr.nodes import Expr
from tamis.plan.fully_matching import fully_matching_blocks
from tamis.plan.limit import enough_files
from tamis.plan.scan import ScanDecision
from tamis.reasons import Argument, Reason, reason
from tamis.tables.parquet import ScanInput
from tamis.wire.goals import (
    FilesAnswer,
    GoalAnswer,
    LimitGoal,
    NothingAnswer,
    ReasonDocument,
)
from tamis.wire.kept import encode_kept
from tamis.wire.messages import PlanRequest

__all__ = ["answer_goal", "reason_document"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The scan that a goal is about, decided."""

    found: ScanInput
    conjuncts: Sequence[Expr]
    decision: ScanDecision


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
        return _nothing("LIMIT_NOT_COVERED", rows=goal.rows)
    return FilesAnswer(encode_kept(files))


_GOALS: Final[dict[type, Callable[[Any, Asked], GoalAnswer]]] = {LimitGoal: _limit}


def _nothing(code: str, **arguments: Argument) -> NothingAnswer:
    return NothingAnswer(reason_document(reason(code, **arguments)))


def reason_document(why: Reason) -> ReasonDocument:
    """A reason as it travels."""
    return ReasonDocument(why.code, dict(why.arguments), why.text, why.fix)
