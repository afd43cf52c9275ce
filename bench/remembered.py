"""What remembered predicates cost and save on a generated log.

    python -m bench.remembered [--rows 10000000] [--files 300] [--rounds 20]

Prints four tables. The first compares the time of a scan that learns with one that does not; the
runs alternate. CPU time includes what is learnt and stored after the query, but not the compilers
of the JVM (see bench.cpu). No scan finds anything to remember, because each round has a predicate
of its own. The log in row groups has a tenth of the files, with several row groups each.
The second counts the files that the first and the second run of a query open (see bench.opened).
The third counts the row groups that the first and the second run read of the log in row groups,
which has an index of footers.
The fourth counts the files and row groups that queries read of this log with an index of footers,
and after `add(predicates=…)`. Answers are compared.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import tamis
from bench.cpu import cpu_seconds
from bench.opened import Opened
from bench.session import jvm, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REMEMBER = "spark.tamis.remember.enabled"
#: Rounds before the first one that counts. Code that runs once per file is compiled late.
WARM_UP = 4


def write_log(
    spark: SparkSession, path: str, rows: int, files: int, row_group: int | None = None
) -> None:
    """Write a log in the order of time: rare words are anywhere, an incident is in one stretch.

    Args:
        spark: The session.
        path: The directory.
        rows: The number of rows.
        files: The number of files.
        row_group: Bytes of a row group; None: Spark's default.
    """
    incident = f"id BETWEEN {rows // 2} AND {rows // 2 + rows // files}"
    spark.range(0, rows, 1, files).selectExpr(
        "timestamp_seconds(1700000000 + id DIV 100) AS ts",
        "CAST(pmod(hash(id), 500) AS INT) AS host",
        "concat(element_at(array('GET', 'PUT', 'POST'), CAST(id % 3 AS INT) + 1), ' /items/',"
        " hex(xxhash64(id)), IF(pmod(hash(id, 1), 1000) = 0, ' 500 error', ' 200 ok'),"
        f" IF({incident} AND id % 50 = 0, ' upstream timeout', ''),"
        f" IF(id % {rows // 5 + 1} = 77, ' kernel panic', '')) AS payload",
    ).write.options(**({} if row_group is None else {"parquet.block.size": row_group})).parquet(
        path
    )


def seconds_of(spark: SparkSession, path: str, predicate: str) -> float:
    """Return how long a query takes that reads the rows that pass."""
    frame = spark.read.schema("ts TIMESTAMP, host INT, payload STRING").parquet(path)
    started = time.perf_counter()
    frame.where(predicate).selectExpr("sum(host)").collect()
    return time.perf_counter() - started


def flush(spark: SparkSession) -> None:
    """Wait until what queries have learnt is stored."""
    jvm(spark).io.tamis.Tamis.flushLearnt(spark._jsparkSession)


def costs(spark: SparkSession, log: str, grouped: str, rounds: int) -> None:
    """Print what learning costs, in time and CPU time of the driver and its sidecar."""
    print("predicate\twithout\twith\tratio\tCPU without\twith\tratio")
    kinds = {
        "no row passes": (log, "payload LIKE '%absent {}%'"),
        "every block has rows that pass": (
            log,
            "payload LIKE '%error%' AND length(payload) > {}",
        ),
        # one conjunct each, because a conjunct that all rows pass is remembered on its own
        "every row passes": (log, "(payload LIKE '%items%' OR length(payload) < {})"),
        "one row passes, in row groups": (
            grouped,
            "payload LIKE '%kernel panic%' AND length(payload) > {}",
        ),
        "every row passes, in row groups": (
            grouped,
            "(payload LIKE '%items%' OR length(payload) < {})",
        ),
    }
    for name, (path, predicate) in kinds.items():
        times: dict[str, list[float]] = {"false": [], "true": []}
        cpu: dict[str, list[float]] = {"false": [], "true": []}
        for number in range(-WARM_UP, rounds):
            for on in ("false", "true") if number % 2 else ("true", "false"):
                spark.conf.set(REMEMBER, on)
                before = cpu_seconds(spark, compilers=False)
                seconds = seconds_of(spark, path, predicate.format(number - 1000))
                flush(spark)
                if number >= 0:
                    times[on].append(seconds)
                    cpu[on].append(cpu_seconds(spark, compilers=False) - before)
        figures = []
        for each in (times, cpu):
            off, on_ = median(each["false"]), median(each["true"])
            figures.append(f"{off:.3f} s\t{on_:.3f} s\t{on_ / off:.3f}")
        print(name, *figures, sep="\t", flush=True)
    spark.conf.set(REMEMBER, "true")


def savings(spark: SparkSession, path: str) -> None:
    """Print the files that the first and the second run open."""
    print("predicate\tfirst run\tsecond run\tfiles opened first\tsecond")
    for predicate in (
        "payload LIKE '%kernel panic%'",
        "payload LIKE '%upstream timeout%'",
        "payload RLIKE 'kernel pan[ij]c'",
        "payload LIKE '%500 error%'",
        "payload RLIKE 'item[sz]'",  # every row passes
    ):
        figures = []
        for _ in range(2):
            with Opened([Path(path)]) as opened:
                seconds = seconds_of(spark, path, predicate)
            flush(spark)
            figures.append((seconds, len(opened.files)))
        (first, all_files), (second, some) = figures
        print(f"{predicate}\t{first:.3f} s\t{second:.3f} s\t{all_files}\t{some}")


def row_groups(spark: SparkSession, path: str) -> None:
    """Print the row groups that the first and the second run read."""
    tamis.index(spark, path).build()
    print("predicate\tfirst run\tsecond run\trow groups first\tsecond")
    for predicate in ("payload LIKE '%kernel panic%'", "payload RLIKE 'upstream time?out'"):
        figures = []
        for _ in range(2):
            frame = spark.read.parquet(path).where(predicate)
            (scan,) = tamis.explain(frame).to_dict()["scans"]
            groups = scan["row_groups_kept"] or scan["row_groups_total"]
            figures.append((seconds_of(spark, path, predicate), groups, frame.count()))
            flush(spark)
        (first, every, rows), (second, some, same) = figures
        assert rows == same, predicate
        print(f"{predicate}\t{first:.3f} s\t{second:.3f} s\t{every}\t{some}")


def on_demand(spark: SparkSession, path: str) -> None:
    """Print the files and row groups that queries read before and after conditions are recorded."""
    timeout, panic = "payload LIKE '%upstream timeout%'", "payload LIKE '%kernel panic%'"
    conditions = (
        timeout,
        panic,
        f"{panic} AND host < 100",
        f"{timeout} AND payload LIKE '%500 error%'",
        f"{panic} AND ts < TIMESTAMP '2023-11-14 22:30:00Z'",
        f"{timeout} AND host = 7",
    )
    spark.conf.set(REMEMBER, "false")
    spark.read.parquet(path).createOrReplaceTempView("log")
    index = tamis.index(spark, path).build()

    def counted(condition: str) -> tuple[object, str]:
        query = f"SELECT count(*), sum(host) FROM log WHERE {condition}"
        answer = [tuple(row) for row in spark.sql(query).collect()]
        scans = tamis.explain(spark.sql(query)).to_dict()["scans"]
        scan = scans[0] if scans else {"files_kept": 0, "row_groups_kept": 0}
        return answer, f"{scan['files_kept']} / {scan['row_groups_kept'] or 0}"

    before = {each: counted(each) for each in conditions}
    started = time.perf_counter()
    index.add(predicates={timeout: ["ts", "host"], panic: ["ts", "host"]})
    took = time.perf_counter() - started
    totals = index.describe().pointer.totals
    print(f"{totals.files} files, {totals.row_groups} row groups; recorded in {took:.1f} s")
    print("predicate\tfiles / row groups with footers\tafter add(predicates=…)")
    for condition, (answer, footers) in before.items():
        again, recorded = counted(condition)
        assert again == answer, condition
        print(f"{condition}\t{footers}\t{recorded}")
    spark.conf.set(REMEMBER, "true")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = session("4g", {"spark.tamis.cache.location": f"{folder}/cache"})
        path = f"{folder}/log"
        started = time.perf_counter()
        write_log(spark, path, arguments.rows, arguments.files)
        took = time.perf_counter() - started
        print(f"{arguments.rows:,} rows in {arguments.files} files, written in {took:.0f} s")
        grouped = f"{folder}/grouped"
        write_log(spark, grouped, arguments.rows, max(1, arguments.files // 10), 1 << 20)
        time.sleep(3)  # files that are too young are not learnt about
        costs(spark, path, grouped, arguments.rounds)
        savings(spark, path)
        row_groups(spark, grouped)
        on_demand(spark, grouped)
        spark.stop()


if __name__ == "__main__":
    main()
