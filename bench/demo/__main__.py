"""Starts the application through spark-submit, as a user would, and prints its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from bench.demo import report

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "build" / "demo"
LOG = DATA / "spark.log"
ROUNDS = 4

console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)


def main() -> int:
    DATA.mkdir(parents=True, exist_ok=True)
    command = spark_submit()
    console.print(report.command_line(command, REPOSITORY), soft_wrap=True)
    results: list[report.Result] = []
    warnings: list[str] = []
    with console.status("starting Spark") as status, LOG.open("w") as log:
        application = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment()
        )
        for document in documents(application):
            if "step" in document:
                status.update(document["step"])
            elif "warnings" in document:
                warnings = document["warnings"]
            else:
                results.append(document)
        code = application.wait()
    if code != 0:
        console.print(f"[red]spark-submit failed with {code}[/]; the end of {LOG}:")
        console.print(LOG.read_text("utf-8", errors="replace")[-3000:], markup=False)
        return 1
    console.print(report.table(results))
    console.print(report.reasons(results))
    for warning in warnings:
        console.print(f"[yellow]warning:[/] {escape(warning)}")
    failures = report.failures(results)
    for failure in failures:
        console.print(f"[bold red]{escape(failure)}[/]")
    if not failures:
        console.print(f"[green]All {len(results)} answers are the same with tamis on and off.[/]")
    return 1 if failures else 0


def spark_submit() -> list[str]:
    """Return the command with the two confs that enable tamis; the others suit a small machine."""
    jar = subprocess.run(
        [sys.executable, "-m", "tamis", "jar"], capture_output=True, text=True, check=True
    )
    return [
        str(Path(sys.executable).with_name("spark-submit")),
        *("--jars", jar.stdout.strip()),
        *("--conf", "spark.sql.extensions=io.tamis.TamisExtensions"),
        *("--master", "local[2]", "--driver-memory", "2g"),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=WARN"),
        *("--conf", "spark.sql.shuffle.partitions=4", "--conf", "spark.tamis.timeout=60s"),
        str(REPOSITORY / "bench" / "demo" / "app.py"),
        *(str(DATA), str(ROUNDS)),
    ]


def environment() -> dict[str, str]:
    """Return this environment; the driver uses this Python, and tamis and bench of this tree."""
    path = os.pathsep.join([str(REPOSITORY / "python"), str(REPOSITORY)])
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}


def documents(application: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """Yield the documents that the application reports; skip other lines on its stdout."""
    assert application.stdout is not None
    for line in application.stdout:
        if line.startswith("{"):
            yield json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
