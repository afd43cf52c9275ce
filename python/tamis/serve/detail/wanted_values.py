"""The values that are worth evaluating after a first answer."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from tamis.classification.pushdown import Pushdown
from tamis.expr.sql import to_sql
from tamis.files.table import dotted
from tamis.plan.value_pool import TooMany, rules_decide, value_pool
from tamis.reasons import reason
from tamis.serve.goals.goal_context import reason_document
from tamis.serve.scans.value_outcomes import unknown_values, write_values
from tamis.tables.scan_input import ScanInput
from tamis.wire.catalyst import Evaluable
from tamis.wire.kept import decode_kept
from tamis.wire.messages import ConjunctAnswer, PlanAnswer, PlanRequest, WantedValues

__all__ = ["with_wanted"]


def with_wanted(
    answer: PlanAnswer, request: PlanRequest, scan: ScanInput, evaluables: Sequence[Evaluable]
) -> PlanAnswer:
    """Return the answer with the values for which predicates would decide more of the kept files.

    Raises:
        OSError: The values cannot be written.
    """
    if not request.most_values or not evaluables:
        return answer
    kept = decode_kept(answer.kept, request.snapshot.files)
    outcomes, wanted = list(answer.conjuncts), dict[str, WantedValues]()
    for each in evaluables:
        if outcomes[each.document].pushdown == Pushdown.EXACT or not kept.any():
            continue
        ranges = not rules_decide(each.predicate)
        pool = value_pool(each.column, scan.segments, kept, request.most_values, ranges)
        if isinstance(pool, TooMany):
            outcomes[each.document] = _too_many(outcomes[each.document], each, request.most_values)
        elif pool is not None and not request.outcomes and each.key not in wanted:
            # In the second question, what is not known yet could not be evaluated.
            values = unknown_values(each, pool)
            if len(values):
                write_values(values, each.column.type, request, len(wanted))
                wanted[each.key] = WantedValues(each.key, len(values))
    return structs.replace(answer, conjuncts=outcomes, wanted=list(wanted.values()))


def _too_many(outcome: ConjunctAnswer, evaluable: Evaluable, most: int) -> ConjunctAnswer:
    why = reason(
        "TOO_MANY_VALUES",
        predicate=to_sql(evaluable.predicate),
        column=dotted(evaluable.column.path),
        most=most,
    )
    return structs.replace(outcome, reason=reason_document(why))
