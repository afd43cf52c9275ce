"""`python -m bench.topk`: ORDER BY with LIMIT under filters, with tamis off and on.

The figures are files opened (of samples, and of the scan), and the median time of alternating runs.
The answers of both are compared. `--demo` also runs queries over the tables of bench.demo and
bench.peers, if they are there.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import bench.session
import tamis
from bench.remembered import REMEMBER, flush
from bench.topk import hits

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_BUILD: Final = Path(__file__).resolve().parents[2] / "build"
#: Numbered as the queries of ClickBench, from 0. The keys are unique enough to compare rows by.
HITS: Final = (
    ("23", "SELECT * FROM t WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10"),
    ("24", "SELECT SearchPhrase FROM t WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10"),
    ("25", "SELECT SearchPhrase FROM t WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10"),
    (
        "26",
        "SELECT SearchPhrase FROM t WHERE SearchPhrase <> '' "
        "ORDER BY EventTime, SearchPhrase LIMIT 10",
    ),
    # no effect: no filter, and too many groups of a file to record them. ClickBench has a hundred
    # times the rows, and a thousand times the constant.
    (
        "27",
        "SELECT CounterID, AVG(length(URL)) AS l, COUNT(*) AS c FROM t WHERE URL <> '' "
        "GROUP BY CounterID HAVING COUNT(*) > 100 ORDER BY l DESC LIMIT 25",
    ),
    # no effect: the rows that pass are rare, or every file begins early
    ("rare", "SELECT EventTime FROM t WHERE WatchID = 5 ORDER BY EventTime LIMIT 10"),
    ("no order", "SELECT N5, N40 FROM t WHERE N7 = 1 ORDER BY N40 DESC, N5 LIMIT 10"),
)
#: With what the first run has learnt.
REMEMBERED: Final = (
    (
        "22",
        "SELECT SearchPhrase, MIN(URL), MIN(Title), COUNT(*) AS c, COUNT(DISTINCT UserID) FROM t "
        "WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' "
        "GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10",
    ),
)
#: Query 25 again, and what is recorded for it.
RECORDED: Final = HITS[2:3]
PREDICATES: Final = {"predicates": {"SearchPhrase <> ''": ["SearchPhrase"]}}
DEMO: Final = (
    ("mail", "SELECT * FROM t WHERE l_shipmode = 'MAIL' ORDER BY l_shipdate DESC LIMIT 10"),
    (
        "text",
        "SELECT l_shipdate FROM t WHERE l_comment LIKE '%special%' ORDER BY l_shipdate LIMIT 10",
    ),
    (
        "join",
        "SELECT l_shipdate, name FROM t JOIN (VALUES ('AIR', 1), ('RAIL', 2)) AS m (mode, name) "
        "ON l_shipmode = mode ORDER BY l_shipdate DESC LIMIT 10",
    ),
    ("none", "SELECT l_shipdate FROM t WHERE l_comment = 'no' ORDER BY l_shipdate LIMIT 10"),
)
BY_MODE: Final = (
    ("two keys", "SELECT l_shipmode, l_comment FROM t ORDER BY l_shipmode, l_comment LIMIT 10"),
    (
        "two keys, filter",
        "SELECT l_shipmode, l_comment FROM t WHERE l_quantity < 20 "
        "ORDER BY l_shipmode, l_comment LIMIT 10",
    ),
)


@dataclass(frozen=True, slots=True)
class Run:
    rows: list[Row]
    seconds: float
    samples: int
    files: int


def run(spark: SparkSession, sql: str, on: bool) -> Run:
    spark.conf.set("spark.tamis.enabled", str(on).lower())
    frame = spark.sql(sql)
    started = time.perf_counter()
    rows = frame.collect()
    seconds = time.perf_counter() - started
    samples = files = 0
    if on:
        for scan in tamis.explain(frame).to_dict()["scans"]:
            if any(goal["goal"].startswith("sample") for goal in scan["goals"]):
                samples += scan["files_read"]
            else:
                files += scan["files_read"]
    return Run(rows, seconds, samples, files)


def compare(
    spark: SparkSession,
    path: Path,
    queries: Sequence[tuple[str, str]],
    runs: int,
    recorded: Mapping[str, Any] | None = None,
) -> None:
    """Print one line per query. Every second run is with tamis on."""
    index = tamis.index(spark, str(path)).build()
    if recorded is not None:
        started = time.perf_counter()
        index.add(**recorded)
        print(f"\n{recorded} recorded in {time.perf_counter() - started:.2f} s")
    spark.read.parquet(str(path)).createOrReplaceTempView("t")
    total = len(list(path.rglob("part-*.parquet")))
    print(f"\n{path.name}: {total} files")
    print("| query | files of samples | files of the scan | Spark s | tamis s | Spark / tamis |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, sql in queries:
        run(spark, sql, False), run(spark, sql, True)
        flush(spark)
        pairs = [(run(spark, sql, False), run(spark, sql, True)) for _ in range(runs)]
        off = statistics.median(one.seconds for one, _ in pairs)
        on = statistics.median(other.seconds for _, other in pairs)
        last = pairs[-1][1]
        keys = [[_keys(sql, row) for row in each.rows] for each in pairs[-1]]
        same = "" if keys[0] == keys[1] else " DIFFERENT ROWS"
        print(
            f"| {name} | {last.samples} | {last.files} | {off:.3f} | {on:.3f} | "
            f"{off / on:.2f}{same} |",
            flush=True,
        )


def _keys(sql: str, row: Row) -> list[str]:
    """Return the values of the sort keys that the query returns: other columns may differ."""
    order = sql.rpartition("ORDER BY ")[2].partition(" LIMIT")[0].split(", ")
    names = [each.removesuffix(" DESC") for each in order]
    return [repr(row[name]) for name in names if name in row.__fields__]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=_BUILD / "topk")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=hits.ROWS)
    parser.add_argument("--demo", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    spark = bench.session.session("3g", {"spark.sql.session.timeZone": "UTC"})
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        path = folder / f"hits_of_{arguments.rows}"
        hits.make(spark, path, arguments.rows)
        compare(spark, path, HITS, arguments.runs)
        spark.conf.set(REMEMBER, "true")
        compare(spark, path, REMEMBERED, arguments.runs)
        spark.conf.set(REMEMBER, "false")
        compare(spark, path, RECORDED, arguments.runs, PREDICATES)
        if arguments.demo:
            tables = ((_BUILD / "demo" / "lineitem", DEMO), (_BUILD / "peers" / "by_mode", BY_MODE))
            for path, queries in tables:
                if path.exists():
                    compare(spark, path, queries, arguments.runs)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
