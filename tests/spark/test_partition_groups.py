"""Scans of partitioned tables report their partitioning, so that Spark needs no exchange.

The rows are those of plain Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

BUCKETING = "spark.sql.sources.v2.bucketing"


@pytest.fixture(scope="module")
def written(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two tables. Each has days and shops that the other one lacks, and rows without a shop.

    sales(id, amount, day, shop): days 1 to 6, visits(id, guests, day, shop): days 3 to 9.
    """
    folder = tmp_path_factory.mktemp("groups")
    day = "date_add(DATE '1969-12-29', CAST(id % {} AS INT) + {}) AS day"
    shop = "nullif(concat('Größe ', id % {}, '%'), 'Größe 0%') AS shop"
    sales = ("id % 40 AS id", "CAST(id AS INT) AS amount", day.format(6, 1), shop.format(3))
    visits = ("id % 50 AS id", "CAST(id % 7 AS INT) AS guests", day.format(7, 3), shop.format(4))
    for name, columns in (("sales", sales), ("visits", visits)):
        frame = spark_session.range(0, 600, 1, 2).selectExpr(*columns)
        frame.write.partitionBy("day", "shop").parquet(str(folder / name))
    return folder


@pytest.fixture
def tables(spark: SparkSession, written: Path) -> SparkSession:
    """Return the session with the views. Groups of any size pay, and nothing is broadcast."""
    for name in ("sales", "visits"):
        spark.read.parquet(str(written / name)).createOrReplaceTempView(name)
    for key, value in {
        "spark.tamis.partitionGroups.minSize": "0b",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        "spark.tamis.aggregates.enabled": "false",
    }.items():
        spark.conf.set(key, value)
    return spark


