"""Comparison of two runs of suites, and the stored results of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark_suites.results import (
    Known,
    Result,
    State,
    compare,
    failed,
    read_junit,
    report,
)
from tests.spark_suites.suite_lists import PlanShape

PASSED, FAILED, SKIPPED = (Result(each) for each in (State.PASSED, State.FAILED, State.SKIPPED))
SHAPE = PlanShape("S", "a", False, "counts V1 scans")

JUNIT = """<?xml version="1.0" encoding="UTF-8" ?>
<testsuite name="org.S" tests="5" errors="1" failures="1">
<testcase classname="org.S" name="passes" time="1.5"></testcase>
<testcase classname="org.S" name="fails" time="0.1"><failure message="1 did not equal 2">at A</failure></testcase>
<testcase classname="org.S" name="breaks" time="0.1"><error message="null">at B</error></testcase>
<testcase classname="org.S" name="is ignored" time="0"><skipped/></testcase>
</testsuite>"""


def test_junit_states_are_read(tmp_path: Path) -> None:
    file = tmp_path / "TEST-org.S.xml"
    file.write_text(JUNIT)
    results = read_junit(file)
    assert {test: each.state for test, each in results.items()} == {
        "passes": State.PASSED,
        "fails": State.FAILED,
        "breaks": State.FAILED,
        "is ignored": State.SKIPPED,
    }
    assert results["fails"].message == "1 did not equal 2\nat A"
    assert failed(results) == ["fails", "breaks"]


@pytest.mark.parametrize(
    ("off", "on", "shapes", "unexplained", "listed", "stale"),
    [
        pytest.param(PASSED, PASSED, [], 0, 0, 0, id="both pass"),
        pytest.param(PASSED, FAILED, [], 1, 0, 0, id="fails with tamis"),
        pytest.param(PASSED, SKIPPED, [], 1, 0, 0, id="is cancelled with tamis"),
        pytest.param(PASSED, None, [], 1, 0, 0, id="is missing with tamis"),
        pytest.param(None, FAILED, [], 1, 0, 0, id="fails with tamis and is unknown without"),
        pytest.param(None, PASSED, [], 0, 0, 0, id="passes with tamis and is unknown without"),
        pytest.param(PASSED, FAILED, [SHAPE], 0, 1, 0, id="is excused"),
        pytest.param(FAILED, FAILED, [], 0, 0, 0, id="fails without tamis too"),
        pytest.param(FAILED, PASSED, [], 0, 0, 0, id="fails only without tamis"),
        pytest.param(SKIPPED, SKIPPED, [], 0, 0, 0, id="is ignored"),
        pytest.param(PASSED, PASSED, [SHAPE], 0, 0, 1, id="is excused and passes"),
        pytest.param(FAILED, FAILED, [SHAPE], 0, 0, 1, id="is excused and fails without tamis too"),
    ],
)
def test_only_unexcused_failures_with_tamis_count(
    off: Result | None,
    on: Result | None,
    shapes: list[PlanShape],
    unexplained: int,
    listed: int,
    stale: int,
) -> None:
    before, after = ({"S": {} if each is None else {"a": each}} for each in (off, on))
    comparison = compare(before, after, shapes)
    assert len(comparison.unexplained) == unexplained
    assert len(comparison.differences) - len(comparison.unexplained) == listed
    assert len(comparison.stale) == stale


def test_entry_of_a_suite_that_did_not_run_is_not_stale() -> None:
    assert compare({"T": {"a": PASSED}}, {"T": {"a": PASSED}}, [SHAPE]).stale == ()


def test_entry_that_matches_no_test_is_stale() -> None:
    comparison = compare({"S": {"b": PASSED}}, {"S": {"b": PASSED}}, [SHAPE])
    assert [each.test for each in comparison.stale] == [None]
    assert "* S: no test is named a" in report(comparison)


def test_pattern_is_stale_for_each_test_that_passes() -> None:
    pattern = PlanShape("S", "a.*", True, "counts V1 scans")
    passed = {"S": {"a1": PASSED, "a2": PASSED, "b": PASSED}}
    comparison = compare(passed, {"S": {**passed["S"], "a1": FAILED}}, [pattern])
    assert [each.test for each in comparison.stale] == ["a2"]


def test_suite_without_results_is_a_difference() -> None:
    comparison = compare({"S": {"a": PASSED, "b": FAILED}}, {}, [])
    assert [each.test for each in comparison.unexplained] == ["a"]


def test_report_names_the_test_and_its_message() -> None:
    on = {"S": {"a": Result(State.FAILED, "1 did not equal 2\nat A\nat B")}}
    text = report(compare({"S": {"a": PASSED}}, on, []), lines=1)
    assert "* S: a (failed)\n    1 did not equal 2" in text
    assert "at A" not in text


def test_report_names_stale_entries() -> None:
    passed = {"S": {"a": PASSED}}
    assert "* S: a" in report(compare(passed, passed, [SHAPE]))


def test_failure_of_a_test_on_its_own_counts_as_unknown() -> None:
    known = Known({}, False).with_more({"a": PASSED, "b": FAILED})
    assert known.lacks(["a", "b", "c"]) == ["b", "c"]


def test_run_of_a_whole_suite_leaves_no_test_unknown() -> None:
    assert Known({"a": FAILED}, True).lacks(["a", "b"]) == []


def test_known_results_round_trip_through_a_file(tmp_path: Path) -> None:
    file = tmp_path / "off" / "S.json"
    known = Known({"a": Result(State.FAILED, "why", 0.5)}, True)
    known.save(file)
    assert Known.load(file) == known
    assert Known.load(tmp_path / "other.json") == Known({}, False)
