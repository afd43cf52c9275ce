"""Inserts the table into the fixes of an answer, so that they can be pasted unchanged."""

from __future__ import annotations

import json
from typing import TypeVar
from urllib.parse import unquote

from msgspec import structs

from tamis.reasons import for_table
from tamis.tables.scan_input import ScanInput
from tamis.wire.goals import NothingAnswer
from tamis.wire.messages import ConjunctAnswer, PlanAnswer, PlanRequest

__all__ = ["located", "target_of"]

T = TypeVar("T", bound=ConjunctAnswer | NothingAnswer)


def located(answer: PlanAnswer, request: PlanRequest, scan: ScanInput) -> PlanAnswer:
    """Return the answer with the table or path of the scan in its fixes."""
    target = target_of(request, scan)
    if target is None:
        return answer
    goal = answer.goal
    if isinstance(goal, NothingAnswer):
        goal = _located(goal, target)
    return structs.replace(
        answer, conjuncts=[_located(each, target) for each in answer.conjuncts], goal=goal
    )


def target_of(request: PlanRequest, scan: ScanInput) -> str | None:
    """Return the arguments of `tamis.index(spark, …)` for the table of a scan, as Python source.

    Returns None if the scan reads several directories, which do not share an index.
    """
    table = request.table
    # The shim names a relation that is not a catalog table by its format and path.
    if table.name and not any(unquote(root) in table.name for root in table.roots):
        return json.dumps(table.name, ensure_ascii=False)
    if len(scan.tables) != 1:
        return None
    (directory,) = scan.tables
    # Spark expects a plain path, not a URL-encoded one.
    path = json.dumps(unquote(directory), ensure_ascii=False)
    return path if request.reading is None else f"{path}, reader=…"


def _located(holder: T, target: str) -> T:
    why = holder.reason
    if why is None or why.fix is None:
        return holder
    return structs.replace(holder, reason=structs.replace(why, fix=for_table(why.fix, target)))
