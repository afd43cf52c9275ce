"""Names the table in the fixes of an answer, so that they can be pasted as they are."""

from __future__ import annotations

import json
from typing import TypeVar
from urllib.parse import unquote

from msgspec import structs

from tamis.reasons import for_table
from tamis.tables.parquet import ScanInput
from tamis.wire.goals import NothingAnswer
from tamis.wire.messages import ConjunctAnswer, PlanAnswer, PlanRequest

__all__ = ["located", "target_of"]

T = TypeVar("T", bound=ConjunctAnswer | NothingAnswer)


def located(answer: PlanAnswer, request: PlanRequest, found: ScanInput) -> PlanAnswer:
    """The same answer, with the table or path of the scan in its fixes."""
    target = target_of(request, found)
    if target is None:
        return answer
    goal = answer.goal
    if isinstance(goal, NothingAnswer):
        goal = _located(goal, target)
    return structs.replace(
        answer, conjuncts=[_located(each, target) for each in answer.conjuncts], goal=goal
    )


def target_of(request: PlanRequest, found: ScanInput) -> str | None:
    """What `tamis.index(spark, …)` takes for the table of a scan, as Python source.

    None: several directories are read, which have no index in common.
    """
    table = request.table
    # The shim names what is not a table of a catalog by its format and path.
    if table.name and not any(unquote(root) in table.name for root in table.roots):
        return json.dumps(table.name, ensure_ascii=False)
    if len(found.tables) != 1:
        return None
    (directory,) = found.tables
    # Spark takes a path as it is, and not URL-encoded.
    path = json.dumps(unquote(directory), ensure_ascii=False)
    return path if request.reading is None else f"{path}, reader=…"


def _located(holder: T, target: str) -> T:
    why = holder.reason
    if why is None or why.fix is None:
        return holder
    return structs.replace(holder, reason=structs.replace(why, fix=for_table(why.fix, target)))
