"""Statistics of ANALYZE TABLE reach Spark's cost-based optimizer, reduced to the kept files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]


@pytest.fixture
def cbo(spark: SparkSession) -> Iterator[SparkSession]:
    confs = {"spark.sql.cbo.enabled": "true", "spark.sql.cbo.joinReorder.enabled": "true"}
    for key, value in confs.items():
        spark.conf.set(key, value)
    yield spark
    for key in confs:
        spark.conf.unset(key)


Make = Callable[..., None]


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path) -> Make:
    """Make an indexed table of these columns over range(rows), analyzed by default."""

    def table(
        name: str,
        rows: int,
        *columns: str,
        files: int = 4,
        by: str = "id",
        partitioned: str | None = None,
        analyze: str | None = "FOR ALL COLUMNS",
    ) -> None:
        frame = spark.range(rows).repartitionByRange(files, by).sortWithinPartitions(by)
        writer = frame.selectExpr("id", *columns).write.option("path", str(tmp_path / name))
        (writer.partitionBy(partitioned) if partitioned else writer).saveAsTable(name)
        if analyze is not None:
            spark.sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS {analyze}")
        tamis.index(spark, name).build()

    return table


def statistics(spark: SparkSession, statement: str) -> dict[str, Any]:
    """Return the estimated row count, size and column statistics of the optimized plan."""
    stats = spark.sql(statement)._jdf.queryExecution().optimizedPlan().stats()
    columns = {}
    entries = stats.attributeStats().iterator()
    while entries.hasNext():
        entry = entries.next()
        stat = entry._2()

        def value_of(option: Any) -> Any:
            value = option.get() if option.isDefined() else None
            return value if value is None or isinstance(value, (int, float, str)) else str(value)

        columns[entry._1().name()] = {
            "distinct": value_of(stat.distinctCount()),
            "min": value_of(stat.min()),
            "max": value_of(stat.max()),
            "nulls": value_of(stat.nullCount()),
            "average length": value_of(stat.avgLen()),
            "longest": value_of(stat.maxLen()),
            "histogram": stat.histogram().isDefined(),
        }
    rows = stats.rowCount()
    return {
        "rows": int(str(rows.get())) if rows.isDefined() else None,
        "bytes": int(str(stats.sizeInBytes())),
        "columns": columns,
    }


def off_and_on(spark: SparkSession, statement: str) -> tuple[dict[str, Any], dict[str, Any]]:
    estimates = []
    for on in ("false", "true"):
        spark.conf.set("spark.tamis.enabled", on)
        estimates.append(statistics(spark, statement))
    return estimates[0], estimates[1]


def test_statistics_of_a_table_that_is_read_completely(cbo: SparkSession, make: Make) -> None:
    make("t", 1000, "id % 7 AS k", "concat('n', id) AS name", "IF(id % 4 = 0, NULL, id) AS n",
         "CAST(id AS DECIMAL(9, 2)) AS d", "date_add(DATE '2020-01-01', CAST(id AS INT)) AS `a day`")  # fmt: skip
    off, on = off_and_on(cbo, "SELECT * FROM t")
    assert off["rows"] == 1000
    assert len(off["columns"]) == 6
    assert on == off


def test_histograms_are_reported(cbo: SparkSession, make: Make) -> None:
    cbo.conf.set("spark.sql.statistics.histogram.enabled", "true")
    try:
        make("t", 1000, "id % 100 AS k")
    finally:
        cbo.conf.unset("spark.sql.statistics.histogram.enabled")
    off, on = off_and_on(cbo, "SELECT k FROM t WHERE k < 30")
    assert off["columns"]["k"]["histogram"]
    assert on == off


def test_exact_filter_takes_the_row_count_of_the_index(cbo: SparkSession, make: Make) -> None:
    make("t", 1000, "id DIV 250 AS part", "id % 10 AS k")
    off, on = off_and_on(cbo, "SELECT id, part, k FROM t WHERE part = 2")
    assert on["rows"] == 250
    assert on["columns"] == off["columns"]
    assert (on["columns"]["part"]["min"], on["columns"]["part"]["max"]) == (2, 2)
    assert on["columns"]["part"]["distinct"] == 1
    assert on["columns"]["id"]["distinct"] <= 250


def test_residual_filter_is_estimated_once(cbo: SparkSession, make: Make) -> None:
    # Files are clustered by id. x < 100 keeps one of four files, and Spark filters its rows.
    make("t", 1000, "id AS x")
    off, on = off_and_on(cbo, "SELECT id, x FROM t WHERE x < 100")
    assert abs(off["rows"] - 100) <= 1
    assert abs(on["rows"] - 100) <= 1


def test_row_count_is_limited_to_the_kept_files(cbo: SparkSession, make: Make) -> None:
    # Without statistics of x, Spark assumes that every row matches. The kept file has 250 rows.
    make("t", 1000, "id AS x", analyze="")
    off, on = off_and_on(cbo, "SELECT id, x FROM t WHERE x < 100")
    assert off["rows"] == 1000
    assert on["rows"] == 250


def test_partition_pruning_keeps_the_statistics(cbo: SparkSession, make: Make) -> None:
    make("t", 1000, "id % 7 AS k", "id DIV 100 AS p", partitioned="p", by="id")
    off, on = off_and_on(cbo, "SELECT id, k FROM t WHERE p = 3")
    assert on["rows"] == 100
    assert len(on["columns"]) == 2
    assert on == off


def test_estimate_without_matching_rows(cbo: SparkSession, make: Make) -> None:
    make("t", 100, "id AS x")
    off, on = off_and_on(cbo, "SELECT id, x FROM t WHERE x > 1000")
    assert off["rows"] == on["rows"] == 0


def test_stale_statistics_raise_no_error(cbo: SparkSession, make: Make, same: Same) -> None:
    make("t", 100, "id AS x", analyze="FOR ALL COLUMNS")
    cbo.sql("INSERT INTO t SELECT id + 1000, id + 1000 FROM range(100)")
    tamis.index(cbo, "t").refresh()
    assert same("SELECT count(*), sum(x) FROM t WHERE x >= 1000").first()[0] == 100


@pytest.mark.parametrize("analyze", [None, "NOSCAN"])
def test_no_estimate_without_a_row_count(
    cbo: SparkSession, make: Make, analyze: str | None
) -> None:
    # Row counts of some tables only would change the strategies of joins.
    make("t", 1000, "id AS x", analyze=analyze)
    off, on = off_and_on(cbo, "SELECT id, x FROM t")
    assert off["rows"] is None
    assert on == off


def test_no_column_estimate_without_cbo(spark: SparkSession, make: Make) -> None:
    make("t", 1000, "id % 7 AS k")
    off, on = off_and_on(spark, "SELECT id, k FROM t")
    assert off["columns"] == {}
    assert on["columns"] == {}
    assert on["bytes"] == off["bytes"]


def test_plan_statistics_without_cbo(spark: SparkSession, make: Make) -> None:
    make("t", 1000, "id % 7 AS k")
    spark.conf.set("spark.sql.cbo.planStats.enabled", "true")
    try:
        off, on = off_and_on(spark, "SELECT * FROM t")
    finally:
        spark.conf.unset("spark.sql.cbo.planStats.enabled")
    assert off["rows"] == 1000
    assert on == off


def leaves(spark: SparkSession, statement: str) -> list[str]:
    """Return the tables of the optimized plan, in the order of the joins."""
    relations = spark.sql(statement)._jdf.queryExecution().optimizedPlan().collectLeaves()
    texts = [relations.apply(i).output().toString() for i in range(relations.size())]
    return [next(n for n in ("big", "mid", "small") if f"{n}_" in text) for text in texts]


STATEMENTS = {
    "no filter": "SELECT count(*) FROM big JOIN mid ON big_k = mid_k JOIN small ON big_s = small_s",
    "exact filter": "SELECT count(*) FROM big JOIN mid ON big_k = mid_k JOIN small ON big_s = small_s "
    "WHERE small_f = 3",
    "inexact filter": "SELECT count(*) FROM big JOIN mid ON big_k = mid_k JOIN small ON big_s = small_s "
    "WHERE small_s < 10",
    "filters of two": "SELECT count(*) FROM mid JOIN big ON big_k = mid_k JOIN small ON big_s = small_s "
    "WHERE small_f = 1 AND mid_k > 20",
}


@pytest.mark.parametrize("partitioned", [None, "small_f"])
def test_joins_are_reordered_as_in_plain_spark(
    cbo: SparkSession, make: Make, same: Same, partitioned: str | None
) -> None:
    make("big", 4000, "id AS big_k", "id % 50 AS big_s")
    make("mid", 1000, "id % 500 AS mid_k", by="id")
    make("small", 50, "id AS small_s", "id DIV 10 AS small_f", files=5, partitioned=partitioned)
    written = leaves(cbo, STATEMENTS["no filter"])
    reordered = 0
    for statement in STATEMENTS.values():
        cbo.conf.set("spark.tamis.enabled", "false")
        off = leaves(cbo, statement)
        cbo.conf.set("spark.sql.cbo.enabled", "false")
        reordered += off != leaves(cbo, statement)
        cbo.conf.set("spark.sql.cbo.enabled", "true")
        cbo.conf.set("spark.tamis.enabled", "true")
        assert leaves(cbo, statement) == off
        same(statement)
    assert len(written) == 3
    assert reordered > 0


def test_star_detection_sees_the_predicates_of_dimensions(
    cbo: SparkSession, make: Make, same: Same
) -> None:
    make("big", 4000, "id AS big_k", "id % 50 AS big_s")
    make("mid", 500, "id AS mid_k")
    make("small", 50, "id AS small_s", "id DIV 10 AS small_f", files=5)
    cbo.conf.set("spark.sql.cbo.joinReorder.dp.star.filter", "true")
    try:
        frame = same(STATEMENTS["exact filter"])
        assert "(small_f" in str(frame._jdf.queryExecution().optimizedPlan().toString())
    finally:
        cbo.conf.unset("spark.sql.cbo.joinReorder.dp.star.filter")
