"""`python -m bench.tpch.formats`: the 22 queries over Parquet, Iceberg and Delta.

Each format is read with tamis off and on, one after the other. The formats take turns in one
driver, in random order, after rounds that warm up (`--warm-up`). CPU is that of the driver, which
also runs the tasks, and of the sidecar. Ratios are medians over the pairs for the time by the
clock, and over all pairs for CPU. **slower** marks queries that took more than 5 % longer with
tamis in at least three quarters of the pairs. The exit code is 1 if two runs differ in an answer.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tamis
from bench.cpu import cpu_seconds
from bench.demo.tables import CLUSTERED, generate
from bench.peers import packages
from bench.peers.by_running import say_warnings
from bench.session import session
from bench.tpch.texts import text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BUILD = Path(__file__).resolve().parents[2] / "build"
_OTHERS: Final = ("customer", "nation", "part", "partsupp", "region", "supplier")
_FORMATS: Final = ("parquet", "iceberg", "delta")


def sessions(spark: SparkSession, folder: Path, scale: float) -> dict[str, SparkSession]:
    """Return a session for each format, with the tables as views. Write missing tables."""
    spark.conf.set("spark.tamis.enabled", "false")
    generated = generate(folder.parent / "generated", (*CLUSTERED, *_OTHERS), scale)
    made = {each: spark.newSession() for each in _FORMATS}
    for name in (*CLUSTERED, *_OTHERS):
        rows = spark.read.parquet(str(generated / f"{name}.parquet"))
        if name in CLUSTERED:
            files, column = CLUSTERED[name]
            files = max(4, round(files * min(scale, 1)))
            rows = rows.repartitionByRange(files, column).sortWithinPartitions(column)
        else:
            rows = rows.coalesce(1)
        for each in _FORMATS:
            _table(made[each], rows, each, folder / each / name).createOrReplaceTempView(name)
    return made


def _table(spark: SparkSession, rows: DataFrame, kind: str, path: Path) -> DataFrame:
    done = path.with_name(f"{path.name}.done")
    if kind == "iceberg":
        name = f"{packages.CATALOG}.tpch.{path.name}"
        if not done.exists():
            rows.writeTo(name).using("iceberg").createOrReplace()
            done.parent.mkdir(parents=True, exist_ok=True)
            done.touch()
        return spark.table(name)
    if not done.exists():
        rows.write.format(kind).mode("overwrite").save(str(path))
        done.touch()
    if kind == "parquet":
        tamis.index(spark, str(path)).build()
    return spark.read.format(kind).load(str(path))


@dataclass(frozen=True, slots=True)
class Pair:
    """Seconds by the clock and of CPU, each with tamis off and on."""

    clock: tuple[float, float]
    cpu: tuple[float, float]


def measure(
    made: dict[str, SparkSession], sql: str, repeats: int, warm_up: int
) -> tuple[dict[str, list[Pair]], bool]:
    """Return the pairs of each format, and whether all answers are equal."""
    rng = random.Random(0)
    pairs: dict[str, list[Pair]] = {each: [] for each in _FORMATS}
    answers = set()
    for number in range(warm_up + repeats):
        for name in rng.sample(_FORMATS, len(_FORMATS)):
            clock, cpu = [0.0, 0.0], [0.0, 0.0]
            for on in rng.sample([False, True], 2):
                spark = made[name]
                spark.conf.set("spark.tamis.enabled", str(on).lower())
                cpu[on], started = -cpu_seconds(spark), time.perf_counter()
                rows = spark.sql(sql).collect()
                clock[on] = time.perf_counter() - started
                cpu[on] += cpu_seconds(spark)
                answers.add("\n".join(sorted(map(repr, rows))))
            if number >= warm_up:
                pairs[name].append(Pair((clock[0], clock[1]), (cpu[0], cpu[1])))
    return pairs, len(answers) == 1


def _cells(pairs: dict[str, list[Pair]], ratios: dict[str, list[float]]) -> list[str]:
    cells = []
    for name in _FORMATS:
        off, on = (statistics.median(pair.clock[k] for pair in pairs[name]) for k in (0, 1))
        each = sorted(pair.clock[1] / pair.clock[0] for pair in pairs[name])
        ratio = statistics.median(each)
        ratios[name].append(ratio)
        mark = " **slower**" if each[len(each) // 4] > 1.05 else ""
        cpu_off, cpu_on = (sum(pair.cpu[k] for pair in pairs[name]) for k in (0, 1))
        cells += [f"{off:.2f}", f"{on:.2f}", f"{ratio:.2f}{mark}", f"{cpu_on / cpu_off:.2f}"]
    return cells


def _heading() -> str:
    names: Sequence[str] = [
        cell for each in _FORMATS for cell in (each.capitalize(), "+ tamis", "on / off", "CPU")
    ]
    return f"| query | {' | '.join(names)} |\n|---|" + "---:|" * len(names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--queries", default=",".join(map(str, range(1, 23))))
    arguments = parser.parse_args()
    folder = _BUILD / "tpch" / f"{arguments.scale:g}" / "formats"
    confs = {
        **packages.confs(),
        **packages.lakes(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.databricks.delta.snapshotPartitions": "2",  # of at most 200 files
    }
    spark = session("3g", confs)
    ratios: dict[str, list[float]] = {each: [] for each in _FORMATS}
    wrong = []
    try:
        made = sessions(spark, folder, arguments.scale)
        print(f"\n### scale {arguments.scale:g}, load {os.getloadavg()[0]:.1f}\n\n{_heading()}")
        for number in map(int, arguments.queries.split(",")):
            sql = text(number, arguments.scale)
            pairs, equal = measure(made, sql, arguments.repeats, arguments.warm_up)
            print(f"| Q{number} | {' | '.join(_cells(pairs, ratios))} |", flush=True)
            if not equal:
                wrong.append(number)
        say_warnings(spark)
    finally:
        spark.stop()
    means = (f"{each} {statistics.geometric_mean(ratios[each]):.3f}" for each in _FORMATS)
    print(f"\nGeometric means of on / off: {', '.join(means)}; load {os.getloadavg()[0]:.1f}")
    for number in wrong:
        print(f"Q{number}: the answers differ.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
