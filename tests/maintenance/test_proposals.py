"""Which statistics the history proposes."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, In, Literal, Not, Opaque
from tamis.expr.types import STRING
from tamis.maintenance.proposals import proposals
from tests.report.histories import conjunct, scan

MB = 1_000_000
NAME = Column(("s", "name"), STRING)
REVERSED = Call("Reverse", (NAME,), (), STRING, key="reverse(s.name)")
FOREIGN = Opaque("foreign(s.name)", (("s", "name"),), key="another key")
KEYLESS = Opaque("rand(s.name)", (("s", "name"),))
A = Literal("a", STRING)

EQUAL, LESS = Comparison.EQUAL, Comparison.LESS
PREDICATES: dict[str, Expr] = {
    "reverse(s.name) = 'a'": Compare(EQUAL, REVERSED, A),
    "'a' <=> reverse(s.name)": Compare(Comparison.NULL_SAFE_EQUAL, A, REVERSED),
    "reverse(s.name) IN ('a')": In(REVERSED, ("a",)),
    "reverse(s.name) < 'a'": Compare(LESS, REVERSED, A),
    "NOT (reverse(s.name) = 'a')": Not(Compare(EQUAL, REVERSED, A)),
    "reverse(s.name) = s.name": Compare(EQUAL, REVERSED, NAME),
    "reverse(s.name) = reverse(s.name)": Compare(EQUAL, REVERSED, REVERSED),
    "s.name = 'a'": Compare(EQUAL, NAME, A),
    "foreign(s.name) = 'a'": Compare(EQUAL, FOREIGN, A),
    "rand(s.name) = 'a'": Compare(EQUAL, KEYLESS, A),
}


class Table:
    """The part of a TableReader that parses."""

    def __init__(self) -> None:
        self.parsed: list[str] = []

    def parse(self, sql: str) -> Expr | None:
        self.parsed.append(sql)
        return PREDICATES.get(sql)

    def expression_key(self, sql: str) -> str | None:
        return "reverse(s.name)" if sql == "reverse(s.name)" else None


def proposed(*scans: dict[str, Any]) -> list[tuple[str, str, int]]:
    found = proposals(scans, Table())  # type: ignore[arg-type]
    return [(each.kind, each.name, each.scans) for each in found]


def test_columns_by_their_reasons() -> None:
    def of(column: str, reason: str) -> dict[str, Any]:
        return conjunct(f"({column} = 1L)", [column], reason=reason)

    assert proposed(
        scan(0, conjuncts=[of("a", "VALUE_WITHIN_RANGES")]),
        scan(1, conjuncts=[of("b", "VALUES_NOT_LISTED")]),
        scan(2, conjuncts=[of("c", "RANGES_OVERLAP")]),
        scan(3, conjuncts=[of("a", "VALUE_WITHIN_RANGES")]),
    ) == [("bloom", "a", 2), ("values", "b", 1)]


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("reason", ["FUNCTION_NOT_UNDERSTOOD", "RANGES_OVERLAP"])
def test_expressions(predicate: str, reason: str) -> None:
    made = scan(conjuncts=[conjunct(predicate, ["s.name"], reason=reason)])
    is_recordable = list(PREDICATES).index(predicate) < 3
    expected = [("bloom", "reverse(s.name)", 1)] if is_recordable else []
    assert proposed(made) == expected
    for each in proposals([made], Table()):  # type: ignore[arg-type]
        assert (each.is_expression, each.columns) == (True, ("s.name",))


@pytest.mark.parametrize(
    "change",
    [
        {"rows_passed": 80},  # more than half of the files may match
        {"rows_passed": None},
        {"files_kept": 50, "files_read": 50},  # prunes already
        {"fallback": "the planner gave no answer"},
        {"files_without_index": 100},  # a refresh helps
    ],
)
@pytest.mark.parametrize(
    ("sql", "reason"),
    [("(a = 1L)", "VALUE_WITHIN_RANGES"), ("reverse(s.name) = 'a'", "FUNCTION_NOT_UNDERSTOOD")],
)
def test_scans_that_propose_nothing(change: dict[str, Any], sql: str, reason: str) -> None:
    conjuncts = [conjunct(sql, ["a"], reason=reason)]
    assert len(proposed(scan(conjuncts=conjuncts))) == 1
    assert proposed(scan(conjuncts=conjuncts, **change)) == []


def test_predicates_that_prune_since_then() -> None:
    slow = conjunct("(a = 1L)", ["a"], reason="VALUE_WITHIN_RANGES")
    fast = slow | {"sql": "(a = 7L)", "pruned_files": 99}
    assert proposed(scan(0, conjuncts=[slow]), scan(1, conjuncts=[fast])) == []
    assert len(proposed(scan(0, conjuncts=[fast]), scan(1, conjuncts=[slow]))) == 1


def test_order_and_sums() -> None:
    def of(number: int, column: str, **changes: Any) -> dict[str, Any]:
        one = conjunct(f"({column} = 1L)", [column], reason="VALUE_WITHIN_RANGES")
        # two conjuncts of a scan that need the same statistics lose once
        return scan(number, conjuncts=[one, one | {"sql": f"({column} = 2L)"}], **changes)

    small = {"bytes_kept": 10 * MB, "bytes_total": 10 * MB}
    found = proposals([of(0, "a", **small), of(1, "a", **small), of(2, "b")], Table())  # type: ignore[arg-type]
    assert [(each.name, each.scans, each.lost_bytes, each.lost_files) for each in found] == [
        ("b", 1, 99 * MB, 99),
        ("a", 2, 2 * 9_900_000, 198),
    ]


def test_predicates_are_parsed_once() -> None:
    table = Table()
    predicate = conjunct("reverse(s.name) = 'a'", ["s.name"], reason="FUNCTION_NOT_UNDERSTOOD")
    proposals([scan(k, conjuncts=[predicate]) for k in range(5)], table)  # type: ignore[arg-type]
    assert table.parsed == ["reverse(s.name) = 'a'"]
