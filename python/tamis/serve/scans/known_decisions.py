"""Decisions about scans, kept for further questions about the same scan.

One query asks several questions about a scan: its own, one for each join key, one about the columns
by which its files are clustered. All of them begin with the same decision. A later query with the
same filter begins with it, too.

    listing, indexes       filters, files to consider     decision
    those of a `derived`   the text of the request        kept files, outcomes

A decision depends on nothing else (`_key` names the exceptions): files of a listing and
generations of an index never change, and others have a mapping `derived` of their own
(`ScanInput`). What earlier scans have learnt is applied afterwards.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import msgspec

from tamis.expr.nodes import Evaluated, Expr, walk
from tamis.plan.scan_decision import ScanDecision
from tamis.tables.scan_input import ScanInput
from tamis.wire.scans import ScanRequest

__all__ = ["known_or"]

#: Decisions of one listing, of this many files at most: one takes a byte per file.
_MOST: Final = 32
_MOST_FILES: Final = 10_000
#: Bytes of a key.
_LONGEST: Final = 16_384

_Key: TypeAlias = bytes


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
    key = _key(request, conjuncts)
    if key is None:
        return decide()
    decisions = scan.derived.setdefault("decisions", _Decisions())
    assert isinstance(decisions, _Decisions)
    known = decisions.get(key)
    if known is None:
        known = decide()
        # An index that could not be read may be read the next time.
        if not scan.warnings:
            decisions.put(key, known)
    # The caller may change its flags.
    return replace(known, kept=known.kept.copy())


def _key(request: ScanRequest, conjuncts: Sequence[Expr]) -> _Key | None:
    """Return what a decision depends on besides `derived`; None if that is not all.

    The text of the filters and not their nodes, which are equal for 0.0 and -0.0. What a declared
    function returns, or a predicate that Spark has evaluated for some values, is not in the text.
    """
    if request.declarations or request.snapshot.files > _MOST_FILES:
        return None
    if any(isinstance(node, Evaluated) for each in conjuncts for node in walk(each)):
        return None
    table = request.table
    key = msgspec.json.encode(
        (request.conjuncts, request.among, table.partition_columns, table.case_sensitive)
    )
    return key if len(key) <= _LONGEST else None


class _Decisions:
    """The decisions that were needed last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, ScanDecision] = OrderedDict()

    def get(self, key: _Key) -> ScanDecision | None:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def put(self, key: _Key, decision: ScanDecision) -> None:
        with self._lock:
            self._known[key] = replace(decision, kept=decision.kept.copy())
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
