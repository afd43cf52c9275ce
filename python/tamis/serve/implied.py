"""Implied ranges on the wire: of the residual of a scan, and of a filter over any other source."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from decimal import Decimal

from tamis.classify.pushdown import Pushdown
from tamis.expr.nodes import Expr, Value
from tamis.plan import implied as plan
from tamis.plan.scan import ScanDecision
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.messages import (
    ImpliedAnswer,
    ImpliedInterval,
    ImpliedRange,
    PlanRequest,
    read_implied_request,
    write_answer,
)

__all__ = ["imply", "residual_ranges"]


def imply(text: str) -> str:
    """Answer an ImpliedRequest. Raises TamisError for one that cannot be read."""
    request = read_implied_request(text)
    ranges = plan.implied_ranges(decode_conjuncts(request.conjuncts))
    return write_answer(ImpliedAnswer(request.id, [_document(each) for each in ranges]))


def residual_ranges(
    request: PlanRequest, conjuncts: Sequence[Expr], decision: ScanDecision
) -> list[ImpliedRange]:
    """What the conjuncts that Spark applies again imply of the columns that are in the files."""
    outcomes = zip(conjuncts, decision.conjuncts, strict=True)
    residual = [each for each, outcome in outcomes if outcome.pushdown is not Pushdown.EXACT]
    partitions = {column.name for column in request.table.partition_columns}
    try:
        ranges = plan.implied_ranges(residual)
    except Exception:  # an extra is no reason to lose the decision
        traceback.print_exc(file=sys.stderr)
        return []
    return [_document(each) for each in ranges if each.column.path[0] not in partitions]


def _document(found: plan.ImpliedRange) -> ImpliedRange:
    intervals = [
        ImpliedInterval(_constant(each.lower), _constant(each.upper), each.upper_open)
        for each in found.intervals
    ]
    return ImpliedRange(list(found.column.path), intervals)


def _constant(value: Value) -> int | str | None:
    """As expression documents write constants of the types that have ranges."""
    if isinstance(value, Decimal):
        return format(value, "f")
    assert value is None or isinstance(value, int | str)
    return value
