"""Implied ranges on the wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tamis.expr.nodes import Column, Evaluated, Expr
from tamis.expr.outcomes import Outcome, Outcomes
from tamis.expr.types import DATE
from tamis.plan.ranges import implied_ranges as plan
from tamis.serve.process.handler import Handler
from tamis.serve.scans.implied_ranges import found_ranges, ranges_of, ranges_of_residual
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.messages import VERSION, ConjunctAnswer, PlanRequest, read_request


def column(name: str, data_type: str) -> dict[str, Any]:
    return {"n": "col", "p": [name], "t": data_type}


def literal(value: object, data_type: str) -> dict[str, Any]:
    return {"n": "lit", "t": data_type, "v": value}


def call(name: str, data_type: str, *arguments: Any, **options: Any) -> dict[str, Any]:
    return {"n": "call", "f": name, "t": data_type, "a": list(arguments), "o": options}


def equal(left: Any, right: Any) -> dict[str, Any]:
    return call("EqualTo", "boolean", left, right)


IN_1995 = equal(call("Year", "integer", column("day", "date")), literal(1995, "integer"))
PRICE = call("Cast", "long", column("price", "decimal(9,2)"), evalMode="ANSI")
BEGINS = call("Substring", "string", column("s", "string"), literal(1, "integer"), literal(1, "integer"))  # fmt: skip


def answer_of(*conjuncts: Any) -> Any:
    request = {"version": VERSION, "id": "q1", "conjuncts": conjuncts}
    return json.loads(Handler().imply(json.dumps(request)))


def test_ranges_of_conjuncts() -> None:
    answer = answer_of(IN_1995, equal(BEGINS, literal("k", "string")))
    assert answer == {
        "id": "q1",
        "version": VERSION,
        "implied": [
            {
                "column": ["day"],
                "intervals": [{"lower": 9131, "upper": 9495, "upper_open": False}],
            },
            {"column": ["s"], "intervals": [{"lower": "k", "upper": "l", "upper_open": True}]},
        ],
    }


def test_decimals_are_sent_as_text() -> None:
    (implied,) = answer_of(equal(PRICE, literal(7, "long")))["implied"]
    assert implied["intervals"][-1] == {"lower": "7.00", "upper": "7.99", "upper_open": False}


@pytest.mark.parametrize("conjunct", [{"n": "?"}, None, 7, equal(column("n", "long"), literal(5, "long"))])  # fmt: skip
def test_conjunct_that_implies_no_range_is_left_out(conjunct: Any) -> None:
    assert answer_of(conjunct)["implied"] == []


@pytest.mark.parametrize("request_", ["", "{", '{"version": 2, "id": "q1"}', '{"version": 1}'])
def test_malformed_request_is_a_failure(request_: str) -> None:
    assert "error" in json.loads(Handler().imply(request_))


def request_of(partition: str) -> PlanRequest:
    document = {
        "version": VERSION,
        "id": "q1",
        "snapshot": {"fingerprint": "ab", "directory": "/d", "files": 1},
        "table": {"partition_columns": [{"name": partition, "type": "date"}]},
    }
    return read_request(json.dumps(document))


@pytest.mark.parametrize(
    ("pushdown", "partition", "count"),
    [("inexact", "p", 1), ("unsupported", "p", 1), ("exact", "p", 0), ("inexact", "day", 0)],
)
def test_ranges_of_a_scan_come_from_the_residual(pushdown: str, partition: str, count: int) -> None:
    conjuncts = decode_conjuncts([IN_1995])
    ranges = ranges_of_residual(
        request_of(partition), conjuncts, [ConjunctAnswer(pushdown)], found_ranges(conjuncts)
    )
    assert len(ranges) == count


def test_predicate_that_was_evaluated_implies_the_same_ranges() -> None:
    (ruled,) = decode_conjuncts([IN_1995])
    outcomes = Outcomes(DATE, np.array([], np.int64), np.array([], np.uint8), Outcome.NOT_EVALUATED)
    evaluated = Evaluated(ruled, Column(("day",), DATE), outcomes)
    assert found_ranges([evaluated]) == found_ranges([ruled]) != ()


def test_ranges_of_the_same_text_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[object] = []
    original = plan.implied_ranges

    def search(conjuncts: Sequence[Expr]) -> tuple[plan.ImpliedRange, ...]:
        searched.append(conjuncts)
        return original(conjuncts)

    monkeypatch.setattr(plan, "implied_ranges", search)

    def found(year: int, **fields: Any) -> tuple[plan.ImpliedRange, ...]:
        document = equal(IN_1995["a"][0], literal(year, "integer"))
        request = replace(request_of("p"), conjuncts=[document], **fields)
        return ranges_of(request, decode_conjuncts([document]))

    assert found(2019) == found(2019) != found(2018)
    assert len(searched) == 2
    for _ in range(2):
        assert found(2019, declarations=["declared"]) == found(2019)
    assert len(searched) == 4


def test_failure_does_not_affect_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(conjuncts: object) -> None:
        raise ValueError("boom")

    monkeypatch.setattr(plan, "implied_ranges", failing)
    assert found_ranges(decode_conjuncts([IN_1995])) == ()
