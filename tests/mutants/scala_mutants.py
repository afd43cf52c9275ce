"""Puts each mistake of tests/mutants/scala.toml into a copy of the tree; its test has to fail.

    make mutants-scala                 all of them: one to two minutes each
    make mutants-scala ONLY="a LIMIT"  those whose name contains this text

The exit status is 1 if no test detects a mistake, or if the file does not contain its text.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path("jvm-shim/src/main/scala/io/tamis")
_COPY = ROOT / "build" / "mutants-scala"
_JAR = Path("python/tamis/jars/tamis.jar")


@dataclass(frozen=True, slots=True)
class ScalaMutant:
    """A text of a file, its replacement, and the tests. At least one of these has to fail."""

    name: str
    file: str
    text: str
    replacement: str
    test: str

    def mutated(self, root: Path) -> str:
        """Return the file with the mistake; raise ValueError unless its text occurs once."""
        source = (root / SOURCES / self.file).read_text("utf-8")
        if source.count(self.text) != 1:
            raise ValueError(
                f"{self.file} contains the text of {self.name!r} {source.count(self.text)} times"
            )
        return source.replace(self.text, self.replacement)


def scala_mutants() -> list[ScalaMutant]:
    """Return every mistake of the list."""
    with (Path(__file__).parent / "scala.toml").open("rb") as file:
        return [ScalaMutant(**each) for each in tomllib.load(file)["mutants"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="a part of the name")
    options = parser.parse_args()
    _copy()
    failures = 0
    for mutant in scala_mutants():
        if options.only not in mutant.name and options.only not in mutant.file:
            continue
        outcome = _outcome(mutant)
        failures += not outcome.startswith("killed")
        print(f"{outcome}: {mutant.name} ({mutant.file})", flush=True)
    return 1 if failures else 0


def _copy() -> None:
    """Copy the tracked files and the compiled classes to a separate folder."""
    _COPY.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True
    ).stdout.split(b"\0")
    for name in filter(None, names):
        path = Path(name.decode())
        target = _COPY / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_file() and not _same(ROOT / path, target):
            shutil.copy2(ROOT / path, target)
    if not (_COPY / ".venv").exists():
        (_COPY / ".venv").symlink_to((ROOT / ".venv").resolve())


def _same(source: Path, target: Path) -> bool:
    return target.exists() and source.read_bytes() == target.read_bytes()


def _outcome(mutant: ScalaMutant) -> str:
    path = _COPY / SOURCES / mutant.file
    original = path.read_text("utf-8")
    try:
        path.write_text(mutant.mutated(_COPY), "utf-8")
    except ValueError as error:
        return f"out of date ({error})"
    try:
        environment = os.environ | {
            "PYTHON": str(_COPY / ".venv" / "bin" / "python"),
            "PYTHONPATH": str(_COPY / "python"),
        }
        (_COPY / _JAR).unlink(missing_ok=True)
        _run(["./sbt", "shim/package"], environment)
        if not (_COPY / _JAR).exists():
            return "does not compile"
        tests = [sys.executable, "-m", "pytest", "-q", "-x", *mutant.test.split()]
        status = _run(tests, environment | {"CI": "1"})
        return "killed" if status == 1 else "survived" if status == 0 else f"pytest gave {status}"
    finally:
        path.write_text(original, "utf-8")


def _run(command: list[str], environment: dict[str, str]) -> int:
    log = _COPY / "build" / "log.txt"
    log.parent.mkdir(exist_ok=True)
    with log.open("w", encoding="utf-8") as output:
        return subprocess.run(
            command,
            cwd=_COPY,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
