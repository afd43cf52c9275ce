"""`python -m bench.peers`: print how many files each system opens, by predicate and by query.

One session, the same files: Spark's own Parquet source, Iceberg and Delta, each with tamis off and
on. The last column names what a format with tamis exceeds: the ideal, or the format alone. The exit
code is 1 if a format opens more files with tamis than alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import bench.session
from bench.peers import by_plans, by_running, layouts, packages
from bench.peers.layouts import LAYOUTS
from bench.peers.systems import SYSTEMS, Totals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BUILD = Path(__file__).resolve().parents[2] / "build"
_EXCEEDED = "exceeds"


def session(folder: Path) -> SparkSession:
    """Return a session with all formats; the extension of tamis comes last."""
    confs = {
        **packages.confs(),
        **packages.lakes(folder / "iceberg"),
        "spark.sql.session.timeZone": "UTC",
    }
    return bench.session.session("3g", confs)


def show(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"\n| {' | '.join(heading)} |")
    print("|---|" + "---:|" * (len(heading) - 1))
    for text, *figures in rows:
        escaped = text.replace("|", "\\|")
        print(f"| `{escaped}` | {' | '.join(figures)} |", flush=True)
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=_BUILD / "peers")
    parser.add_argument("--only", choices=("predicates", "recorded", "queries"))
    parser.add_argument("--like", default="", help="only queries that contain this text")
    parser.add_argument("--layouts", default=",".join(layout.name for layout in LAYOUTS))
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    spark = session(folder)
    totals = Totals()
    try:
        places = layouts.make(spark, _BUILD / "demo", folder)
        layouts.dimensions(spark, _BUILD / "demo", folder)
        for layout in LAYOUTS:
            if layout.name not in arguments.layouts.split(","):
                continue
            if layout.recorded and arguments.only in (None, "recorded"):
                print(f"\n### {layout.title}, with two columns recorded together")
                show(
                    ("predicate", "holds rows", "footers", "recorded"),
                    by_plans.compare_recorded(spark, layout, places[layout.name]),
                )
            if arguments.only == "recorded":
                continue
            sources = layouts.sources(spark, layout, places[layout.name], folder)
            files = len(list(sources.path.rglob("part-*.parquet")))
            print(f"\n### {layout.title}: {files} files")
            if arguments.only != "queries":
                rows = by_plans.compare(spark, layout, sources)
                show(("predicate", "holds rows", *SYSTEMS, _EXCEEDED), totals.counted(rows))
            queries = [query for query in layout.queries if arguments.like in query.sql]
            if arguments.only != "predicates":
                rows = by_running.compare(spark, queries, sources)
                show(("query", "ideal", *SYSTEMS, _EXCEEDED), totals.counted(rows))
        by_running.say_warnings(spark)
    finally:
        spark.stop()
    print("\n".join(totals.sentences()))
    return 1 if totals.above_format else 0


if __name__ == "__main__":
    sys.exit(main())
