"""The first steps of every question about a scan: read its filters and decide its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.udf.declared_calls import bind
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.expr.nodes import Expr
from tamis.expr.rewrites import simplify
from tamis.plan.passing_rows import LearntValues, passing_segments
from tamis.plan.ranges.implied_ranges import ImpliedRange
from tamis.plan.scan_decision import ScanDecision, decide, kept_files, with_known_true
from tamis.serve.remembered import LearntRows, known_true, without_remembered
from tamis.serve.scans.declarations import in_force
from tamis.serve.scans.deep_recursion import DEEPEST
from tamis.serve.scans.known_decisions import known_or
from tamis.serve.scans.value_outcomes import resolved
from tamis.tables.scan_input import ScanInput
from tamis.wire.catalyst import Evaluable, decode_conjuncts
from tamis.wire.kept import decode_kept
from tamis.wire.scans import ScanRequest

__all__ = ["decide_files", "read_conjuncts", "with_learnt"]


def read_conjuncts(
    request: ScanRequest, guard: UdfGuard, evaluables: list[Evaluable] | None = None
) -> list[Expr]:
    """Return the filters of a scan, with what is known of their values, and the declared functions
    of the session.

    Args:
        request: The scan.
        guard: Limits the time of declared functions.
        evaluables: Receives the predicates that Spark can evaluate for single values.
    """

    def resolve(evaluable: Evaluable) -> Expr:
        if evaluables is not None:
            evaluables.append(evaluable)
        return resolved(evaluable)

    # Simplified once here, so that little is left to do later: thousands of equalities become one
    # list.
    decoded = decode_conjuncts(request.conjuncts, DEEPEST, resolve)
    conjuncts = [simplify(each) for each in decoded]
    if not request.declarations:
        return conjuncts
    declared = in_force(request.declarations, Path(request.snapshot.directory), guard)
    return [bind(each, declared, guard) for each in conjuncts]


def decide_files(
    request: ScanRequest,
    scan: ScanInput,
    conjuncts: Sequence[Expr],
    implied: Sequence[ImpliedRange],
    *,
    detail: bool = False,
) -> ScanDecision:
    """Decide which files a scan needs.

    Args:
        request: The scan.
        scan: The same scan, opened.
        conjuncts: Its filters.
        implied: Ranges that the filters imply together.
        detail: Also count the files that each filter rules out alone.
    """
    files = request.snapshot.files
    among = None if request.among is None else decode_kept(request.among, files)
    consequences = [each.predicate for each in implied]

    def decision_of() -> ScanDecision:
        return decide(conjuncts, scan.segments, files, detail, consequences, among)

    decision = decision_of() if detail else known_or(request, scan, conjuncts, decision_of)
    learnt = LearntRows(request)
    left = without_remembered(request, decision.kept)
    left = learnt.narrowed(left, with_learnt(scan, conjuncts, consequences))
    if not np.array_equal(left, decision.kept):
        # Once more for the files that are left: a conjunct may be true for every row of these.
        again = decide(conjuncts, scan.segments, files, detail, consequences, left)
        decision = replace(again, remembered=int(np.count_nonzero(decision.kept & ~left)))
    decision = replace(decision, learnt=learnt.values)
    return with_known_true(
        decision, conjuncts, scan.segments, known_true(request, scan.num_records)
    )


def with_learnt(
    scan: ScanInput, conjuncts: Sequence[Expr], consequences: Sequence[Expr]
) -> Callable[[LearntValues, Flags], Flags]:
    """Return a function that decides which of some files can hold a row that passes.

    It is given what an earlier scan has found of the rows that pass some of the conjuncts.
    """

    def kept(learnt: LearntValues, among: Flags) -> Flags:
        segments = passing_segments((), scan.segments, (learnt,))
        return kept_files(conjuncts, segments, len(among), consequences, among)

    return kept
