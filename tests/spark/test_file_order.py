"""Scans of sorted files report the order of their rows, so that Spark does not sort them.

The rows are those of plain Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]

DAYS = 3
ROWS = {
    # id: NULL, and values that occur several times
    "sales": [
        "nullif(id % 11, 0) AS id",
        "CAST(id * 7 % 60 AS INT) AS amount",
        "IF(id % 9 = 0, DOUBLE('NaN'), id % 4 - 1.5D) AS x",
        "concat('Größe ', id % 13) AS `na me`",
    ],
    "visits": [
        "nullif(id % 17, 3) AS id",
        "CAST(id % 7 AS INT) AS guests",
        "IF(id % 5 = 0, NULL, id % 4 - 1.5D) AS x",
        "concat('größe ', id % 3) AS name",
    ],
}
ORDERS = {"sales": ["id", "amount DESC"], "visits": ["id", "guests"]}


@pytest.fixture(scope="module")
def written(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two tables of three days, one sorted file per day. Each lacks a day of the other."""
    folder = tmp_path_factory.mktemp("sorted")
    for name, columns in ROWS.items():
        first = 1 if name == "sales" else 2
        frame = spark_session.range(0, 180, 1, 1).selectExpr(
            *columns,
            f"date_add(DATE '1970-01-01', CAST(id % {DAYS} AS INT) + {first}) AS day",
        )
        by = ", ".join(["day", *ORDERS[name]])
        frame.createOrReplaceTempView("rows")
        spark_session.sql(f"SELECT * FROM rows SORT BY {by}").write.partitionBy("day").parquet(
            str(folder / name)
        )
        tamis.index(spark_session, str(folder / name)).build(sorted_by=ORDERS[name])
    return folder


@pytest.fixture
def tables(spark: SparkSession, written: Path) -> SparkSession:
    for name in ROWS:
        spark.read.parquet(str(written / name)).createOrReplaceTempView(name)
    grouping(spark)
    return spark


