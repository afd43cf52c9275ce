"""`spark.tamis.enabled=false` and `spark.tamis.mode=off` do the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OFF = {"spark.tamis.enabled": "false", "spark.tamis.mode": "off"}

QUERIES = [
    "SELECT name FROM events WHERE id < 150 AND year(day) = 1995",
    "SELECT name FROM events WHERE id < 150 LIMIT 3",
    "SELECT name FROM events ORDER BY id DESC LIMIT 3",
    "SELECT count(*), max(id) FROM events WHERE id >= 0",
    "SELECT sum(item.sku) FROM events WHERE upper(name) >= 'N0050' OR name LIKE '%x%'",
    "SELECT a.name FROM events a JOIN events b ON a.id = b.id WHERE b.id < 50",
    "SELECT name FROM events WHERE id > (SELECT max(id) - 5 FROM events WHERE hash(id) <> 0)",
    "SELECT _metadata.file_size > 0, id FROM parquet.`{path}` WHERE id < 150",
]


def without_numbers(plan: str) -> str:
    return re.sub(r"#\d+L?|plan_id=\d+|\[id=#?\d+\]|rank=\d+", "", plan)


def plans(spark: SparkSession, path: str) -> list[str]:
    texts = [f"EXPLAIN EXTENDED {q.format(path=path)}" for q in QUERIES]
    return [without_numbers(spark.sql(text).first()[0]) for text in texts]


def results(spark: SparkSession, path: str) -> list[list[str]]:
    return [rows(spark.sql(q.format(path=path))) for q in QUERIES]


def guarded(spark: SparkSession) -> list[str]:
    """Return the rows of a query that both guards would refuse."""
    spark.conf.set("spark.tamis.requireFilter", "*")
    spark.conf.set("spark.tamis.assertPruned", "name")
    found = rows(spark.sql("SELECT id FROM events WHERE name > ''"))
    spark.conf.unset("spark.tamis.requireFilter")
    spark.conf.unset("spark.tamis.assertPruned")
    return found


def functions(spark: SparkSession) -> list[list[str]]:
    """Return what the table functions show, without the reason that names the conf."""
    query = "SELECT name FROM events WHERE id < 150"
    return [
        rows(spark.sql(f"SELECT * FROM tamis_explain('{query}')").drop("reason", "fix")),
        rows(spark.sql(f"SELECT * FROM tamis_files('{query}')")),
        rows(spark.sql("SELECT pushed_filters FROM tamis_pushdown('events') WHERE id < 150")),
    ]


def explanations(spark: SparkSession, path: str) -> list[Any]:
    documents = [tamis.explain(spark.sql(q.format(path=path))).to_dict() for q in QUERIES]
    assert all(d["scans"] == [] and d["answered"] == [] for d in documents)
    texts = (
        json.dumps([relation["reasons"] for relation in d["left_to_spark"]]) for d in documents
    )
    return [re.findall(r'"code": "(\w+)"', text) for text in texts]


def history(spark: SparkSession, folder: Path) -> int:
    """Return the number of scans that a query records."""
    spark.conf.set("spark.tamis.history.enabled", "true")
    spark.conf.set("spark.tamis.history.location", str(folder))
    spark.sql("SELECT name FROM events WHERE id < 150").collect()
    recorded = spark.sql("SELECT * FROM tamis_history()").count()
    spark.conf.set("spark.tamis.history.enabled", "false")
    return recorded


def python_side(spark: SparkSession, path: str) -> list[str]:
    """Return what the functions that do not plan a scan answer: they work in any mode."""
    return [
        str(tamis.parse(spark, "x > 5 OR x IS NULL", "x INT")),
        str(tamis.index(spark, path).describe().to_dict()),
    ]


@pytest.mark.parametrize(
    "observed",
    [
        lambda spark, path, folder: plans(spark, path),
        lambda spark, path, folder: results(spark, path),
        lambda spark, path, folder: guarded(spark),
        lambda spark, path, folder: functions(spark),
        lambda spark, path, folder: explanations(spark, path),
        lambda spark, path, folder: history(spark, folder),
        lambda spark, path, folder: python_side(spark, path),
    ],
    ids=["plans", "results", "guards", "functions", "explain", "history", "python"],
)
def test_both_confs_do_the_same(
    spark: SparkSession,
    events: DataFrame,
    events_path: str,
    tmp_path: Path,
    observed: Callable[[SparkSession, str, Path], Any],
) -> None:
    seen = []
    for key, value in OFF.items():
        spark.conf.set(key, value)
        seen.append(observed(spark, events_path, tmp_path / "history"))
        spark.conf.unset(key)
    assert seen[0] == seen[1]


def test_plans_are_those_of_plain_spark(
    spark: SparkSession, events: DataFrame, events_path: str, tmp_path: Path
) -> None:
    on = "".join(plans(spark, events_path))
    spark.conf.set("spark.tamis.mode", "off")
    off = "".join(plans(spark, events_path))
    assert "FileScan parquet" in off
    assert re.search("tamis", on, re.IGNORECASE)
    assert not re.search("tamis", off, re.IGNORECASE)
    assert history(spark, tmp_path / "history") == 0


def test_dynamic_pruning_in_filters_stays_in_plans_of_plain_spark(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    """With tamis on, it is removed from the filter over the second branch."""
    parts = spark.range(100).selectExpr("id", "id % 10 AS part").repartition(1)
    parts.write.partitionBy("part").parquet(str(tmp_path / "parts"))
    parts.write.orc(str(tmp_path / "old"))
    spark.read.parquet(str(tmp_path / "parts")).createOrReplaceTempView("parts")
    spark.read.orc(str(tmp_path / "old")).createOrReplaceTempView("old")
    statement = (
        "SELECT u.id FROM (SELECT id, part FROM parts UNION ALL SELECT id, part FROM old) u "
        "JOIN events e ON u.part = e.id WHERE e.name = 'n0003'"
    )

    spark.conf.set("spark.sql.adaptive.enabled", "false")  # or a plan has its final form later

    def filters() -> list[str]:
        plan = spark.sql(statement)._jdf.queryExecution().executedPlan().toString()
        return [line for line in plan.splitlines() if "Filter " in line and "dynamicprun" in line]

    assert filters() == []
    on = rows(spark.sql(statement))
    spark.conf.set("spark.tamis.enabled", "false")
    assert len(filters()) == 1
    assert rows(spark.sql(statement)) == on


@pytest.mark.parametrize("key", OFF)
def test_reason_names_the_conf_and_its_fix_works(
    spark: SparkSession, events: DataFrame, key: str
) -> None:
    query = "SELECT name FROM events WHERE id < 150"
    spark.conf.set(key, OFF[key])
    (left,) = tamis.explain(spark.sql(query)).to_dict()["left_to_spark"]
    (reason,) = left["reasons"]
    assert (reason["code"], reason["text"]) == ("TAMIS_IS_OFF", f"{key} is {OFF[key]}")
    spark.sql(reason["fix"])
    assert len(tamis.explain(spark.sql(query)).to_dict()["scans"]) == 1
