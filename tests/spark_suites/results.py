"""Results of tests: read from the JUnit files of ScalaTest, stored as JSON, compared."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from tests.spark_suites.suite_lists import PlanShape


class State(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"  # ignored, pending or cancelled by the test itself
    MISSING = "missing"  # the suite ended before the test, or did not start


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a test. `message`: the complete message of the failure."""

    state: State
    message: str = ""
    seconds: float = 0.0


#: Results of one suite, by test.
Results = Mapping[str, Result]
_MISSING = Result(State.MISSING, "the suite ended before this test")


def read_junit(path: Path) -> dict[str, Result]:
    """Return the results in one file of ScalaTest's JUnit reporter.

    Raises:
        xml.etree.ElementTree.ParseError: The file is incomplete.
    """
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {case.get("name", ""): _result(case) for case in cases}


def _result(case: ElementTree.Element) -> Result:
    seconds = float(case.get("time") or 0)
    for kind in ("failure", "error"):
        node = case.find(kind)
        if node is not None:
            text = "\n".join(part for part in (node.get("message"), node.text) if part)
            return Result(State.FAILED, text, seconds)
    state = State.PASSED if case.find("skipped") is None else State.SKIPPED
    return Result(state, "", seconds)


@dataclass(frozen=True, slots=True)
class Known:
    """Known results of a suite without tamis. `is_whole`: all of its tests ran in sequence."""

    results: Results
    is_whole: bool

    def with_more(self, results: Results) -> Known:
        """Return the results together with those of tests that ran on their own."""
        return Known({**self.results, **results}, self.is_whole)

    def lacks(self, tests: Iterable[str]) -> list[str]:
        """Return the tests whose result without tamis is unknown.

        A failure of a test that ran on its own counts as unknown: it may depend on the tests
        before it.
        """
        if self.is_whole:
            return []
        unknown = Result(State.MISSING)
        return [t for t in tests if self.results.get(t, unknown).state is not State.PASSED]

    def save(self, path: Path) -> None:
        """Write the results as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        tests = {test: asdict(result) for test, result in self.results.items()}
        document = {"is_whole": self.is_whole, "tests": tests}
        path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")

    @staticmethod
    def load(path: Path) -> Known:
        """Read a file written by `save`; without a file nothing is known."""
        if not path.is_file():
            return Known({}, False)
        document = json.loads(path.read_text("utf-8"))
        tests = {
            test: Result(State(each["state"]), each["message"], each["seconds"])
            for test, each in document["tests"].items()
        }
        return Known(tests, document["is_whole"])


def failed(results: Results) -> list[str]:
    """Return the tests that failed."""
    return [test for test, result in results.items() if result.state is State.FAILED]


@dataclass(frozen=True, slots=True)
class Difference:
    """A test whose outcome differs with tamis. `shape`: the entry that excuses it, if any."""

    suite: str
    test: str
    off: Result
    on: Result
    shape: PlanShape | None


@dataclass(frozen=True, slots=True)
class Stale:
    """A test that an entry of the list excuses although it does not differ.

    Attributes:
        shape: The entry.
        test: A test that passes with tamis, or fails without it; None if the entry matches no test.
    """

    shape: PlanShape
    test: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs without tamis (off) and with it (on).

    Attributes:
        off: Results of the executed tests by suite and test.
        on: Results of all tests with tamis, by suite and test.
        differences: Tests that pass without tamis but not with it.
        stale: Tests that the list excuses unnecessarily.
    """

    off: Mapping[str, Results]
    on: Mapping[str, Results]
    differences: tuple[Difference, ...]
    stale: tuple[Stale, ...]

    @property
    def unexplained(self) -> list[Difference]:
        """The differences that the list does not excuse."""
        return [each for each in self.differences if each.shape is None]


def compare(
    off: Mapping[str, Results], on: Mapping[str, Results], shapes: Sequence[PlanShape]
) -> Comparison:
    """Compare the results of suites without tamis with those with tamis."""
    differences = tuple(_differences(off, on, shapes))
    return Comparison(off, on, differences, tuple(_stale(differences, on, shapes)))


def _stale(
    differences: Sequence[Difference], on: Mapping[str, Results], shapes: Sequence[PlanShape]
) -> Iterator[Stale]:
    excused = {(each.suite, each.test) for each in differences}
    for shape in shapes:
        if shape.suite not in on:
            continue  # did not run
        tests = [test for test in on[shape.suite] if shape.matches(shape.suite, test)]
        yield from (Stale(shape, test) for test in tests if (shape.suite, test) not in excused)
        if not tests:
            yield Stale(shape, None)


def _differences(
    off: Mapping[str, Results], on: Mapping[str, Results], shapes: Sequence[PlanShape]
) -> Iterator[Difference]:
    for suite in {**off, **on}:
        before, after = off.get(suite, {}), on.get(suite, {})
        for test in {**before, **after}:
            was, now = before.get(test, _MISSING), after.get(test, _MISSING)
            # An unknown result without tamis counts as passed, so that no failure is hidden.
            if (was.state is State.PASSED and now.state is not State.PASSED) or (
                was.state is State.MISSING and now.state is State.FAILED
            ):
                shape = next((each for each in shapes if each.matches(suite, test)), None)
                yield Difference(suite, test, was, now, shape)


def table(comparison: Comparison) -> str:
    """Return a table with one line per suite: passed, failed, skipped and excused tests."""
    unexplained = Counter(each.suite for each in comparison.unexplained)
    listed = Counter(each.suite for each in comparison.differences if each.shape is not None)
    lines = [f"{'suite':52} {'without tamis':>18} {'with tamis':>18} {'listed':>7} {'new':>5}"]
    for suite in sorted({*comparison.off, *comparison.on}):
        before, after = comparison.off.get(suite, {}), comparison.on.get(suite, {})
        lines.append(
            f"{suite:52} {_counts(before.values()):>18} {_counts(after.values()):>18} "
            f"{listed[suite]:>7} {unexplained[suite]:>5}"
        )
    before_all, after_all = (
        _counts(result for tests in side.values() for result in tests.values())
        for side in (comparison.off, comparison.on)
    )
    lines.append(
        f"{'all':52} {before_all:>18} {after_all:>18} {listed.total():>7} {unexplained.total():>5}"
    )
    return "\n".join(lines)


def _counts(results: Iterable[Result]) -> str:
    """Return passed / failed / skipped; - if nothing ran.

    >>> _counts([Result(State.PASSED), Result(State.PASSED), Result(State.FAILED)])
    '2 / 1 / 0'
    """
    states = Counter(each.state for each in results)
    if not states:
        return "-"
    return f"{states[State.PASSED]} / {states[State.FAILED]} / {states[State.SKIPPED]}"


def report(comparison: Comparison, lines: int = 6) -> str:
    """Return the table and the tests to examine. `lines`: how much of each failure's message."""
    parts = [table(comparison)]
    if comparison.unexplained:
        parts.append(f"{len(comparison.unexplained)} tests pass without tamis but not with it:")
        for each in comparison.unexplained:
            text = "\n".join(each.on.message.splitlines()[:lines])
            parts.append(f"* {each.suite}: {each.test} ({each.on.state})\n{_indented(text)}")
    if comparison.stale:
        parts.append("plan_shapes.toml excuses unnecessarily:")
        parts += [
            f"* {each.shape.suite}: {each.test or f'no test is named {each.shape.test}'}"
            for each in comparison.stale
        ]
    return "\n\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line[:200]}" for line in text.splitlines())
