"""`versions.py DIRECTORY`: test the one jar with the Spark of this Python, tamis on and off.

The rows must be equal, and fewer files must be read where statistics allow it. The queries are
those of the demonstration on a small table of the same columns, and one of each kind of plan. SQL
functions and EXPLAIN must show the decisions. A remote table must have its rows. The exit code is 1
if a check fails.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

import tamis
from bench.demo.queries import QUERIES
from tests.remote.airport_server import Served, serving

ROWS = 40_000
FILES = 40

LINEITEM = f"""
    SELECT id AS l_orderkey,
      date_add(DATE'1992-01-02', CAST(id * 2525 DIV {ROWS} AS INT)) AS l_shipdate,
      date_add(DATE'1992-01-22', CAST(id * 2525 DIV {ROWS} + id % 9 AS INT)) AS l_receiptdate,
      date_add(DATE'1992-01-12', CAST(id * 2525 DIV {ROWS} AS INT)) AS l_commitdate,
      CAST(id % 50 + 1 AS DECIMAL(15, 2)) AS l_quantity,
      CAST(id * 7 % 90000 + id % 100 / 100 AS DECIMAL(15, 2)) AS l_extendedprice,
      CAST(id % 11 / 100 AS DECIMAL(15, 2)) AS l_discount,
      IF(id % 3 = 0, 'R', 'N') AS l_returnflag, IF(id % 2 = 0, 'O', 'F') AS l_linestatus,
      IF(id % 7 = 0, 'MAIL', 'SHIP') AS l_shipmode,
      CASE WHEN id < 500 THEN NULL WHEN id % 97 = 0 THEN 'a special one' ELSE 'x' END AS l_comment
    FROM range({ROWS})"""

ORDERS = f"""
    SELECT id AS o_orderkey, IF(id % 4 = 0, '1-URGENT', '5-LOW') AS o_orderpriority,
      date_add(DATE'1992-01-01', CAST(id * 2525 DIV {ROWS} AS INT)) AS o_orderdate
    FROM range({ROWS})"""

# title | whether files have to be skipped | query
CASES = [
    ("point", True, "SELECT * FROM lineitem WHERE l_orderkey = 12345"),
    ("range", True, "SELECT l_orderkey FROM lineitem WHERE l_shipdate < DATE'1992-03-01'"),
    ("IN", True, "SELECT count(*) FROM lineitem WHERE l_orderkey IN (1, 20000, 39999)"),
    ("OR", True, "SELECT count(*) FROM lineitem WHERE l_orderkey < 9 OR l_orderkey > 39990"),
    ("NULL", True, "SELECT l_orderkey FROM lineitem WHERE l_comment IS NULL"),
    ("no row", True, "SELECT l_shipmode FROM lineitem WHERE l_orderkey < 0"),
    (
        "limit",
        True,
        "SELECT count(*) FROM (SELECT 1 FROM lineitem WHERE l_orderkey > 39000 LIMIT 5)",
    ),
    ("partition", True, "SELECT sum(l_quantity) FROM lineitem_by_year WHERE year = 1994"),
    (
        "partition or data",
        True,
        "SELECT count(*) FROM lineitem_by_year WHERE year = 1994 OR l_orderkey = 39999",
    ),
    (
        "aggregate",
        True,
        "SELECT l_returnflag, count(*), max(l_shipdate) FROM lineitem "
        "WHERE l_orderkey BETWEEN 1000 AND 3000 GROUP BY l_returnflag",
    ),
    (
        "join",
        True,
        "SELECT o_orderpriority, count(*) FROM orders JOIN lineitem ON o_orderkey = l_orderkey "
        "WHERE l_orderkey < 2000 GROUP BY o_orderpriority",
    ),
    (
        "self-join",
        True,
        "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey + 1 "
        "WHERE a.l_orderkey < 500 AND b.l_orderkey > 100",
    ),
    (
        "join on the keys of a filtered side",
        True,
        "SELECT count(*), sum(l_quantity) FROM orders JOIN lineitem ON o_orderkey = l_orderkey "
        "WHERE o_orderdate < DATE'1992-02-01'",
    ),
    (
        "join on keys found at run time",
        False,
        "SELECT count(*), sum(l_quantity) FROM orders JOIN lineitem ON o_orderkey = l_orderkey "
        "WHERE o_orderkey % 13000 = 7",
    ),
    ("top-k", True, "SELECT l_orderkey, l_shipdate FROM lineitem ORDER BY l_orderkey DESC LIMIT 5"),
    (
        "aggregate from statistics",
        True,
        "SELECT count(*), min(l_orderkey), max(l_shipdate) FROM lineitem WHERE l_orderkey > 1005",
    ),
    ("no file at all", True, "SELECT count(*), max(l_orderkey) FROM lineitem"),
    (
        "filter that a part needs",
        False,
        "SELECT sum(l_quantity) FROM lineitem WHERE date_format(l_shipdate, 'yyyy') > '1993'",
    ),
    (
        "scalar subqueries",
        True,
        "SELECT (SELECT avg(l_quantity) FROM lineitem WHERE l_orderkey < 999), "
        "(SELECT sum(l_discount) FROM lineitem WHERE l_orderkey < 999)",
    ),
    (
        "subquery",
        False,
        "SELECT count(*) FROM lineitem WHERE l_orderkey > (SELECT max(o_orderkey) - 9 FROM orders)",
    ),
    ("bucketed", True, "SELECT sum(l_quantity) FROM buckets WHERE l_orderkey < 2000"),
    (
        "buckets joined",
        True,
        "SELECT count(*) FROM buckets a JOIN buckets b USING (l_orderkey) "
        "WHERE l_orderkey < 2000 AND b.l_shipmode = 'MAIL'",
    ),
    (
        "_metadata",
        True,
        "SELECT _metadata.file_name, _metadata.row_index, l_orderkey FROM buckets "
        "WHERE l_orderkey BETWEEN 1000 AND 1100 AND _metadata.file_size > 0",
    ),
    ("declared", True, "SELECT count(*) FROM lineitem WHERE hundreds(l_orderkey) IN (3, 77)"),
    ("not declared", False, "SELECT count(*) FROM lineitem WHERE tens(l_orderkey) = 3"),
    ("not clustered", False, "SELECT count(*) FROM lineitem WHERE l_shipmode = 'MAIL'"),
    ("whole table", False, "SELECT count(*), sum(l_extendedprice) FROM lineitem"),
    *(("demo: " + query.title, False, query.sql) for query in QUERIES),
]


# title | a query that returns true
SEEN = [
    (
        "tamis_files",
        "SELECT count(*) = 40 AND count_if(kept) = 1 AND count_if(verdict = 'none') = 39 "
        "AND count_if(statistics['min.l_orderkey'] LIKE '%L') = 40 AND min(modified) > '2020-01-01' "
        "FROM tamis_files('SELECT * FROM lineitem WHERE l_orderkey = 12345')",
    ),
    (
        "tamis_history",
        "SELECT count_if(c.sql LIKE '%12345%' AND h.files_kept = 1) > 0 "
        "FROM tamis_history() h LATERAL VIEW explode(conjuncts) AS c",
    ),
    (
        "tamis_explain",
        "SELECT count_if(what = 'inexact') = 1 "
        "FROM tamis_explain('SELECT * FROM lineitem WHERE l_orderkey = 12345')",
    ),
    (
        "tamis_pushdown",
        "SELECT array_contains(pushed_filters, '(l_orderkey = 12345L)') "
        "FROM tamis_pushdown('lineitem') WHERE l_orderkey = 12345",
    ),
]


# Queries of a table of an Airport server, with the type of a filter that it must receive.
REMOTE = [
    ("SELECT * FROM remote", None),
    ("SELECT name FROM remote WHERE id BETWEEN 90 AND 110", "COMPARE_GREATERTHANOREQUALTO"),
    ("SELECT r.id FROM remote r JOIN range(7) s ON r.id = s.id WHERE s.id % 3 = 1", "COMPARE_IN"),
    ("SELECT id FROM remote WHERE id % 7 = 3 ORDER BY id DESC LIMIT 4", None),
    ("SELECT pair.a, count(*) FROM remote GROUP BY pair.a", None),
]


def make_tables(spark: SparkSession, directory: Path) -> None:
    lineitem = spark.sql(LINEITEM).repartitionByRange(FILES, "l_orderkey")
    tables = {
        "lineitem": lineitem.write,
        "lineitem_by_year": lineitem.selectExpr("*", "year(l_shipdate) AS year").write.partitionBy(
            "year"
        ),
        "orders": spark.sql(ORDERS).repartitionByRange(8, "o_orderkey").write,
    }
    for name, writer in tables.items():
        path = str(directory / name)
        writer.parquet(path)
        tamis.index(spark, path).build()
        spark.read.parquet(path).createOrReplaceTempView(name)
    buckets = lineitem.write.bucketBy(4, "l_orderkey").sortBy("l_orderkey")
    buckets.option("path", str(directory / "buckets")).saveAsTable("buckets")
    spark.sql("ANALYZE TABLE buckets COMPUTE STATISTICS FOR COLUMNS l_orderkey")
    tamis.index(spark, "buckets").build()


def make_functions(spark: SparkSession) -> None:
    spark.udf.register("hundreds", lambda x: x // 100, "long")
    spark.udf.register("tens", lambda x: x // 10, "long")
    tamis.declare(spark, "hundreds", monotone=lambda x: x // 100, types=["BIGINT"])


def differences(spark: SparkSession, must_skip: bool, sql: str) -> tuple[str, list[str]]:
    """Return the kept files of each scan as text, and the failures."""
    rows = {}
    for on in ("false", "true"):
        spark.conf.set("spark.tamis.enabled", on)
        frame = spark.sql(sql)
        rows[on] = sorted(map(repr, frame.collect()))
    scans = json.loads(spark._jvm.io.tamis.Tamis.scans(frame._jdf))
    wrong = [f"fell back: {scan['fallback']}" for scan in scans if scan["fallback"]]
    if rows["true"] != rows["false"]:
        wrong.append(f"other rows: {rows['true'][:3]}, not {rows['false'][:3]}")
    skips = any(scan["files_kept"] < scan["files_total"] for scan in scans)
    if must_skip and frame.inputFiles() and not skips:
        wrong.append("no file was skipped")
    return ", ".join(f"{s['files_kept']} of {s['files_total']}" for s in scans), wrong


def unseen(spark: SparkSession) -> list[str]:
    """Return what is missing in the records of the queries that ran.

    A metric that Spark rejects is a warning.
    """
    spark.conf.set("spark.tamis.enabled", "true")
    spark._jvm.io.tamis.Tamis.flushHistory(spark._jsparkSession)
    wrong = [title for title, sql in SEEN if spark.sql(sql).collect()[0][0] is not True]
    spark.conf.set("spark.sql.extendedExplainProviders", "io.tamis.TamisExplain")
    for mode in ("", "FORMATTED"):
        text = spark.sql(f"EXPLAIN {mode} SELECT * FROM lineitem WHERE l_orderkey = 5").first()[0]
        if ": 1 of 40 files, " not in text:
            wrong.append(f"EXPLAIN {mode}: {text}")
    return wrong


def wrong_remote_rows(spark: SparkSession) -> list[str]:
    """Return what is wrong with queries of a table of an Airport server."""
    table = pa.table(
        {
            "id": pa.array(range(200), pa.int64()),
            "name": [None if n % 9 == 0 else f"n{n}" for n in range(200)],
            "pair": [{"a": n % 5} for n in range(200)],
        }
    )
    wrong = []
    served = Served([table.slice(0, 150), table.slice(150)], filters=True)
    with serving({("main", "remote"): served}) as server:
        for sql, sent in REMOTE:
            rows = []
            spark.createDataFrame(table).createOrReplaceTempView("remote")
            rows.append(sorted(map(repr, spark.sql(sql).collect())))
            tamis.read_airport(spark, server.uri, "main", "remote").createOrReplaceTempView(
                "remote"
            )
            before = len(server.endpoints())
            rows.append(sorted(map(repr, spark.sql(sql).collect())))
            received = str([each["json_filters"] for each in server.endpoints()[before:]])
            if rows[0] != rows[1]:
                wrong.append(f"{sql}: other rows: {rows[1][:3]}, not {rows[0][:3]}")
            if sent is not None and sent not in received:
                wrong.append(f"{sql}: the server did not receive {sent}, but {received}")
    return wrong


def main(directory: Path) -> int:
    shutil.rmtree(directory, ignore_errors=True)
    confs = {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.tamis.residualSplit.minSaved": "0ms",
        "spark.tamis.history.location": str(directory / "history"),
    }
    spark = tamis.configure(SparkSession.builder.config(map=confs)).getOrCreate()
    assert spark.version == pyspark.__version__, spark.version
    make_tables(spark, directory)
    make_functions(spark)
    failures = 0
    for title, must_skip, sql in CASES:
        files, wrong = differences(spark, must_skip, sql)
        failures += bool(wrong)
        print(f"  {title:28} {files:20} {'; '.join(wrong)}", flush=True)
    not_seen = unseen(spark)
    for wrong_one in not_seen:
        print(f"  not seen: {wrong_one}")
    remote = wrong_remote_rows(spark)
    for wrong_one in remote:
        print(f"  remote table: {wrong_one}")
    warnings = list(spark._jvm.io.tamis.Tamis.warnings())
    for warning in warnings:
        print(f"  {warning}")
    spark.stop()
    print(f"Spark {pyspark.__version__}: {len(CASES) - failures} of {len(CASES)} queries are right")
    return 1 if failures or warnings or not_seen or remote else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
