"""spark-submit of an application that does not know tamis, with the two confs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tamis
from tests.launch.conftest import ROWS
from tests.launch.processes import EXTENSION, report, run, spark, wait_until_gone

pytestmark = pytest.mark.spark


def submit(
    directory: Path, environment: Mapping[str, str], jar: str, *application: str
) -> dict[str, Any]:
    command = [spark("spark-submit"), "--jars", jar, "--conf", EXTENSION, *application]
    return report(run(command, directory, environment))


def test_documented_command_works(
    tmp_path: Path, environment: dict[str, str], app: Callable[[str], str], query: str
) -> None:
    jar = run([sys.executable, "-m", "tamis", "jar"], tmp_path, environment).strip()
    result = submit(tmp_path, environment, jar, app("query"), query)
    assert result["rows"] == ROWS
    assert "Files: 1 of 8" in result["plan"]
    assert result["warnings"] == []
    # a normal exit leaves nothing behind
    wait_until_gone(result["sidecar"])
    assert Path(result["private"]).parent == tmp_path
    assert not list(tmp_path.glob("tamis-*"))
    # The history of queries remains, although the application ended at once without stopping
    # anything.
    history = tamis.history(tmp_path / "state" / "tamis" / "history")
    assert history.column("files_kept").to_pylist() == [1]


def test_installed_package_determines_the_python_of_the_sidecar(
    tmp_path: Path, environment: dict[str, str], app: Callable[[str], str], query: str
) -> None:
    """The layout is that of an environment.

    The application runs with any Python, the sidecar with the Python of the environment.
    """
    package = tmp_path / "env" / "lib" / "python3.99" / "site-packages" / "tamis"
    shutil.copytree(Path(tamis.__file__).parent, package)
    interpreter = tmp_path / "env" / "bin" / "python3.99"
    interpreter.parent.mkdir()
    interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o755)
    environment["PYSPARK_PYTHON"] = sys.executable
    result = submit(tmp_path, environment, str(package / "jars" / "tamis.jar"), app("query"), query)
    assert result["rows"] == ROWS
    assert "Files: 1 of 8" in result["plan"]
    assert result["python"] == str(interpreter)


def test_copied_jar_runs_with_the_python_of_spark(
    tmp_path: Path,
    environment: dict[str, str],
    app: Callable[[str], str],
    query: str,
    jar: str,
    repository: Path,
) -> None:
    copied = tmp_path / "copied" / "any-name.jar"
    copied.parent.mkdir()
    shutil.copy(jar, copied)
    environment["PYSPARK_PYTHON"] = sys.executable
    environment["PYTHONPATH"] = str(repository / "python")
    result = submit(tmp_path, environment, str(copied), app("query"), query)
    assert "Files: 1 of 8" in result["plan"]
    assert result["python"] == sys.executable
