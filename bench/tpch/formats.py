"""`python -m bench.tpch.formats`: CPU time of the 22 queries over Parquet, Iceberg and Delta.

Each format is read with tamis off and on. The six cases take turns in one driver, in random order,
after a round that warms up. CPU is that of the driver, which also runs the tasks, and of the
sidecar; a ratio is that of the medians. **slower** marks ratios above 1.05. The exit code is 1 if
two cases differ in an answer.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Sequence
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


def measure(
    made: dict[str, SparkSession], sql: str, repeats: int
) -> tuple[dict[tuple[str, bool], list[float]], bool]:
    """Return CPU seconds by format and whether tamis is on, and whether all answers are equal."""
    rng = random.Random(0)
    cases = [(each, on) for each in _FORMATS for on in (False, True)]
    seconds: dict[tuple[str, bool], list[float]] = {case: [] for case in cases}
    answers = set()
    for number in range(1 + repeats):
        for case in rng.sample(cases, len(cases)):
            name, on = case
            spark = made[name]
            spark.conf.set("spark.tamis.enabled", str(on).lower())
            before = cpu_seconds(spark)
            rows = spark.sql(sql).collect()
            taken = cpu_seconds(spark) - before
            answers.add("\n".join(sorted(map(repr, rows))))
            if number:
                seconds[case].append(taken)
    return seconds, len(answers) == 1


def _cells(
    seconds: dict[tuple[str, bool], list[float]], ratios: dict[str, list[float]]
) -> list[str]:
    cells = []
    for each in _FORMATS:
        off, on = (statistics.median(seconds[each, flag]) for flag in (False, True))
        ratios[each].append(on / off)
        mark = " **slower**" if on / off > 1.05 else ""
        cells += [f"{off:.2f}", f"{on:.2f}", f"{on / off:.2f}{mark}"]
    return cells


def _heading() -> str:
    names: Sequence[str] = [
        cell for each in _FORMATS for cell in (each.capitalize(), "+ tamis", "on / off")
    ]
    return f"| query | {' | '.join(names)} |\n|---|" + "---:|" * len(names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--repeats", type=int, default=5)
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
            seconds, equal = measure(made, sql, arguments.repeats)
            print(f"| Q{number} | {' | '.join(_cells(seconds, ratios))} |", flush=True)
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
