"""One query with tamis on and off in turn."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.opened import Opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WARM = 2


@dataclass(frozen=True, slots=True)
class Run:
    rows: list[str]
    files: int
    planning: float
    seconds: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs in pairs: the runs at one position are consecutive. The first pairs are warm-up."""

    on: Sequence[Run]
    off: Sequence[Run]

    @property
    def answers_differ(self) -> bool:
        return any(run.rows != self.off[0].rows for run in (*self.on, *self.off))

    @property
    def ratios(self) -> list[float]:
        """Seconds on / off of each measured pair, ascending."""
        pairs = zip(self.on[_WARM:], self.off[_WARM:], strict=True)
        return sorted(on.seconds / off.seconds for on, off in pairs)

    @property
    def cpu_ratio(self) -> float:
        """CPU on / off over all measured pairs: a single run lasts only a few clock ticks."""
        on, off = (sum(run.cpu for run in runs[_WARM:]) for runs in (self.on, self.off))
        return on / off

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def is_slower(self) -> bool:
        """Whether the ratio exceeds 1.05 in the median and in at least three of four pairs."""
        return self.ratios[len(self.ratios) // 4] > 1.05

    def cells(self) -> list[str]:
        on, off = self.on[_WARM:], self.off[_WARM:]
        return [
            f"{self.off[-1].files}",
            f"{self.on[-1].files}",
            f"{statistics.median(run.planning for run in off) * 1000:.0f}",
            f"{statistics.median(run.planning for run in on) * 1000:.0f}",
            f"{statistics.median(run.seconds for run in off):.2f}",
            f"{statistics.median(run.seconds for run in on):.2f}",
            f"{self.ratio:.2f}" + " **slower**" * self.is_slower,
            f"{self.ratios[0]:.2f} to {self.ratios[-1]:.2f}",
            f"{self.cpu_ratio:.2f}",
        ]


HEADINGS = (
    "files off",
    "files on",
    "planning off, ms",
    "planning on, ms",
    "off, s",
    "on, s",
    "on / off, median",
    "min to max",
    "CPU on / off",
)


def compare(spark: SparkSession, sql: str, places: Sequence[Path], repeats: int) -> Comparison:
    """Run the pairs. The order within each pair is random, but the same for every query."""
    rng = random.Random(0)
    runs: dict[bool, list[Run]] = {True: [], False: []}
    for _ in range(_WARM + repeats):
        for on in rng.sample([True, False], 2):
            runs[on].append(_run(spark, sql, places, on))
    return Comparison(runs[True], runs[False])


def _run(spark: SparkSession, sql: str, places: Sequence[Path], on: bool) -> Run:
    spark.conf.set("spark.tamis.enabled", str(on).lower())
    with Opened(places) as opened:
        cpu, started = _cpu_seconds(spark), time.perf_counter()
        frame = spark.sql(sql)
        frame._jdf.queryExecution().executedPlan()
        planned = time.perf_counter()
        rows = frame.collect()
        ended, cpu = time.perf_counter(), _cpu_seconds(spark) - cpu
    answer = sorted(map(repr, rows))
    return Run(answer, len(opened.files), planned - started, ended - started, cpu)


def _cpu_seconds(spark: SparkSession) -> float:
    """Return the CPU time of the driver, which also runs the tasks; the sidecar's is negligible."""
    gateway: Any = spark.sparkContext._gateway
    driver = gateway.proc.pid  # spark-submit became the driver
    fields = Path(f"/proc/{driver}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
