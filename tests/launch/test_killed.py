"""The sidecar ends with its driver, however the driver ends. (A killed JVM: test_thrift.)"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.processes import REPORT, report, running, wait_until_gone

pytestmark = pytest.mark.spark


def test_killed_python_ends_its_jvm_and_the_sidecar(
    tmp_path: Path,
    environment: dict[str, str],
    app: Callable[[str], str],
    query: str,
    repository: Path,
) -> None:
    environment["PYTHONPATH"] = str(repository / "python")
    command = [sys.executable, app("configured"), query, "endless"]
    with running(command, tmp_path, environment) as driver:
        driver.wait_for(REPORT)
        result = report(driver.output())
        assert Path(result["private"]).is_dir()
        os.kill(driver.pid, signal.SIGKILL)
        wait_until_gone(result["sidecar"])
        assert not Path(result["private"]).exists()
