"""Implied ranges as documents: for the residual of a scan, and for filters over other sources."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Final

from tamis.classification.pushdown import Pushdown
from tamis.expr.nodes import Column, Expr, walk
from tamis.expr.rewrites import without_outcomes
from tamis.plan.ranges import implied_ranges as plan
from tamis.plan.reader_losses import loses_within
from tamis.recent import Recent
from tamis.serve.scans.deep_recursion import DEEPEST, depth_of, with_room
from tamis.serve.scans.request_text import text_of
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.constants import optional
from tamis.wire.messages import (
    ConjunctAnswer,
    ImpliedAnswer,
    ImpliedInterval,
    ImpliedRange,
    PlanRequest,
    read_implied_request,
    write_answer,
)
from tamis.wire.scans import ScanRequest

__all__ = ["found_ranges", "imply", "ranges_of", "ranges_of_residual"]


def imply(text: str) -> str:
    """Answer an ImpliedRequest.

    Raises:
        TamisError: The request cannot be read.
    """
    request = read_implied_request(text)
    ranges = with_room(
        depth_of(request.conjuncts),
        lambda: plan.implied_ranges(decode_conjuncts(request.conjuncts, DEEPEST)),
    )
    documents = [_document(each) for each in ranges if _is_safe_for_readers(each)]
    return write_answer(ImpliedAnswer(request.id, documents))


def ranges_of(request: ScanRequest, conjuncts: Sequence[Expr]) -> tuple[plan.ImpliedRange, ...]:
    """Return the ranges that all conjuncts of a scan together imply. Never raises.

    A search takes milliseconds, and every question about a scan needs its ranges. They follow from
    the text of the conjuncts, unless a declared function is in it, which may be declared anew.
    """
    text = None if request.declarations else text_of(request.conjuncts)
    return _known.get_or(text, lambda: found_ranges(conjuncts))


_known: Final = Recent[tuple[plan.ImpliedRange, ...]](256)


def found_ranges(conjuncts: Sequence[Expr]) -> tuple[plan.ImpliedRange, ...]:
    """Return the ranges that all conjuncts together imply. Never raises."""
    try:
        # what a predicate is for some values implies nothing about the others
        return plan.implied_ranges([without_outcomes(each) for each in conjuncts])
    except Exception:  # implied ranges are optional, and must not fail the decision
        traceback.print_exc(file=sys.stderr)
        return ()


def ranges_of_residual(
    request: PlanRequest,
    conjuncts: Sequence[Expr],
    answers: Sequence[ConjunctAnswer],
    ranges: Sequence[plan.ImpliedRange],
) -> list[ImpliedRange]:
    """Return the implied ranges that the reader can use.

    These are ranges of columns that the residual names and that are in the files.
    """
    residual = [
        each
        for each, answer in zip(conjuncts, answers, strict=True)
        if answer.pushdown != Pushdown.EXACT
    ]
    named = {node.path for each in residual for node in walk(each) if isinstance(node, Column)}
    partitions = {column.name for column in request.table.partition_columns}
    return [
        _document(each)
        for each in ranges
        if each.column.path in named
        and each.column.path[0] not in partitions
        and _is_safe_for_readers(each)
    ]


def _is_safe_for_readers(implied: plan.ImpliedRange) -> bool:
    """Return whether a Parquet reader with this range as a filter keeps every row in the range."""
    data_type = implied.column.type
    return not any(
        loses_within(each.lower, each.upper, data_type, each.upper_open)
        for each in implied.intervals
    )


def _document(implied: plan.ImpliedRange) -> ImpliedRange:
    intervals = [
        ImpliedInterval(optional(each.lower), optional(each.upper), each.upper_open)
        for each in implied.intervals
    ]
    return ImpliedRange(list(implied.column.path), intervals)
