"""`python -m bench.appends`: appends of one file, each followed by a query for one of its rows.

Each way to keep statistics has its own table with the same rows, on which it is used alone. They
take turns, in random order. The files that a query opens are those that the kernel reports, each
once: also to read its footer for an automatic index. The ideal is one.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import tamis
from bench.opened import Opened
from bench.peers import packages
from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = 1000  # of a file


@dataclass(frozen=True)
class Way:
    """A table, and how its statistics are kept.

    Attributes:
        name: The name of the row.
        table: The name of the table.
        source: The data source of the table.
        builds: Whether an index is built before the first append.
        refreshes: Whether the index is refreshed after each append.
        confs: The confs of its session.
    """

    name: str
    table: str
    source: str = "parquet"
    builds: bool = False
    refreshes: bool = False
    confs: Mapping[str, str] = field(default_factory=dict)


_OFF = {"spark.tamis.enabled": "false"}
WAYS = (
    Way("plain Spark", "plain", confs=_OFF),
    Way("no index", "unindexed"),
    Way("`build()` once", "built", builds=True),
    Way("`refresh()` after each append", "refreshed", builds=True, refreshes=True),
    Way("automatic index", "automatic", confs={"spark.tamis.index.auto": "footers"}),
    Way("Iceberg", f"{packages.CATALOG}.bench.appended", "iceberg", confs=_OFF),
    Way("Delta", "appended_delta", "delta", confs=_OFF),
)


class Seconds:
    """Durations by way."""

    def __init__(self) -> None:
        self._of: dict[str, list[float]] = defaultdict(list)

    def note(self, way: Way, started: float) -> None:
        self._of[way.name].append(time.perf_counter() - started)

    def cells(self, way: Way) -> str:
        """Return the median, and its ratio to that of plain Spark."""
        median = statistics.median(self._of[way.name])
        return f"{median:.2f} | {median / statistics.median(self._of[WAYS[0].name]):.2f}"


def put(spark: SparkSession, way: Way, numbers: range) -> None:
    """Append one file for each number: its ids follow those of the file before."""
    ids = f"range({numbers.start * _ROWS}, {numbers.stop * _ROWS})"
    hint = f"REPARTITION_BY_RANGE({len(numbers)}, id)" if len(numbers) > 1 else "COALESCE(1)"
    rows = f"SELECT /*+ {hint} */ id, rand({numbers.start}) AS x FROM {ids}"
    spark.sql(f"INSERT INTO {way.table} {rows}")


def session_of(spark: SparkSession, way: Way) -> SparkSession:
    """Return a session with the confs of a way."""
    own = spark.newSession()
    for name, value in way.confs.items():
        own.conf.set(name, value)
    return own


def run(
    spark: SparkSession, files: int, appends: int, folder: Path, ways: Sequence[Way] = WAYS
) -> None:
    """Run the benchmark and print a table. The first of `ways` is plain Spark."""
    sessions = {way.name: session_of(spark, way) for way in ways}
    for way in ways:
        own = sessions[way.name]
        own.sql(f"CREATE TABLE {way.table} (id BIGINT, x DOUBLE) USING {way.source}")
        put(own, way, range(files))
        if way.builds:
            tamis.index(own, way.table).build(fill_gaps=False)
    writes, queries, refreshes = Seconds(), Seconds(), Seconds()
    opened: dict[str, list[int]] = defaultdict(list)
    for number in range(files, files + appends):
        for way in random.Random(number).sample(ways, len(ways)):
            own = sessions[way.name]
            started = time.perf_counter()
            put(own, way, range(number, number + 1))
            writes.note(way, started)
            if way.refreshes:
                started = time.perf_counter()
                tamis.index(own, way.table).refresh()
                refreshes.note(WAYS[0], started)
            with Opened([folder]) as kernel:
                started = time.perf_counter()
                found = own.table(way.table).where(f"id = {number * _ROWS + 5}").collect()
                queries.note(way, started)
            assert [row.id for row in found] == [number * _ROWS + 5], way.name
            data = [file for file in kernel.files if "_delta_log" not in file.parts]
            opened[way.name].append(len(data))
    print(f"{files:,} files, {appends} appends of one file\n")
    heads = ["", "files opened", "most", "query, s", "/ plain Spark", "append, s", "/ plain Spark"]
    print(f"| {' | '.join(heads)} |\n|---|" + "---:|" * 6)
    for way in ways:
        counts = opened[way.name]
        files_opened = f"{statistics.mean(counts):.2f} | {max(counts)}"
        print(f"| {way.name} | {files_opened} | {queries.cells(way)} | {writes.cells(way)} |")
    if any(way.refreshes for way in ways):
        print(f"\nrefresh(): {refreshes.cells(WAYS[0]).partition(' ')[0]} seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--appends", type=int, default=100)
    parser.add_argument("--tables", nargs="*", help="names of tables; default: those of all ways")
    options = parser.parse_args()
    ways = [
        way
        for way in WAYS
        if options.tables is None or way is WAYS[0] or way.table in options.tables
    ]
    lakes = any(way.source != "parquet" for way in ways)
    folder = Path(tempfile.mkdtemp(prefix="tamis-appends-"))
    confs = {
        **(packages.confs() if lakes else {}),
        **(packages.lakes(folder / "iceberg") if lakes else {}),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.tamis.cache.location": str(folder / "cache"),
    }
    spark = session("3g", confs)
    try:
        run(spark, options.files, options.appends, folder, ways)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
