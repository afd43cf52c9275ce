"""One request, one answer: read it, find the statistics, decide, write down what was decided."""

from __future__ import annotations

import time
from pathlib import Path

from tamis.evaluate.declared import bind
from tamis.evaluate.watch import Watch
from tamis.plan.scan import ScanDecision, decide
from tamis.reasons import Reason
from tamis.serve.declarations import in_force
from tamis.tables.parquet import ScanInput, open_scan
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.kept import encode_kept
from tamis.wire.messages import (
    ConjunctAnswer,
    PlanAnswer,
    PlanRequest,
    ReasonDocument,
    Warning_,
    read_request,
    write_answer,
)


def plan(text: str) -> str:
    """Plan one scan. Raises TamisError for a request that cannot be read."""
    started = time.perf_counter()
    request = read_request(text)
    found = open_scan(request)
    watch = Watch()
    declared = in_force(request.declarations, Path(request.snapshot.directory), watch)
    decision = decide(
        [bind(each, declared, watch) for each in decode_conjuncts(request.conjuncts)],
        found.segments,
        request.snapshot.files,
        detail=request.detail,
    )
    warnings = [Warning_(code, text) for code, text in watch.warnings.items()]
    elapsed = time.perf_counter() - started
    return write_answer(_answer(request, found, decision, warnings, elapsed))


def _answer(
    request: PlanRequest,
    found: ScanInput,
    decision: ScanDecision,
    warnings: list[Warning_],
    seconds: float,
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
        warnings=[*found.warnings, *warnings],
        milliseconds=seconds * 1000,
    )


def _reason(reason: Reason | None) -> ReasonDocument | None:
    if reason is None:
        return None
    return ReasonDocument(reason.code, dict(reason.arguments), reason.text, reason.fix)