def grouping(spark: SparkSession) -> None:
    """Let groups of any size pay, broadcast nothing, and do not compile what is not tested."""
    for key, value in {
        "spark.tamis.partitionGroups.minSize": "0b",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        "spark.tamis.aggregates.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }.items():
        spark.conf.set(key, value)


def work(frame: DataFrame) -> tuple[int, int]:
    """Return how often the plan distributes rows by keys, and how often it sorts them."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString()).partition("Initial Plan")[0]
    return plan.count("Exchange hashpartitioning"), len(re.findall(r"\bSort \[", plan))


def orders(frame: DataFrame) -> list[tuple[str, str | None]]:
    """Return the orders that scans were asked for, and why they do not have them."""
    goals = [goal for scan in scans(frame) for goal in scan["goals"]]
    return [
        (goal["goal"].partition("sorted by ")[2], goal["reason"] and goal["reason"]["code"])
        for goal in goals
        if goal["goal"].startswith("rows of each task sorted by ")
    ]


KEYS = "s.day = v.day AND s.id = v.id"
TOTALS = "count(*), sum(amount), sum(guests), min(s.day), max(v.day)"

# Statements, and the order that their scans have.
HITS = [
    (f"SELECT {TOTALS} FROM sales s JOIN visits v ON {KEYS}", "day, id"),
    (f"SELECT {TOTALS} FROM sales s JOIN visits v ON v.id = s.id AND v.day = s.day", "id, day"),
    (f"SELECT {TOTALS} FROM sales s LEFT JOIN visits v ON {KEYS}", "day, id"),
    (f"SELECT {TOTALS} FROM sales s FULL JOIN visits v ON {KEYS} AND guests > 3", "day, id"),
    (
        f"SELECT count(*), sum(amount) FROM sales s LEFT ANTI JOIN visits v ON {KEYS} "
        "AND guests = 2",
        "day, id",
    ),
    ("SELECT count(*), sum(amount * guests) FROM sales s JOIN visits v USING (day)", "day"),
    (
        "SELECT count(*), sum(n + guests) FROM (SELECT id AS k, day AS d, amount + 1 AS n "
        "FROM sales WHERE amount > 9 AND id <> 4) s JOIN visits v ON k = v.id AND d = v.day "
        "WHERE guests < 5",
        "id, day",
    ),
    (
        "SELECT count(*), sum(amount + b.guests + v.guests) FROM sales s "
        f"JOIN visits v ON {KEYS} JOIN visits b ON b.day = s.day AND b.id = s.id",
        "day, id",
    ),
    ("SELECT day, id, rank() OVER (PARTITION BY day ORDER BY id) FROM sales", "day, id"),
    (
        "SELECT day, id, amount, sum(amount) OVER (PARTITION BY day, id ORDER BY amount DESC) "
        "FROM sales WHERE amount <> 3",
        "day, id, amount DESC",
    ),
    ("SELECT day, amount - max(amount) OVER (PARTITION BY day) FROM sales", "day"),
    (
        "SELECT id, day, amount FROM (SELECT *, rank() OVER (PARTITION BY day ORDER BY id) AS r "
        "FROM sales) WHERE r <= 2",
        "day, id",
    ),
    ("SELECT id, day, max(`na me`) FROM sales GROUP BY id, day", "id, day"),
    (
        f"SELECT s.day, s.id, {TOTALS} FROM sales s JOIN visits v ON {KEYS} "
        "WHERE s.id BETWEEN 3 AND 7 GROUP BY s.day, s.id",
        "day, id",
    ),
]


@pytest.mark.parametrize(("statement", "order"), HITS, ids=[each for each, _ in HITS])
def test_rows_of_sorted_files_are_not_sorted(
    tables: SparkSession, same: Same, statement: str, order: str
) -> None:
    tables.conf.set("spark.sql.adaptive.enabled", "false")
    frame = same(statement)
    assert set(orders(frame)) == {(order, None)}
    assert work(frame) == (0, 0)


def test_adaptive_execution(tables: SparkSession, same: Same) -> None:
    for statement, _ in HITS[0], HITS[3], HITS[9]:
        assert work(same(statement)) == (0, 0)


# Statements, and why the rows of their scans are sorted by Spark.
MISSES = [
    ("SELECT day, rank() OVER (PARTITION BY day ORDER BY id DESC) FROM sales", "id DESC"),
    ("SELECT day, rank() OVER (PARTITION BY day ORDER BY amount) FROM sales", "amount"),
    ("SELECT day, rank() OVER (PARTITION BY day ORDER BY x) FROM visits", "x"),
    ("SELECT day, rank() OVER (PARTITION BY day ORDER BY id, amount) FROM sales", "amount"),
    ("SELECT day, rank() OVER (PARTITION BY day ORDER BY id NULLS LAST) FROM sales", None),
    ("SELECT day, rank() OVER (PARTITION BY day ORDER BY id + 1) FROM sales", None),
    ("SELECT day, rank() OVER (PARTITION BY day ORDER BY CAST(id AS INT)) FROM sales", None),
    ("SELECT count(*) FROM sales s JOIN visits v ON s.day = v.day AND s.id <=> v.id", None),
    ("SELECT count(*) FROM sales s JOIN visits v ON s.day = v.day AND s.id % 5 = v.id % 5", None),
]


@pytest.mark.parametrize(("statement", "order"), MISSES, ids=[each for each, _ in MISSES])
def test_rows_in_another_order_are_sorted(
    tables: SparkSession, same: Same, statement: str, order: str | None
) -> None:
    frame = same(statement)
    asked = [(named.rpartition(", ")[2], why) for named, why in orders(frame)]
    assert asked == ([] if order is None else [(order, "ORDER_NOT_RECORDED")])
    assert work(frame)[1] > 0


SETTINGS: list[dict[str, Any]] = [
    {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"},
    {"spark.sql.codegen.wholeStage": "true", "spark.sql.parquet.enableVectorizedReader": "false"},
    {"spark.sql.files.maxPartitionBytes": "900", "spark.sql.files.openCostInBytes": "0"},
    {"spark.sql.sources.v2.bucketing.pushPartValues.enabled": "false"},
    {"spark.sql.sources.v2.bucketing.partition.filter.enabled": "true"},
    {"spark.sql.caseSensitive": "true"},
    {"spark.sql.session.timeZone": "Asia/Kolkata", "spark.sql.ansi.enabled": "false"},
    {"spark.sql.execution.replaceHashWithSortAgg": "true"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=[" ".join(each) for each in SETTINGS])
def test_settings(tables: SparkSession, same: Same, settings: dict[str, str]) -> None:
    for key, value in settings.items():
        tables.conf.set(key, value)
    for statement, _ in HITS[0], HITS[9]:
        same(statement)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.tamis.fileOrder.enabled", "false"),
        ("spark.tamis.partitionGroups.enabled", "false"),
        ("spark.tamis.mode", "observe"),
        ("spark.tamis.index.enabled", "false"),
        ("spark.sql.files.ignoreMissingFiles", "true"),
    ],
)
def test_orders_that_are_off(tables: SparkSession, same: Same, key: str, value: str) -> None:
    tables.conf.set(key, value)
    frame = same(HITS[0][0])
    assert work(frame)[1] == 2
    assert "SortedBy" not in frame._jdf.queryExecution().executedPlan().toString()


def test_explanations_name_the_order(tables: SparkSession) -> None:
    frame = tables.sql(HITS[0][0])
    text = "rows of each task sorted by day, id"
    assert text in str(tamis.explain(frame))
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert text in plan
    frame.explain()
    formatted = tables.sql(f"EXPLAIN FORMATTED {HITS[0][0]}").first()
    assert formatted is not None
    assert "SortedBy: [day, id]" in formatted[0]


# ---- files written here ----


def files(path: Path, day: int, *ids: list[int | None], **types: pa.DataType) -> None:
    """Write one file for each list."""
    folder = path / f"day={day}"
    folder.mkdir(parents=True, exist_ok=True)
    for k, each in enumerate(ids, len([*folder.iterdir()])):
        columns = {"id": pa.array(each, types.get("id", pa.int64())), "v": list(range(len(each)))}
        pq.write_table(pa.table(columns), folder / f"{k}.parquet", row_group_size=2)


# One side lacks rows: two sides that are equal match in any order.
JOIN = (
    "SELECT day, id, count(*), sum(a.v * b.v) FROM t a JOIN (SELECT * FROM t WHERE v % 2 = 0) b "
    "USING (day, id) GROUP BY day, id"
)

# The files of each day, and the reason why they are sorted again.
LAYOUTS: list[tuple[dict[int, list[list[int | None]]], str | None]] = [
    ({1: [[1, 1, 2, 5, 9]], 2: [[None, 0, 2]]}, None),
    ({1: [[4, 5, 6, 7], [1, 2, 3]], 2: [[7, 8]]}, None),
    ({1: [[5, 6], [9], [None, 1, 2], [2, 5]]}, None),
    ({1: [[], [3, 4], [1, 2]]}, None),
    ({1: [[1, 2], [None, 3, 4, 5]]}, "SORTED_FILES_OVERLAP"),
    ({1: [[1, 2, 1, 2, 1]]}, "FILES_NOT_SORTED"),
]


@pytest.mark.parametrize(("layout", "why"), LAYOUTS, ids=[str(each) for each, _ in LAYOUTS])
def test_files_of_a_day(
    spark: SparkSession,
    same: Same,
    tmp_path: Path,
    layout: dict[int, list[list[int | None]]],
    why: str | None,
) -> None:
    grouping(spark)
    # several parts of a file
    spark.conf.set("spark.sql.files.maxPartitionBytes", "300")
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    for day, ids in layout.items():
        files(tmp_path, day, *ids)
    spark.read.schema("id LONG, v LONG, day INT").parquet(str(tmp_path)).createOrReplaceTempView(
        "t"
    )
    tamis.index(spark, str(tmp_path)).build(sorted_by=["id"])
    frame = same(JOIN)
    assert {each for _, each in orders(frame)} == {why}
    assert work(frame) == (0, 0 if why is None else 2)


def test_files_of_several_directories_of_a_group(
    spark: SparkSession, same: Same, tmp_path: Path
) -> None:
    grouping(spark)
    for name, of_shop, why in (("a", [5, 6], None), ("b", [3, 5], "SORTED_FILES_OVERLAP")):
        path = tmp_path / name
        for shop, ids in ((1, [4, 5]), (2, of_shop)):
            (path / "day=1").mkdir(parents=True, exist_ok=True)
            files(path / "day=1", shop, ids)
            (path / "day=1" / f"day={shop}").rename(path / "day=1" / f"shop={shop}")
        schema = "id LONG, v LONG, day INT, shop INT"
        spark.read.schema(schema).parquet(str(path)).createOrReplaceTempView("t")
        tamis.index(spark, str(path)).build(sorted_by=["id"])
        frame = same(JOIN)
        assert {each for _, each in orders(frame)} == {why}
        assert work(frame) == (0, 0 if why is None else 2)


def test_files_that_no_index_knows_are_sorted(
    spark: SparkSession, same: Same, tmp_path: Path
) -> None:
    grouping(spark)
    files(tmp_path, 1, [1, 2, 3])
    files(tmp_path, 2, [4, 5, 6])

    def asked() -> set[str | None]:
        read = spark.read.schema("id LONG, v LONG, day INT").parquet(str(tmp_path))
        read.createOrReplaceTempView("t")
        return {each for _, each in orders(same(JOIN))}

    assert asked() == {"ORDER_NOT_RECORDED"}
    index = tamis.index(spark, str(tmp_path)).build(sorted_by=["id"])
    assert asked() == {None}
    files(tmp_path, 2, [9, 8, 7])
    assert asked() == {"FILES_NOT_SORTED"}
    index.refresh()
    assert asked() == {"FILES_NOT_SORTED"}
    (tmp_path / "day=2" / "1.parquet").unlink()
    index.refresh()
    assert asked() == {None}
    # the same rows in another order, in place
    pq.write_table(
        pa.table({"id": [3, 1, 2, 2], "v": [0, 1, 2, 3]}), tmp_path / "day=1" / "0.parquet"
    )
    assert asked() == {"FILES_NOT_SORTED"}


def test_columns_read_as_another_type_are_sorted(
    spark: SparkSession, same: Same, tmp_path: Path
) -> None:
    grouping(spark)
    files(tmp_path, 1, [1, 2, 10], id=pa.int32())
    tamis.index(spark, str(tmp_path)).build(sorted_by=["id"])
    for kind, why in (("INT", None), ("LONG", "ORDER_NOT_RECORDED")):
        read = spark.read.schema(f"id {kind}, v LONG, day INT").parquet(str(tmp_path))
        read.createOrReplaceTempView("t")
        assert {each for _, each in orders(same(JOIN))} == {why}


def test_run_time_filters_leave_the_others_in_order(
    tables: SparkSession, same: Same, tmp_path: Path
) -> None:
    tables.sql("SELECT DATE '1970-01-03' AS day, 1 AS k").write.parquet(str(tmp_path / "days"))
    tables.read.parquet(str(tmp_path / "days")).createOrReplaceTempView("days")
    frame = same(
        f"SELECT /*+ BROADCAST(d) */ {TOTALS} FROM sales s JOIN visits v ON {KEYS} "
        "JOIN days d ON s.day = d.day WHERE d.k * 2 = 2"
    )
    assert set(orders(frame)) == {("day, id", None)}
    assert work(frame)[1] == 0


def test_an_index_that_cannot_be_read_is_not_used(
    spark: SparkSession, same: Same, tmp_path: Path
) -> None:
    grouping(spark)
    path = tmp_path / "t"
    files(path, 1, [1, 2, 3])
    tamis.index(spark, str(path)).build(sorted_by=["id"])
    for stats in path.glob("_tamis/**/*recorded.stats*"):
        stats.write_bytes(b"PAR1 damaged")
    spark.read.schema("id LONG, v LONG, day INT").parquet(str(path)).createOrReplaceTempView("t")
    frame = same(JOIN)
    assert work(frame)[1] == 2
