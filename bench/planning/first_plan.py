"""The first query of a driver: how much longer planning takes with tamis than without.

Each figure is from a new driver. It starts a session, lists the table, and immediately plans a
query for one row, for which it may have to wait for the sidecar to start. Drivers with tamis on and
off take turns. *first*: this machine has not used the index before. *known*: an earlier driver has
left the local cache. Wall-clock milliseconds, median over the rounds.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.planning.synthetic import link_files, write_index
from bench.session import session

SIZES = (100_000, 1_000_000)
_ROUNDS = 3
_SCHEMA = "id BIGINT, name STRING, v DOUBLE, batch INT"


def table(folder: Path) -> list[str]:
    """Return the figures as a Markdown table."""
    lines = [
        "| files | cache | tamis off | tamis on | difference | listing | files kept |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for size in SIZES:
        path = folder / f"files-{size}"
        if not path.exists():
            link_files(path, size)
        spark = session("6g")
        write_index(spark, path, folder / "export")
        spark.stop()
        cache = folder / "first-plan-cache"
        for state in ("first", "known"):
            taken: dict[str, list[list[float]]] = {"off": [], "on": []}
            for _ in range(_ROUNDS):
                if state == "first":
                    shutil.rmtree(cache, ignore_errors=True)
                for way, figures in taken.items():
                    figures.append(_in_new_driver(path, cache, way))
            off, on = (statistics.median(row[0] for row in taken[way]) for way in ("off", "on"))
            differences = [a[0] - b[0] for a, b in zip(taken["on"], taken["off"], strict=True)]
            listing = statistics.median(row[1] for row in taken["on"])
            lines.append(
                f"| {size:,} | {state} | {off:.0f} | {on:.0f} | "
                f"{statistics.median(differences):.0f} | {listing:.0f} | "
                f"{taken['on'][0][2]:.0f} |"
            )
        shutil.rmtree(cache, ignore_errors=True)
    return lines


def _in_new_driver(table: Path, cache: Path, way: str) -> list[float]:
    command = [sys.executable, "-m", "bench.planning.first_plan", str(table), str(cache), way]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    return [float(text) for text in done.stdout.split()[-3:]]


def _main(path: str, cache: str, way: str) -> None:
    confs = {"spark.tamis.cache.location": cache, "spark.tamis.enabled": str(way == "on").lower()}
    spark = session("6g", confs)
    started = time.perf_counter()
    frame = spark.read.schema(_SCHEMA).parquet(path)
    listed = time.perf_counter()
    wanted = frame.where("id = 5")
    began = time.perf_counter()
    wanted._jdf.queryExecution().executedPlan()
    planned = time.perf_counter()
    files = len(wanted.inputFiles()) if way == "on" else 0
    print(1000 * (planned - began), 1000 * (listed - started), files)
    spark.stop()


if __name__ == "__main__":
    _main(*sys.argv[1:])
