"""Spark's own pages: the SQL tab in a browser, and the metrics of the driver."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.launch.conftest import ROWS
from tests.launch.processes import EXTENSION, report, running, spark

pytestmark = pytest.mark.spark

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHOWN = ("tamis: files in the table: 8", "tamis: files kept: 1", "tamis: rows in the table: 800")


@pytest.fixture
def url(
    tmp_path: Path,
    environment: dict[str, str],
    app: Callable[[str], str],
    query: str,
    jar: str,
) -> Iterator[str]:
    """Return the URL of the UI of an application that has run the query."""
    confs = [EXTENSION, "spark.ui.enabled=true", "spark.ui.port=0", "spark.driver.host=127.0.0.1"]
    options = [part for conf in confs for part in ("--conf", conf)]
    command = [spark("spark-submit"), "--jars", jar, *options, app("tab"), query]
    with running(command, tmp_path, environment) as driver:
        driver.wait_for("REPORT ")
        driver.wait_until(lambda: "\n" in driver.output().partition("REPORT ")[2], "a whole line")
        result = report(driver.output())
        assert result["rows"] == len(ROWS)
        yield str(result["url"])


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def until(probe: Callable[[], Any], limit: float = 60) -> Any:
    """Wait until the probe returns a value, and return it. Spark's pages lag behind its events."""
    deadline = time.monotonic() + limit
    while not (value := probe()) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert value
    return value


def test_pages_and_metrics_show_pruning(url: str, tmp_path: Path) -> None:
    def finished() -> list[dict[str, Any]]:
        (application,) = json.loads(get(f"{url}/api/v1/applications"))
        queries = json.loads(get(f"{url}/api/v1/applications/{application['id']}/sql?details=true"))
        return [query for query in queries if query["status"] == "COMPLETED"]

    execution = until(finished)[-1]
    # the node of the plan, with its metrics
    nodes = {node["nodeName"]: node for node in execution["nodes"]}
    (scan,) = [node for name, node in nodes.items() if "Scan" in name]
    metrics = {each["name"]: each["value"] for each in scan["metrics"]}
    assert {f"{name}: {value}" for name, value in metrics.items()} >= set(SHOWN)
    page = f"{url}/SQL/execution/?id={execution['id']}"
    source = html.unescape(get(page)).replace("\\n", "\n").replace("<br>", "\n")
    for text in SHOWN:
        assert text in source
    # the metrics of the driver, as any sink reports them
    report_of_metrics = json.loads(get(f"{url}/metrics/json/"))
    counters = {
        k.partition(".tamis.")[2]: v["count"] for k, v in report_of_metrics["counters"].items()
    }
    assert counters["scans.planned"] >= 1
    assert counters["files.total"] == 8 * counters["scans.planned"]
    assert counters["files.kept"] == counters["scans.planned"]
    assert counters["scans.fallback"] == 0
    gauges = {k.partition(".tamis.")[2]: v["value"] for k, v in report_of_metrics["gauges"].items()}
    assert gauges["sidecar.alive"] == 1
    (times,) = [
        v for k, v in report_of_metrics["histograms"].items() if k.endswith(".tamis.planning.ms")
    ]
    assert times["count"] == counters["scans.planned"]
    in_a_browser(page, tmp_path)


def in_a_browser(page: str, directory: Path) -> None:
    """Check the page as a browser draws it. Without a browser, skip the check."""
    if CHROMIUM is None:
        return
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={directory}/browser",
    ]
    drawn = ["--virtual-time-budget=20000", "--window-size=1400,1400"]
    shot = directory / "sql_tab.png"
    for what in (["--dump-dom"], [f"--screenshot={shot}"]):
        done = subprocess.run(
            [CHROMIUM, *options, *drawn, *what, page], capture_output=True, text=True, timeout=180
        )
        if what == ["--dump-dom"]:
            # within the drawing, not in the text from which it was drawn
            drawing = " ".join(html.unescape(done.stdout).partition("<svg")[2].split())
            for text in SHOWN:
                assert text in drawing, done.stderr
    assert shot.stat().st_size > 10_000
