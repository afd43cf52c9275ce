"""The report names the bounds that would pay for ORDER BY with LIMIT, with the call."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tamis.report.findings import findings
from tamis.report.page import to_html
from tests.report.histories import conjunct, history_of, scan

KEY = "first 10 by phrase ASC NULLS FIRST"
NOT_EMPTY, NOT_NULL = "(NOT (phrase = ''))", "(phrase IS NOT NULL)"


def ordered(
    number: int = 0,
    goal: str = KEY,
    reason: str | None = "TOPK_NOT_COVERED",
    filters: tuple[str, ...] = (NOT_EMPTY, NOT_NULL),
    **changes: Any,
) -> dict[str, Any]:
    """Return a scan of 100 files of 1 MB. 90 would not have been read."""
    conjuncts = [conjunct(sql, ["phrase"]) for sql in filters]
    goals = [{"goal": goal, "reason": reason}]
    return scan(number, goals=goals, conjuncts=conjuncts, rows_passed=10, **changes)


def three(**changes: Any) -> list[dict[str, Any]]:
    return [ordered(number, **changes) for number in range(3)]


def test_bounds_that_save_more_than_two_scans() -> None:
    (use,) = findings(history_of(*three())).first_rows
    assert (use.condition, use.column, use.scans) == (NOT_EMPTY, "phrase", 3)
    assert (use.saved_files, use.saved_bytes, use.files_kept) == (270, 270_000_000, 300)
    assert use.call == (
        'tamis.index(spark, "file:/data/events")'
        '.add(predicates={"(NOT (phrase = \'\'))": ["phrase"]})'
    )
    assert findings(history_of(*three()[:2])).first_rows == []


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": None},  # the files are chosen already
        {"reason": "TOPK_KEY_UNKNOWN"},
        {"filters": (NOT_NULL,)},
        {"filters": (NOT_EMPTY, "(n = 3)")},
        {"filters": (f"(phrase IN ({', '.join(map(repr, range(9000)))}))"[:2000],)},
        {"goal": "first 10 by phrase ASC NULLS FIRST, id ASC NULLS FIRST"},
        {"goal": "first 10 by upper(phrase) ASC NULLS FIRST"},
        {"goal": "sample for the first 10 by phrase ASC NULLS FIRST"},
        {"goal": "first 60 by phrase ASC NULLS FIRST"},  # saves too little
        {"fallback": "PLANNER_TIMEOUT"},
    ],
)
def test_bounds_that_would_not_pay(changes: dict[str, Any]) -> None:
    assert findings(history_of(*three(**changes))).first_rows == []


def test_queries_that_found_the_bounds_are_not_listed() -> None:
    found = ordered(3, reason=None, files_kept=10)
    assert findings(history_of(*three(), found)).first_rows == []
    assert len(findings(history_of(found, *three())).first_rows) == 1


def test_page_shows_the_call_with_quoted_names() -> None:
    goal = "first 5 by `a ``b` DESC NULLS LAST"
    filters = ("(`a ``b` < 5L)", "(`a ``b` IS NOT NULL)")
    report = findings(history_of(*three(goal=goal, filters=filters)))
    (use,) = report.first_rows
    call = ast.parse(use.call, mode="eval").body
    assert isinstance(call, ast.Call)
    (given,) = call.keywords
    assert ast.literal_eval(given.value) == {"(`a ``b` < 5L)": ["a `b"]}
    assert "predicates={&quot;(`a ``b` &lt; 5L)&quot;: [&quot;a `b&quot;]}" in to_html(
        report, "h", 0
    )
