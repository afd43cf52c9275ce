"""Joins read only files that may hold a partner, at planning and at run time.

The rows are those of plain Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet, rows, scans, sql_tab

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

SWITCHES = (
    "spark.tamis.joins.enabled",
    "spark.tamis.runtimeFilters.enabled",
)

Same = Callable[[str], "DataFrame"]

JOINS = {
    "broadcast": {"spark.sql.autoBroadcastJoinThreshold": "10485760"},
    "shuffled": {"spark.sql.autoBroadcastJoinThreshold": "-1"},
    "broadcast, not adaptive": {
        "spark.sql.autoBroadcastJoinThreshold": "10485760",
        "spark.sql.adaptive.enabled": "false",
    },
    "shuffled, not adaptive": {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.enabled": "false",
    },
}


@pytest.fixture(scope="module")
def tables(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write lines, orders, parts and days.

    lines: 4,000 rows in 40 files by k (BIGINT) and i (INT), with some NULLs. orders: 400 rows in 4
    files by day, of every tenth k; keys are spread over the files. parts: 400 rows in 10 files by
    k. days: partitioned.
    """
    root = tmp_path_factory.mktemp("joins")
    session = spark_session
    lines = session.range(4000).selectExpr(
        "CASE WHEN id % 50 = 49 THEN NULL ELSE id END AS k",
        "CASE WHEN id % 50 = 49 THEN NULL ELSE CAST(id AS INT) END AS i",
        "CAST(id AS DECIMAL(12, 2)) AS d",
        "concat('n', lpad(CAST(id AS STRING), 5, '0')) AS name",
        "id % 7 AS q",
        "repeat(sha2(CAST(id AS STRING), 256), 4) AS pad",
        "id",
    )
    lines.repartitionByRange(40, "id").sortWithinPartitions("id").write.parquet(f"{root}/lines")
    orders = session.range(400).selectExpr(
        "CASE WHEN id % 40 = 39 THEN NULL ELSE id * 10 END AS k",
        "date_add(DATE '1995-01-01', CAST(id % 100 AS INT)) AS day",
        "id % 5 AS c",
        "id % 100 = 42 AS chosen",
        "id",
    )
    orders.repartitionByRange(4, "day").write.parquet(f"{root}/orders")
    parts = session.range(400).selectExpr(
        "id * 10 AS k", "CAST(id * 10 AS INT) AS i", "id % 3 AS c"
    )
    parts.repartitionByRange(10, "k").write.parquet(f"{root}/parts")
    session.range(400).selectExpr("id", "CAST(id % 8 AS INT) AS p").write.partitionBy("p").parquet(
        f"{root}/days"
    )
    paths = {name: f"{root}/{name}" for name in ("lines", "orders", "parts", "days")}
    for path in paths.values():
        tamis.index(session, path).build()
    return paths


@pytest.fixture(scope="module")
def fixed_tables() -> bool:
    """Compute rows without tamis once: they do not depend on the join strategy."""
    return True


@pytest.fixture
def views(spark: SparkSession, tables: dict[str, str]) -> SparkSession:
    for name, path in tables.items():
        read_parquet(spark, path).createOrReplaceTempView(name)
    return spark


def kept(frame: DataFrame) -> dict[str, list[int]]:
    """Return the number of files that the scans of each table keep at planning."""
    kept_by_table: dict[str, list[int]] = {}
    for scan in scans(frame):
        kept_by_table.setdefault(scan["table"].rpartition("/")[2], []).append(scan["files_kept"])
    return kept_by_table


NARROW = "parts.k + 1 BETWEEN 1002 AND 1190"  # k is 1010 .. 1180: two files, 1000 .. 1390

