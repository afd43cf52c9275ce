"""What an index knows of a table reaches Spark's cost-based optimizer as ANALYZE TABLE would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]
Make = Callable[..., str]
Estimate = dict[str, Any]

#: Columns of every type that both ANALYZE TABLE and an index describe, and of others.
COLUMNS = {
    "long": "id - 300",
    "integer": "CAST(id * 7919 % 1000 AS INT)",
    "short": "CAST(id % 300 AS SHORT)",
    "byte": "CAST(id % 5 AS BYTE)",
    "boolean": "id % 3 = 0",
    "always": "true",
    "one": "CAST(7 AS INT)",
    "day": "date_add(DATE '1960-01-01', CAST(id * 7 AS INT))",
    "moment": "timestamp_micros(id * 1000003 - 500000000)",
    "price": "CAST(id - 500.25 AS DECIMAL(9, 2))",
    "wide": "CAST(id AS DECIMAL(30, 4)) * 1000000000000",
    "double": "id / 8 - 20",
    "float": "CAST(id % 50 AS FLOAT)",
    "text": "concat('é', id % 400)",
    "blob": "CAST(concat('b', id) AS BINARY)",
    "some": "IF(id % 4 = 0, NULL, id)",
    "texts": "IF(id % 4 = 0, NULL, repeat('x', CAST(id % 9 AS INT)))",
    "nothing": "CAST(NULL AS INT)",
    "no_text": "CAST(NULL AS STRING)",
}
NESTED = {"inner": "named_struct('a', id)", "list": "array(id)"}


@pytest.fixture
def cbo(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.cbo.enabled", "true")
    yield spark
    spark.conf.unset("spark.sql.cbo.enabled")


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path) -> Make:
    """Make the table `t`, and `analyzed` over the same files, with the results of ANALYZE TABLE.

    Return the path. By default, an index records the number of distinct values of all columns.
    """

    def tables(
        columns: dict[str, str],
        rows: int = 1000,
        files: int = 2,
        partitioned: str | None = None,
        ndv: list[str] | None = None,
    ) -> str:
        path = str(tmp_path / "t")
        frame = spark.range(0, rows, 1, files).selectExpr(
            "id", *(f"{sql} AS `{name}`" for name, sql in columns.items())
        )
        writer = frame.write.option("path", path)
        (writer.partitionBy(partitioned) if partitioned else writer).saveAsTable("analyzed")
        described = [name for name in ["id", *columns] if name not in NESTED]
        spark.sql(
            "ANALYZE TABLE analyzed COMPUTE STATISTICS FOR COLUMNS "
            + ", ".join(f"`{name}`" for name in described)
        )
        spark.catalog.createTable("t", path, "parquet")
        if partitioned:
            spark.catalog.recoverPartitions("t")
        recorded = [name for name in described if name != partitioned] if ndv is None else ndv
        tamis.index(spark, path).build(columns=dict.fromkeys(recorded, "ndv"))
        return path

    return tables


def statistics(spark: SparkSession, statement: str, tamis_on: bool = True) -> Estimate:
    """Return the estimated row count, size and column statistics of the optimized plan."""
    spark.conf.set("spark.tamis.enabled", str(tamis_on).lower())
    stats = spark.sql(statement)._jdf.queryExecution().optimizedPlan().stats()
    spark.conf.set("spark.tamis.enabled", "true")
    columns: dict[str, dict[str, Any]] = {}
    entries = stats.attributeStats().iterator()

    def value_of(option: Any) -> Any:
        value = option.get() if option.isDefined() else None
        return value if value is None or isinstance(value, (bool, int, float)) else str(value)

    while entries.hasNext():
        entry = entries.next()
        stat = entry._2()
        columns[entry._1().name()] = {
            name: value_of(getattr(stat, name)())
            for name in ("distinctCount", "min", "max", "nullCount", "avgLen", "maxLen")
        }
        distinct = columns[entry._1().name()].pop("distinctCount")
        columns[entry._1().name()]["distinct"] = None if distinct is None else int(distinct)
    rows = stats.rowCount()
    return {
        "rows": int(str(rows.get())) if rows.isDefined() else None,
        "bytes": int(str(stats.sizeInBytes())),
        "columns": columns,
    }


def without_distinct(estimate: Estimate) -> Estimate:
    columns = {
        name: {k: v for k, v in column.items() if k != "distinct"}
        for name, column in estimate["columns"].items()
    }
    return estimate | {"columns": columns}


def compare(spark: SparkSession, columns: str = "*", where: str = "true") -> Estimate:
    """Compare the estimates after ANALYZE TABLE with those over the index, and return the latter.

    Rows, bounds, NULLs, lengths and the size have to be equal. The numbers of distinct values both
    have errors: 5 % and 2.3 % standard error.
    """
    statement = f"SELECT {columns} FROM {{}} WHERE {where}"
    expected = statistics(spark, statement.format("analyzed"), tamis_on=False)
    actual = statistics(spark, statement.format("t"))
    assert without_distinct(actual) == without_distinct(expected)
    for name, column in expected["columns"].items():
        assert actual["columns"][name]["distinct"] == pytest.approx(column["distinct"], rel=0.2)
    return actual


def exact_distinct(spark: SparkSession, names: list[str]) -> dict[str, int]:
    counts = ", ".join(f"count(DISTINCT `{name}`) AS `{name}`" for name in names)
    return dict(spark.sql(f"SELECT {counts} FROM t").first().asDict())


def test_facts_are_those_of_analyze(cbo: SparkSession, make: Make, same: Same) -> None:
    make(COLUMNS | NESTED)
    names = ["id", *COLUMNS]
    actual = compare(cbo)
    assert sorted(actual["columns"]) == sorted(names)
    assert actual["rows"] == 1000
    for name, distinct in exact_distinct(cbo, names).items():
        assert actual["columns"][name]["distinct"] == pytest.approx(distinct, rel=3 * 0.023), name
    # single files have at most 500 values; small numbers are exact
    exact = {"byte": 5, "boolean": 2, "always": 1, "one": 1, "texts": 9, "nothing": 0, "no_text": 0}
    assert {name: actual["columns"][name]["distinct"] for name in exact} == exact
    # Spark's estimators accept the statistics of each type, as predicates and as join keys.
    for name in ("id", "short", "boolean", "day", "moment", "price", "float", "text", "nothing"):
        join = f"SELECT t.id FROM {{0}} t JOIN {{0}} u ON t.`{name}` = u.`{name}`"
        after = statistics(cbo, join.format("analyzed"), tamis_on=False)["rows"]
        assert statistics(cbo, join.format("t"))["rows"] == pytest.approx(after, rel=0.2), name
    for predicate in ("day < DATE '1965-01-01'", "price = 3.75", "double > 50 AND texts = 'x'",
                      "moment BETWEEN TIMESTAMP '1969-12-31 23:55:00' AND TIMESTAMP '1970-01-01'",
                      "nothing = 1 OR byte IN (1, 2)",
                      "boolean", "wide >= 5"):  # fmt: skip
        same(f"SELECT id FROM t WHERE {predicate}")
        after = statistics(cbo, f"SELECT id FROM analyzed WHERE {predicate}", tamis_on=False)
        rows = statistics(cbo, f"SELECT id FROM t WHERE {predicate}")["rows"]
        assert rows == pytest.approx(after["rows"], rel=0.2, abs=1), predicate


def test_local_timestamps_do_not_fail(cbo: SparkSession, make: Make, same: Same) -> None:
    # After ANALYZE TABLE, Spark fails to plan such queries: its estimates do not know the type.
    make({"local": "CAST(timestamp_micros(id * 1000003) AS TIMESTAMP_NTZ)"})
    column = statistics(cbo, "SELECT * FROM t")["columns"]["local"]
    assert (column["min"], column["distinct"], column["nullCount"]) == (None, None, 0)
    same("SELECT id FROM t WHERE local > TIMESTAMP_NTZ '1970-01-01 00:10:00'")
    same("SELECT count(*) FROM t JOIN t u ON t.local = u.local")


def test_filters_are_estimated_from_the_facts(cbo: SparkSession, make: Make, same: Same) -> None:
    make({"part": "id DIV 250", "k": "id % 10"}, files=4)
    exact = statistics(cbo, "SELECT * FROM t WHERE part = 2")
    assert exact["rows"] == 250
    assert exact["columns"]["part"]["distinct"] == 1
    residual = statistics(cbo, "SELECT * FROM t WHERE id < 100")
    assert abs(residual["rows"] - 100) <= 2
    assert statistics(cbo, "SELECT * FROM t WHERE id > 5000")["rows"] == 0
    same("SELECT * FROM t WHERE id < 100 AND k = 3")


def test_nan_and_infinity(cbo: SparkSession, make: Make, same: Same) -> None:
    nan, infinity = "double('NaN')", "double('Infinity')"
    make({
        "x": f"CASE WHEN id % 10 = 0 THEN {nan} ELSE double(id % 50) END",
        "f": "CASE WHEN id % 10 = 0 THEN float('NaN') ELSE float(id) END",
        "only": nan,
        "huge": f"CASE WHEN id % 10 = 0 THEN -{infinity} ELSE double(id) END",
        "zero": "IF(id % 2 = 0, 0D, -0D)",
    })  # fmt: skip
    columns = statistics(cbo, "SELECT * FROM t")["columns"]
    x = columns["x"]
    assert (x["min"], x["max"], x["nullCount"], x["distinct"]) == (1.0, 49.0, 0, 46)
    assert (columns["f"]["min"], columns["f"]["max"]) == (1.0, 999.0)
    assert columns["zero"]["distinct"] == 1
    for name in ("only", "huge"):  # without bounds, Spark must not get a number of distinct values
        assert {columns[name][each] for each in ("min", "max", "distinct")} == {None}
    assert 100 < statistics(cbo, "SELECT id FROM t WHERE x > 24")["rows"] < 900
    for predicate in (
        "x > 24",
        "x = 5",
        f"only = {nan}",
        "huge < 3",
        f"huge = -{infinity}",
        "f > 5",
    ):
        same(f"SELECT id FROM t WHERE {predicate}")
        same(f"SELECT count(*) FROM t JOIN t u ON t.huge = u.huge WHERE t.{predicate}")
    # ANALYZE TABLE records the maximum NaN, with which plain Spark cannot estimate
    cbo.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS x")
    assert 100 < statistics(cbo, "SELECT id FROM t WHERE x > 24")["rows"] < 900


def test_empty_table(cbo: SparkSession, make: Make, same: Same) -> None:
    make({"k": "id % 7", "s": "string(id)"}, rows=0)
    assert statistics(cbo, "SELECT * FROM t")["rows"] == 0
    same("SELECT count(*) FROM t JOIN t u ON t.k = u.k")
    # a result is never derived from the row count
    same("SELECT count(*), max(k) FROM t")


def test_partition_columns_have_exact_facts(cbo: SparkSession, make: Make, same: Same) -> None:
    path = make({"k": "id % 40", "p": "IF(id < 100, NULL, date_add(DATE '1969-12-25', INT(id DIV 100)))"},
                partitioned="p", files=1)  # fmt: skip
    p = compare(cbo)["columns"]["p"]
    assert (p["min"], p["max"], p["nullCount"], p["distinct"]) == (-6, 2, 100, 9)
    assert statistics(cbo, "SELECT * FROM t WHERE p = '1969-12-28'")["rows"] == 100
    cbo.read.parquet(path).createOrReplaceTempView("by_path")
    assert statistics(cbo, "SELECT * FROM by_path") == statistics(cbo, "SELECT * FROM t")
    some = statistics(cbo, "SELECT * FROM by_path WHERE p < '1969-12-28'")
    assert some["rows"] == 200
    assert 0 < some["columns"]["k"]["distinct"] <= 40
    # the index of the table describes each of its partitions, whose files are a part of the index
    cbo.read.parquet(f"{path}/p=1969-12-28").createOrReplaceTempView("one")
    one = statistics(cbo, "SELECT * FROM one")
    assert (one["rows"], one["columns"]["id"]["distinct"]) == (100, 100)
    assert (one["columns"]["id"]["min"], one["columns"]["id"]["max"]) == (300, 399)


def test_stale_index_has_no_facts(cbo: SparkSession, make: Make, same: Same) -> None:
    path = make({"k": "id % 7", "s": "repeat('y', INT(id % 3))"})
    index = tamis.index(cbo, path)
    cbo.sql("INSERT INTO t SELECT id + 1000, id % 9, 'longer' FROM range(500)")
    stale = statistics(cbo, "SELECT * FROM t")
    assert (stale["rows"], stale["columns"]) == (None, {})
    assert stale == statistics(cbo, "SELECT * FROM t", tamis_on=False)
    index.refresh()  # appends a segment
    assert index.describe().to_dict()["segments"] == 2
    appended = statistics(cbo, "SELECT * FROM t")
    assert appended["rows"] == 1500
    assert appended["columns"]["k"]["distinct"] == 9
    assert appended["columns"]["s"]["maxLen"] == 6
    assert appended["columns"]["id"]["distinct"] == pytest.approx(1500, rel=0.07)
    cbo.sql("INSERT OVERWRITE t SELECT id, 1, 'z' FROM range(10)")
    index.refresh()
    cbo.sql("REFRESH TABLE t")
    rewritten = statistics(cbo, "SELECT * FROM t")
    assert rewritten["rows"] == 10
    assert {n: c["distinct"] for n, c in rewritten["columns"].items()} == {"id": 10, "k": 1, "s": 1}


def test_appended_files_of_an_automatic_index_have_no_distinct_values(
    cbo: SparkSession, make: Make, same: Same
) -> None:
    path = make({"k": "id % 7"})
    cbo.conf.set("spark.tamis.index.auto", "footers")
    cbo.sql("INSERT INTO t SELECT id + 1000, id % 9 FROM range(500)")
    same("SELECT * FROM t WHERE id = 1200")  # indexes the new file
    assert tamis.index(cbo, path).describe().automatic.files == 1
    # with row counts alone, Spark takes joins for cross products
    assert statistics(cbo, "SELECT * FROM t")["rows"] is None


def test_estimates_of_cached_plans_are_no_facts(cbo: SparkSession, make: Make, same: Same) -> None:
    """Spark may take them for the real number of rows: see HideCachedEstimates."""
    make({"k": "id % 7"})
    query = "SELECT * FROM t WHERE k = 3 AND id % 2 = 0"
    estimated = statistics(cbo, query)
    assert estimated["rows"] > 0
    cbo.sql(f"CACHE LAZY TABLE cached AS {query}")
    cached = statistics(cbo, "SELECT * FROM cached")
    assert (cached["rows"], cached["columns"]) == (None, {})
    assert cached["bytes"] == estimated["bytes"]
    rows = cbo.table("cached").count()  # fills the cache
    assert statistics(cbo, "SELECT * FROM cached")["rows"] == rows
    cbo.sql("UNCACHE TABLE cached")
    cbo.sql("CACHE LAZY TABLE other AS SELECT id FROM range(10)")
    assert statistics(cbo, "SELECT * FROM other")["rows"] == 10  # of other sources, they stay
    cbo.sql("UNCACHE TABLE other")


def test_no_facts_without_recorded_distinct_values(cbo: SparkSession, make: Make) -> None:
    # With row counts alone, Spark takes joins for cross products.
    make({"k": "id % 7"}, ndv=[])
    on = statistics(cbo, "SELECT * FROM t")
    assert on["rows"] is None
    assert on == statistics(cbo, "SELECT * FROM t", tamis_on=False)


def test_no_facts_without_cost_based_optimization(spark: SparkSession, make: Make) -> None:
    make({"k": "id % 7"})
    on = statistics(spark, "SELECT * FROM t")
    assert on["columns"] == {}
    assert on["bytes"] == statistics(spark, "SELECT * FROM t", tamis_on=False)["bytes"]


def test_statistics_of_analyze_stay_in_force(cbo: SparkSession, make: Make, same: Same) -> None:
    path = make({"k": "id % 300", "n": "id % 5"}, ndv=["n"])
    # current: the number of distinct values of k comes from ANALYZE TABLE, that of n from the index
    cbo.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS k")
    both = statistics(cbo, "SELECT * FROM t")
    analyzed = statistics(cbo, "SELECT * FROM analyzed", tamis_on=False)
    assert both["columns"]["k"] == analyzed["columns"]["k"]
    assert both["columns"]["n"] == analyzed["columns"]["n"]
    assert (both["columns"]["id"]["min"], both["columns"]["id"]["max"]) == (0, 999)
    # out of date: the index has the row count, and the bounds of the files as they are now
    # (INSERT would delete the statistics of ANALYZE TABLE)
    more = cbo.range(1000).selectExpr("id + 1000 AS id", "id AS k", "7L AS n")
    more.write.mode("append").parquet(path)
    cbo.sql("REFRESH TABLE t")
    tamis.index(cbo, path).refresh()
    later = statistics(cbo, "SELECT * FROM t")
    assert later["rows"] == 2000
    k = later["columns"]["k"]
    assert (k["min"], k["max"], k["distinct"]) == (0, 999, analyzed["columns"]["k"]["distinct"])
    assert later["columns"]["n"]["distinct"] == 6
    same("SELECT count(*) FROM t JOIN analyzed a ON t.k = a.k WHERE t.id > 900")


def test_plan_statistics_without_cost_based_optimization(spark: SparkSession, make: Make) -> None:
    make({"k": "id % 7"})
    spark.conf.set("spark.sql.cbo.planStats.enabled", "true")
    try:
        assert compare(spark)["rows"] == 1000
    finally:
        spark.conf.unset("spark.sql.cbo.planStats.enabled")
