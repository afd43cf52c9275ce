"""Adapts the reasons of an answer to a session with `spark.tamis.index.enabled` = false.

To build an index has no effect in such a session.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import structs

from tamis.reasons import REASONS, reason
from tamis.serve.goals.goal_context import reason_document
from tamis.wire.goals import NothingAnswer, ReasonDocument
from tamis.wire.messages import ConjunctAnswer, PlanAnswer

__all__ = ["with_index_off"]

T = TypeVar("T", bound=ConjunctAnswer | NothingAnswer)

_NO_INDEX: Final = frozenset({"NO_STATISTICS", "NO_NULL_COUNTS"})
#: Goals that need statistics of one key.
_KEY_UNKNOWN: Final = frozenset({"KEY_RANGE_UNKNOWN", "TOPK_KEY_UNKNOWN"})
_BUILD: Final = REASONS["NO_STATISTICS"].fix or ""
#: How the fixes of goals begin.
_BUILD_AND: Final = _BUILD.partition(":")[0]
_SWITCH_ON: Final = REASONS["INDEX_IS_OFF"].fix or ""


def with_index_off(answer: PlanAnswer) -> PlanAnswer:
    """Return the answer with reasons and fixes that name the conf instead of a missing index."""
    goal = answer.goal
    if isinstance(goal, NothingAnswer):
        goal = _adapted(goal)
    return structs.replace(
        answer, conjuncts=[_adapted(each) for each in answer.conjuncts], goal=goal
    )


def _adapted(holder: T) -> T:
    if holder.reason is None:
        return holder
    return structs.replace(holder, reason=_adapted_reason(holder.reason))


def _adapted_reason(why: ReasonDocument) -> ReasonDocument:
    if why.code in _NO_INDEX:
        return reason_document(reason("INDEX_IS_OFF", column=why.arguments["column"]))
    if why.code in _KEY_UNKNOWN:
        return structs.replace(why, fix=_SWITCH_ON)
    if why.fix is None or not why.fix.startswith(_BUILD_AND):
        return why
    fix = why.fix.replace(_BUILD, _SWITCH_ON).replace(_BUILD_AND, _SWITCH_ON)
    return structs.replace(why, fix=fix)
