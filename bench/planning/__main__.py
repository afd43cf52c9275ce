"""`python -m bench.planning [PART] [--folder DIR]`: print the figures of all parts, or of one."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

from bench.planning import (
    delta_choice,
    delta_log,
    driver_memory,
    evaluation,
    explaining,
    first_plan,
    first_touch,
    functions,
    iceberg_manifests,
    memory,
    round_trip,
    row_groups,
    segments,
    table_formats,
)
from bench.session import session

_PARTS: dict[str, tuple[str, Callable[[argparse.Namespace], list[str]]]] = {
    "evaluation": ("Evaluation, CPU milliseconds", lambda _: evaluation.table()),
    "functions": ("Functions, CPU milliseconds", lambda _: functions.table()),
    "row-groups": (
        "Row groups, milliseconds of the planner",
        lambda given: row_groups.table(given.folder),
    ),
    "first-touch": (
        "First touch of a column, CPU milliseconds",
        lambda given: first_touch.table(given.folder),
    ),
    "memory": (
        "Anonymous memory of an index with row statistics",
        lambda given: memory.table(given.folder),
    ),
    "iceberg-manifests": (
        "Manifests of Iceberg, CPU milliseconds",
        lambda given: iceberg_manifests.table(given.folder),
    ),
    "footers-memory": (
        "Anonymous memory of a built and of an automatic index",
        lambda given: memory.footers_table(given.folder),
    ),
    "driver-memory": (
        "Memory of a driver and its sidecar",
        lambda given: driver_memory.table(given.folder),
    ),
    "segments": ("Segments, CPU milliseconds", lambda given: segments.table(given.folder)),
    "delta-log": (
        "Statistics of 100,000 files from a Delta log, milliseconds",
        lambda given: delta_log.table(given.folder.resolve()),
    ),
    "delta-choice": (
        "Planning over 100,000 files of Delta, CPU milliseconds",
        lambda given: delta_choice.table(given.folder.resolve()),
    ),
    "table-formats": (
        "Planning one of 100,000 files of Iceberg and Delta, CPU milliseconds",
        lambda given: table_formats.table(given.folder.resolve()),
    ),
    "first-plan": (
        "The first query of a driver, milliseconds",
        lambda given: first_plan.table(given.folder),
    ),
    "round-trip": ("Round trip, milliseconds", lambda given: _round_trip(given)),
    "explain": ("tamis.explain, milliseconds", lambda given: _explain(given)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=[*_PARTS, "all"], default="all")
    parser.add_argument("--folder", type=lambda text: Path(text).resolve(), default="build/bench")
    parser.add_argument("--sizes", type=int, nargs="*", default=round_trip.SIZES)
    arguments = parser.parse_args()
    for part, (title, table) in _PARTS.items():
        if arguments.part in (part, "all"):
            print("\n".join(["", title, "", *table(arguments)]))


def _round_trip(arguments: argparse.Namespace) -> list[str]:
    folder = arguments.folder
    shutil.rmtree(folder / "export", ignore_errors=True)
    spark = session("6g")
    try:
        return round_trip.table(spark, folder, arguments.sizes)
    finally:
        spark.stop()


def _explain(arguments: argparse.Namespace) -> list[str]:
    folder = arguments.folder
    shutil.rmtree(folder / "export", ignore_errors=True)
    spark = session("4g")
    try:
        return explaining.table(spark, folder)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
