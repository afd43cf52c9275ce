"""What the evaluation of values saves and costs, on a generated log of 3 M rows.

    python -m bench.evaluated_values [--rows 3000000] [--files 300] [--rounds 7]

For each predicate, counts the files that hold rows that pass, and those that a query opens without
and with evaluation (see bench.opened), and takes the medians of the times of alternating runs. The
first plan with a predicate evaluates it, later ones use the results: both are timed. Predicates are
planned first on another table, so that no time includes compilation.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import tamis
from bench.opened import Opened
from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENABLED = "spark.tamis.evaluateValues.enabled"
#: With a number, so that each plan has a predicate of its own.
PREDICATES = (
    "soundex(agent) = 'F612' AND length(agent) < {}",
    "agent RLIKE 'bot/[0-9]' AND length(agent) < {}",
    "get_json_object(detail, '$.code') = '503' AND length(detail) < {}",
    "regexp_extract(host, '-(\\\\d+)$', 1) = '17' AND length(host) < {}",
    "hash(day) % 20 = 3 AND hash(day) < 2147483647 + {}L",
    "agent LIKE '%o%' AND length(agent) < {}",
)
AGENTS = ("Firefox/1", "Chrome/2", "Safari/3", "curl/8", "Crawlbot/1", "Feedbot/2")


def write_log(spark: SparkSession, path: str, rows: int, files: int) -> None:
    """Write a log by day; each file has a few agents and hosts, and rarely a 503."""
    number = f"CAST(id DIV {rows // files} AS INT)"
    agents = ", ".join(map(repr, AGENTS))
    spark.range(0, rows, 1, files).selectExpr(
        "id",
        f"date_add(DATE '2024-01-01', {number} * 2 + CAST(id % 2 AS INT)) AS day",
        f"element_at(array({agents}), pmod(hash({number}, id % 2), {len(AGENTS)}) + 1) AS agent",
        f"concat('node-', {number} % 40 * 3 + id % 3) AS host",
        "concat('{\"code\": ', CASE WHEN id % 2 = 0 THEN 200 "
        f"WHEN {number} % 30 = 7 THEN 503 ELSE 404 END, '}}') AS detail",
    ).write.parquet(path)


def run(spark: SparkSession, path: str, predicate: str) -> tuple[float, float, int]:
    """Return the seconds until the plan is ready, those of the whole query, and files opened."""
    frame = spark.read.schema(
        "id BIGINT, day DATE, agent STRING, host STRING, detail STRING"
    ).parquet(path)
    with Opened([Path(path)]) as opened:
        started = time.perf_counter()
        query = frame.where(predicate).selectExpr("sum(id)")
        query._jdf.queryExecution().executedPlan()
        planned = time.perf_counter() - started
        query.collect()
        took = time.perf_counter() - started
    return planned, took, len(opened.files)


def compare(spark: SparkSession, path: str, rows: int, files: int, rounds: int) -> None:
    """Print a line for each predicate."""
    print("predicate\tholds rows\topened off\ton\tquery off\ton\tratio\tplan off\tfirst\tagain")
    for template in PREDICATES:
        predicate = template.format(1000)
        spark.conf.set("spark.tamis.enabled", "false")
        holds = f"id DIV {rows // files}"
        ideal = spark.read.parquet(path).where(predicate).selectExpr(holds).distinct().count()
        spark.conf.set("spark.tamis.enabled", "true")
        times: dict[str, list[float]] = {}
        opened: dict[str, int] = {}
        for number in range(rounds):
            for kind in ("off", "on") if number % 2 else ("on", "off"):
                spark.conf.set(ENABLED, str(kind == "on").lower())
                condition = template.format(2000 + number)
                for again in ("first", "again"):
                    planned, took, opened[kind] = run(spark, path, condition)
                    times.setdefault(f"{kind} plan {again}", []).append(planned)
                    times.setdefault(f"{kind} {again}", []).append(took)
        shown = {key: median(each) for key, each in times.items()}
        off, on = shown["off first"], shown["on first"]
        plans = [shown["off plan first"], shown["on plan first"], shown["on plan again"]]
        print(
            template.partition(" AND ")[0],
            ideal,
            opened["off"],
            opened["on"],
            f"{off:.3f} s\t{on:.3f} s\t{off / on:.1f}",
            *(f"{each * 1000:.0f} ms" for each in plans),
            sep="\t",
            flush=True,
        )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(
            "4g",
            {
                "spark.tamis.cache.location": f"{folder}/cache",
                "spark.tamis.remember.enabled": "false",
            },
        )
        for name, files in (("small", 4), ("log", arguments.files)):
            path, rows = f"{folder}/{name}", arguments.rows * files // arguments.files
            write_log(spark, path, rows, files)
            values = dict.fromkeys(("agent", "host", "detail"), "values")
            started = time.perf_counter()
            tamis.index(spark, path).build(columns=values)
            took = time.perf_counter() - started
            if name == "small":
                for template in PREDICATES * 5:
                    run(spark, path, template.format(1))
            else:
                print(f"{rows:,} rows in {files} files, index built in {took:.1f} s")
                compare(spark, path, rows, files, arguments.rounds)
        spark.stop()


if __name__ == "__main__":
    main()
