"""`python -m bench.scans.iceberg_row_groups`: row groups that queries over an Iceberg table read.

A generated table, clustered by time, with an index of all columns. Each query runs without tamis,
with tamis but without row groups, and with row groups, in random order within every round. The
results are compared. The rows are those that the scan of the table returned.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.peers.packages import CATALOG, confs, lakes
from bench.scans.ways import Ways, compare
from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATA = Path(__file__).resolve().parents[2] / "build" / "bench" / "iceberg_row_groups"
_WAYS: Final[Ways] = {
    "off": {"spark.tamis.enabled": "false"},
    "files": {"spark.tamis.rowGroups.enabled": "false"},
    "row groups": {},
}

QUERIES = {
    "one hour, by a range": "SELECT count(note), sum(price) FROM events "
    "WHERE ts >= '2024-01-05 10:00:00' AND ts < '2024-01-05 11:00:00'",
    "one hour, by its text": "SELECT count(note), sum(price) FROM events "
    "WHERE date_format(ts, 'yyyy-MM-dd HH') = '2024-01-05 10'",
    "one hour of each day": "SELECT count(note), sum(price) FROM events WHERE hour(ts) = 10",
    "an identifier, by its text": "SELECT note, price FROM events WHERE code = 'E001000001'",
    "the keys of a join": "SELECT /*+ BROADCAST(k) */ count(note), sum(price) FROM events "
    "JOIN (SELECT * FROM VALUES (1000001), (1000900), (1700000) v(i) WHERE i * 2 > 5) k ON id = i",
    "the value of a subquery": "SELECT count(note), sum(price) FROM events "
    "WHERE id > (SELECT max(i) - 5000 FROM VALUES (2000000) v(i))",
}


def _make(spark: SparkSession, rows: int, files: int, groups: int) -> str:
    """Write the table, with an index; return its name. Each file has so many row groups."""
    name = f"{CATALOG}.db.events_{rows}_{files}_{groups}"
    if not spark.catalog.tableExists(name):
        import tamis

        size = rows // files // groups
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")
        properties = {
            "write.parquet.row-group-size-bytes": 1,
            "write.parquet.row-group-check-min-record-count": size,
            "write.parquet.row-group-check-max-record-count": size,
            "write.distribution-mode": "none",
        }
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        spark.sql(
            f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ({listed}) AS SELECT id, "
            f"timestampadd(SECOND, id, TIMESTAMP'2024-01-01 00:00:00') ts, "
            "concat('E', lpad(id, 9, '0')) code, cast(id % 9973 / 7 AS DECIMAL(12, 2)) price, "
            f"sha2(cast(id AS STRING), 256) note FROM range(0, {rows}, 1, {files})"
        )
        tamis.index(spark, name).build()
    return name


def _scanned(plan: Any) -> int:
    leaves = plan.collectLeaves()
    nodes = [leaves.apply(i) for i in range(leaves.size())]
    scans = [node for node in nodes if node.getClass().getSimpleName() == "BatchScanExec"]
    return sum(int(node.metrics().apply("numOutputRows").value()) for node in scans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--groups", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()

    settings = {**confs(), **lakes(_DATA), "spark.sql.adaptive.enabled": "false"}
    settings["spark.tamis.cache.location"] = str(_DATA / "cache")
    spark = session("3g", settings)
    name = _make(spark, arguments.rows, arguments.files, arguments.groups)
    spark.table(name).createOrReplaceTempView("events")
    rng = random.Random(0)
    print(
        "\n| query | rows read, off | files | row groups | off, s | files | row groups "
        "| row groups / off |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for title, sql in QUERIES.items():
        compared = compare(spark, title, sql, _WAYS, arguments.rounds, rng, _scanned)
        read = " | ".join(f"{compared.found[way]:,}" for way in _WAYS)
        ratio = compared.ratio("row groups", "off")
        print(f"| {title} | {read} | {compared.medians()} | {ratio} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
