"""Puts each mistake of tests/mutants/scala.toml into a copy of the tree; its test has to fail.

    make mutants-scala                 all of them
    make mutants-scala ONLY="a LIMIT"  those whose name contains this text

One sbt compiles all mistakes, one after another. The exit status is 1 if a mistake survives its
test, does not compile, or replaces a text that its file does not contain once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path("jvm-shim/src/main/scala/io/tamis")
_COPY = ROOT / "build" / "mutants-scala"
_JAR = Path("python/tamis/jars/tamis.jar")


@dataclass(frozen=True, slots=True)
class ScalaMutant:
    """A text of a file, its replacement, and the tests. At least one of these has to fail.

    `suite` is a suite of munit, which runs before the tests of pytest.
    """

    name: str
    file: str
    text: str
    replacement: str
    test: str
    suite: str = ""

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
    with _Compiler() as compiler:
        for mutant in scala_mutants():
            if options.only not in mutant.name and options.only not in mutant.file:
                continue
            start = time.monotonic()
            outcome = _outcome(mutant, compiler)
            failures += outcome != "killed"
            seconds = round(time.monotonic() - start)
            print(f"{outcome}: {mutant.name} ({mutant.file}, {seconds} s)", flush=True)
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


def _outcome(mutant: ScalaMutant, compiler: _Compiler) -> str:
    path = _COPY / SOURCES / mutant.file
    original = path.read_text("utf-8")
    try:
        path.write_text(mutant.mutated(_COPY), "utf-8")
    except ValueError as error:
        return f"out of date ({error})"
    try:
        if not compiler.run("shim/package"):
            return "does not compile"
        if mutant.suite and not compiler.run(f"shim/testOnly *{mutant.suite}"):
            return "killed"
        status = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", *mutant.test.split()],
            cwd=_COPY,
            env=_environment() | {"CI": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        ).returncode
        return "killed" if status == 1 else "survived" if status == 0 else f"pytest gave {status}"
    finally:
        path.write_text(original, "utf-8")


def _environment() -> dict[str, str]:
    return os.environ | {
        "PYTHON": str(_COPY / ".venv" / "bin" / "python"),
        "PYTHONPATH": str(_COPY / "python"),
    }


class _Compiler:
    """An sbt that stays open, because starting it takes longer than compiling one file."""

    def __enter__(self) -> _Compiler:
        self._sbt = subprocess.Popen(
            ["./sbt"],
            cwd=_COPY,
            env=_environment() | {"SBT_OPTS": "-Dsbt.color=false"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._sbt.stdin is not None
        with suppress(OSError):
            self._sbt.stdin.write("exit\n")  # the end of its input does not end sbt
            self._sbt.stdin.close()
        try:
            self._sbt.wait(60)
        except subprocess.TimeoutExpired:
            self._sbt.kill()

    def run(self, command: str) -> bool:
        """Run a command of sbt over the copy. Return whether it succeeds.

        Raises:
            RuntimeError: sbt ended.
        """
        assert self._sbt.stdin is not None
        assert self._sbt.stdout is not None
        self._sbt.stdin.write(f"{command}\n")
        self._sbt.stdin.flush()
        output = []
        for line in self._sbt.stdout:
            output.append(line)
            if "[success]" in line:
                return True
            if "[error] Total time" in line:
                return False
        raise RuntimeError("sbt ended:\n" + "".join(output[-20:]))


if __name__ == "__main__":
    raise SystemExit(main())
