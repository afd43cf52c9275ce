"""`python -m bench.scans`: print the ratios, over the tables of the demonstration.

On and off alternate in one session, in random order within every pair. Each pair gives a ratio; the
median is reported. The sink is Spark's `noop` writer, so that all columns of all rows are read and
nothing is written.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.demo import tables
from bench.session import jvm, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATA = Path(__file__).resolve().parents[2] / "build" / "demo"
_WARM = 2

QUERIES = {
    "full scan, all columns": "SELECT * FROM lineitem",
    "full scan, two columns": "SELECT l_orderkey, l_extendedprice FROM lineitem",
    "full scan, partitioned": "SELECT l_orderkey, year FROM lineitem_by_year",
    "filter that cannot prune": "SELECT * FROM lineitem WHERE l_quantity = 25",
    "filter true of every file": "SELECT l_orderkey FROM lineitem WHERE l_quantity >= 1 "
    "AND l_discount >= 0 AND l_tax >= 0 AND l_shipdate >= DATE'1990-01-01'",
    "one year of seven": "SELECT * FROM lineitem WHERE l_shipdate >= DATE'1995-01-01' "
    "AND l_shipdate < DATE'1996-01-01'",
    "one month": "SELECT * FROM lineitem WHERE l_shipdate >= DATE'1995-03-01' "
    "AND l_shipdate < DATE'1995-04-01'",
    "one day": "SELECT * FROM lineitem WHERE l_shipdate = DATE'1995-03-15'",
}


def _run(spark: SparkSession, sql: str, enabled: bool) -> tuple[float, str]:
    spark.conf.set("spark.tamis.enabled", str(enabled).lower())
    started = time.perf_counter()
    frame = spark.sql(sql)
    frame.write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - started
    if not enabled:
        return seconds, ""
    (scan,) = json.loads(jvm(spark).io.tamis.Tamis.scans(frame._jdf))
    return seconds, f"{scan['files_kept']} of {scan['files_total']}"


def measure(spark: SparkSession, sql: str, pairs: int) -> tuple[str, float, float, list[float]]:
    """Return files kept, median seconds off and on, and the ratio on / off of every pair."""
    rng = random.Random(0)
    times: dict[bool, list[float]] = {False: [], True: []}
    files = ""
    for number in range(_WARM + pairs):
        for enabled in rng.sample([False, True], 2):
            seconds, kept = _run(spark, sql, enabled)
            files = kept or files
            if number >= _WARM:
                times[enabled].append(seconds)
    ratios = [on / off for off, on in zip(times[False], times[True], strict=True)]
    return files, statistics.median(times[False]), statistics.median(times[True]), ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=11)
    arguments = parser.parse_args()

    import tamis

    spark = session("3g")
    tables.make(spark, _DATA)
    for name in ("lineitem", "lineitem_by_year"):
        tamis.index(spark, str(_DATA / name)).build()
    print("\n| query | files | off, s | on, s | on / off, median | min to max |")
    print("|---|---:|---:|---:|---:|---:|")
    for title, sql in QUERIES.items():
        files, off, on, ratios = measure(spark, sql, arguments.pairs)
        middle = f"{statistics.median(ratios):.2f}"
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"| {title} | {files} | {off:.2f} | {on:.2f} | {middle} | {spread} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
