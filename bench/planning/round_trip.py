"""The whole round trip: from Spark's rule to the final list of files, in a running driver.

`planning` is the metric of the scan node: listing look-up, request, py4j, Python, answer, file
list. Every query has different constants, so that no answer is cached. `CPU` is the time of the
whole driver, and of the sidecar, between two plannings, including Spark's own optimizer.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.planning.synthetic import link_files, write_index
from bench.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIZES = (10_000, 100_000, 1_000_000)
_ROUNDS = 40
_TICK = os.sysconf("SC_CLK_TCK")


def _cpu_ms(pid: int) -> float:
    """Return user and system time of a process so far, in milliseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / _TICK


def _anonymous_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def _plan(frame: DataFrame) -> dict[str, Any]:
    (scan,) = json.loads(jvm(frame.sparkSession).io.tamis.Tamis.scans(frame._jdf))
    assert scan["fallback"] is None, scan["fallback"]
    return dict(scan)


def measure(spark: SparkSession, folder: Path, size: int) -> list[str]:
    """Return one row of the table, as text cells."""
    table = folder / f"files-{size}"
    if not table.exists():
        link_files(table, size)
    write_index(spark, table, folder / "export")
    started = time.monotonic()
    frame = spark.read.schema("id BIGINT, name STRING, v DOUBLE, batch INT").parquet(str(table))
    listing = time.monotonic() - started
    first = _plan(frame.where("id = 5"))["planning_ms"]
    driver = int(jvm(spark).java.lang.ProcessHandle.current().pid())
    sidecar = int(jvm(spark).io.tamis.bridge.SidecarSupervisor.current().get().pid())
    rng = random.Random(0)
    warm, kept = [], 0
    cpu = sidecar_cpu = 0.0
    for number in range(_ROUNDS):
        start = rng.randrange(0, 10 * size - size // 10)
        before = _cpu_ms(driver), _cpu_ms(sidecar)
        scan = _plan(frame.where(f"id >= {start} AND id < {start + size // 10}"))
        if number >= _ROUNDS // 2:  # the first half warms up the driver's compiler
            warm.append(float(scan["planning_ms"]))
            cpu += _cpu_ms(driver) - before[0]
            sidecar_cpu += _cpu_ms(sidecar) - before[1]
            kept = int(scan["files_kept"])
    rounds = len(warm)
    return [
        f"{size:,}",
        f"{kept:,}",
        f"{listing:.1f} s",
        f"{float(first):,.0f}",
        f"{min(warm):.1f}",
        f"{statistics.median(warm):.1f}",
        f"{cpu / rounds:.0f}",
        f"{sidecar_cpu / rounds:.1f}",
        f"{_anonymous_mb(sidecar):.0f} MB",
    ]


def table(spark: SparkSession, folder: Path, sizes: Sequence[int]) -> list[str]:
    """Return the figures as a Markdown table. Times are milliseconds unless stated otherwise."""
    heads = ["files", "kept", "Spark lists", "planning, first", "warm, min", "warm, median"]
    heads += ["driver CPU", "sidecar CPU", "sidecar memory"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    for size in sizes:
        lines.append("| " + " | ".join(measure(spark, folder, size)) + " |")
    return lines
