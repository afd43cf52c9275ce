"""The application over table formats: `formats.py DATA`. It runs after the one over Parquet.

The files of lineitem become an Iceberg and a Delta table without being copied. The application
writes one JSON document per line to stdout: {"step": …} for progress, and for every query {"query",
"equal", "files": {format: [alone, with tamis]}}; last {"warnings": […]}. The kernel reports which
files are opened.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from bench.demo.app import say, switch
from bench.demo.queries import OVER_FORMATS, Query
from bench.opened import Opened
from bench.peers.conversions import to_delta, to_iceberg
from bench.peers.packages import CATALOG

FORMATS: Final = ("Iceberg", "Delta")


def main(data: Path) -> None:
    spark = SparkSession.builder.appName("tamis demo, table formats").getOrCreate()
    switch(spark, on=False)
    lineitem, delta = data / "lineitem", data / "delta" / "lineitem"
    say(step="creating the Iceberg table")
    iceberg = to_iceberg(spark, f"{CATALOG}.demo.lineitem", lineitem)
    say(step="creating the Delta table")
    to_delta(spark, lineitem, delta)
    tables = {"Iceberg": iceberg, "Delta": f"delta.`{delta}`"}
    for query in OVER_FORMATS:
        say(step=f"running: {query.title}")
        say(**run(spark, query, tables, [lineitem, delta]))
    jvm: Any = spark._jvm
    say(warnings=list(jvm.io.tamis.Tamis.warnings()))
    spark.stop()


def run(
    spark: SparkSession, query: Query, tables: dict[str, str], directories: list[Path]
) -> dict[str, Any]:
    """Run one query over each table, with tamis off and on."""
    files: dict[str, list[int]] = {}
    answers = []
    for name, table in tables.items():
        spark.table(table).createOrReplaceTempView("lineitem")
        for on in (False, True):
            switch(spark, on=on)
            with Opened(directories) as opened:
                answers.append(sorted(map(tuple, spark.sql(query.sql).collect()), key=repr))
            files.setdefault(name, []).append(len(opened.files))
    return {
        "query": query.title,
        "equal": all(answer == answers[0] for answer in answers),
        "files": files,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
