"""`python -m bench.scans.partition_groups`: joins, aggregates and windows by a partition column.

Two generated tables of the same days, one directory per day. Each query runs without tamis, with
tamis but without groups, and with groups, in random order within every round. The results are
compared. The sink of all queries is a digest of the rows, so that nothing is sent to the driver.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any, Final

from bench.scans.tables_by_day import SHIPMENTS, count_in_final_plan, tables
from bench.scans.ways import Ways, compare
from bench.session import session

_DATA = Path(__file__).resolve().parents[2] / "build" / "bench" / "partition_groups"
_WAYS: Final[Ways] = {
    "off": {"spark.tamis.enabled": "false"},
    "without groups": {"spark.tamis.partitionGroups.enabled": "false"},
    "groups": {},
}

QUERIES = {
    "join by day and key": "SELECT count(*), sum(price), sum(delay), count(DISTINCT carrier) "
    "FROM orders JOIN shipments USING (day, id)",
    "left join by day and key": "SELECT count(*), sum(price), sum(delay) "
    "FROM orders LEFT JOIN shipments USING (day, id)",
    "distinct customers of each day": "SELECT sum(n) FROM "
    "(SELECT day, count(DISTINCT customer) n FROM orders GROUP BY day)",
    "sales of each day and customer": "SELECT count(*), max(n), sum(p) FROM "
    "(SELECT day, customer, count(*) n, sum(price) p FROM orders GROUP BY day, customer)",
    "first orders of each day": "SELECT sum(price) FROM (SELECT price, row_number() OVER "
    "(PARTITION BY day, customer ORDER BY id) n FROM orders) WHERE n = 1",
}


_COLUMNS = {
    "orders": "id, cast(id * 7919 % 50021 AS INT) customer, "
    "cast(id % 9973 / 7 AS DECIMAL(12, 2)) price, sha2(cast(id AS STRING), 256) note",
    "shipments": SHIPMENTS,
}


def _exchanges(plan: Any) -> int:
    return count_in_final_plan(plan, "Exchange hash")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()

    spark = session("4g", {"spark.sql.requireAllClusterKeysForCoPartition": "false"})
    tables(spark, _DATA, arguments.rows, arguments.days, _COLUMNS, "DISTRIBUTE BY day")
    rng = random.Random(0)
    print("\n| query | exchanges | off, s | without groups | groups | groups / off |")
    print("|---|---:|---:|---:|---:|---:|")
    for title, sql in QUERIES.items():
        compared = compare(spark, title, sql, _WAYS, arguments.rounds, rng, _exchanges)
        exchanges = f"{compared.found['off']} to {compared.found['groups']}"
        ratio = compared.ratio("groups", "off")
        print(f"| {title} | {exchanges} | {compared.medians()} | {ratio} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
