"""`python -m bench.planning [PART] [--folder DIR]`: print the figures of all parts, or of one."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from bench.planning import (
    evaluation,
    explaining,
    first_plan,
    first_touch,
    functions,
    memory,
    round_trip,
    row_groups,
    segments,
)
from bench.session import session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ["evaluation", "functions", "row-groups", "first-touch", "memory", "round-trip"]
    parts += ["explain", "segments", "first-plan", "all"]
    parser.add_argument("part", nargs="?", choices=parts, default="all")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--sizes", type=int, nargs="*", default=round_trip.SIZES)
    arguments = parser.parse_args()
    if arguments.part in ("evaluation", "all"):
        print("\n".join(["", "Evaluation, CPU milliseconds", "", *evaluation.table()]))
    if arguments.part in ("functions", "all"):
        print("\n".join(["", "Functions, CPU milliseconds", "", *functions.table()]))
    if arguments.part in ("row-groups", "all"):
        rows = row_groups.table(arguments.folder.resolve())
        print("\n".join(["", "Row groups, milliseconds of the planner", "", *rows]))
    if arguments.part in ("first-touch", "all"):
        rows = first_touch.table(arguments.folder.resolve())
        print("\n".join(["", "First touch of a column, CPU milliseconds", "", *rows]))
    if arguments.part in ("memory", "all"):
        rows = memory.table(arguments.folder.resolve())
        print("\n".join(["", "Anonymous memory of an index with row statistics", "", *rows]))
    if arguments.part in ("segments", "all"):
        rows = segments.table(arguments.folder.resolve())
        print("\n".join(["", "Segments, CPU milliseconds", "", *rows]))
    if arguments.part in ("first-plan", "all"):
        rows = first_plan.table(arguments.folder.resolve())
        print("\n".join(["", "The first query of a driver, milliseconds", "", *rows]))
    if arguments.part in ("round-trip", "all"):
        print("\n".join(["", "Round trip, milliseconds", "", *_round_trip(arguments)]))
    if arguments.part in ("explain", "all"):
        print("\n".join(["", "tamis.explain, milliseconds", "", *_explain(arguments)]))


def _round_trip(arguments: argparse.Namespace) -> list[str]:
    folder = arguments.folder.resolve()
    shutil.rmtree(folder / "export", ignore_errors=True)
    spark = session("6g")
    try:
        return round_trip.table(spark, folder, arguments.sizes)
    finally:
        spark.stop()


def _explain(arguments: argparse.Namespace) -> list[str]:
    folder = arguments.folder.resolve()
    shutil.rmtree(folder / "export", ignore_errors=True)
    spark = session("4g")
    try:
        return explaining.table(spark, folder)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
