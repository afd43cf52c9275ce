"""`python -m bench.first_query`: the first and the second query of a table without an index.

Each query is for one row of a new table, a directory of hard links to the same files. Plain Spark,
tamis without an index and tamis with an automatic index take turns, in random order. A second query
follows some seconds after the first one, when the background work has ended.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from bench.opened import Opened
from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = 1000  # of a file
_WAYS = {
    "plain Spark": {"spark.tamis.enabled": "false"},
    "no index": {"spark.tamis.index.auto": "off"},
    "automatic index": {"spark.tamis.index.auto": "footers"},
}


def write(spark: SparkSession, files: int, folder: Path) -> None:
    """Write a table of eight columns."""
    columns = [f"id * {k} AS c{k}" for k in range(2, 7)]
    rows = spark.range(files * _ROWS).selectExpr(
        "id", *columns, "rand(7) AS x", "CAST(id AS STRING)"
    )
    rows = rows.toDF("id", *(f"c{k}" for k in range(2, 7)), "x", "s")
    rows.repartitionByRange(files, "id").write.parquet(str(folder))


def link(source: Path, target: Path) -> Path:
    target.mkdir()
    for file in source.glob("part-*"):
        os.link(file, target / file.name)
    return target


def query(spark: SparkSession, table: Path, number: int) -> tuple[float, int]:
    """Return the seconds of a query for one row, and the number of files that it opens."""
    with Opened([table]) as kernel:
        started = time.perf_counter()
        found = spark.read.schema(_SCHEMA).parquet(str(table)).where(f"id = {number}").collect()
        seconds = time.perf_counter() - started
    assert [row.id for row in found] == [number]
    return seconds, len(kernel.files)


_SCHEMA = "id LONG, c2 LONG, c3 LONG, c4 LONG, c5 LONG, c6 LONG, x DOUBLE, s STRING"


def run(spark: SparkSession, files: int, rounds: int, pause: float, folder: Path) -> None:
    """Run the benchmark and print a table."""
    write(spark, files, folder / "source")
    sessions = {}
    for way, confs in _WAYS.items():
        sessions[way] = spark.newSession()
        for name, value in confs.items():
            sessions[way].conf.set(name, value)
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    opened: dict[tuple[str, int], int] = {}
    warm_up = 3
    for number in range(rounds + warm_up):
        for way in random.Random(number).sample(list(_WAYS), len(_WAYS)):
            table = link(folder / "source", folder / f"{number} {way}")
            for turn in (1, 2):
                seconds, count = query(sessions[way], table, number * _ROWS + turn)
                if number >= warm_up:
                    times[way, turn].append(seconds)
                    opened[way, turn] = max(opened.get((way, turn), 0), count)
                time.sleep(pause)
            shutil.rmtree(table)
    print(f"{files:,} files, {rounds} rounds\n")
    heads = ["", "first query, s", "/ plain Spark", "most files", "second query, s"]
    print(f"| {' | '.join([*heads, '/ plain Spark', 'most files'])} |\n|---|" + "---:|" * 6)
    for way in _WAYS:
        cells = []
        for turn in (1, 2):
            plain = times["plain Spark", turn]
            ratios = [mine / other for mine, other in zip(times[way, turn], plain, strict=True)]
            median = statistics.median(times[way, turn])
            cells += [f"{median:.2f}", f"{statistics.median(ratios):.2f}", f"{opened[way, turn]}"]
        print(f"| {way} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--pause", type=float, default=4, help="seconds between queries")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tamis-first-"))
    spark = session("3g", {"spark.tamis.cache.location": str(folder / "cache")})
    try:
        run(spark, options.files, options.rounds, options.pause, folder)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
