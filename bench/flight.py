"""`python -m bench.flight`: read a table over Arrow Flight, with Spark and with pyarrow alone.

`python -m tamis serve-airport` serves the table from a process of its own. pyarrow reads the
streams, as many at a time as Spark has threads (`--streams`), over one connection, and drops the
batches. Spark reads all columns of all rows through `tamis.read_airport` in three ways:

    batches    the scan alone: its tasks drop the columnar batches, as pyarrow does
    noop       into the writer `noop`, for which Spark makes a row of the values
    aggregate  into an aggregate over all columns

All alternate in random order. A ratio is the speed of Spark divided by that of pyarrow in the same
round; the median is reported.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq

from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.remote.executor import Task

_DATA = Path(__file__).resolve().parents[1] / "build" / "flight"
_FILES = 8
_WARM = 12  # rounds, in which the JVM compiles the code of the queries
_TOTALS = ("count(*)", "sum(id)", "sum(quantity)", "sum(price)", "sum(length(code))")


def table(rows: int) -> Path:
    """Return the directory of a table with this number of rows, written on first use."""
    root = _DATA / str(rows)
    if root.exists():
        return root
    draft = root.with_name(f"{root.name}.draft")
    draft.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for place, ids in enumerate(np.array_split(np.arange(rows), _FILES)):
        codes = rng.integers(0, 1000, len(ids))
        columns = {
            "id": ids,
            "quantity": rng.integers(0, 50, len(ids)).astype(np.int32),
            "price": rng.random(len(ids)),
            "code": pa.array(codes).cast(pa.string()),
        }
        pq.write_table(pa.table(columns), draft / f"{place}.parquet", row_group_size=1 << 18)
    draft.rename(root)
    return root


@contextmanager
def server(root: Path) -> Iterator[str]:
    """Serve the table `t`; yield the location."""
    command = [sys.executable, "-m", "tamis", "serve-airport", "--port", "0", f"t={root}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def of_batches(spark: SparkSession, uri: str, rows: int) -> float:
    """Return the seconds that Spark takes to read the columnar batches and drop them."""
    import tamis

    started = time.perf_counter()
    frame = tamis.read_airport(spark, uri, "main", "t")
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    assert scan.executeColumnar().count() > 0
    seconds = time.perf_counter() - started
    assert scan.metrics().apply("numOutputRows").value() == rows
    return seconds


def of_writer(spark: SparkSession, uri: str, rows: int) -> float:
    """Return the seconds that Spark takes to read the table into its `noop` writer."""
    import tamis

    started = time.perf_counter()
    frame = tamis.read_airport(spark, uri, "main", "t")
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def of_aggregate(spark: SparkSession, uri: str, rows: int) -> float:
    """Return the seconds that Spark takes to read the table into totals of all columns."""
    import tamis

    started = time.perf_counter()
    totals = tamis.read_airport(spark, uri, "main", "t").selectExpr(*_TOTALS).first()
    assert totals is not None
    assert totals[0] == rows
    return time.perf_counter() - started


def of_pyarrow(spark: SparkSession, uri: str, rows: int) -> float:
    """Return the seconds that pyarrow takes, including the requests before the streams.

    All streams share a connection, which is faster than a connection for each.
    """
    from tamis.remote.airport.flight_task import FlightTask
    from tamis.remote.airport.source import AirportSource
    from tamis.remote.contract import ReadRequest

    streams = spark.sparkContext.defaultParallelism
    started = time.perf_counter()
    source = AirportSource({"uri": uri, "schema": "main", "table": "t"})
    tasks = source.tasks(ReadRequest(tuple(source.schema().names)))
    with flight.FlightClient(uri) as client, ThreadPoolExecutor(streams) as pool:

        def read(task: Task) -> int:
            assert isinstance(task, FlightTask)
            options = flight.FlightCallOptions(headers=task.headers)
            streams = (client.do_get(flight.Ticket(each), options) for each in task.tickets)
            return sum(chunk.data.num_rows for stream in streams for chunk in stream)

        assert sum(pool.map(read, tasks)) == rows
    return time.perf_counter() - started


_READERS = {
    "pyarrow": of_pyarrow,
    "Spark, batches": of_batches,
    "Spark, noop": of_writer,
    "Spark, aggregate": of_aggregate,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--streams", type=int, default=2)
    options = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    rng = random.Random(0)
    times: dict[str, list[float]] = {name: [] for name in _READERS}
    with server(table(options.rows)) as uri:
        spark = session("2g", {"spark.master": f"local[{options.streams}]"})
        for number in range(_WARM + options.rounds):
            for name in rng.sample(list(times), len(times)):
                seconds = _READERS[name](spark, uri, options.rows)
                if number >= _WARM:
                    times[name].append(seconds)
        spark.stop()
    print("| reader | seconds | rows per second | speed / pyarrow |")
    print("|---|---:|---:|---|")
    for name, seconds_of in times.items():
        median = statistics.median(seconds_of)
        ratios = [alone / each for alone, each in zip(times["pyarrow"], seconds_of, strict=True)]
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {name} | {median:.2f} | {options.rows / median:,.0f} | {ratio} |")


if __name__ == "__main__":
    main()