# statement, files of lines and of parts that are planned to be read
PLANNED = [
    (f"SELECT * FROM lines JOIN parts ON lines.k = parts.k WHERE {NARROW}", 2, 1),
    (f"SELECT * FROM lines JOIN parts ON parts.k = lines.k AND lines.q > 2 WHERE {NARROW}", 2, 1),
    (f"SELECT id FROM lines LEFT SEMI JOIN parts ON lines.k = parts.k AND {NARROW}", 2, 1),
    (f"SELECT id FROM lines WHERE k IN (SELECT k FROM parts WHERE {NARROW})", 2, 1),
    (
        f"SELECT id FROM lines WHERE EXISTS (SELECT 1 FROM parts WHERE parts.k = lines.k AND {NARROW})",
        2,
        1,
    ),
    # rows without a partner are in the result
    (f"SELECT id FROM lines LEFT ANTI JOIN parts ON lines.k = parts.k AND {NARROW}", 40, 1),
    (f"SELECT id FROM lines LEFT JOIN parts ON lines.k = parts.k AND {NARROW}", 40, 1),
    (f"SELECT id FROM lines WHERE k NOT IN (SELECT k FROM parts WHERE {NARROW})", 40, 1),
    (
        f"SELECT id FROM lines WHERE NOT EXISTS (SELECT 1 FROM parts WHERE parts.k = lines.k AND {NARROW})",
        40,
        1,
    ),
    # the other side of these is pruned
    ("SELECT * FROM lines LEFT JOIN parts ON lines.k = parts.k WHERE lines.id + 1 < 90", 1, 1),
    (
        "SELECT id FROM lines LEFT ANTI JOIN parts ON lines.k = parts.k WHERE lines.id + 1 < 90",
        1,
        1,
    ),
    ("SELECT * FROM parts RIGHT JOIN lines ON lines.k = parts.k WHERE lines.id + 1 < 90", 1, 1),
    (
        "SELECT id FROM lines WHERE NOT EXISTS (SELECT 1 FROM parts WHERE parts.k = lines.k) "
        "AND id + 1 < 90",
        1,
        1,
    ),
    # a NULL is equal to a NULL
    (f"SELECT * FROM lines JOIN parts ON lines.k <=> parts.k WHERE {NARROW}", 40, 1),
    (
        "SELECT * FROM (SELECT * FROM lines WHERE id + 1 < 90) l FULL JOIN parts ON l.k = parts.k",
        1,
        10,
    ),
    # keys of other types
    (f"SELECT * FROM lines JOIN parts ON lines.i = parts.k WHERE {NARROW}", 2, 1),
    (f"SELECT * FROM lines JOIN parts ON lines.d = parts.k WHERE {NARROW}", 2, 1),
    (f"SELECT * FROM lines JOIN parts ON lines.k + 5 = parts.k WHERE {NARROW}", 3, 1),
    # through projections, groups, unions and other joins
    (
        f"SELECT * FROM (SELECT k AS x, count(*) FROM lines GROUP BY k) JOIN parts ON x = parts.k WHERE {NARROW}",
        2,
        1,
    ),
    (
        "SELECT * FROM (SELECT k FROM lines UNION ALL SELECT i FROM lines) l "
        f"JOIN parts ON l.k = parts.k WHERE {NARROW}",
        4,
        1,
    ),
    ("SELECT * FROM lines JOIN (VALUES (5L), (3105L), (NULL)) v(x) ON k = x", 2, 0),
    # no rows on the other side
    ("SELECT * FROM lines JOIN parts ON lines.k = parts.k WHERE parts.k + 1 < 0", 0, 0),
]


@pytest.mark.parametrize("how", ["broadcast", "shuffled, not adaptive"])
@pytest.mark.parametrize(
    ("statement", "lines", "parts"), PLANNED, ids=[statement for statement, *_ in PLANNED]
)
def test_join_reads_only_files_with_partners(
    views: SparkSession, same: Same, statement: str, lines: int, parts: int, how: str
) -> None:
    views.conf.set("spark.tamis.runtimeFilters.enabled", "false")
    for key, value in JOINS[how].items():
        views.conf.set(key, value)
    kept_files = kept(same(statement))
    assert sum(kept_files.get("lines", [0])) == lines
    assert sum(kept_files.get("parts", [0])) == parts


