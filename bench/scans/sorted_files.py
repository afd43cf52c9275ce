"""`python -m bench.scans.sorted_files`: joins and windows over files whose rows are sorted.

Two generated tables of the same days, one directory and one file per day, sorted by id. Each query
runs without tamis, with groups of partitions but without their order, and with both, in random
order within every round. The results are compared.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tamis
from bench.scans.tables_by_day import SHIPMENTS, count_in_final_plan, tables
from bench.scans.ways import Ways, compare
from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATA = Path(__file__).resolve().parents[2] / "build" / "bench" / "sorted_files"
_WAYS: Final[Ways] = {
    "off": {"spark.tamis.enabled": "false"},
    "groups": {"spark.tamis.fileOrder.enabled": "false"},
    "sorted": {},
}

QUERIES = {
    "join by day and id": "SELECT count(*), sum(price), sum(delay) "
    "FROM orders JOIN shipments USING (day, id)",
    "full join by day and id": "SELECT count(*), sum(price), sum(delay) "
    "FROM orders FULL JOIN shipments USING (day, id)",
    "previous order of the day": "SELECT count(*), sum(price - before) FROM (SELECT price, "
    "lag(price) OVER (PARTITION BY day ORDER BY id) before FROM orders)",
    "first carrier of each order": "SELECT count(*), min(carrier) FROM (SELECT carrier, "
    "row_number() OVER (PARTITION BY day, id ORDER BY delay) n FROM shipments) WHERE n = 1",
}


_COLUMNS = {
    "orders": "id, cast(id % 9973 / 7 AS DECIMAL(12, 2)) price, sha2(hex(id), 256) n",
    "shipments": SHIPMENTS,
}


def _make(spark: SparkSession, rows: int, days: int) -> None:
    """Write both tables, and record the order of their rows."""
    in_order = "DISTRIBUTE BY day SORT BY day, id"
    for name, where in tables(spark, _DATA, rows, days, _COLUMNS, in_order).items():
        order = ["id", "delay"] if name == "shipments" else ["id"]
        seconds = []
        for recorded in (None, order):
            started = time.perf_counter()
            tamis.index(spark, str(where)).build(sorted_by=recorded or ())
            seconds.append(time.perf_counter() - started)
        print(f"index of {name}: {seconds[0]:.2f} s, with its order {seconds[1]:.2f} s")


def _sorts(plan: Any) -> int:
    return count_in_final_plan(plan, "Sort [")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()

    # Spark would broadcast one side of small tables
    confs = {"requireAllClusterKeysForCoPartition": "false", "autoBroadcastJoinThreshold": "-1"}
    spark = session("4g", {f"spark.sql.{key}": value for key, value in confs.items()})
    _make(spark, arguments.rows, arguments.days)
    rng = random.Random(0)
    print("\n| query | sorts | off, s | groups | sorted | sorted / groups | sorted / off |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for title, sql in QUERIES.items():
        compared = compare(spark, title, sql, _WAYS, arguments.rounds, rng, _sorts)
        sorts = f"{compared.found['groups']} to {compared.found['sorted']}"
        ratios = " | ".join(compared.ratio("sorted", base) for base in ("groups", "off"))
        print(f"| {title} | {sorts} | {compared.medians()} | {ratios} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
