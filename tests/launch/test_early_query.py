"""Queries that come before the first sidecar of a driver is ready."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.launch.conftest import FILES, ROWS
from tests.launch.processes import EXTENSION, report, run, spark

pytestmark = pytest.mark.spark

EARLY = {"rows": ROWS, "files": FILES, "reason": "SIDECAR_STARTING", "ready": False}
PRUNED = {"rows": ROWS, "files": 1, "reason": None, "ready": True}


@pytest.fixture
def answers(
    tmp_path: Path, environment: dict[str, str], app: Callable[[str], str], query: str, jar: str
) -> Callable[[str], dict[str, Any]]:
    """Run the application with a sidecar that starts once a file of this name exists."""

    def early(name: str) -> dict[str, Any]:
        release = tmp_path / name
        python = tmp_path / "slow-python"
        wait = f'while [ ! -e "{release}" ]; do sleep 0.05; done'
        python.write_text(f'#!/bin/sh\n{wait}\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        confs = [EXTENSION, f"spark.tamis.python={python}", "spark.tamis.startTimeout=120s"]
        command = [spark("spark-submit"), "--jars", jar]
        for conf in confs:
            command += ["--conf", conf]
        return report(run([*command, app("early"), query, str(release)], tmp_path, environment))

    return early


def test_small_table_is_read_at_once_and_a_large_one_waits(
    answers: Callable[[str], dict[str, Any]],
) -> None:
    assert answers("ready") == {
        "small": EARLY,
        "large": PRUNED,
        "small again": PRUNED,
        "warnings": [],
    }


def test_explain_waits(answers: Callable[[str], dict[str, Any]]) -> None:
    assert answers("explained") == {
        "small": EARLY,
        "explained": 1,
        "small again": PRUNED,
        "warnings": [],
    }