@pytest.mark.parametrize("how", ["JOIN", "LEFT SEMI JOIN", "RIGHT JOIN"])
@pytest.mark.parametrize("data_type", ["DOUBLE", "FLOAT"])
def test_joins_with_listed_zeros_and_nan(
    spark: SparkSession, same: Same, tmp_path: Path, data_type: str, how: str
) -> None:
    """A join equates -0.0 with 0.0, and NaN with NaN; a set of values distinguishes the zeros."""
    path = str(tmp_path / "floats")
    numbers = "VALUES (-0.0D), (0.0D), (1.0D), (double('NaN')), (double('Infinity')), (NULL)"
    for place, condition in enumerate(("x < 1", "x = 1", "x > 1 OR x IS NULL")):
        rows_of_file = (
            f"SELECT CAST(x AS {data_type}) AS x, '{condition}' AS file FROM ({numbers}) v(x)"
        )
        frame = spark.sql(f"{rows_of_file} WHERE {condition}").coalesce(1)
        frame.write.mode("append" if place else "overwrite").parquet(path)
    tamis.index(spark, path).build()
    spark.read.parquet(path).createOrReplaceTempView("floats")
    for listed in ("(0.0D)", "(-0.0D), (5.0D)", "(double('NaN')), (-1.0D)", "(1.0D), (0.0D)"):
        values = f"(SELECT CAST(y AS {data_type}) AS y FROM (VALUES {listed}) w(y)) w"
        same(f"SELECT * FROM floats {how} {values} ON x = y")


def test_range_travels_through_inner_joins(views: SparkSession, same: Same) -> None:
    frame = same(
        "SELECT a.id, b.q FROM lines a JOIN lines b ON a.k = b.k JOIN parts ON b.k = parts.k "
        f"WHERE {NARROW}"
    )
    assert kept(frame) == {"lines": [2, 2], "parts": [1]}


def test_explain_shows_join_goals_and_reasons(views: SparkSession) -> None:
    def goals(statement: str) -> list[tuple[str, str | None]]:
        return [
            (goal["goal"], goal["reason"] and goal["reason"]["code"])
            for scan in scans(views.sql(statement))
            for goal in scan["goals"]
            if scan["table"].endswith("lines")
        ]

    joined = f"SELECT * FROM lines JOIN parts ON lines.d = parts.k WHERE {NARROW}"
    [(text, code)] = goals(joined)
    assert text.startswith("JOIN ON ")
    assert code is None
    plan = views.sql(joined)._jdf.queryExecution().executedPlan().toString()
    assert "Goals: [JOIN ON " in plan
    assert goals("SELECT * FROM lines JOIN orders ON lines.k = orders.k") == [
        ("JOIN ON k", "KEY_RANGE_COVERS")
    ]
    views.conf.set("spark.tamis.joins.enabled", "false")
    views.conf.set("spark.tamis.runtimeFilters.enabled", "false")
    assert goals(joined) == []
    assert kept(views.sql(joined)) == {"lines": [40], "parts": [1]}


# statement; files that are read of the 40 files of lines: those with k = 420, 1420, 2420 or 3420
DAY = "day = DATE '1995-02-12'"
AT_RUN_TIME = [
    (f"SELECT * FROM lines JOIN orders o ON lines.k = o.k WHERE {DAY}", 4),
    (f"SELECT * FROM orders o JOIN lines ON lines.k = o.k AND q < 5 WHERE {DAY}", 4),
    (f"SELECT id FROM lines WHERE k IN (SELECT k FROM orders WHERE {DAY})", 4),
    (
        f"SELECT id FROM lines WHERE EXISTS (SELECT 1 FROM orders o WHERE lines.k = o.k AND {DAY})",
        4,
    ),
    (f"SELECT * FROM (SELECT * FROM orders WHERE {DAY}) o LEFT JOIN lines ON lines.k = o.k", 4),
    (f"SELECT * FROM lines RIGHT JOIN (SELECT * FROM orders WHERE {DAY}) o ON lines.k = o.k", 4),
    # the types differ: Spark casts the column
    (f"SELECT * FROM lines JOIN orders o ON lines.i = o.k WHERE {DAY}", 4),
    (f"SELECT id FROM lines WHERE i IN (SELECT k FROM orders WHERE {DAY})", 4),
    # Spark considers a filter without a comparison not selective
    ("SELECT * FROM lines JOIN orders o ON lines.k = o.k WHERE chosen", 4),
    ("SELECT id FROM lines WHERE k IN (SELECT k FROM orders WHERE chosen)", 4),
    # rows without a partner are in the result
    (
        f"SELECT lines.id FROM lines LEFT JOIN (SELECT * FROM orders WHERE {DAY}) o ON lines.k = o.k",
        40,
    ),
    (
        f"SELECT lines.id FROM lines LEFT ANTI JOIN (SELECT * FROM orders WHERE {DAY}) o ON lines.k = o.k",
        40,
    ),
    (
        f"SELECT id FROM lines WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE lines.k = o.k AND {DAY})",
        40,
    ),
    (
        f"SELECT lines.id FROM lines FULL JOIN (SELECT * FROM orders WHERE {DAY}) o ON lines.k = o.k",
        40,
    ),
    (f"SELECT id FROM lines WHERE k NOT IN (SELECT k FROM orders WHERE {DAY} AND k > 0)", 40),
    # files are not clustered by q, so the values of q are not requested
    (f"SELECT lines.id FROM lines JOIN orders o ON lines.q = o.c WHERE {DAY}", 40),
]


