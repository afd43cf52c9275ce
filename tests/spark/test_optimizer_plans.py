"""With recorded numbers of distinct values, TPC-H gets the plans that it gets after ANALYZE TABLE.

`indexed` has tables with an index, `analyzed` the same files with the results of ANALYZE TABLE.
Without tamis, Spark plans the joins over `analyzed` by cost. With tamis, it has to plan the same
joins over `indexed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from bench.demo.tables import generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES: Final = Path(__file__).parents[2] / "bench" / "tpch" / "queries"
#: The number of files of each table, and the column that rows are clustered by.
TABLES: Final = {
    "lineitem": (6, "l_shipdate"),
    "orders": (4, "o_orderdate"),
    "customer": (2, "c_custkey"),
    "part": (2, "p_partkey"),
    "partsupp": (2, "ps_partkey"),
    "supplier": (1, "s_suppkey"),
    "nation": (1, "n_nationkey"),
    "region": (1, "r_regionkey"),
}
#: The queries with joins of three tables or more, and some of two.
NUMBERS: Final = (2, 3, 5, 7, 8, 9, 10, 11, 16, 18, 20, 21)
CBO: Final = {
    "spark.sql.cbo.enabled": "true",
    "spark.sql.cbo.joinReorder.enabled": "true",
    # small enough for joins of both kinds
    "spark.sql.autoBroadcastJoinThreshold": "40KB",
}
JOIN: Final = re.compile(
    r"((?:BroadcastHash|SortMerge|ShuffledHash|BroadcastNestedLoop)Join|CartesianProduct)\b"
    r".*?(Inner|Cross|LeftOuter|RightOuter|LeftSemi|LeftAnti)?(?:, (Build\w+))?(?:, (?:true|false))?$"
)
SCAN: Final = re.compile(r"(?:FileScan|BatchScan)[^\[]*\[([a-z]+)_")


@pytest.fixture(scope="module")
def tables(
    spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    spark = spark_session.newSession()
    # compiling aggregates of all columns takes longer than the rows
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    folder = tmp_path_factory.mktemp("tpch")
    generated = generate(folder / "generated", tuple(TABLES), 0.01)
    for database in ("indexed", "analyzed"):
        spark.sql(f"CREATE DATABASE {database}")
    for name, (files, by) in TABLES.items():
        rows = some_rows(name, generated / f"{name}.parquet").sort_by(by)
        (folder / name).mkdir()
        size = -(-len(rows) // files)
        for file in range(files):
            pq.write_table(rows.slice(file * size, size), folder / name / f"{file}.parquet")
        for database in ("indexed", "analyzed"):
            spark.catalog.createTable(f"{database}.{name}", str(folder / name), "parquet")
        spark.sql(f"ANALYZE TABLE analyzed.{name} COMPUTE STATISTICS FOR ALL COLUMNS")
        tamis.index(spark, folder / name).build(columns=dict.fromkeys(rows.column_names, "ndv"))
    yield spark
    for database in ("indexed", "analyzed"):
        spark.sql(f"DROP DATABASE {database} CASCADE")


def some_rows(name: str, path: Path) -> pa.Table:
    """Return every tenth order with its line items, and all rows of other tables."""
    rows = pq.read_table(path)
    strings = [  # not all functions of pyarrow take views
        field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field
        for field in rows.schema
    ]
    rows = rows.cast(pa.schema(strings))
    key = {"lineitem": "l_orderkey", "orders": "o_orderkey"}.get(name)
    if key is None:
        return rows
    return rows.filter(pa.array(np.asarray(rows.column(key)) % 10 == 0))


@pytest.fixture
def planned(spark: SparkSession, tables: SparkSession) -> SparkSession:
    for key, value in CBO.items():
        spark.conf.set(key, value)
    return spark


def joins(spark: SparkSession, database: str, number: int) -> list[str]:
    """Return the joins of the physical plan with their build sides, and their tables, as a tree."""
    spark.catalog.setCurrentDatabase(database)
    spark.conf.set("spark.tamis.enabled", str(database == "indexed").lower())
    text = (QUERIES / f"q{number:02}.sql").read_text().replace("{fraction}", "0.01")
    plan = spark.sql(text)._jdf.queryExecution().sparkPlan().toString()
    spark.catalog.setCurrentDatabase("default")
    tree: list[str] = []
    depths: list[int] = []
    for line in plan.splitlines():
        depth = len(line) - len(line.lstrip(" :+-"))
        while depths and depths[-1] >= depth:
            depths.pop()
        join, scan = JOIN.search(line), SCAN.search(line)
        if join is not None:
            tree.append("  " * len(depths) + " ".join(filter(None, join.groups())))
            depths.append(depth)
        elif scan is not None:
            table = next(name for name, (_, by) in TABLES.items() if by.startswith(f"{scan[1]}_"))
            tree.append("  " * len(depths) + table)
    assert sum("Join" in line for line in tree) >= 2
    return tree


@pytest.mark.parametrize("number", NUMBERS)
def test_plan_is_that_after_analyze(planned: SparkSession, number: int) -> None:
    assert joins(planned, "indexed", number) == joins(planned, "analyzed", number)


def test_plans_without_cost_based_optimization_are_others(planned: SparkSession) -> None:
    """Otherwise the first test would prove nothing."""
    by_cost = {number: joins(planned, "indexed", number) for number in NUMBERS}
    kinds = " ".join(line for tree in by_cost.values() for line in tree)
    assert "SortMergeJoin" in kinds
    assert "BroadcastHashJoin" in kinds
    planned.conf.set("spark.sql.cbo.enabled", "false")
    others = [n for n in NUMBERS if joins(planned, "indexed", n) != by_cost[n]]
    assert len(others) >= 6
