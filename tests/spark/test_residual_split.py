"""Files whose rows all satisfy an expensive filter are scanned without it.

The rows are those of plain Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import tamis
from tamis.expr.nodes import Column, walk
from tamis.plan.residual_split import saved_by_splitting
from tests.spark.conftest import kept, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LATE = "(id >= 250 OR name LIKE '%7')"
# files 0 and 1 hold 0 .. 199, file 2 holds 200 .. 299
BOTH = [3, 7]


@pytest.fixture(autouse=True)
def scanned(spark: SparkSession) -> None:
    """Disable aggregates from statistics.

    Otherwise statistics answer for fully matching files, and no scan reads them.
    """
    spark.conf.set("spark.tamis.aggregates.enabled", "false")


@pytest.fixture
def split(events: DataFrame) -> SparkSession:
    """Return the session with the view `events`. A split pays whenever it saves anything."""
    events.sparkSession.conf.set("spark.tamis.residualSplit.minSaved", "0ms")
    return events.sparkSession


# statement, files of each scan
SPLIT = [
    (f"SELECT count(*) FROM events WHERE {LATE}", BOTH),
    (f"SELECT sum(id), max(day) FROM events WHERE {LATE}", BOTH),
    (f"SELECT day, count(*) FROM events WHERE {LATE} GROUP BY day", BOTH),
    (f"SELECT id % 7 AS k, sum(item.sku) FROM events WHERE {LATE} GROUP BY id % 7", BOTH),
    (f"SELECT DISTINCT id FROM events WHERE {LATE}", BOTH),
    (f"SELECT count(*) FROM events WHERE {LATE} AND id < 950", [4, 6]),
    (f"SELECT max(id) FROM events WHERE {LATE} ORDER BY 1 LIMIT 1", BOTH),
    ("SELECT count(*) FROM events WHERE date_format(day, 'yyyy') = '1996'", [2, 3]),
    (
        "SELECT count(*) FROM events a JOIN events b ON a.id = b.id "
        "WHERE a.id >= 250 OR a.name LIKE '%7'",
        [3, 7, 10],
    ),
    (
        f"WITH c AS (SELECT * FROM events WHERE {LATE}) "
        "SELECT count(*) FROM c a JOIN c b ON a.id = b.id + 1",
        [3, 3, 7, 7],
    ),
    (
        f"SELECT count(*) FROM (SELECT id FROM events WHERE {LATE} UNION ALL "
        f"SELECT id FROM events WHERE {LATE})",
        [3, 3, 7, 7],
    ),
    (
        f"SELECT id FROM events WHERE id = (SELECT max(id) FROM events WHERE {LATE})",
        [3, 7, 10],
    ),
]


@pytest.mark.parametrize(("statement", "files"), SPLIT, ids=[each for each, _ in SPLIT])
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_scan_is_split(
    split: SparkSession,
    same: Callable[..., DataFrame],
    statement: str,
    files: list[int],
    adaptive: str,
) -> None:
    split.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = same(statement, unchanged=True)
    assert sorted(kept(frame)) == sorted(files)


def test_fully_matching_files_are_read_without_the_filter_and_its_columns(
    split: SparkSession,
) -> None:
    frame = split.sql(f"SELECT sum(id) FROM events WHERE {LATE}")
    text = str(frame._jdf.queryExecution().executedPlan().toString())
    read = [line for line in text.splitlines() if "BatchScan" in line]
    assert len(read) == 2
    by_files = {scan["files_kept"]: scan for scan in scans(frame)}
    assert [c["pushdown"] for c in by_files[7]["conjuncts"]] == ["exact"]
    assert [c["pushdown"] for c in by_files[3]["conjuncts"]] != ["exact"]
    [without] = [line for line in read if "Files: 7 of 10" in line]
    [with_it] = [line for line in read if "Files: 3 of 10" in line]
    assert "name" not in without.split("]")[0]
    assert "name" in with_it.split("]")[0]


NOT = [
    # nothing is saved
    "SELECT count(*) FROM events WHERE id >= 250 OR item.sku = 3",
    # the order or the number of rows may matter
    f"SELECT id FROM events WHERE {LATE}",
    f"SELECT id FROM events WHERE {LATE} ORDER BY id",
    f"SELECT count(*) FROM (SELECT id FROM events WHERE {LATE} LIMIT 900)",
    f"SELECT collect_list(id) FROM events WHERE {LATE} AND id < 0",
    f"SELECT max(f) FROM (SELECT input_file_name() AS f FROM events WHERE {LATE})",
    f"SELECT max(i) FROM (SELECT monotonically_increasing_id() AS i FROM events WHERE {LATE})",
    f"SELECT count(*) FROM events WHERE {LATE} AND rand() < 2.5 * id + 3",
    # all files match fully, or none
    "SELECT count(*) FROM events WHERE id >= 0 OR name LIKE '%7'",
    "SELECT count(*) FROM events WHERE name LIKE '%7'",
]


@pytest.mark.parametrize("statement", NOT)
def test_scan_is_not_split(split: SparkSession, statement: str) -> None:
    plan = split.sql(statement)._jdf.queryExecution().optimizedPlan().toString()
    assert "Union" not in plan
    split.sql(statement).collect()


def test_split_that_does_not_pay_is_not_made(events: DataFrame) -> None:
    [scan] = scans(events.sparkSession.sql(f"SELECT count(*) FROM events WHERE {LATE}"))
    assert scan["goals"][0]["reason"]["code"] == "SPLIT_DOES_NOT_PAY"


# a filter that all rows of some files satisfy, whether it may be expensive
COSTS = [
    ("id >= 250 OR item.sku = 3", False),
    ("id >= 250 OR item.sku IN (3, 4) OR day < DATE '1995-01-02'", False),
    ("id >= 250 AND day IS NOT NULL AND item.sku <=> 5", False),
    ("id >= 250 OR name LIKE '%7'", True),
    ("id >= 250 OR name = 'n0007'", True),  # frees a long column
    ("year(day) >= 1996", True),
    ("date_format(day, 'yyyy') = '1996'", True),
    ("id + 1 > 250", True),
]


def test_extension_asks_about_the_filters_that_the_planner_may_find_expensive(
    events: DataFrame,
) -> None:
    """The planner decides. The extension asks it only about some filters, which saves time."""
    spark = events.sparkSession
    asked = set()
    for predicate, _ in COSTS:
        [scan] = scans(spark.sql(f"SELECT count(*) FROM events WHERE {predicate}"))
        if scan["goals"]:
            asked.add(predicate)
    assert asked == {predicate for predicate, is_expensive in COSTS if is_expensive}
    for predicate in (each for each, is_expensive in COSTS if not is_expensive):
        expr = tamis.parse(spark, predicate, events.schema)
        freed = {each.path: str(each.type) for each in walk(expr) if isinstance(each, Column)}
        assert saved_by_splitting(1, 0, [expr], list(freed.values()), columns=0) < 0


def test_conf_disables_the_split(split: SparkSession) -> None:
    split.conf.set("spark.tamis.residualSplit.enabled", "false")
    assert kept(split.sql(f"SELECT count(*) FROM events WHERE {LATE}")) == [10]


def test_writes_are_not_split(split: SparkSession, folder: str) -> None:
    split.sql(f"SELECT day, count(*) AS n FROM events WHERE {LATE} GROUP BY day").write.parquet(
        f"{folder}/out"
    )
    assert split.read.parquet(f"{folder}/out").count() == len(
        split.sql(f"SELECT DISTINCT day FROM events WHERE {LATE}").collect()
    )
