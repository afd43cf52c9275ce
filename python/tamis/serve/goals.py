"""What a question asks beyond filters: each kind of goal and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tamis.expr.nodes import Column, Expr, walk
from tamis.expr.sql import to_sql
from tamis.plan.clustered import is_clustered
from tamis.plan.fully_matching import fully_matching_blocks
from tamis.plan.key_ranges import key_ranges
from tamis.plan.limit import enough_files
from tamis.plan.scan import ScanDecision, decide
from tamis.reasons import Argument, Reason, reason
from tamis.tables.parquet import ScanInput
from tamis.wire.catalyst import decode, decode_conjuncts
from tamis.wire.constants import constant
from tamis.wire.goals import (
    ClusteredAnswer,
    ClusteredGoal,
    ConfineGoal,
    FilesAnswer,
    GoalAnswer,
    KeyRangeAnswer,
    KeyRangeGoal,
    LimitGoal,
    NothingAnswer,
    Range,
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


def _key_range(goal: KeyRangeGoal, asked: Asked) -> GoalAnswer:
    key = decode(goal.key)
    found = key_ranges(key, asked.conjuncts, asked.found.segments, asked.decision.kept)
    if found is None:
        return _nothing("KEY_RANGE_UNKNOWN", key=to_sql(key))
    return KeyRangeAnswer([Range(constant(each.lower), constant(each.upper)) for each in found])


def _confine(goal: ConfineGoal, asked: Asked) -> GoalAnswer:
    predicate = decode(goal.to)
    kept = asked.decision.kept
    confined = decide(
        asked.conjuncts, asked.found.segments, len(kept), consequences=[predicate], among=kept
    ).kept
    if np.array_equal(confined, kept):
        columns = [".".join(node.path) for node in walk(predicate) if isinstance(node, Column)]
        return _nothing("KEY_RANGE_COVERS", column=columns[0] if columns else to_sql(predicate))
    return FilesAnswer(encode_kept(confined))


def _clustered(goal: ClusteredGoal, asked: Asked) -> GoalAnswer:
    kept = asked.decision.kept
    keys = decode_conjuncts(goal.keys)
    return ClusteredAnswer([is_clustered(key, asked.found.segments, kept) for key in keys])


_GOALS: Final[dict[type, Callable[[Any, Asked], GoalAnswer]]] = {
    LimitGoal: _limit,
    KeyRangeGoal: _key_range,
    ConfineGoal: _confine,
    ClusteredGoal: _clustered,
}


def _nothing(code: str, **arguments: Argument) -> NothingAnswer:
    return NothingAnswer(reason_document(reason(code, **arguments)))


def reason_document(why: Reason) -> ReasonDocument:
    """A reason as it travels."""
    return ReasonDocument(why.code, dict(why.arguments), why.text, why.fix)
