"""Adapts the fixes of an answer to tables that have no index: those of Iceberg."""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import structs

from tamis.wire.goals import NothingAnswer
from tamis.wire.messages import ConjunctAnswer, PlanAnswer

__all__ = ["without_index"]

T = TypeVar("T", bound=ConjunctAnswer | NothingAnswer)

_INDEX: Final = "tamis.index("
#: Between what a user can do to the table, and what an index can record.
_OR_RECORD: Final = ", or record"


def without_index(answer: PlanAnswer) -> PlanAnswer:
    """Return the answer without advice to build an index or to record something in it."""
    goal = answer.goal
    if isinstance(goal, NothingAnswer):
        goal = _advised(goal)
    return structs.replace(
        answer, conjuncts=[_advised(each) for each in answer.conjuncts], goal=goal
    )


def _advised(holder: T) -> T:
    why = holder.reason
    if why is None or why.fix is None or _INDEX not in why.fix:
        return holder
    before = why.fix.partition(_OR_RECORD)[0]
    fix = None if _INDEX in before else before
    return structs.replace(holder, reason=structs.replace(why, fix=fix))
