"""`python -m bench.requests`: the requests that queries make to an object store.

The store is a server of the S3 protocol on this machine, which counts. Each query runs as plain
Spark, with an index, and with an automatic index, first to warm up and then to be counted.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import tamis
from bench.s3 import hadoop
from bench.s3.store import BUCKET, Request, Store, serving
from bench.session import jvm, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES = 50
_ROWS = 1000  # of a file
_TABLE = f"s3a://{BUCKET}/events"
_LIMIT = 60.0  # seconds until the automatic index has all files


@dataclass(frozen=True)
class Way:
    """How a query is planned: the confs of its session."""

    name: str
    confs: Mapping[str, str] = field(default_factory=dict)


_PLAIN = Way("plain Spark", {"spark.tamis.enabled": "false"})
_INDEX = Way("index", {"spark.tamis.index.location": f"s3a://{BUCKET}/indexes"})
_AUTOMATIC = Way("automatic index", {"spark.tamis.index.auto": "footers"})
_WAYS = (_PLAIN, _INDEX, _AUTOMATIC)

_QUERIES = {
    "one row": "SELECT * FROM events WHERE id = 25500",
    "a tenth of the rows": "SELECT sum(x) FROM events WHERE id BETWEEN 20000 AND 24999",
    "no row": "SELECT * FROM events WHERE id < 0",
    "count and maximum": "SELECT count(*), max(id) FROM events",
    "top 3": "SELECT * FROM events ORDER BY id DESC LIMIT 3",
    "join": "SELECT sum(a.x) FROM events a JOIN events b ON a.id = b.id WHERE b.id < 10",
    "all rows": "SELECT sum(x) FROM events",
}


def write(store: Store) -> None:
    """Write the table: its files are clustered by id."""
    files = store.files()
    for number in range(_FILES):
        ids = pa.array(range(number * _ROWS, (number + 1) * _ROWS))
        with files.open_output_stream(f"{BUCKET}/events/{number:03}.parquet") as sink:
            pq.write_table(pa.table({"id": ids, "x": [i % 97 for i in range(_ROWS)]}), sink)


def session_of(spark: SparkSession, way: Way) -> SparkSession:
    own = spark.newSession()
    for name, value in way.confs.items():
        own.conf.set(name, value)
    return own


def cell(requests: list[Request]) -> str:
    """Return the number of requests: those of Spark, and after a plus sign those of tamis."""
    return f"{of_spark(requests)} + {len(requests) - of_spark(requests)}"


def of_spark(requests: list[Request]) -> int:
    return sum(each.is_of_spark for each in requests)


def opened(requests: list[Request]) -> int:
    return len({each.path for each in requests if each.path.endswith(".parquet")})


def run(spark: SparkSession, store: Store, cache: Path) -> None:
    """Run the benchmark and print two tables."""
    write(store)
    spark.sql(f"CREATE TABLE events (id LONG, x LONG) USING parquet LOCATION '{_TABLE}'")
    sessions = {way.name: session_of(spark, way) for way in _WAYS}
    tamis.index(sessions[_INDEX.name], "events").build()
    wait_for_automatic_index(sessions[_AUTOMATIC.name], store)

    heads = [f"{way.name}{what}" for way in _WAYS for what in ("", ": files")]
    print(f"\n| query | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    for name, query in _QUERIES.items():
        cells = []
        rows = set()
        for way in _WAYS:
            own = sessions[way.name]
            own.sql(query).collect()
            store.requests()
            rows.add(repr(sorted(own.sql(query).collect())))
            requests = store.requests()
            count = str(of_spark(requests)) if way is _PLAIN else cell(requests)
            cells += [count, str(opened(requests))]
        assert len(rows) == 1, query
        print(f"| {name} | {' | '.join(cells)} |", flush=True)

    print("\n| segments of the index | requests |\n|---:|---:|")
    for segments in (1, 2, 8):
        append_segments(sessions[_INDEX.name], store, segments)
        shutil.rmtree(cache)
        jvm(spark).io.tamis.Tamis.restart()
        store.requests()
        sessions[_INDEX.name].sql(_QUERIES["one row"]).collect()
        print(f"| {segments} | {cell(store.requests())} |", flush=True)


def wait_for_automatic_index(spark: SparkSession, store: Store) -> None:
    """Wait until a query opens one file, without requests of tamis."""
    deadline = time.monotonic() + _LIMIT
    while True:
        store.requests()
        spark.sql(_QUERIES["one row"]).collect()
        requests = store.requests()
        if opened(requests) == 1 and all(each.is_of_spark for each in requests):
            return
        if time.monotonic() > deadline:
            raise RuntimeError("the automatic index is not complete")
        time.sleep(0.5)


def append_segments(spark: SparkSession, store: Store, segments: int) -> None:
    """Append files until the index has this many segments."""
    index = tamis.index(spark, "events")
    while (present := int(index.describe().to_dict()["segments"])) < segments:
        rows = pa.table({"id": [-present], "x": [0]})
        with store.files().open_output_stream(f"{BUCKET}/events/more-{present}.parquet") as sink:
            pq.write_table(rows, sink)
        index.refresh()


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tamis-requests-"))
    with serving() as store:
        confs = {
            **store.confs,
            "spark.driver.extraClassPath": ":".join(map(str, hadoop.jars())),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.tamis.cache.location": str(folder / "cache"),
            "spark.tamis.timeout": "60s",
        }
        spark = session("2g", confs)
        try:
            run(spark, store, folder / "cache")
        finally:
            spark.stop()
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
