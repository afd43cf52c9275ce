"""The memory of a driver and its sidecar with an automatic index, and with a built one.

Each figure is from a new driver, which plans queries for one row with a filter on each column:
*none*: no index; *built, first*: the driver runs `tamis.index(…).build(fill_gaps=False)` before;
*automatic, first*: the footers are read in the background, and then the queries are planned again;
*built* and *automatic*: the same indexes in a later driver, with copies in the local cache. The
heap of the driver is what is left after a garbage collection. The memory of the sidecar is
anonymous: *busy*, directly after the last query, and *idle*, some seconds later. *most* is the most
of the sidecar and the process that reads footers, while this process runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import tamis
from bench.planning.synthetic import link_files
from bench.session import jvm, session
from tamis.indexing.build.listing import waiting_files
from tamis.indexing.read.automatic_location import location_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = (100_000, 1_000_000)
_COLUMNS = "id BIGINT, name STRING, v DOUBLE"
_SCHEMA = f"{_COLUMNS}, batch INT"
_FILTERS = ("id = 1", "name = 'y'", "v > 1e9")
_WAYS = ("none", "built, first", "built", "automatic, first", "automatic")
_IDLE = 5.0  # seconds


def table(folder: Path, sizes: Sequence[int] = SIZES) -> list[str]:
    """Return the figures as a Markdown table."""
    heads = ["files", "index", "heap of the driver", "sidecar, busy", "idle", "most", "files kept"]
    lines = ["| " + " | ".join(heads) + " |", "|---:|---|" + "---:|" * 5]
    for size in sizes:
        files = folder / f"files-{size}"
        if not files.exists():
            link_files(files, size)
        cache = folder / f"driver-memory-{size}"
        shutil.rmtree(cache, ignore_errors=True)
        for way in _WAYS:
            figures = _in_new_driver(files, cache, way)
            cells = [f"{each:,.0f} MB" for each in figures[:4]]
            lines.append(f"| {size:,} | {way} | {' | '.join(cells)} | {figures[4]:,.0f} |")
            print(lines[-1], file=sys.stderr, flush=True)
        shutil.rmtree(cache)
    return lines


def _in_new_driver(files: Path, cache: Path, way: str) -> list[float]:
    command = [sys.executable, "-m", "bench.planning.driver_memory", str(files), str(cache), way]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    return [float(text) for text in done.stdout.split()[-5:]]


def _main(files: str, cache: str, way: str) -> None:
    is_automatic = way.startswith("automatic")
    confs = {
        "spark.tamis.cache.location": f"{cache}/cache",
        # an index that is not there, so that the automatic one is used
        "spark.tamis.index.location": f"{cache}/{'nothing' if is_automatic else 'built'}",
        "spark.tamis.index.auto": "footers" if is_automatic else "off",
        "spark.tamis.index.auto.maxFiles": "10000000",
        "spark.tamis.index.enabled": str(way != "none").lower(),
    }
    spark = session("6g", confs)
    if way == "built, first":
        tamis.index(spark, files).build(fill_gaps=False)
    spark.read.schema(_SCHEMA).parquet(files).createOrReplaceTempView("t")
    most = 0.0
    kept = _plan(spark)
    sidecar = int(jvm(spark).io.tamis.bridge.SidecarSupervisor.current().get().pid())
    if way == "automatic, first":
        for _ in _waiting(spark, files, cache):
            most = max(most, sum(map(_anonymous_mb, (sidecar, *_children(sidecar)))))
        jvm(spark).io.tamis.Tamis.invalidate("")
        time.sleep(_IDLE)
        kept = _plan(spark)
    busy = _anonymous_mb(sidecar)
    time.sleep(_IDLE)
    print(_heap_mb(spark), busy, _anonymous_mb(sidecar), max(most, busy), kept)
    spark.stop()


def _plan(spark: SparkSession) -> int:
    """Plan the queries; return how many files the first one keeps."""
    kept = []
    for condition in _FILTERS:
        frame = spark.table("t").where(condition)
        (scan,) = json.loads(jvm(spark).io.tamis.Tamis.scans(frame._jdf))
        assert scan["fallback"] is None, scan["fallback"]
        kept.append(int(scan["files_kept"]))
    return kept[0]


def _waiting(spark: SparkSession, files: str, cache: str) -> Iterator[None]:
    """Yield now and then while files wait for the automatic index."""
    schema = jvm(spark).org.apache.spark.sql.types.StructType.fromDDL(_COLUMNS).json()
    location = location_of(f"{cache}/cache", schema, False)
    assert location is not None
    while waiting_files(spark, f"file:{files}", location):
        yield
        time.sleep(0.2)


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _anonymous_mb(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _heap_mb(spark: SparkSession) -> float:
    """Return the used heap of the driver after garbage collections."""
    runtime = jvm(spark).java.lang.Runtime.getRuntime()
    for _ in range(3):
        jvm(spark).java.lang.System.gc()
        time.sleep(0.5)
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


if __name__ == "__main__":
    _main(*sys.argv[1:])
