"""Deep expressions: supported depths do not overflow the stack, and deeper expressions are opaque."""

from __future__ import annotations

import sys
import threading
from functools import reduce
from typing import Any

import pytest

from tamis.expr.nodes import Opaque, walk
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.scan_decision import decide
from tamis.serve.scans.deep_recursion import DEEPEST, depth_of, with_room
from tamis.serve.scans.implied_ranges import found_ranges
from tamis.wire.catalyst import decode_conjuncts
from tests.cases.case import statistics_of
from tests.cases.comparison import l as number
from tests.serve.test_implied_ranges import call, column, equal, literal

X = column("l", "long")


def _less(document: Any, limit: int) -> Any:
    return call("LessThan", "boolean", document, literal(limit, "long"))


def _sum(levels: int) -> Any:
    added = reduce(lambda x, _: call("Add", "long", x, X, evalMode="ANSI"), range(levels), X)
    return _less(added, 1_000)


def _choice(levels: int) -> Any:
    one = literal(1, "long")
    chosen = reduce(
        lambda x, k: call("If", "long", equal(X, literal(k, "long")), one, x), range(levels), X
    )
    return _less(chosen, 5)


def _logic(levels: int) -> Any:
    def join(inner: Any, level: int) -> Any:
        name = "Or" if level % 2 else "And"
        return call(name, "boolean", _less(X, 5 + level % 3), inner)

    return reduce(join, range(levels), _less(X, 4))


def _negated(levels: int) -> Any:
    is_null = call("IsNull", "boolean", X)
    return reduce(
        lambda x, _: call("Not", "boolean", call("EqualNullSafe", "boolean", x, is_null)),
        range(levels),
        _less(X, 4),
    )


DEEP = {"sum": _sum(190), "choice": _choice(190), "logic": _logic(195), "negated": _negated(95)}
FILES = ArrowStatistics(statistics_of(number, [(0, 1, 2), (1_000, 1_001)]))


def _decided(document: Any) -> Any:
    def answer() -> Any:
        conjuncts = decode_conjuncts([document], DEEPEST)
        assert not any(isinstance(node, Opaque) for each in conjuncts for node in walk(each))
        found_ranges(conjuncts)
        return decide(conjuncts, [Segment(slice(0, 2), FILES)], 2, detail=True)

    return with_room(depth_of([document]), answer)


@pytest.mark.parametrize("name", DEEP)
def test_supported_depth_does_not_overflow(name: str) -> None:
    limit, before = sys.getrecursionlimit(), threading.stack_size()
    decision = _decided(DEEP[name])
    assert decision.kept.tolist() == [True, False]
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, before)


def test_deeper_expressions_are_opaque() -> None:
    (expr,) = decode_conjuncts([_sum(5_000)], DEEPEST)
    assert any(isinstance(node, Opaque) for node in walk(expr))


def test_exceptions_are_propagated() -> None:
    with pytest.raises(ZeroDivisionError):
        with_room(100, lambda: 1 // 0)
