"""Makes one small mistake at a time in the rules and checks that the tests without Spark fail.

    make mutants                                    every module; known results are not repeated
    make mutants ONLY=plan/scan_decision.py         one module, or one folder
    make mutants SAMPLE=300 SEED=7                  a random sample

The tests are collected once. Each mutant is a forked process in which the functions of the changed
module get their changed code. The process runs the tests that reach the changed lines until one
fails: first those that killed other mutants of the same function or module, then the fastest and
most specific ones. Results are kept in build/mutants/results.jsonl, and a stopped run resumes from
there. For a survivor, either add a test, or list it in tests/mutants/equivalent.toml with the
reason why no test can distinguish it from the original. The exit status is 1 if fewer than 95 % of
the unlisted mutants are killed, or if a listed one is killed.

No library is used: mutmut 3 collects the tests again for each mutant (10 s here) and does not
change decorated functions or tables of a module; cosmic-ray starts a process for each mutant.
"""

from __future__ import annotations

import argparse
import functools
import gc
import hashlib
import json
import os
import re
import resource
import signal
import sys
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

import pytest

from tests.mutants import live
from tests.mutants.mutations import Mutant, mutants_of, mutated

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tamis"
FOLDERS = ("evaluation", "plan", "classification", "files")
#: Modules that explain or estimate and prove nothing.
NO_PROOF = {
    "files/example.py",
    "evaluation/functions/function_entry.py",
    "plan/detail/reason_detail.py",
    "plan/cost.py",
    "plan/residual_split.py",
    "plan/joins/clustering.py",
    "plan/goals/contributions.py",
    "plan/subset_statistics.py",
    "plan/goals/minmax_skipping.py",
    "classification/partitioning.py",
}
TESTS = (
    *(
        "tests/cases",
        "tests/classification",
        "tests/declarations",
        "tests/evaluation",
        "tests/expr",
    ),
    *("tests/files", "tests/indexing", "tests/plan", "tests/properties", "tests/serve"),
    *("tests/snapshots", "tests/tables"),
    *("tests/differential/test_row_sweep.py", "tests/differential/test_verdicts.py"),
    *(f"python/tamis/{folder}" for folder in FOLDERS),
)
GOAL = 0.95
_BUILD = ROOT / "build" / "mutants"
_SECONDS = 10  # of CPU, in addition to the tests' own time: a mutant may loop forever
_KILLED, _SURVIVED, _IMPOSSIBLE = 1, 0, 3


@dataclass(frozen=True, slots=True)
class Covered:
    """The run time of a test and the lines that it runs, by file."""

    seconds: float
    lines: dict[str, frozenset[int]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="prefix of the files, such as evaluate/dates")
    parser.add_argument("--sample", type=int, help="number of mutants, chosen by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--budget", type=float, default=8.0, help="seconds of tests per mutant")
    parser.add_argument("--again", action="store_true", help="test unlisted survivors again")
    parser.add_argument("--examples", type=int, default=100, help="examples per property test")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="test files and folders")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this many minutes")
    options = parser.parse_args()
    runner = _Runner(options)
    arguments = ["-q", "-m", "not spark", "--doctest-modules", "-p", "no:cacheprovider"]
    arguments += ["-p", "no:xdist", "--tb=no", "--no-header"]
    os.chdir(ROOT)
    os.environ["HYPOTHESIS_PROFILE"] = "ci"
    status = pytest.main([*arguments, *options.tests], plugins=[runner])
    return runner.status if runner.status is not None else int(status) or 1


def all_mutants(only: str = "") -> Iterator[Mutant]:
    """Yield the mutants of the pruning and proof code."""
    for folder in FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            file = path.relative_to(PACKAGE).as_posix()
            if file not in NO_PROOF and file.startswith(only):
                yield from mutants_of(file, path.read_text("utf-8"))


def equivalents() -> dict[str, str]:
    """Return the key of each listed mutant and why no test can distinguish it."""
    with (Path(__file__).parent / "equivalent.toml").open("rb") as file:
        return {each["mutant"]: each["reason"] for each in tomllib.load(file).get("mutants", [])}