def exchanges(frame: DataFrame) -> int:
    """Return how often the plan distributes rows by keys."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    return plan.partition("Initial Plan")[0].count("Exchange hashpartitioning")


def grouped(frame: DataFrame) -> list[str]:
    """Return the goals of scans that group rows, where they have an effect."""
    goals = [goal for scan in scans(frame) for goal in scan["goals"]]
    return [
        goal["goal"]
        for goal in goals
        if goal["goal"].startswith("one task") and goal["reason"] is None
    ]


DAY = "one task for each day"
BOTH = "one task for each day, shop"
KEYS = "s.day = v.day AND s.id = v.id"
TOTALS = "count(*), sum(amount), sum(guests), min(s.day), max(v.day)"

# statement, goals of the scans
HITS = [
    (f"SELECT {TOTALS} FROM sales s JOIN visits v ON {KEYS}", [DAY, DAY]),
    (f"SELECT {TOTALS} FROM sales s LEFT JOIN visits v ON {KEYS}", [DAY, DAY]),
    (f"SELECT {TOTALS} FROM sales s RIGHT JOIN visits v ON {KEYS} AND guests > 3", [DAY, DAY]),
    (f"SELECT {TOTALS} FROM sales s FULL JOIN visits v ON {KEYS}", [DAY, DAY]),
    (
        "SELECT count(*), sum(amount) FROM sales s WHERE EXISTS "
        f"(SELECT 1 FROM visits v WHERE {KEYS} AND guests = 2)",
        None,
    ),
    (f"SELECT {TOTALS} FROM sales s JOIN visits v ON {KEYS} AND s.shop = v.shop", [BOTH, BOTH]),
    (f"SELECT {TOTALS} FROM sales s JOIN visits v ON v.id = s.id AND v.day = s.day", [DAY, DAY]),
    (
        f"SELECT {TOTALS} FROM sales s JOIN visits v ON {KEYS} "
        "WHERE s.day < DATE '1970-01-03' AND v.guests <> 4 AND s.id <> 3",
        [DAY, DAY],
    ),
    (
        "SELECT count(*), sum(amount + b.guests + v.guests) FROM sales s "
        f"JOIN visits v ON {KEYS} JOIN visits b ON b.day = s.day AND b.id = v.id",
        [DAY, DAY, DAY],
    ),
    ("SELECT day, count(DISTINCT id) FROM sales GROUP BY day", [DAY]),
    ("SELECT day, id, sum(amount) FROM sales GROUP BY day, id", [DAY]),
    ("SELECT DISTINCT id, day, shop FROM sales", [BOTH]),
    (
        "SELECT d, sum(n) FROM (SELECT day AS d, id, count(*) AS n FROM sales GROUP BY day, id) "
        "GROUP BY d",
        [DAY],
    ),
    (
        "SELECT id, day, amount FROM (SELECT *, rank() OVER (PARTITION BY day ORDER BY amount DESC)"
        " AS r FROM sales) WHERE r <= 2",
        [DAY],
    ),
    (
        f"SELECT s.day, s.id, {TOTALS} FROM sales s JOIN visits v ON {KEYS} GROUP BY s.day, s.id",
        [DAY, DAY],
    ),
    (
        "SELECT /*+ BROADCAST(v) */ s.day, v.guests, count(DISTINCT s.id) FROM sales s "
        "JOIN visits v ON s.id = v.id GROUP BY s.day, v.guests",
        [DAY],
    ),
    (
        "SELECT day, each, count(*) FROM sales LATERAL VIEW explode(array(id, 7)) AS each "
        "GROUP BY day, each",
        [DAY],
    ),
]


@pytest.mark.parametrize(("statement", "goals"), HITS, ids=[each for each, _ in HITS])
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_grouped_scans_need_no_exchange(
    tables: SparkSession,
    same: Callable[..., DataFrame],
    statement: str,
    goals: list[str] | None,
    adaptive: str,
) -> None:
    tables.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = same(statement, unchanged=True)
    if goals is not None:
        assert grouped(frame) == goals
        assert exchanges(frame) == 0


MISSES = [
    # few partial results are exchanged
    "SELECT day, sum(amount) FROM sales GROUP BY day",
    "SELECT DISTINCT day, shop FROM sales",
    # no key is a partition column
    "SELECT count(*) FROM sales s JOIN visits v ON s.id = v.id",
    "SELECT amount, count(DISTINCT day) FROM sales GROUP BY amount",
    "SELECT count(*) FROM sales s JOIN visits v ON s.day = date_add(v.day, 1) AND s.id = v.id",
    "SELECT count(*) FROM sales s JOIN visits v ON s.day <=> v.day AND s.id = v.id",
    "SELECT count(*) FROM sales s JOIN visits v ON upper(s.shop) = v.shop",
    # one of the sides is not partitioned by it
    "SELECT count(*) FROM sales s JOIN (SELECT DISTINCT id, max(day) OVER () AS day FROM visits) v "
    f"ON {KEYS}",
    "SELECT count(*) FROM sales s JOIN (SELECT * FROM visits ORDER BY id, day, shop, guests "
    f"LIMIT 100) v ON {KEYS}",
    "SELECT count(*) FROM sales s JOIN (SELECT id, day FROM visits UNION ALL SELECT id, day FROM "
    f"visits) v ON {KEYS}",
    # Spark cannot broadcast the side whose rows an outer join keeps
    "SELECT /*+ BROADCAST(s) */ v.day, v.guests, count(DISTINCT s.id) FROM sales s "
    "LEFT JOIN visits v ON s.id = v.id GROUP BY v.day, v.guests",
    "SELECT /*+ BROADCAST(s) */ v.day, v.guests, count(DISTINCT s.id) FROM visits v "
    "RIGHT JOIN sales s ON s.id = v.id GROUP BY v.day, v.guests",
    # Spark broadcasts a side
    f"SELECT /*+ BROADCAST(v) */ count(*) FROM sales s JOIN visits v ON {KEYS}",
]


@pytest.mark.parametrize("statement", MISSES)
def test_scans_are_not_grouped_without_need(
    tables: SparkSession, same: Callable[[str], DataFrame], statement: str
) -> None:
    assert grouped(same(statement)) == []


def test_scans_below_values_that_depend_on_the_task_are_not_grouped(tables: SparkSession) -> None:
    rand = "SELECT day, id, max(r) FROM (SELECT day, id, {} AS r FROM sales) GROUP BY day, id"
    assert grouped(tables.sql(rand.format("rand(3)"))) == []
    assert grouped(tables.sql(rand.format("id + 1"))) == [DAY]


SETTINGS: list[dict[str, Any]] = [
    {f"{BUCKETING}.pushPartValues.enabled": "false"},
    {f"{BUCKETING}.partition.filter.enabled": "true"},
    {"spark.sql.requireAllClusterKeysForDistribution": "true"},
    {"spark.sql.files.maxPartitionBytes": "900", "spark.sql.files.openCostInBytes": "1000000"},
    {"spark.sql.join.preferSortMergeJoin": "false"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.parquet.enableVectorizedReader": "false"},
    {"spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false"},
    {"spark.sql.cbo.enabled": "true"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=[" ".join(each) for each in SETTINGS])
def test_settings_of_storage_partitioned_joins(
    tables: SparkSession, same: Callable[..., DataFrame], settings: dict[str, str]
) -> None:
    for key, value in settings.items():
        tables.conf.set(key, value)
    for statement, _ in HITS:
        same(statement, unchanged=True)


@pytest.mark.parametrize(
    "conf",
    ["partiallyClusteredDistribution", "allowJoinKeysSubsetOfPartitionKeys", "shuffle"],
)
def test_groups_are_off_where_spark_does_not_compare_them_exactly(
    tables: SparkSession, same: Callable[[str], DataFrame], conf: str
) -> None:
    tables.conf.set(f"{BUCKETING}.{conf}.enabled", "true")
    frame = same(
        "SELECT day, shop, count(*) OVER (PARTITION BY day, id), min(amount) OVER (PARTITION BY "
        "day) FROM (SELECT DISTINCT day, shop, id, amount FROM sales)"
    )
    assert grouped(frame) == []
    for statement, _ in HITS:
        same(statement)


def test_joins_by_all_keys_that_spark_requires(
    tables: SparkSession, same: Callable[[str], DataFrame]
) -> None:
    tables.conf.set("spark.sql.requireAllClusterKeysForCoPartition", "true")
    frame = same(f"SELECT {TOTALS} FROM sales s JOIN visits v ON {KEYS}")
    assert grouped(frame) == []
    for condition in ("s.day = v.day", "s.shop = v.shop AND s.day = v.day"):
        frame = same(f"SELECT {TOTALS} FROM sales s JOIN visits v ON {condition}")
        assert len(grouped(frame)) == 2
        assert exchanges(frame) == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.tamis.partitionGroups.enabled", "false"),
        ("spark.tamis.mode", "observe"),
        (f"{BUCKETING}.enabled", "false"),
    ],
)
def test_groups_that_are_off(
    tables: SparkSession, same: Callable[[str], DataFrame], key: str, value: str
) -> None:
    tables.conf.set(key, value)
    frame = same("SELECT day, id, sum(amount) FROM sales GROUP BY day, id")
    assert exchanges(frame) == 1
    assert "GroupedBy" not in frame._jdf.queryExecution().executedPlan().toString()


def test_run_time_filters_may_leave_no_group(
    tables: SparkSession, same: Callable[[str], DataFrame], folder: str
) -> None:
    days = [("1960-01-01", 1), ("1970-01-01", 2), ("1970-01-03", 3), ("2020-01-01", 4)]
    tables.createDataFrame(days, "d STRING, k INT").selectExpr(
        "CAST(d AS DATE) AS day", "k"
    ).repartition(1).write.parquet(f"{folder}/days")
    tables.read.parquet(f"{folder}/days").createOrReplaceTempView("days")
    for k in (1, 2, 3, 4):
        frame = same(
            f"SELECT /*+ BROADCAST(d) */ {TOTALS} FROM sales s JOIN visits v ON {KEYS} "
            f"JOIN days d ON s.day = d.day WHERE d.k * 2 = {2 * k}"
        )
        assert grouped(frame) == [DAY, DAY]


# type of the partition column, values, whether groups may be formed by it
TYPES = [
    ("BOOLEAN", ["true", "false", "NULL"], True),
    ("INT", ["-1", "0", "7", "NULL"], True),
    ("BIGINT", ["-9223372036854775808", "9223372036854775807"], True),
    ("STRING", ["''", "'a/b=c%20'", "'A'", "'a'", "NULL"], True),
    ("DATE", ["DATE '0001-01-01'", "DATE '9999-12-31'", "NULL"], True),
    ("TIMESTAMP", ["TIMESTAMP '1969-12-31 23:59:59.5'", "TIMESTAMP '2024-03-31 02:30:00'"], True),
    ("DOUBLE", ["0.0D", "-0.0D", "DOUBLE('NaN')", "NULL"], False),
    ("DECIMAL(9, 2)", ["1.50BD", "2BD", "NULL"], False),
]


@pytest.mark.parametrize(("kind", "values", "is_grouped"), TYPES, ids=[kind for kind, *_ in TYPES])
def test_types_of_partition_columns(
    tables: SparkSession,
    same: Callable[[str], DataFrame],
    tmp_path: Path,
    kind: str,
    values: list[str],
    is_grouped: bool,
) -> None:
    each = " UNION ALL ".join(f"SELECT CAST({value} AS {kind}) AS `k.1`" for value in values)
    for name, ids in (("l", 40), ("r", 30)):
        path = str(tmp_path / name)
        tables.sql(f"SELECT id % {ids} AS id, `k.1` FROM range(80), ({each})").write.partitionBy(
            "k.1"
        ).parquet(path)
        tables.read.schema(f"id BIGINT, `k.1` {kind}").parquet(path).createOrReplaceTempView(name)
    statement = "SELECT `k.1`, count(*), sum(l.id) FROM l JOIN r USING (`k.1`, id) GROUP BY `k.1`"
    frame = same(statement)
    assert len(grouped(frame)) == (2 if is_grouped else 0)
    assert grouped(same("SELECT `k.1`, count(DISTINCT id) FROM l GROUP BY `k.1`")) == (
        ["one task for each k.1"] if is_grouped else []
    )


def test_groups_of_row_groups(
    tables: SparkSession, same: Callable[[str], DataFrame], tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for day in (1, 2, 3):
        (tmp_path / f"day={day}").mkdir()
        data = pa.table({"id": list(range(1000)), "v": [day] * 1000})
        pq.write_table(data, tmp_path / f"day={day}" / "a.parquet", row_group_size=100)
    tables.read.parquet(str(tmp_path)).createOrReplaceTempView("parts")
    tamis.index(tables, str(tmp_path)).build()
    frame = same(
        "SELECT count(*), sum(a.v + b.v) FROM parts a JOIN parts b USING (day, id) "
        "WHERE a.id BETWEEN 350 AND 420 AND b.id < 500"
    )
    assert exchanges(frame) == 0
    assert [scan["row_groups_kept"] for scan in scans(frame)] == [6, 6]


def test_small_groups_do_not_pay(tables: SparkSession, same: Callable[[str], DataFrame]) -> None:
    tables.conf.unset("spark.tamis.partitionGroups.minSize")
    frame = same("SELECT day, id, sum(amount) FROM sales GROUP BY day, id")
    [scan] = scans(frame)
    assert [goal["reason"]["code"] for goal in scan["goals"]] == ["PARTITION_GROUPS_SMALL"]
    assert exchanges(frame) == 1


def test_explanations_name_the_groups(tables: SparkSession) -> None:
    frame = tables.sql("SELECT day, id, sum(amount) FROM sales GROUP BY day, id")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert DAY in plan
    assert DAY in str(tamis.explain(frame))


def test_rows_of_a_group_are_in_one_task(tables: SparkSession) -> None:
    frame = tables.sql("SELECT day, id, sum(amount) AS s FROM sales GROUP BY day, id")
    by_task = frame.selectExpr("day", "spark_partition_id() AS task").distinct().collect()
    assert len(by_task) == len({row.day for row in by_task}) == len({r.task for r in by_task}) == 6
    assert rows(frame)
