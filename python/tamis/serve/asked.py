"""The scan that a goal is about, and how "nothing" is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tamis.expr.nodes import Expr
from tamis.plan.scan import ScanDecision
from tamis.reasons import Argument, Reason, reason
from tamis.tables.parquet import ScanInput
from tamis.wire.goals import NothingAnswer, ReasonDocument

__all__ = ["Asked", "nothing", "reason_document"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The scan that a goal is about, decided."""

    found: ScanInput
    conjuncts: Sequence[Expr]
    decision: ScanDecision


def nothing(code: str, **arguments: Argument) -> NothingAnswer:
    """The goal changes nothing, for that reason."""
    return NothingAnswer(reason_document(reason(code, **arguments)))


def reason_document(why: Reason) -> ReasonDocument:
    """A reason as it travels."""
    return ReasonDocument(why.code, dict(why.arguments), why.text, why.fix)