@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize(
    ("statement", "files"), AT_RUN_TIME, ids=[statement for statement, _ in AT_RUN_TIME]
)
def test_files_read_with_run_time_filters(
    views: SparkSession, same: Same, statement: str, files: int, how: str
) -> None:
    for key, value in JOINS[how].items():
        views.conf.set(key, value)
    same(statement)
    read = sql_tab(views)["files read after run-time filters"]
    assert max(read) == files


@pytest.mark.parametrize("statement", [statement for statement, _ in AT_RUN_TIME])
def test_files_read_without_run_time_filters(
    views: SparkSession, same: Same, statement: str
) -> None:
    views.conf.set("spark.tamis.runtimeFilters.enabled", "false")
    same(statement)
    assert max(sql_tab(views)["files read after run-time filters"]) >= 31


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_keys_of_a_side_with_a_limit_are_not_computed_twice(
    views: SparkSession, same: Same, adaptive: str
) -> None:
    """Another run of the LIMIT may return other keys."""
    views.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    views.conf.set("spark.sql.adaptive.enabled", adaptive)
    limited = f"(SELECT * FROM orders WHERE {DAY} LIMIT 100)"
    same(f"SELECT lines.id FROM lines JOIN {limited} o ON lines.k = o.k")
    assert max(sql_tab(views)["files read after run-time filters"]) >= 31


@pytest.mark.parametrize(
    ("key", "files"),
    [("max(k)", 1), ("first(k)", 31), ("max_by(k, c)", 31), ("mode(k)", 31), ("any_value(k)", 31)],
)
def test_keys_that_depend_on_the_order_of_rows_are_not_computed_twice(
    views: SparkSession, key: str, files: int
) -> None:
    """Another run may return another key, although Catalyst calls these functions deterministic."""
    views.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    side = f"(SELECT c, {key} AS k FROM orders WHERE {DAY} GROUP BY c)"
    views.sql(f"SELECT lines.id FROM {side} o LEFT JOIN lines ON lines.k = o.k").collect()
    read = max(sql_tab(views)["files read after run-time filters"])
    assert read == files if files == 1 else read >= files


# statement; files of lines that are read
SCALARS = [
    ("SELECT id FROM lines WHERE k = (SELECT max(k) FROM orders)", 1),
    ("SELECT id FROM lines WHERE k > (SELECT max(k) - 100 FROM orders)", 2),
    (
        "SELECT id FROM lines WHERE i BETWEEN (SELECT min(k) + 310 FROM orders) AND (SELECT max(k) - 3500 FROM orders)",
        2,
    ),
    (
        "SELECT id FROM lines WHERE substring(name, 1, 4) = (SELECT concat('n0', max(c) + 11) FROM orders)",
        1,
    ),
    ("SELECT id FROM lines WHERE k = (SELECT max(k) FROM orders WHERE k < 0)", 0),
    (
        "SELECT id FROM lines WHERE coalesce(k, 5) <= (SELECT min(k) + 110 FROM parts) OR k IS NULL",
        40,
    ),
    # the value depends on the row
    ("SELECT id FROM lines l WHERE k = (SELECT max(k) FROM orders o WHERE o.c = l.q)", 40),
    ("SELECT id FROM lines WHERE q = (SELECT max(c) FROM orders)", 40),
]


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize(
    ("statement", "files"), SCALARS, ids=[statement for statement, _ in SCALARS]
)
def test_scalar_subqueries_prune_at_run_time(
    views: SparkSession, same: Same, statement: str, files: int, adaptive: str
) -> None:
    views.conf.set("spark.sql.adaptive.enabled", adaptive)
    views.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    same(statement)
    read = sql_tab(views)["files read after run-time filters"]
    assert max(read) == files


