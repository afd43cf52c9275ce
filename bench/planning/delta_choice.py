"""Planning queries over one Delta snapshot of 100,000 files: who chooses the files first.

CPU milliseconds of the driver and of the sidecar, from the SQL text to the physical plan. The data
files do not exist. Every query has another constant. Cases take turns, after rounds that warm up
the driver:

- *Delta*: tamis is off.
- *after Delta*: Delta chooses files, and tamis among them.
- *before Delta*: tamis chooses them first (`spark.tamis.deltaFiles.enabled`).

Delta cannot use the filter that keeps ten files. The last line is about the second query of a new
driver, which lists the files: its time, and what the heap of the driver then holds for each file,
after full garbage collections.
"""

from __future__ import annotations

import random
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cpu import cpu_seconds
from bench.planning import delta_log
from bench.planning.table_formats import formats_session
from bench.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WARM_UP = 2
_ROUNDS = 5
_CASES = {
    "Delta": {"spark.tamis.enabled": "false"},
    "after Delta": {"spark.tamis.deltaFiles.enabled": "false"},
    "before Delta": {"spark.tamis.deltaFiles.enabled": "true"},
}
_QUERIES: dict[str, tuple[Callable[[int], str], int]] = {
    "one file": (lambda k: f"column_0 = {10 * k + 5}", 3),
    "ten files": (lambda k: f"column_0 + 0 BETWEEN {10 * k} AND {10 * k + 95}", 3),
    "all": (lambda k: f"column_0 >= -{k}", 1),
}


def table(folder: Path) -> list[str]:
    """Return the figures as a Markdown table."""
    home = folder / "delta-choice"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    delta_log.write_commit(home / "delta")
    spark = formats_session(home)
    try:
        return _Choice(spark, home / "delta").lines()
    finally:
        spark.stop()


class _Choice:
    def __init__(self, spark: SparkSession, delta: Path) -> None:
        self._spark = spark
        self._rng = random.Random(0)
        self._table = f"delta.`{delta}`"
        log = jvm(spark).org.apache.spark.sql.delta.DeltaLog
        log.forTable(spark._jsparkSession, str(delta)).checkpoint()

    def lines(self) -> list[str]:
        taken: dict[tuple[str, str], list[float]] = {}
        listing = self._first_two()
        for number in range(-_WARM_UP, _ROUNDS):
            cases = [(query, case) for query in _QUERIES for case in _CASES]
            for query, case in self._rng.sample(cases, len(cases)):
                milliseconds = self._plan(query, case)
                if number >= 0:
                    taken.setdefault((query, case), []).append(milliseconds)
        lines = [
            "| files kept | chosen | CPU, median | least | greatest | / Delta |",
            "|---|---|" + "---:|" * 4,
        ]
        for query in _QUERIES:
            alone = statistics.median(taken[query, "Delta"])
            for case in _CASES:
                each = taken[query, case]
                median = statistics.median(each)
                cells = [f"{value:,.0f}" for value in (median, min(each), max(each))]
                lines.append(f"| {query} | {case} | {' | '.join(cells)} | {median / alone:.2f} |")
        return [*lines, "", listing]

    def _first_two(self) -> str:
        """Describe the heap before and after the query that lists the files, which it times."""
        self._plan("one file", "Delta")
        self._plan("one file", "after Delta")
        (query, _) = _QUERIES["one file"]
        self._confs("before Delta")
        self._run(query(7))
        heap = self._heap()
        before = cpu_seconds(self._spark)
        self._run(query(8))
        taken = 1000 * (cpu_seconds(self._spark) - before)
        held = (self._heap() - heap) / delta_log.FILES
        return f"second query before Delta, cold: {taken:,.0f} ms; heap: {held:,.0f} bytes a file"

    def _heap(self) -> int:
        """Return the bytes that are in use after full garbage collections."""
        self._spark.sql("SELECT 1").collect()
        runtime = jvm(self._spark).java.lang.Runtime.getRuntime()
        used = []
        for _ in range(4):
            jvm(self._spark).java.lang.System.gc()
            time.sleep(0.5)
            used.append(int(runtime.totalMemory()) - int(runtime.freeMemory()))
        return min(used)

    def _confs(self, case: str) -> None:
        for key in {key for confs in _CASES.values() for key in confs}:
            self._spark.conf.unset(key)
        for key, value in _CASES[case].items():
            self._spark.conf.set(key, value)

    def _plan(self, query: str, case: str) -> float:
        """Return CPU milliseconds of a query."""
        self._confs(case)
        where, count = _QUERIES[query]
        numbers = self._rng.sample(range(delta_log.FILES - 10), count)
        before = cpu_seconds(self._spark)
        for number in numbers:
            self._run(where(number))
        return 1000 * (cpu_seconds(self._spark) - before) / count

    def _run(self, where: str) -> None:
        frame = self._spark.sql(f"SELECT * FROM {self._table} WHERE {where}")
        frame._jdf.queryExecution().executedPlan()
