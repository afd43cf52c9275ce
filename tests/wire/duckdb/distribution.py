"""Haybarn, a distribution of DuckDB 1.5, and its runner of SQL tests, both unmodified.

They are installed once, in a virtual environment of their own: the tests have DuckDB 2.0.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.remote.published import bin_of

#: The runners of 2.0 lack a library, up to 2.0.0rc8.
PACKAGES = ("haybarn==1.5.6rc1", "haybarn-unittest==1.5.6rc1")
_PLANS = Path(__file__).with_name("haybarn_plans.py")
_SECONDS = 120


def planned(
    create: str, table: str, predicates: Sequence[str], database: str = ":memory:"
) -> list[dict[str, Any] | None]:
    """Return the documents that it plans for predicates; None if no filter remains.

    Args:
        create: The statement that creates the table.
        table: The name of the table.
        predicates: Predicates in SQL.
        database: The path of a database that keeps the table.
    """
    request = {
        "database": database,
        "create": create,
        "table": table,
        "predicates": list(predicates),
    }
    command = [str(_bin() / "python"), str(_PLANS)]
    done = _run(command, json.dumps(request))
    assert done.returncode == 0, done.stderr
    documents: list[dict[str, Any] | None] = json.loads(done.stdout)
    return documents


def python_of_haybarn() -> str:
    """Return its Python, or skip the test."""
    return str(_bin() / "python")


def run_sql_test(folder: Path, lines: Sequence[str]) -> tuple[bool, str]:
    """Run a test in the format of sqllogictest. Return whether it passes, and the output."""
    (folder / "test").mkdir(exist_ok=True)
    name = "test/generated.test"
    (folder / name).write_text(f"# name: {name}\n# group: [test]\n\n" + "\n".join(lines) + "\n")
    done = _run([str(_bin() / "haybarn-unittest"), "--test-dir", str(folder), name], "")
    return done.returncode == 0 and "All tests passed" in done.stdout, done.stdout + done.stderr


def _bin() -> Path:
    return bin_of("haybarn", (3, 11), PACKAGES)


def _run(command: Sequence[str], text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