def test_scalar_subquery_runs_once(views: SparkSession) -> None:
    for adaptive in ("true", "false"):
        views.conf.set("spark.sql.adaptive.enabled", adaptive)
        frame = views.sql("SELECT id FROM lines WHERE k > (SELECT max(k + 1) - 101 FROM orders)")
        frame.collect()
        assert len(sql_tab(views)["files read after run-time filters"]) == 2


def test_partition_pruning_by_a_key_of_another_type(views: SparkSession, same: Same) -> None:
    """Spark casts the partition column, and cannot translate its filter for a scan."""
    statement = "SELECT days.id FROM days JOIN orders o ON days.p = o.k / 10 WHERE o.id + 1 < 4"
    same("SELECT days.id FROM days JOIN orders o ON days.p = o.id WHERE o.day < DATE '1995-01-04'")
    same(statement)
    total = views.sql("SELECT * FROM days")
    everything = sum(scan["files_kept"] for scan in scans(total))
    views.sql(
        "SELECT days.id FROM days JOIN orders o ON days.p = o.id WHERE o.day < DATE '1995-01-04'"
    ).collect()
    read = sql_tab(views)["files read after run-time filters"]
    assert everything not in read


@pytest.mark.parametrize("everything_on", ["true", "false"])
def test_partition_pruning_by_an_exact_filter(
    views: SparkSession, same: Same, tmp_path: Path, everything_on: str
) -> None:
    """Spark prunes by a broadcast side only while that side shows a filter.

    Plain Spark does the same.
    """
    kinds = views.range(8).selectExpr("CAST(id AS INT) AS p", "IF(id % 5 = 3, 'a', 'b') AS kind")
    kinds.repartitionByRange(2, "kind").write.parquet(str(tmp_path / "kinds"))
    tamis.index(views, str(tmp_path / "kinds")).build()
    views.read.parquet(str(tmp_path / "kinds")).createOrReplaceTempView("kinds")
    for key in SWITCHES:
        views.conf.set(key, everything_on)
    everything = sum(scan["files_kept"] for scan in scans(views.sql("SELECT * FROM days")))
    for statement in (
        "SELECT days.id FROM days JOIN kinds ON days.p = kinds.p WHERE kind = 'a'",
        "SELECT days.id FROM days WHERE p IN (SELECT p FROM kinds WHERE kind = 'a')",
    ):
        same(statement)
        assert everything not in sql_tab(views)["files read after run-time filters"]


@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize(("generated", "v1"), [("true", "orc"), ("false", "orc"), ("false", "")])
def test_union_with_a_scan_without_run_time_filters(
    views: SparkSession, same: Same, tmp_path: Path, generated: str, v1: str, how: str
) -> None:
    """Spark leaves dynamic pruning in a filter above a V1 scan, and hands it to a V2 scan.

    Only generated code can run that filter, and that scan fails.
    """
    views.conf.set("spark.sql.sources.useV1SourceList", v1)
    views.range(200).selectExpr("id * 10 AS k").write.orc(str(tmp_path / "old"))
    views.read.orc(str(tmp_path / "old")).createOrReplaceTempView("old")
    for key, value in {**JOINS[how], "spark.sql.codegen.wholeStage": generated}.items():
        views.conf.set(key, value)
    for union in (
        "SELECT k FROM lines UNION ALL SELECT k FROM old",
        "SELECT k FROM old UNION ALL SELECT k FROM lines",
        "SELECT k FROM lines UNION ALL SELECT k + 1 FROM old WHERE k % 20 = 0",
    ):
        same(f"SELECT u.k FROM ({union}) u JOIN orders o ON u.k = o.k WHERE {DAY}")
        same(f"SELECT u.k FROM ({union}) u WHERE u.k IN (SELECT k FROM orders WHERE {DAY})")


