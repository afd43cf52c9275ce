"""One request, one answer: read it, find the statistics, decide, write down what was decided."""

from __future__ import annotations

import time

from tamis.index.memory import give_back
from tamis.plan.scan import ScanDecision, decide
from tamis.reasons import Reason
from tamis.tables.parquet import ScanInput, open_scan
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.kept import encode_kept
from tamis.wire.messages import (
    ConjunctAnswer,
    PlanAnswer,
    PlanRequest,
    ReasonDocument,
    read_request,
    write_answer,
)

#: A planning that took longer, in seconds, read or gathered much.
_LONG = 0.02


def plan(text: str) -> str:
    """Plan one scan. Raises TamisError for a request that cannot be read."""
    started = time.perf_counter()
    request = read_request(text)
    found = open_scan(request)
    decision = decide(
        decode_conjuncts(request.conjuncts),
        found.segments,
        request.snapshot.files,
        detail=request.detail,
    )
    seconds = time.perf_counter() - started
    answer = write_answer(_answer(request, found, decision, seconds))
    if seconds > _LONG:
        give_back()
    return answer


def _answer(
    request: PlanRequest, found: ScanInput, decision: ScanDecision, seconds: float
) -> PlanAnswer:
    return PlanAnswer(
        id=request.id,
        fingerprint=request.snapshot.fingerprint,
        files=request.snapshot.files,
        kept=encode_kept(decision.kept),
        kept_records=found.records(decision.kept),
        total_records=found.total_records,
        conjuncts=[
            ConjunctAnswer(str(c.pushdown), _reason(c.reason), c.pruned_files)
            for c in decision.conjuncts
        ],
        warnings=list(found.warnings),
        milliseconds=seconds * 1000,
    )


def _reason(reason: Reason | None) -> ReasonDocument | None:
    if reason is None:
        return None
    return ReasonDocument(reason.code, dict(reason.arguments), reason.text, reason.fix)
