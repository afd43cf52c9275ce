"""`python -m bench.index_build`: build an index from footers, and also where they do not suffice.

The table has a LONG, a STRING, two DOUBLE columns and an INT96 timestamp. Footers do not suffice
for the last three. The builds alternate in random order with two reads of the table by Spark, into
its writer `noop`: of these three columns, and of all columns.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATA = Path(__file__).resolve().parents[1] / "build" / "index_build"
_COLUMNS = (
    "id",
    "lpad(CAST(id * 7919 % 1000003 AS STRING), 12, '0') AS code",
    "rand(1) AS price",
    "rand(2) * 100 AS weight",
    "timestamp_seconds(1700000000 + id) AS ts",
)
_GAPS = ("price", "weight", "ts")


def table(spark: SparkSession, rows: int, files: int) -> str:
    """Return the path of a table with this number of rows and files, written on first use."""
    path = _DATA / f"{rows}-{files}"
    if not path.exists():
        spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
        draft = path.with_name(f"{path.name}.draft")
        frame = spark.range(0, rows, 1, files).selectExpr(*_COLUMNS)
        frame.write.mode("overwrite").parquet(str(draft))
        draft.rename(path)
    return str(path)


def readers(spark: SparkSession, path: str) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""
    import tamis

    def drop(*columns: str) -> None:
        frame = spark.read.parquet(path).select(*columns)
        frame.write.format("noop").mode("overwrite").save()

    index = tamis.index(spark, path)
    return {
        "build(fill_gaps=False)": lambda: index.build(fill_gaps=False),
        "build()": index.build,
        "Spark reads three columns": lambda: drop(*_GAPS),
        "Spark reads all columns": lambda: drop("*"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    spark = session("4g")
    path = table(spark, options.rows, options.files)
    spark.conf.set("spark.tamis.enabled", "false")
    calls = readers(spark, path)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(options.rounds + 1):
        for name in random.Random(number).sample(list(calls), len(calls)):
            started = time.perf_counter()
            calls[name]()
            if number:  # the first round warms up
                times[name].append(time.perf_counter() - started)
    whole = statistics.median(times["Spark reads all columns"])
    print(f"{options.rows:,} rows in {options.files:,} files\n")
    print("| | seconds | / Spark reads all columns |\n|---|---:|---:|")
    for name, each in times.items():
        median = statistics.median(each)
        print(f"| {name} | {median:.2f} | {median / whole:.2f} |")
    spark.stop()


if __name__ == "__main__":
    main()