def test_shared_plans_of_joins(views: SparkSession, same: Same) -> None:
    for how in JOINS.values():
        for key, value in how.items():
            views.conf.set(key, value)
        same(
            f"WITH c AS (SELECT l.* FROM lines l JOIN orders o ON l.k = o.k WHERE {DAY}) "
            "SELECT a.id, b.id FROM c a JOIN c b ON a.id = b.id + 1000"
        )
        same(
            "SELECT a.id FROM lines a JOIN lines b ON a.k = b.k "
            f"WHERE b.k IN (SELECT k FROM orders WHERE {DAY}) "
            f"AND a.id > (SELECT max(k) - 2000 FROM orders WHERE {DAY})"
        )
        same(
            "SELECT id FROM lines WHERE k = (SELECT max(k) FROM orders) "
            "UNION ALL SELECT id FROM lines WHERE k = (SELECT min(k) FROM orders) "
            "UNION ALL SELECT id FROM lines WHERE k > (SELECT max(k) FROM orders) - 300"
        )


def test_cached_tables_in_joins(views: SparkSession) -> None:
    frame = views.sql(f"SELECT l.* FROM lines l JOIN orders o ON l.k = o.k WHERE {DAY}").cache()
    try:
        assert frame.count() == 4 == frame.count()
        assert frame.where("k = 1420").count() == 1
        assert views.table("lines").count() == 4000
        orders = views.table("orders").cache()
        orders.count()
        joined = f"SELECT count(*) FROM lines l JOIN orders o ON l.k = o.k WHERE {DAY}"
        assert rows(views.sql(joined)) == ["(4,)"]
        orders.unpersist()
    finally:
        frame.unpersist()


def test_plan_runs_twice(views: SparkSession) -> None:
    frame = views.sql(f"SELECT l.id FROM lines l JOIN orders o ON l.k = o.k WHERE {DAY}")
    assert rows(frame) == rows(frame)
    assert frame.count() == 4


def test_observe_mode_reads_every_file(views: SparkSession, same: Same) -> None:
    views.conf.set("spark.tamis.mode", "observe")
    frame = same(f"SELECT l.id FROM lines l JOIN orders o ON l.k = o.k WHERE {DAY}")
    assert files_read(frame) == [4, 40]


def test_unavailable_planner_changes_no_join(
    views: SparkSession, same: Same, no_sidecar: None
) -> None:
    frame = same(f"SELECT l.id FROM lines l JOIN orders o ON l.k = o.k WHERE {DAY}")
    assert files_read(frame) == [4, 40]


def files_read(frame: DataFrame) -> list[int]:
    """Return the number of files that each scan reads, even if the planner was unavailable."""
    decisions = json.loads(frame.sparkSession._jvm.io.tamis.Tamis.scans(frame._jdf))
    return sorted(scan["files_read"] for scan in decisions)


@pytest.mark.parametrize("run_time", ["true", "false"])
def test_join_of_two_streams_keeps_rows_for_later_batches(
    spark: SparkSession, tmp_path: Path, run_time: str
) -> None:
    """A stream without new data is an empty relation in this batch, not in the next one."""
    spark.conf.set("spark.tamis.runtimeFilters.enabled", run_time)
    places = {name: str(tmp_path / name) for name in ("left", "right", "table", "out", "state")}
    for name in ("left", "right"):
        Path(places[name]).mkdir()
    table = spark.range(10, 1010).selectExpr("id", "id * 10 AS k")
    table.repartitionByRange(5, "id").write.parquet(places["table"])
    tamis.index(spark, places["table"]).build()
    left = spark.readStream.schema("k BIGINT, x STRING").json(places["left"])
    right = spark.readStream.schema("id BIGINT, y STRING").json(places["right"])
    joined = left.join(right.join(spark.read.parquet(places["table"]), "id"), "k")
    query = (
        joined.writeStream.format("parquet")
        .option("checkpointLocation", places["state"])
        .start(places["out"])
    )
    for name, record in (("right", '{"id": 20, "y": "b"}'), ("left", '{"k": 200, "x": "a"}')):
        Path(places[name], "1.json").write_text(record)
        query.processAllAvailable()
    query.stop()
    written = spark.read.schema(joined.schema).parquet(places["out"])
    assert [tuple(row) for row in written.collect()] == [(200, "a", 20, "b")]
