"""The answer to the goal of an order: whether the rows of each task are sorted."""

from __future__ import annotations

import json

import numpy as np

from tamis.expr.nodes import Column, Expr
from tamis.expr.sql import to_sql
from tamis.indexing.format.row_orders import SortColumn, order_name
from tamis.plan.goals.file_order import in_order, sortedness
from tamis.serve.goals.goal_context import GoalContext, nothing
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.goals import GoalAnswer, OrderedAnswer, OrderGoal
from tamis.wire.kept import encode_kept

__all__ = ["answer_order"]


def answer_order(goal: OrderGoal, context: GoalContext) -> GoalAnswer:
    """Return the order in which tasks have to read the files, or why their rows are not sorted."""
    keys, kept, scan = decode_conjuncts(goal.keys), context.decision.kept, context.scan
    columns = [key for key in keys if isinstance(key, Column) and len(key.path) == 1]
    if len(columns) < len(keys):
        return nothing("ORDER_NOT_RECORDED", **_described(keys, goal.descending))
    found = sortedness(columns, goal.descending, scan.segments, len(kept))
    if not found.known[kept].any():
        return nothing("ORDER_NOT_RECORDED", **_described(keys, goal.descending))
    unsorted = int((kept & ~found.sorted).sum())
    if unsorted:
        return nothing(
            "FILES_NOT_SORTED",
            columns=_described(keys, goal.descending)["columns"],
            files=unsorted,
            total=int(kept.sum()),
        )
    tasks = np.array(goal.tasks, np.int64)[scan.directories]
    places = in_order(columns, goal.descending, scan.segments, kept & ~found.empty, tasks)
    if places is None:
        return nothing("SORTED_FILES_OVERLAP", column=".".join(columns[0].path))
    chosen = places[kept]
    return OrderedAnswer(encode_kept(kept), chosen.tolist() if chosen.any() else [])


def _described(keys: list[Expr], descending: list[bool]) -> dict[str, str]:
    """Return the order as text, and as the argument of `sorted_by=`."""
    names = [
        order_name([SortColumn(tuple(key.path), "", down)])
        if isinstance(key, Column)
        else to_sql(key)
        for key, down in zip(keys, descending, strict=True)
    ]
    return {"columns": ", ".join(names), "listed": json.dumps(names, ensure_ascii=False)}
