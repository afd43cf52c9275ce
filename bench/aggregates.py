"""`python -m bench.aggregates`: queries with recorded aggregates, and what recording them costs.

The table is lineitem of TPC-H, clustered by l_shipdate. On and off alternate in one session (see
bench.tpch.measure), and the answers are compared. The cost of recording is the time of `add`,
divided by the time in which Spark reads the same columns into its `noop` writer, in pairs. The
first pair warms up the JVM and does not count.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
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
SKETCHES: Final = ("approx_count_distinct(l_suppkey)", "approx_count_distinct(l_partkey)")
BY: Final = ("l_returnflag", "l_linestatus")
_COLUMNS: Final = (*BY, "l_quantity", "l_extendedprice", "l_discount", "l_tax")
_COLUMNS_OF_SKETCHES: Final = (*BY, "l_suppkey", "l_partkey")


def queries(scale: float) -> dict[str, str]:
    return {
        "TPC-H Q1": text(1, scale),
        "Q1 without a filter": text(1, scale).replace("WHERE", "WHERE l_orderkey IS NOT NULL OR"),
        "one flag": "SELECT sum(l_extendedprice), count(*) FROM lineitem WHERE l_returnflag = 'R'",
        "one year": "SELECT l_returnflag, avg(l_quantity) FROM lineitem "
        "WHERE year(l_shipdate) = 1995 GROUP BY l_returnflag",
        "suppliers": "SELECT l_returnflag, approx_count_distinct(l_suppkey), "
        "approx_count_distinct(l_partkey) FROM lineitem GROUP BY l_returnflag",
        "suppliers of a year": "SELECT approx_count_distinct(l_suppkey) FROM lineitem "
        "WHERE year(l_shipdate) = 1995",
        "not recorded": "SELECT l_shipmode, sum(l_quantity) FROM lineitem GROUP BY l_shipmode",
    }


def scan_seconds(spark: SparkSession, path: Path, columns: Sequence[str]) -> float:
    """Return the time in which Spark reads columns, without tamis."""
    spark.conf.set("spark.tamis.enabled", "false")
    started = time.perf_counter()
    rows = spark.read.parquet(str(path)).select(*columns)
    rows.write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - started
    spark.conf.set("spark.tamis.enabled", "true")
    return seconds


def recording_seconds(spark: SparkSession, path: Path, aggregates: Sequence[str]) -> float:
    """Return the time in which aggregates are added to an index of footers."""
    index = tamis.index(spark, str(path)).build(fill_gaps=False)
    started = time.perf_counter()
    index.add(aggregates=list(aggregates), by=list(BY), fill_gaps=False)
    return time.perf_counter() - started


def print_cost(
    spark: SparkSession,
    path: Path,
    name: str,
    aggregates: Sequence[str],
    columns: Sequence[str],
    repeats: int,
) -> None:
    """Print the cost of recording aggregates in scans of their columns."""
    pairs = [
        (recording_seconds(spark, path, aggregates), scan_seconds(spark, path, columns))
        for _ in range(repeats + 1)
    ][1:]
    recording, scan = (statistics.median(each) for each in zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    print(
        f"| {name} | {recording:.2f} | {scan:.2f} | {statistics.median(ratios):.2f} "
        f"| {ratios[0]:.2f} to {ratios[-1]:.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--costs-only", action="store_true", help="do not run the queries")
    arguments = parser.parse_args()
    spark = session("3g")
    folder = _DATA / f"{arguments.scale:g}"
    path = folder / "lineitem"
    if not (path / "_SUCCESS").exists():
        generated = generate(folder / "generated", ("lineitem",), arguments.scale)
        files, day = CLUSTERED["lineitem"]
        write_clustered(spark.read.parquet(str(generated / "lineitem.parquet")), path, files, day)
    print("\n| aggregates | recording, s | reading, s | ratio, median | min to max |")
    print("|---|---:|---:|---:|---:|", flush=True)
    repeats = arguments.repeats
    print_cost(spark, path, "of query 1", AGGREGATES, _COLUMNS, repeats)
    print_cost(spark, path, "approx_count_distinct", SKETCHES, _COLUMNS_OF_SKETCHES, repeats)
    if arguments.costs_only:
        return
    tamis.index(spark, str(path)).add(aggregates=list(AGGREGATES), by=list(BY), fill_gaps=False)
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
