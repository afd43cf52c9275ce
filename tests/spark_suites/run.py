"""Runs Spark's own test suites without tamis and with it, and compares: `make spark-suites`.

Exit codes: 0 if every test that passes without tamis passes with it or is excused by
`plan_shapes.toml`; 1 if one does not; 2 if the runs are inconclusive (a suite did not end, the
planner failed, no table was indexed).
"""

from __future__ import annotations

import argparse
import hashlib
import signal
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.spark_suites.jvm import Run, Spark, warnings_of_tamis
from tests.spark_suites.results import Known, Result, compare, failed, read_junit, report
from tests.spark_suites.suite_lists import HERE, Group, chosen, read_groups, read_plan_shapes

#: Results by suite and test.
Suites = dict[str, dict[str, Result]]

#: Part of the warnings that tamis gives if the planner fails or does not answer.
_PLAIN = "what plain Spark would read"
_OVERRIDES = "org.apache.spark.sql.tamis."


class Runner:
    """Runs groups of suites, one JVM at a time, and stores the results of each suite.

    Args:
        spark: The Spark under test.
        timeout: Seconds after which the JVM of a group is killed.
        full: Whether every suite also runs without tamis, even if it passes with it.
        fresh: Whether known results without tamis are ignored.
    """

    def __init__(self, spark: Spark, timeout: float, full: bool, fresh: bool) -> None:
        self.spark = spark
        self.timeout = timeout
        self.full = full
        self.fresh = fresh
        self.unfinished: list[str] = []
        self.indexes = 0
        self.warnings: set[str] = set()

    def on(self, group: Group) -> Suites:
        """Run the group with tamis and return the results."""
        suites = dict.fromkeys(group.suites, group.tests)
        results_of = self._run(group.name, suites, with_tamis=True)
        for suite, results in results_of.items():
            Known(results, is_whole=True).save(self._path("on", suite, group.tests))
        return results_of

    def kept(self, mode: str, group: Group) -> Suites:
        """Return the results of earlier runs with tamis ("on") or without it ("off")."""
        known = {suite: Known.load(self._path(mode, suite, group.tests)) for suite in group.suites}
        return {suite: dict(each.results) for suite, each in known.items() if each.results}

    def off(self, group: Group, on: Suites) -> Suites:
        """Return results without tamis: stored ones, or those of a new run.

        Unless `full`, only tests that failed with tamis run: no other test can be worse with it.
        """
        kept = {suite: self._path("off", suite, group.tests) for suite in group.suites}
        if self.fresh:
            for path in kept.values():
                path.unlink(missing_ok=True)
        known = {suite: Known.load(path) for suite, path in kept.items()}
        whole = [s for s in group.suites if s not in on or self.full]
        single = {s: known[s].lacks(failed(on[s])) for s in group.suites if s not in whole}
        alone = {suite: tests for suite, tests in single.items() if tests}
        for suite, results in self._run(group.name, alone, with_tamis=False).items():
            known[suite] = known[suite].with_more(results)
        whole += [suite for suite, tests in alone.items() if known[suite].lacks(tests)]
        todo = {suite: group.tests for suite in whole if not known[suite].is_whole}
        for suite, results in self._run(group.name, todo, with_tamis=False).items():
            known[suite] = Known(results, is_whole=True)
        for suite, path in kept.items():
            if known[suite].results:
                known[suite].save(path)
        return {suite: dict(each.results) for suite, each in known.items()}

    def _path(self, mode: str, suite: str, tests: Sequence[str]) -> Path:
        """Return the file of stored results, by suite, its selected tests and its source."""
        known = [*tests]
        if self.spark.class_of(suite).startswith(_OVERRIDES):
            known += [path.read_text("utf-8") for path in sorted((HERE / "scala").glob("*.scala"))]
        key = hashlib.sha256("\0".join(known).encode()).hexdigest()[:8]
        return self.spark.directory / mode / f"{suite}-{key}.json"

    def _run(self, name: str, suites: Mapping[str, Sequence[str]], with_tamis: bool) -> Suites:
        """Run suites in one JVM, each with these tests or with all."""
        if not suites:
            return {}
        mode = "with" if with_tamis else "without"
        classes = {self.spark.class_of(suite): suite for suite in suites}
        run = Run(
            self.spark,
            {full: suites[suite] for full, suite in classes.items()},
            with_tamis,
            self.spark.directory / "runs" / f"{name.replace(' ', '_')}-{mode}",
        )
        print(f"{name}, {mode} tamis: {' '.join(suites)} ...", flush=True)
        started = time.monotonic()
        code = run.start(self.timeout)
        results_of = dict(self._read(run, classes.items()))
        minutes = (time.monotonic() - started) / 60
        ending = "killed after the deadline" if code is None else f"exit code {code}"
        tests = sum(map(len, results_of.values()))
        print(f"  {tests} tests in {minutes:.1f} minutes, {ending}", flush=True)
        if with_tamis:
            self.indexes += sum(1 for _ in run.indexes.iterdir())
            self.warnings.update(warnings_of_tamis(run.log))
        return results_of

    def _read(
        self, run: Run, classes: Iterable[tuple[str, str]]
    ) -> Iterable[tuple[str, dict[str, Result]]]:
        for name, suite in classes:
            try:
                yield suite, read_junit(run.report_of(name))
            except (OSError, ElementTree.ParseError) as problem:
                print(f"  {suite} has no report ({problem}): see {run.directory}", flush=True)
                self.unfinished.append(suite)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites that the arguments name."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the JVM is killed too
    try:
        groups = chosen(read_groups(), options.only)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2
    if options.list:
        for group in groups:
            print(f"{group.name}: {' '.join(group.suites)}")
        return 0
    runner = Runner(Spark.of_environment(), options.timeout * 60, options.full, options.fresh)
    off: Suites = {}
    on: Suites = {}
    for group in groups:
        results_of = runner.kept("on", group) if options.last else runner.on(group)
        on |= results_of
        off |= runner.kept("off", group) if options.last else runner.off(group, results_of)
    comparison = compare(off, on, read_plan_shapes())
    print(f"\nSpark {runner.spark.version}; passed / failed / skipped\n")
    print(report(comparison))
    if options.last:
        return 1 if comparison.unexplained else 0
    print(f"\n{runner.indexes} listings were indexed on the fly.")
    for warning in sorted(runner.warnings)[: options.warnings]:
        print(f"tamis warned: {warning[:300]}")
    if any(_PLAIN in warning for warning in runner.warnings):
        print("Some queries ran as plain Spark; the runs compare Spark with itself.")
        return 2
    if runner.unfinished:
        print(f"No result with or without tamis: {', '.join(runner.unfinished)}")
        return 2
    if not runner.indexes and not options.only:
        print("No table was indexed: the runs compare Spark with itself.")
        return 2
    return 1 if comparison.unexplained else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make spark-suites", description=__doc__)
    parser.add_argument("only", nargs="*", help="suites or groups of suites.toml; default: all")
    parser.add_argument("--list", action="store_true", help="show the suites without running them")
    parser.add_argument(
        "--last", action="store_true", help="compare the last runs without running anything"
    )
    parser.add_argument("--full", action="store_true", help="also run every suite without tamis")
    parser.add_argument("--fresh", action="store_true", help="ignore earlier runs without tamis")
    parser.add_argument(
        "--timeout", type=float, default=60, help="time limit of each JVM in minutes"
    )
    parser.add_argument("--warnings", type=int, default=20, help="number of warnings to show")
    return parser


if __name__ == "__main__":
    sys.exit(main())
