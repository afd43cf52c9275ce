"""Starts the applications through spark-submit, as a user would, and prints their reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from bench.demo import report
from bench.peers import packages

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "build" / "demo"
LOG = DATA / "spark.log"
LOG_OF_FORMATS = DATA / "formats.log"
ROUNDS = 4

#: The conf that enables tamis, next to its jar.
ALONE = {"spark.sql.extensions": "io.tamis.TamisExtensions"}

console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)


def main() -> int:
    DATA.mkdir(parents=True, exist_ok=True)
    results = run(spark_submit("app.py", str(DATA), str(ROUNDS), confs=ALONE), LOG)
    if results is None:
        return 1
    console.print(report.table(results))
    console.print(report.reasons(results))
    failures = report.failures(results)
    if not failures:
        console.print(f"[green]All {len(results)} answers are the same with tamis on and off.[/]\n")
    failures += over_formats()
    for failure in failures:
        console.print(f"[bold red]{escape(failure)}[/]")
    return 1 if failures else 0


def over_formats() -> list[str]:
    """Run and show the queries over table formats. Return what is wrong."""
    try:
        with console.status("downloading Iceberg and Delta, once"):
            jars = packages.confs()["spark.jars"]
    except RuntimeError:
        console.print("[yellow]Iceberg and Delta cannot be downloaded: no query over them.[/]")
        return []
    confs = {
        **packages.lakes(DATA / "iceberg"),
        "spark.databricks.delta.snapshotPartitions": "1",  # of 200 files
        "spark.sql.session.timeZone": "UTC",
    }
    confs["spark.sql.extensions"] += f",{ALONE['spark.sql.extensions']}"
    command = spark_submit("formats.py", str(DATA), confs=confs, jars=jars)
    results = run(command, LOG_OF_FORMATS, shown=report.without_jars(command))
    if results is None:
        return ["The queries over Iceberg and Delta did not run."]
    console.print(report.formats(results))
    failures = report.failures_of_formats(results)
    if not failures:
        console.print(
            f"[green]All {len(results)} answers are the same in both formats, with tamis on and "
            "off.[/]"
        )
    return failures


def run(
    command: list[str], log: Path, shown: Sequence[str] | None = None
) -> list[report.Result] | None:
    """Run an application, with its progress and warnings. Return its results; None: it failed."""
    console.print(report.command_line(shown or command, REPOSITORY), soft_wrap=True)
    results: list[report.Result] = []
    warnings: list[str] = []
    with console.status("starting Spark") as status, log.open("w") as stderr:
        application = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment()
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
        console.print(f"[red]spark-submit failed with {code}[/]; the end of {log}:")
        console.print(log.read_text("utf-8", errors="replace")[-3000:], markup=False)
        return None
    for warning in warnings:
        console.print(f"[yellow]warning:[/] {escape(warning)}")
    return results


def spark_submit(
    application: str, *arguments: str, confs: dict[str, str], jars: str = ""
) -> list[str]:
    """Return the command with the confs that enable tamis; the others suit a small machine."""
    jar = subprocess.run(
        [sys.executable, "-m", "tamis", "jar"], capture_output=True, text=True, check=True
    )
    return [
        str(Path(sys.executable).with_name("spark-submit")),
        *("--jars", ",".join(filter(None, [jar.stdout.strip(), jars]))),
        *(word for name, value in confs.items() for word in ("--conf", f"{name}={value}")),
        *("--master", "local[2]", "--driver-memory", "2g"),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=WARN"),
        *("--conf", "spark.sql.shuffle.partitions=4", "--conf", "spark.tamis.timeout=60s"),
        # its tables compare one run of each query with another
        *("--conf", "spark.tamis.remember.enabled=false"),
        str(REPOSITORY / "bench" / "demo" / application),
        *arguments,
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
