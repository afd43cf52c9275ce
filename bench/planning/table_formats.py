"""Planning a query for one of 100,000 files of an Iceberg or a Delta table, tamis off and on.

CPU milliseconds of the driver and of the sidecar, for everything from the SQL text to the physical
plan: medians over rounds in which the cases take turns, after rounds that warm up the driver. The
data files do not exist. Every query has another constant.

- *warm*: the driver has planned queries over this snapshot.
- *snapshot*: the first query over a snapshot, whose manifests are in the local cache.
- *cold*: the first query over a snapshot, whose manifests are not.

Iceberg and Delta themselves take the same time for these, except that Delta reads a new snapshot.
"""

from __future__ import annotations

import random
import shutil
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cpu import cpu_seconds
from bench.peers import packages
from bench.peers.by_plans import kept, opened
from bench.planning import delta_log
from bench.planning.iceberg_tables import Tables
from bench.session import jvm, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 100_000
_WARM_UP = 4
_ROUNDS = 5
#: Queries of a round and case, except those that are the first over a snapshot.
_QUERIES = 3


def table(folder: Path) -> list[str]:
    """Return the figures as a Markdown table."""
    home = folder / "table-formats"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    tables = Tables(home / "iceberg", FILES)
    tables.add("main")
    for number in range(_ROUNDS):
        tables.add(f"snapshot{number}")
        tables.add_copy(f"cold{number}")
    delta_log.write_commit(home / "delta")
    spark = formats_session(home)
    try:
        return _lines(_Planning(spark, home / "delta").measure())
    finally:
        spark.stop()


def formats_session(home: Path) -> SparkSession:
    """Return a session with both formats. `home`: the directory of the catalog and of caches."""
    confs = {
        **packages.confs(),
        **packages.lakes(home / "iceberg"),
        "spark.sql.session.timeZone": "UTC",
        "spark.tamis.timeout": "60s",
        "spark.tamis.cache.location": str(home / "cache"),
    }
    return session("4g", confs)


class _Planning:
    def __init__(self, spark: SparkSession, delta: Path) -> None:
        self._spark = spark
        self._rng = random.Random(0)
        jvm(spark).org.apache.spark.sql.delta.DeltaLog.forTable(
            spark._jsparkSession, str(delta)
        ).checkpoint()
        self._delta = f"delta.`{delta}`"

    def measure(self) -> dict[str, list[float]]:
        """Return CPU milliseconds per query, by case."""
        milliseconds: dict[str, list[float]] = {}
        main = f"{packages.CATALOG}.db.main"
        for number in range(-_WARM_UP, _ROUNDS):
            cases = [
                ("Iceberg", main, False, _QUERIES),
                ("Iceberg + tamis, warm", main, True, _QUERIES),
                ("Delta", self._delta, False, _QUERIES),
                ("Delta + tamis, warm", self._delta, True, _QUERIES),
            ]
            for name in ("snapshot", "cold"):
                if number >= 0:
                    source = f"{packages.CATALOG}.db.{name}{number}"
                    cases.append((f"Iceberg + tamis, {name}", source, True, 1))
            for case, source, on, queries in self._rng.sample(cases, len(cases)):
                taken = self._plan(source, on, queries)
                if number >= 0:
                    milliseconds.setdefault(case, []).append(taken)
        return milliseconds

    def _plan(self, source: str, on: bool, queries: int) -> float:
        self._spark.conf.set("spark.tamis.enabled", str(on).lower())
        column, width = ("column_0", 10) if source == self._delta else ("c0", 100)
        numbers = self._rng.sample(range(FILES), queries)
        before = cpu_seconds(self._spark)
        for number in numbers:
            value = number * width + width // 2
            frame = self._spark.sql(f"SELECT * FROM {source} WHERE {column} = {value}")
            frame._jdf.queryExecution().executedPlan()
        taken = cpu_seconds(self._spark) - before
        files = kept(frame) if on else opened(frame)
        assert files == 1, (source, on, files)
        return 1000 * taken / queries


def _lines(milliseconds: Mapping[str, Sequence[float]]) -> list[str]:
    lines = [
        "| planning | CPU, median | least | greatest | / the format alone |",
        "|---|" + "---:|" * 4,
    ]
    for case in sorted(milliseconds):
        values = milliseconds[case]
        alone = milliseconds[case.split(" ")[0]]
        ratio = statistics.median(values) / statistics.median(alone)
        cells = [f"{each:,.0f}" for each in (statistics.median(values), min(values), max(values))]
        lines.append(f"| {case} | {' | '.join(cells)} | {ratio:.2f} |")
    return lines
