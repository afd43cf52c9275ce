"""The scan that a goal refers to, and the answer that a goal changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tamis.expr.nodes import Expr
from tamis.plan.scan_decision import ScanDecision
from tamis.reasons import Argument, Reason, reason
from tamis.tables.scan_input import ScanInput
from tamis.wire.goals import NothingAnswer, ReasonDocument

__all__ = ["GoalContext", "nothing", "reason_document"]


@dataclass(frozen=True, slots=True, eq=False)
class GoalContext:
    """The scan that a goal refers to, and what was decided for it."""

    scan: ScanInput
    conjuncts: Sequence[Expr]
    decision: ScanDecision


def nothing(code: str, **arguments: Argument) -> NothingAnswer:
    """Return the answer that the goal changes nothing, with its reason."""
    return NothingAnswer(reason_document(reason(code, **arguments)))


def reason_document(why: Reason) -> ReasonDocument:
    """Return the document of a reason."""
    return ReasonDocument(why.code, dict(why.arguments), why.text, why.fix)