class _Runner:
    """A pytest plugin that replaces the loop over tests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.status: int | None = None
        self.items: dict[str, Any] = {}
        self.caches: list[Any] = []
        #: By file, and by file and function: how many mutants each test has killed.
        self.kills: defaultdict[str, Counter[str]] = defaultdict(Counter)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        # A failure is enough: do not shrink examples and do not store them.
        settings.register_profile(
            "mutants",
            settings.get_profile("ci"),
            database=None,
            max_examples=self.options.examples,
            phases=(Phase.explicit, Phase.generate),
        )
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        covered = self._coverage()
        self.status = self._run(covered)
        return True

    # Which lines each test runs.

    def _coverage(self) -> dict[str, Covered]:
        """Return the coverage of each test, cached while package and test are unchanged."""
        _BUILD.mkdir(parents=True, exist_ok=True)
        package = _digest(*sorted(PACKAGE.rglob("*.py")))
        path = _BUILD / f"coverage-{package}-{self.options.examples}.json"
        tests = json.loads(path.read_text("utf-8")) if path.exists() else {}
        files = {item.path: _digest(item.path) for item in self.items.values()}
        missing = [
            item
            for name, item in self.items.items()
            if tests.get(name, {}).get("file") != files[item.path]
        ]
        if missing:
            print(f"running {len(missing)} tests to record the lines that they run", flush=True)
            for more in self._trace_together(missing, files):
                tests |= json.loads(more.read_text("utf-8"))
            path.write_text(json.dumps(tests), "utf-8")
        return {
            name: Covered(
                test["seconds"], {file: frozenset(each) for file, each in test["lines"].items()}
            )
            for name, test in tests.items()
            if name in self.items and test["lines"]
        }

    def _trace_together(self, items: Sequence[Any], files: dict[Path, str]) -> list[Path]:
        """Trace tests in several processes. Items alternate because slow tests share files."""
        count = min(2 * self.options.processes, len(items))
        paths = [_BUILD / f"coverage-part-{number}.json" for number in range(count)]
        children = []
        for number, path in enumerate(paths):
            child = os.fork()
            if child == 0:
                _quietly(lambda: self._trace(items[number::count], files, path))  # noqa: B023
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        return paths

    def _trace(self, items: Sequence[Any], files: dict[Path, str], path: Path) -> int:
        coverage: dict[str, Any] = {}
        for item, following in zip(items, [*items[1:], None], strict=True):
            with _Lines() as lines:
                start = time.process_time()
                passed = _passes(item, following)
                seconds = time.process_time() - start
            by_file = {file: sorted(each) for file, each in lines.by_file.items() if each}
            coverage[item.nodeid] = {
                "file": files[item.path],
                "seconds": seconds,
                # A test that already fails cannot detect a mutant.
                "lines": by_file if passed else {},
            }
        path.write_text(json.dumps(coverage), "utf-8")
        return 0

    # The mutants.

    def _run(self, covered: dict[str, Covered]) -> int:
        mutants = list(all_mutants(self.options.only))
        if self.options.sample is not None:
            random = Random(self.options.seed)
            mutants = random.sample(mutants, min(self.options.sample, len(mutants)))
        listed = equivalents()
        results = _read_results()
        for result in results.values():
            self._count(result)
        open_ones = [each for each in mutants if self._is_open(each, results, listed)]
        # Tables and constants of a module last: by then it is known which tests kill its mutants.
        open_ones.sort(key=lambda each: (each.file, not each.function))
        print(f"{len(mutants)} mutants, {len(open_ones)} of them to try")
        functions, self.caches = live.live_functions(str(PACKAGE)), live.live_caches()
        gc.collect()
        gc.freeze()  # so that a collection in a child copies no pages
        deadline = time.monotonic() + self.options.minutes * 60
        running: dict[int, tuple[Mutant, int]] = {}
        sources = _digests()
        with (_BUILD / "results.jsonl").open("a", encoding="utf-8") as file:
            queue = iter(open_ones)
            while True:
                while len(running) < self.options.processes and time.monotonic() < deadline:
                    mutant = next(queue, None)
                    if mutant is None:
                        break
                    pid, pipe = self._start(mutant, covered, functions)
                    running[pid] = mutant, pipe
                if not running:
                    break
                pid, status = os.wait()
                mutant, pipe = running.pop(pid)
                result = self._result(mutant, status, pipe, sources[mutant.file])
                results[mutant.key] = result
                file.write(json.dumps(result) + "\n")
                file.flush()
                if result["status"] == "survived" and mutant.key not in listed:
                    print(f"survived: {mutant.key} (line {mutant.line})", flush=True)
        return report(mutants, results, listed)

    def _is_open(self, mutant: Mutant, results: dict[str, Any], listed: dict[str, str]) -> bool:
        known = results.get(mutant.key)
        if known is None:
            return True
        return self.options.again and known["status"] == "survived" and mutant.key not in listed

    def _start(
        self, mutant: Mutant, covered: dict[str, Covered], functions: live.Functions
    ) -> tuple[int, int]:
        chosen = self._tests_of(mutant, covered)
        if not chosen:
            print(f"no test runs line {mutant.line} of {mutant.file}")
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _quietly(lambda: self._try(mutant, chosen, functions, writer))
        os.close(writer)
        return pid, reader

    def _tests_of(self, mutant: Mutant, covered: dict[str, Covered]) -> list[str]:
        """Return the tests that run the changed statement; for a table, any of its lines."""
        wanted = frozenset(range(mutant.line, mutant.last_line + 1))
        file = mutant.file
        names = re.compile("(?!)")
        if mutant.file.startswith("evaluation/functions/") and not mutant.function:
            source = (PACKAGE / mutant.file).read_text("utf-8").splitlines()
            line = "\n".join(source[mutant.line - 1 : mutant.last_line])
            words = re.findall(r'"([A-Za-z_]{2,})"', line)
            if words:
                # An entry, which the interpreter looks up. First the tests whose ids contain the
                # function: its class name, or its SQL name.
                names = re.compile("|".join(words), re.IGNORECASE)
                file = "evaluation/interpreter.py"
        # A constant is used by the modules that import it, which may run no line of its own module.
        files = {file} if mutant.function else {file, *_importers(file)}
        tests = []
        for name, test in covered.items():
            lines = test.lines.get(file, frozenset())
            if wanted & lines if mutant.function else not files.isdisjoint(test.lines):
                tests.append(name)
        if not tests:  # a maker of rules, which runs only when its module is imported
            tests = [name for name, test in covered.items() if file in test.lines]
        near, far = self.kills[f"{mutant.file}: {mutant.function}"], self.kills[mutant.file]

        def cost(name: str) -> tuple[int, int, float]:
            """Sort killers of the function first, then of the file, then fast specific tests."""
            test = covered[name]
            if names.search(name):
                return -9, 0, test.seconds
            own = sum(len(test.lines.get(each, ())) for each in files)
            share = own / sum(map(len, test.lines.values()))
            return -min(near[name], 3), -min(far[name], 5), test.seconds / share

        return sorted(tests, key=cost)

    def _try(
        self, mutant: Mutant, tests: Sequence[str], functions: live.Functions, writer: int
    ) -> int:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime + self.options.budget + _SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        path = PACKAGE / mutant.file
        module = "tamis." + mutant.file.removesuffix(".py").replace("/", ".")
        tree = mutated(path.read_text("utf-8"), mutant)
        try:
            live.install(
                str(path),
                module.removesuffix(".__init__"),
                tree,
                mutant.function,
                functions,
                self.caches,
            )
        except live.CannotMutate:
            return _IMPOSSIBLE
        except Exception:
            # The module fails to load.
            os.write(writer, b"import")
            return _KILLED
        items = [self.items[name] for name in tests]
        if not items:
            return _SURVIVED
        start = time.process_time()
        for item, following in zip(items, [*items[1:], None], strict=True):
            if not _passes(item, following):
                os.write(writer, item.nodeid.encode())
                return _KILLED
            if time.process_time() - start > self.options.budget:
                break
        return _SURVIVED

    def _result(self, mutant: Mutant, status: int, pipe: int, source: str) -> dict[str, Any]:
        with os.fdopen(pipe, "rb") as stream:
            by = stream.read().decode()
        code = os.waitstatus_to_exitcode(status)
        name = {_SURVIVED: "survived", _KILLED: "killed", _IMPOSSIBLE: "impossible"}
        result = {
            "mutant": mutant.key,
            "file": mutant.file,
            "function": mutant.function,
            "source": source,
            "line": mutant.line,
            # A killed process looped or ran out of memory.
            "status": name.get(code, "killed"),
            "by": by or (str(code) if code not in name else ""),
        }
        self._count(result)
        return result

    def _count(self, result: dict[str, Any]) -> None:
        if result.get("by"):
            self.kills[result["file"]][result["by"]] += 1
            self.kills[f"{result['file']}: {result.get('function')}"][result["by"]] += 1


def report(mutants: Sequence[Mutant], results: dict[str, Any], listed: dict[str, str]) -> int:
    """Print the outcome of the mutants. Return 1 if too many survive."""
    tried = [each for each in mutants if each.key in results]
    status = {each.key: results[each.key]["status"] for each in tried}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in tried:
        name = status[each.key]
        if name == "survived" and each.key in listed:
            name = "equivalent"
        counts[each.file][name] += 1
        counts["all"][name] += 1
    for file, count in counts.items():
        judged = count["killed"] + count["survived"]
        share = f"{count['killed'] / judged:.1%}" if judged else "-"
        print(f"{file}: {share} of {judged} killed; {dict(count)}")
    if not tried:
        return 0
    wrongly_listed = [key for key in listed if status.get(key) == "killed"]
    for key in wrongly_listed:
        print(f"listed as equivalent, but killed: {key}")
    total = counts["all"]
    judged = total["killed"] + total["survived"]
    return 1 if wrongly_listed or total["killed"] < GOAL * judged else 0


@functools.cache
def _importers(file: str) -> frozenset[str]:
    """Return the files of the rules that import something from a file."""
    module = "tamis." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    found = re.compile(rf"^from {re.escape(module)} import ", re.MULTILINE)
    paths = [path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    return frozenset(
        path.relative_to(PACKAGE).as_posix()
        for path in paths
        if found.search(path.read_text("utf-8"))
    )


class _Lines:
    """Records which lines of the package run within the block."""

    def __init__(self) -> None:
        self.by_file: defaultdict[str, set[int]] = defaultdict(set)
        prefix = str(PACKAGE) + "/"
        self._files: dict[str, set[int] | None] = {}
        self._prefix = prefix

    def __enter__(self) -> _Lines:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def _call(self, frame: FrameType, event: str, _: object) -> Any:
        name = frame.f_code.co_filename
        lines = self._files.get(name, False)
        if lines is False:
            file = name.removeprefix(self._prefix)
            of_rules = file != name and file.partition("/")[0] in FOLDERS
            lines = self._files[name] = self.by_file[file] if of_rules else None
        if lines is None:
            return None
        lines.add(frame.f_lineno)
        add = lines.add

        def line(frame: FrameType, event: str, _: object) -> Any:
            add(frame.f_lineno)
            return line

        return line


def _passes(item: Any, following: Any) -> bool:
    from _pytest.runner import runtestprotocol

    return not any(each.failed for each in runtestprotocol(item, log=False, nextitem=following))


def _quietly(work: Any) -> None:
    """Do the rest of a forked process. Does not return."""
    status = 2
    with suppress(BaseException):
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        status = work()
    os._exit(status)


def _read_results() -> dict[str, Any]:
    """Return the results of earlier runs whose sources have not changed."""
    _BUILD.mkdir(parents=True, exist_ok=True)
    path, sources = _BUILD / "results.jsonl", _digests()
    results = {}
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            result = json.loads(line)
            if sources.get(result["file"]) == result["source"]:
                results[result["mutant"]] = result
    return results


def _digests() -> dict[str, str]:
    paths = [path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    return {path.relative_to(PACKAGE).as_posix(): _digest(path) for path in paths}


def _digest(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    raise SystemExit(main())
