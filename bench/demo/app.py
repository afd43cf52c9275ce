"""The application that spark-submit runs: `app.py DATA ROUNDS`.

It writes one JSON document per line to stdout: {"step": …} for progress, and for every query
{"query", "equal", "scans", "native_files", "seconds_on", "seconds_off"}; last {"warnings": […]}.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import tamis
from bench.demo import tables
from bench.demo.queries import QUERIES, Query


def main(data: Path, rounds: int) -> None:
    spark = SparkSession.builder.appName("tamis demo").getOrCreate()
    say(step="creating the tables")
    switch(spark, on=False)
    tables.make(spark, data)
    say(step="building the index")
    for name in tables.TABLES:
        tamis.index(spark, str(data / name)).build()
    for query in QUERIES:
        say(step=f"running: {query.title}")
        say(**run(spark, query, rounds))
    jvm: Any = spark._jvm
    say(warnings=list(jvm.io.tamis.Tamis.warnings()))
    spark.stop()


def run(spark: SparkSession, query: Query, rounds: int) -> dict[str, Any]:
    """Run one query with tamis on and off in turn. The first round warms up and is not timed."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    answers: list[list[tuple[Any, ...]]] = []
    last: dict[bool, DataFrame] = {}
    for number in range(rounds + 1):
        for on in (True, False) if number % 2 else (False, True):
            switch(spark, on=on)
            start = time.perf_counter()
            last[on] = spark.sql(query.sql)
            answers.append(sorted(map(tuple, last[on].collect()), key=repr))
            if number:
                seconds[on].append(time.perf_counter() - start)
    return {
        "query": query.title,
        "equal": all(answer == answers[0] for answer in answers),
        "scans": scans(spark, last[True]),
        "native_files": native_files(last[False]),
        "seconds_on": statistics.median(seconds[True]),
        "seconds_off": statistics.median(seconds[False]),
    }


def switch(spark: SparkSession, *, on: bool) -> None:
    spark.conf.set("spark.tamis.enabled", str(on).lower())


def scans(spark: SparkSession, df: DataFrame) -> list[dict[str, Any]]:
    """Return what tamis kept in every scan of a DataFrame."""
    jvm: Any = spark._jvm
    documents: list[dict[str, Any]] = json.loads(jvm.io.tamis.Tamis.explain(df._jdf))["scans"]
    return documents


def native_files(df: DataFrame) -> int:
    """Return how many files plain Spark opened for a DataFrame that has run."""
    return sum(
        scan.metrics().apply("numFiles").value()
        for scan in leaves(df._jdf.queryExecution().executedPlan())
        if scan.metrics().contains("numFiles")
    )


def leaves(plan: Any) -> Iterator[Any]:
    """Yield the scans of a physical plan, including those in stages of adaptive execution."""
    name = plan.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        yield from leaves(plan.executedPlan())
    elif name.endswith("QueryStageExec"):
        yield from leaves(plan.plan())
    elif plan.children().isEmpty():
        yield plan
    else:
        for i in range(plan.children().size()):
            yield from leaves(plan.children().apply(i))


def say(**document: object) -> None:
    print(json.dumps(document), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
