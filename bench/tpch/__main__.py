"""`python -m bench.tpch`: the 22 queries with tamis on and off, as a table in Markdown.

On and off alternate in one session, after two warm-up pairs; each pair gives a ratio. *planning* is
the whole planning of Spark, from the text to the physical plan; *files* are the opened files of all
tables, each counted once. The exit code is 1 if an answer with tamis differs from that without. The
texts are in `queries`, with the validation parameters of the specification.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from bench.peers.by_running import say_warnings
from bench.session import session
from bench.tpch import measure, tables
from bench.tpch.texts import text

_BUILD = Path(__file__).resolve().parents[2] / "build"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--queries", default=",".join(map(str, range(1, 23))))
    parser.add_argument("--layout", choices=tables.LAYOUTS, default="clustered")
    arguments = parser.parse_args()
    confs = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "8"}
    spark = session("4g", confs)
    folder = _BUILD / "tpch" / f"{arguments.scale:g}"
    spark.conf.set("spark.tamis.enabled", "false")
    places = tables.make(spark, folder, arguments.scale, arguments.layout)
    print(f"\n### {arguments.layout}, scale {arguments.scale:g}: load {os.getloadavg()[0]:.1f}\n")
    print(f"| query | {' | '.join(measure.HEADINGS)} |")
    print("|---|" + "---:|" * len(measure.HEADINGS))
    ratios, wrong = [], []
    for number in map(int, arguments.queries.split(",")):
        sql = text(number, arguments.scale)
        compared = measure.compare(spark, sql, places, arguments.repeats)
        print(f"| Q{number} | {' | '.join(compared.cells())} |", flush=True)
        ratios.append(compared.ratio)
        if compared.answers_differ:
            wrong.append(number)
    print(f"\nGeometric mean of on / off: {statistics.geometric_mean(ratios):.3f}")
    for number in wrong:
        print(f"Q{number}: the answers with tamis on and off differ.")
    say_warnings(spark)
    spark.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
