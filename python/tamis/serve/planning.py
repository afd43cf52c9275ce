"""Answering a question: read the request, find the statistics, decide, write the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
from msgspec import structs

from tamis.classification.pushdown import Pushdown
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.expr.nodes import Expr
from tamis.expr.sql import to_sql
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.reader_options import FILTER_PUSHDOWN, Reading, loses_rows_to, reading_of
from tamis.plan.detail.reason_detail import better_reason
from tamis.plan.ranges.implied_ranges import ImpliedRange
from tamis.plan.row_groups import RowGroupDecision, decide_row_groups
from tamis.plan.scan_decision import Outcome, ScanDecision
from tamis.reasons import reason
from tamis.serve.detail.effects import with_effects
from tamis.serve.detail.index_off import with_index_off
from tamis.serve.detail.table_fixes import located
from tamis.serve.detail.wanted_values import with_wanted
from tamis.serve.goals.answers import answer_goal, reason_document
from tamis.serve.remembered import RememberedRows
from tamis.serve.scans.deep_recursion import depth_of, with_room
from tamis.serve.scans.implied_ranges import ranges_of, ranges_of_residual
from tamis.serve.scans.scan_files import decide_files, read_conjuncts
from tamis.serve.scans.value_outcomes import learn_outcomes
from tamis.tables.parquet import index_files, open_scan
from tamis.tables.row_groups import counted, grouped_files
from tamis.tables.scan_input import ScanInput
from tamis.wire.catalyst import Evaluable
from tamis.wire.goals import FactsGoal, JoinGoal
from tamis.wire.kept import encode_kept, encode_row_groups
from tamis.wire.messages import (
    ConjunctAnswer,
    PlanAnswer,
    PlanRequest,
    PlansAnswer,
    Warning_,
    read_plans_request,
    read_request,
    write_answer,
)

#: Seconds of planning after which memory is returned: longer planning allocates much.
_LONG = 0.02
#: The fix if Spark's reader may lose rows to a pushed filter, with a place for its conf.
_WITHOUT_PUSHDOWN = "SET {} = false, rebuild the index with this setting, and keep it for queries"


def plan(question: str) -> str:
    """Plan one scan.

    Raises:
        TamisError: The request cannot be read.
    """
    started = time.perf_counter()
    request = read_request(question)
    text = with_room(_depth(request), lambda: _plan(request, started))
    if time.perf_counter() - started > _LONG:
        release_unused_memory()
    return text


def plan_all(text: str, answer: Callable[[str], str]) -> str:
    """Answer several questions, one after the other.

    Args:
        text: A PlansRequest.
        answer: Answers one question. Never raises.

    Raises:
        TamisError: The request cannot be read.
    """
    request = read_plans_request(text)
    answers = [msgspec.Raw(answer(bytes(each).decode()).encode()) for each in request.questions]
    return write_answer(PlansAnswer(request.id, answers))


def _depth(request: PlanRequest) -> int:
    sources = request.goal.sources if isinstance(request.goal, JoinGoal) else ()
    return depth_of([*request.conjuncts, *(each.scan.conjuncts for each in sources)])


def _plan(request: PlanRequest, started: float) -> str:
    scan = open_scan(request)
    opened = time.perf_counter()
    guard = UdfGuard()
    learn_outcomes(request)
    evaluables: list[Evaluable] = []
    conjuncts = read_conjuncts(request, guard, evaluables)
    implied = ranges_of(request, conjuncts)
    # facts are about all files, and the query may need only some of them
    indexes = request.index.automatic is not None and not isinstance(request.goal, FactsGoal)
    if indexes and not scan.is_indexed:
        kept = decide_files(request, scan, conjuncts, implied, detail=False).kept
        if index_files(request, scan, kept):
            scan = open_scan(request)
    decided = _decided(request, scan, conjuncts, implied)
    decided = with_wanted(decided, request, scan, evaluables)
    outcomes = with_effects(decided.conjuncts, request, scan, conjuncts)
    answer = structs.replace(
        decided,
        conjuncts=outcomes,
        opening_milliseconds=(opened - started) * 1000,
        implied=ranges_of_residual(request, conjuncts, decided.conjuncts, implied),
        warnings=[
            *scan.warnings,
            *(Warning_(code, text) for code, text in guard.warnings.items()),
        ],
    )
    if not request.index.enabled:
        answer = with_index_off(answer)
    answer = located(answer, request, scan)
    seconds = time.perf_counter() - started
    return write_answer(structs.replace(answer, milliseconds=seconds * 1000))


def _decided(
    request: PlanRequest,
    scan: ScanInput,
    conjuncts: Sequence[Expr],
    implied: Sequence[ImpliedRange],
) -> PlanAnswer:
    files = decide_files(request, scan, conjuncts, implied, detail=request.detail)
    if request.detail:
        files = _with_better_reasons(files, scan, conjuncts)
    decision, remembered = None, 0
    if request.reading is not None:
        return _of_rows(request, reading_of(request.reading), scan, conjuncts, files)
    if request.row_groups:
        grouped = grouped_files(scan, files.kept)
        consequences = [each.predicate for each in implied]
        rows = RememberedRows(request)
        decision = decide_row_groups(
            conjuncts, files, scan.segments, grouped, consequences, rows.ranges
        )
        if decision is not None:
            remembered = rows.count(decision.remembered)
    if decision is None:
        answer = _answer(request, scan, files, scan.records(files.kept))
        return structs.replace(answer, goal=answer_goal(request, scan, conjuncts, files))
    return _with_row_groups(request, scan, files, decision, remembered)


def _with_better_reasons(
    files: ScanDecision, scan: ScanInput, conjuncts: Sequence[Expr]
) -> ScanDecision:
    outcomes = tuple(
        replace(each, reason=better_reason(conjunct, each.reason, scan.segments, len(files.kept)))
        for conjunct, each in zip(conjuncts, files.conjuncts, strict=True)
    )
    return replace(files, conjuncts=outcomes)


def _of_rows(
    request: PlanRequest,
    reading: Reading,
    scan: ScanInput,
    conjuncts: Sequence[Expr],
    files: ScanDecision,
) -> PlanAnswer:
    """Return the answer for files that are not Parquet, which are read whole."""
    losing = [loses_rows_to(reading, conjunct) for conjunct in conjuncts]
    if not any(losing):
        answer = _answer(request, scan, files, scan.records(files.kept))
        return structs.replace(answer, goal=answer_goal(request, scan, conjuncts, files))
    # Spark's reader returns fewer matching rows than statistics count. So the filter stays, and no
    # goal is answered.
    weaker = tuple(
        replace(
            each,
            pushdown=Pushdown.INEXACT,
            reason=reason(
                "READER_LOSES_ROWS",
                predicate=to_sql(conjunct),
                format=reading.format.upper(),
                then=_WITHOUT_PUSHDOWN.format(FILTER_PUSHDOWN[reading.format]),
            ),
        )
        if each.pushdown is Pushdown.EXACT and is_losing
        else each
        for conjunct, each, is_losing in zip(conjuncts, files.conjuncts, losing, strict=True)
    )
    return _answer(request, scan, replace(files, conjuncts=weaker), scan.records(files.kept))


def _answer(
    request: PlanRequest, scan: ScanInput, decision: ScanDecision, records: int | None
) -> PlanAnswer:
    return PlanAnswer(
        id=request.id,
        fingerprint=request.snapshot.fingerprint,
        files=request.snapshot.files,
        kept=encode_kept(decision.kept),
        kept_records=records,
        total_records=scan.total_records,
        conjuncts=[_conjunct(each) for each in decision.conjuncts],
        remembered_files=decision.remembered,
    )


def _with_row_groups(
    request: PlanRequest,
    scan: ScanInput,
    files: ScanDecision,
    decision: RowGroupDecision,
    remembered: int,
) -> PlanAnswer:
    whole = decision.scan.kept.copy()
    whole[decision.ranges.files] = False
    records = scan.records(whole)
    if records is not None:
        records = None if decision.records is None else records + decision.records
    groups = counted(scan, files.kept)
    return structs.replace(
        _answer(request, scan, decision.scan, records),
        row_groups=encode_row_groups(
            decision.ranges.files,
            decision.ranges.starts,
            decision.ranges.lengths,
            kept=None if groups is None else groups.kept - decision.dropped,
            total=None if groups is None else groups.total,
            remembered=remembered,
        ),
    )


def _conjunct(outcome: Outcome) -> ConjunctAnswer:
    why = None if outcome.reason is None else reason_document(outcome.reason)
    return ConjunctAnswer(str(outcome.pushdown), why, outcome.pruned_files, outcome.is_remembered)
