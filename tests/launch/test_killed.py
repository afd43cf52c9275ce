"""The sidecar ends with its driver, however that ends. (A killed JVM: test_thrift.)"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.processes import REPORT, report, running, wait_until_gone

pytestmark = pytest.mark.spark


def test_a_killed_python_takes_its_jvm_and_the_sidecar_along(
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
        told = report(driver.output())
        assert Path(told["private"]).is_dir()
        os.kill(driver.pid, signal.SIGKILL)
        wait_until_gone(told["sidecar"])
        assert not Path(told["private"]).exists()
