"""Starts the application through spark-submit, as anyone would, and prints what it reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.demo import report

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "build" / "demo"
LOG = DATA / "spark.log"
ROUNDS = 3

console = Console(highlight=False)


def main() -> int:
    DATA.mkdir(parents=True, exist_ok=True)
    command = spark_submit()
    console.print(report.command_line(command, REPOSITORY), soft_wrap=True)
    results = []
    with console.status("starting Spark") as status, LOG.open("w") as log:
        application = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment()
        )
        for document in documents(application):
            if "step" in document:
                status.update(document["step"])
            else:
                results.append(document)
        code = application.wait()
    if code != 0:
        console.print(f"[red]spark-submit failed with {code}[/]; the end of {LOG}:")
        console.print(LOG.read_text("utf-8", errors="replace")[-3000:], markup=False)
        return 1
    console.print(report.table(results))
    console.print(report.reasons(results))
    console.print(report.conclusion(results))
    return 0 if all(result["equal"] for result in results) else 1


def spark_submit() -> list[str]:
    """The two confs that turn tamis on; the others fit Spark to a small machine."""
    jar = subprocess.run(
        [sys.executable, "-m", "tamis", "jar"], capture_output=True, text=True, check=True
    )
    return [
        str(Path(sys.executable).with_name("spark-submit")),
        *("--jars", jar.stdout.strip()),
        *("--conf", "spark.sql.extensions=io.tamis.TamisExtensions"),
        *("--master", "local[2]", "--driver-memory", "2g"),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=WARN"),
        *("--conf", "spark.sql.shuffle.partitions=4"),
        str(REPOSITORY / "bench" / "demo" / "app.py"),
        *(str(DATA), str(ROUNDS)),
    ]


def environment() -> dict[str, str]:
    """This environment; the driver's Python is this one, and finds tamis and bench in the tree."""
    path = os.pathsep.join([str(REPOSITORY / "python"), str(REPOSITORY)])
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}


def documents(application: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What the application reports; other lines on its stdout are not ours."""
    assert application.stdout is not None
    for line in application.stdout:
        if line.startswith("{"):
            yield json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
