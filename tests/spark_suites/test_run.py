"""Which tests run without tamis, and which results are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.spark_suites.results import Result, State
from tests.spark_suites.run import Runner, Suites
from tests.spark_suites.suite_lists import Group

PASSED, FAILED = Result(State.PASSED), Result(State.FAILED, "why")
GROUP = Group("g", ("S", "T"))


class Recorded(Runner):
    """A runner without a JVM: `alone` and `whole` are the results of single tests and of suites."""

    def __init__(self, directory: Path, alone: Suites, whole: Suites, **options: Any) -> None:
        spark: Any = SimpleNamespace(directory=directory, class_of=lambda suite: f"org.{suite}")
        super().__init__(spark, timeout=1, full=False, fresh=False)
        vars(self).update(options)
        self.alone, self.whole = alone, whole
        self.runs: list[dict[str, list[str]]] = []

    def _run(self, name: str, suites: Mapping[str, Sequence[str]], with_tamis: bool) -> Suites:
        if suites:
            self.runs.append({suite: list(tests) for suite, tests in suites.items()})
        return {
            suite: {test: self.alone[suite][test] for test in tests} if tests else self.whole[suite]
            for suite, tests in suites.items()
        }


def test_suites_without_failures_do_not_run_without_tamis(tmp_path: Path) -> None:
    runner = Recorded(tmp_path, {}, {})
    assert runner.off(GROUP, {"S": {"a": PASSED}, "T": {"b": PASSED}}) == {"S": {}, "T": {}}
    assert runner.runs == []


def test_only_failed_tests_run_without_tamis(tmp_path: Path) -> None:
    runner = Recorded(tmp_path, {"S": {"b": PASSED}}, {})
    off = runner.off(GROUP, {"S": {"a": PASSED, "b": FAILED}, "T": {"c": PASSED}})
    assert runner.runs == [{"S": ["b"]}]
    assert off["S"] == {"b": PASSED}


def test_test_that_fails_alone_runs_again_with_its_suite(tmp_path: Path) -> None:
    runner = Recorded(tmp_path, {"S": {"b": FAILED}}, {"S": {"a": PASSED, "b": PASSED}})
    off = runner.off(GROUP, {"S": {"a": PASSED, "b": FAILED}, "T": {"c": PASSED}})
    assert runner.runs == [{"S": ["b"]}, {"S": []}]
    assert off["S"] == {"a": PASSED, "b": PASSED}


def test_suite_without_report_runs_completely_without_tamis(tmp_path: Path) -> None:
    runner = Recorded(tmp_path, {}, {"S": {"a": PASSED}})
    assert runner.off(GROUP, {"T": {"c": PASSED}})["S"] == {"a": PASSED}
    assert runner.runs == [{"S": []}]


def test_known_results_without_tamis_are_reused(tmp_path: Path) -> None:
    on = {"S": {"a": FAILED}, "T": {"c": PASSED}}
    Recorded(tmp_path, {"S": {"a": PASSED}}, {}).off(GROUP, on)
    later = Recorded(tmp_path, {}, {})
    assert later.off(GROUP, on)["S"] == {"a": PASSED}
    assert later.runs == []


def test_fresh_run_ignores_known_results(tmp_path: Path) -> None:
    on = {"S": {"a": FAILED}, "T": {"c": PASSED}}
    Recorded(tmp_path, {"S": {"a": PASSED}}, {}).off(GROUP, on)
    later = Recorded(tmp_path, {"S": {"a": PASSED}}, {}, fresh=True)
    later.off(GROUP, on)
    assert later.runs == [{"S": ["a"]}]


def test_full_run_runs_every_suite_without_tamis(tmp_path: Path) -> None:
    runner = Recorded(tmp_path, {}, {"S": {"a": PASSED}, "T": {"c": FAILED}}, full=True)
    off = runner.off(GROUP, {"S": {"a": PASSED}, "T": {"c": PASSED}})
    assert runner.runs == [{"S": [], "T": []}]
    assert off == {"S": {"a": PASSED}, "T": {"c": FAILED}}


def test_selected_tests_are_stored_separately_from_the_whole_suite(tmp_path: Path) -> None:
    on = {"S": {"a": FAILED}}
    some = Group("g", ("S",), ("a", "b"))
    Recorded(tmp_path, {"S": {"a": PASSED}}, {}).off(some, on)
    runner = Recorded(tmp_path, {"S": {"a": PASSED}}, {})
    runner.off(Group("g", ("S",)), on)
    assert runner.runs == [{"S": ["a"]}]


@pytest.mark.parametrize("mode", ["on", "off"])
def test_results_are_stored_between_runs(tmp_path: Path, mode: str) -> None:
    results = {"S": {"a": PASSED}, "T": {"c": FAILED}}
    runner = Recorded(tmp_path, {}, results, full=True)
    if mode == "on":
        runner.on(GROUP)
    else:
        runner.off(GROUP, results)
    assert Recorded(tmp_path, {}, {}).kept(mode, GROUP) == results
