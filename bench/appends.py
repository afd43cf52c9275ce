"""`python -m bench.appends`: appends of one file, each followed by a query for one of its rows.

Each way to keep statistics has its own copy of the table, on which it is used alone. They take
turns, in random order. The files that a query opens are those that the kernel reports. An automatic
index opens the new file once more, to read its footer.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tamis
from bench.opened import Opened
from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = 1000  # of a file
_WAYS = {
    "plain Spark": {"spark.tamis.enabled": "false"},
    "no index": {},
    "build() once": {},
    "refresh() after each append": {},
    "automatic index": {"spark.tamis.index.auto": "footers"},
}


def put(folder: Path, number: int) -> None:
    """Write one file of the table: its ids follow those of the file before."""
    ids = np.arange(number * _ROWS, (number + 1) * _ROWS)
    values = pa.array(np.random.default_rng(number).random(_ROWS))
    # names of Spark's files are in no order
    name = f"part-{number * 7919 % 1_000_003:07d}.parquet"
    pq.write_table(pa.table({"id": ids, "x": values}), folder / name)


def run(spark: SparkSession, files: int, appends: int, folder: Path) -> None:
    """Run the benchmark and print a table."""
    for way in _WAYS:
        table = folder / way
        table.mkdir()
        for number in range(files):
            put(table, number)
        if way.startswith(("build", "refresh")):
            tamis.index(spark, str(table)).build(fill_gaps=False)
    opened: dict[str, list[int]] = defaultdict(list)
    queries: dict[str, list[float]] = defaultdict(list)
    refreshes: list[float] = []
    for number in range(files, files + appends):
        for way in random.Random(number).sample(list(_WAYS), len(_WAYS)):
            table = folder / way
            put(table, number)
            if way.startswith("refresh"):
                started = time.perf_counter()
                tamis.index(spark, str(table)).refresh()
                refreshes.append(time.perf_counter() - started)
            for name, value in _WAYS[way].items():
                spark.conf.set(name, value)
            with Opened([table]) as kernel:
                started = time.perf_counter()
                found = spark.read.parquet(str(table)).where(f"id = {number * _ROWS + 5}").collect()
                queries[way].append(time.perf_counter() - started)
            for name in _WAYS[way]:
                spark.conf.unset(name)
            assert [row.id for row in found] == [number * _ROWS + 5]
            # Spark opens one file to infer the schema.
            opened[way].append(len(kernel.files))
    print(f"{files:,} files, {appends} appends of one file\n")
    print(
        "| | files opened by a query | seconds of a query | / plain Spark |\n|---|---:|---:|---:|"
    )
    plain = statistics.median(queries["plain Spark"])
    for way in _WAYS:
        median = statistics.median(queries[way])
        mean = statistics.mean(opened[way])
        print(f"| {way} | {mean:.1f} | {median:.2f} | {median / plain:.2f} |")
    print(f"\nrefresh(): {statistics.median(refreshes):.2f} seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--appends", type=int, default=20)
    options = parser.parse_args()
    spark = session("2g")
    folder = Path(tempfile.mkdtemp(prefix="tamis-appends-"))
    spark.conf.set("spark.tamis.cache.location", str(folder / "cache"))
    try:
        run(spark, options.files, options.appends, folder)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
