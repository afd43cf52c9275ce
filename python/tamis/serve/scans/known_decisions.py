"""Decisions about scans, kept for further questions about the same scan.

One query asks several questions about a scan: its own, one for each join key, one about the columns
by which its files are clustered. All of them begin with the same decision. A later query with the
same filter begins with it, too.

    listing, indexes       filters, files to consider     decision
    those of a `derived`   the text of the request        kept files, outcomes

A decision depends on nothing else (`_text` names the exceptions): files of a listing and
generations of an index never change, and others have a mapping `derived` of their own
(`ScanInput`). What earlier scans have learnt is applied afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from tamis.expr.nodes import Evaluated, Expr, walk
from tamis.plan.scan_decision import ScanDecision
from tamis.recent import Recent
from tamis.serve.scans.request_text import text_of
from tamis.tables.scan_input import ScanInput
from tamis.wire.scans import ScanRequest

__all__ = ["known_or"]

#: Decisions of one listing, of this many files at most: one takes a byte per file.
_MOST: Final = 32
_MOST_FILES: Final = 10_000


def known_or(
    request: ScanRequest,
    scan: ScanInput,
    conjuncts: Sequence[Expr],
    decide: Callable[[], ScanDecision],
) -> ScanDecision:
    """Return the decision about a scan: one that is known, or what `decide` returns.

    Args:
        request: The scan.
        scan: The same scan, opened.
        conjuncts: Its filters, decoded.
        decide: Decides the scan by `request` and `scan` alone.
    """
    decisions = scan.derived.setdefault("decisions", Recent[ScanDecision](_MOST))
    assert isinstance(decisions, Recent)
    # An index that could not be read may be read the next time.
    known: ScanDecision = decisions.get_or(
        _text(request, conjuncts), decide, lambda: not scan.warnings
    )
    # The caller may change its flags.
    return replace(known, kept=known.kept.copy())


def _text(request: ScanRequest, conjuncts: Sequence[Expr]) -> bytes | None:
    """Return what a decision depends on besides `derived`; None if that is not all.

    What a declared function returns, or a predicate that Spark has evaluated for some values, is
    not in the text.
    """
    if request.declarations or request.snapshot.files > _MOST_FILES:
        return None
    if any(isinstance(node, Evaluated) for each in conjuncts for node in walk(each)):
        return None
    table = request.table
    return text_of(
        (request.conjuncts, request.among, table.partition_columns, table.case_sensitive)
    )
