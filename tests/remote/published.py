"""Software from PyPI that needs a newer Python, in virtual environments of its own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tamis" / "tests"
_SECONDS = 600


def bin_of(name: str, minimum: tuple[int, int], packages: Sequence[str]) -> Path:
    """Return the `bin` of a virtual environment with these packages, which is created once.

    The test is skipped if no Python of this version is found, or the packages cannot be installed.
    """
    with installing(name, packages) as folder:
        if folder is None:
            return folder_of(name) / "bin"
        python = next(_pythons(minimum), None)
        if python is None:
            pytest.skip(f"{name} needs Python {minimum[0]}.{minimum[1]}, which was not found")
        run(name, python, "-m", "venv", folder)
        run(name, folder / "bin" / "python", "-m", "pip", "install", "--quiet", *packages)
    return folder / "bin"


def folder_of(name: str) -> Path:
    """Return the folder of the cache that `installing` fills."""
    return _CACHE / name


@contextmanager
def installing(name: str, content: Sequence[str]) -> Iterator[Path | None]:
    """Yield an empty folder of the cache to fill with this content; None if it is filled already.

    Other processes wait meanwhile. The folder is complete if the block does not raise.
    """
    folder = folder_of(name)
    marker, wanted = folder / "installed.txt", "\n".join(content)
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if marker.exists() and marker.read_text() == wanted:
            yield None
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield folder
        marker.write_text(wanted)


def run(name: str, *command: object) -> None:
    """Run a command that installs something, or skip the test."""
    words = [str(each) for each in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{name} cannot be installed within {_SECONDS} s")
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        pytest.skip(f"{name} cannot be installed: {last}")


def _pythons(minimum: tuple[int, int]) -> Iterator[str]:
    """Yield the interpreters of these versions: on the path, and those of pyenv."""
    for minor in range(minimum[1], minimum[1] + 4):
        found = shutil.which(f"python{minimum[0]}.{minor}")
        if found is not None and _runs(found):
            yield found
        versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        for each in sorted(versions.glob(f"{minimum[0]}.{minor}.*/bin/python")):
            if _runs(str(each)):
                yield str(each)


def _runs(python: str) -> bool:
    """Return whether the interpreter runs; a shim of pyenv may stand for one that is not active."""
    done = subprocess.run([python, "-c", ""], capture_output=True, check=False)
    return done.returncode == 0
