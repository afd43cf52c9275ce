"""`python -m bench.aggregates`: queries with recorded aggregates, and what recording them costs.

The table is lineitem of TPC-H, clustered by l_shipdate. On and off alternate in one session (see
bench.tpch.measure), and the answers are compared. The cost of recording is the time of `add`,
divided by the time in which Spark reads the same columns into its `noop` writer, both repeated.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tamis
from bench.demo.tables import CLUSTERED, generate, write_clustered
from bench.session import session
from bench.tpch.measure import HEADINGS, compare
from bench.tpch.texts import text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATA: Final = Path(__file__).resolve().parents[1] / "build" / "bench" / "aggregates"
AGGREGATES: Final = (
    "sum(l_quantity)",
    "sum(l_extendedprice)",
    "sum(l_extendedprice * (1 - l_discount))",
    "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax))",
    "avg(l_discount)",
    "count(*)",
)
BY: Final = ("l_returnflag", "l_linestatus")
_COLUMNS: Final = (*BY, "l_quantity", "l_extendedprice", "l_discount", "l_tax")


def queries(scale: float) -> dict[str, str]:
    return {
        "TPC-H Q1": text(1, scale),
        "Q1 without a filter": text(1, scale).replace("WHERE", "WHERE l_orderkey IS NOT NULL OR"),
        "one flag": "SELECT sum(l_extendedprice), count(*) FROM lineitem WHERE l_returnflag = 'R'",
        "one year": "SELECT l_returnflag, avg(l_quantity) FROM lineitem "
        "WHERE year(l_shipdate) = 1995 GROUP BY l_returnflag",
        "not recorded": "SELECT l_shipmode, sum(l_quantity) FROM lineitem GROUP BY l_shipmode",
    }


def scan_seconds(spark: SparkSession, path: Path) -> float:
    """Return the time in which Spark reads the columns of the aggregates, without tamis."""
    spark.conf.set("spark.tamis.enabled", "false")
    started = time.perf_counter()
    rows = spark.read.parquet(str(path)).select(*_COLUMNS)
    rows.write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - started
    spark.conf.set("spark.tamis.enabled", "true")
    return seconds


def recording_seconds(spark: SparkSession, path: Path) -> float:
    """Return the time in which the aggregates are added to an index of footers."""
    index = tamis.index(spark, str(path)).build(fill_gaps=False)
    started = time.perf_counter()
    index.add(aggregates=list(AGGREGATES), by=list(BY), fill_gaps=False)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--repeats", type=int, default=4)
    arguments = parser.parse_args()
    spark = session("3g")
    folder = _DATA / f"{arguments.scale:g}"
    path = folder / "lineitem"
    if not (path / "_SUCCESS").exists():
        generated = generate(folder / "generated", ("lineitem",), arguments.scale)
        files, day = CLUSTERED["lineitem"]
        write_clustered(spark.read.parquet(str(generated / "lineitem.parquet")), path, files, day)
    costs = [
        (recording_seconds(spark, path), scan_seconds(spark, path))
        for _ in range(arguments.repeats)
    ]
    recording, scan = (statistics.median(each) for each in zip(*costs, strict=True))
    print(
        f"\nrecording: {recording:.2f} s = {recording / scan:.2f} scans of {scan:.2f} s", flush=True
    )
    spark.read.parquet(str(path)).createOrReplaceTempView("lineitem")
    print(f"\n| query | {' | '.join(HEADINGS)} |")
    print(f"|---|{'---:|' * len(HEADINGS)}")
    for name, sql in queries(arguments.scale).items():
        compared = compare(spark, sql, [path], arguments.repeats)
        print(f"| {name} | {' | '.join(compared.cells())} |", flush=True)
        if compared.answers_differ:
            raise SystemExit(f"{name}: the answers differ")
    spark.stop()


if __name__ == "__main__":
    main()
