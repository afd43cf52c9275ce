"""ORDER BY with LIMIT reads only files that can hold one of the first rows, in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import kept, read_parquet, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


pytestmark = pytest.mark.usefixtures("no_codegen")


@pytest.fixture(scope="module")
def sorted_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 1,000 rows in 10 files clustered by id, with columns of every kind that follow id."""
    path = str(tmp_path_factory.mktemp("sorted") / "sorted")
    frame = spark_session.range(1000).selectExpr(
        "id",
        "date_add(DATE '1995-01-01', CAST(id AS INT)) AS day",
        "TIMESTAMP '1995-01-01 00:00:00' + make_dt_interval(0, CAST(id AS INT)) AS ts",
        "CAST(TIMESTAMP_NTZ '1995-01-01' + make_dt_interval(0, CAST(id AS INT)) AS TIMESTAMP_NTZ) AS ntz",
        "concat(repeat('long prefix ', 8), lpad(CAST(id AS STRING), 4, '0')) AS name",
        "CAST(id * 1.5 AS DECIMAL(12, 2)) AS short",
        "CAST(id AS DECIMAL(30, 2)) - 500 AS long",
        "IF(id % 10 = 0, NULL, id) AS some",
        "IF(id < 200, NULL, id) AS late",
        "id DIV 300 AS tie",
        "IF(id = 700, DOUBLE('NaN'), IF(id % 2 = 0, -1, 1) * 0.0D + (id - 500)) AS x",
        "IF(id % 2 = 0, -0.0D, 0.0D) AS zero",
        "named_struct('a', id % 100, 'b', -id) AS item",
        "CAST(id % 7 AS STRING) AS mixed",
    )
    frame.repartitionByRange(10, "id").sortWithinPartitions("id").write.parquet(path)
    tamis.index(spark_session, path).build(
        fill_gaps=False, columns={"x": "bounds", "zero": "bounds"}, expressions=["soundex(name)"]
    )
    return path


@pytest.fixture
def rows(spark: SparkSession, sorted_path: str) -> SparkSession:
    """Return the session with the temporary view `t`."""
    read_parquet(spark, sorted_path).createOrReplaceTempView("t")
    return spark


def compared(spark: SparkSession, statement: str) -> DataFrame:
    """Return the frame with tamis on.

    Its rows and their order must be those with tamis off.
    """
    spark.conf.set("spark.tamis.enabled", "false")
    off = [repr(tuple(row)) for row in spark.sql(statement).collect()]
    spark.conf.set("spark.tamis.enabled", "true")
    frame = spark.sql(statement)
    assert [repr(tuple(row)) for row in frame.collect()] == off
    return frame


# statement, files that are kept of the 10 that hold 100 rows each by id
TOPK_CASES: list[tuple[str, list[int]]] = [
    ("SELECT id FROM t ORDER BY id LIMIT 10", [1]),
    ("SELECT id FROM t ORDER BY id DESC LIMIT 1", [1]),
    ("SELECT id, name FROM t ORDER BY day DESC LIMIT 100", [1]),
    # INT96 has no statistics
    ("SELECT id FROM t ORDER BY ts LIMIT 101", [10]),
    ("SELECT id FROM t ORDER BY ntz LIMIT 101", [2]),
    ("SELECT id FROM t ORDER BY name DESC, id LIMIT 5", [1]),
    ("SELECT id FROM t ORDER BY short, id LIMIT 5", [1]),
    ("SELECT id FROM t ORDER BY long DESC, id LIMIT 250", [3]),
    ("SELECT * FROM t ORDER BY item.b LIMIT 5", [1]),
    ("SELECT id FROM t ORDER BY id LIMIT 10 OFFSET 95", [2]),
    ("SELECT id FROM t ORDER BY id LIMIT 1000", [10]),
    ("SELECT id FROM t ORDER BY id LIMIT 2000", [10]),
    ("SELECT id FROM t WHERE id < 0 ORDER BY id LIMIT 5", [0]),
    # NULLs first, NULLs last, no NULLs
    ("SELECT id, some FROM t ORDER BY some, id LIMIT 3", [10]),
    ("SELECT id, some FROM t ORDER BY some DESC, id LIMIT 90", [1]),
    ("SELECT id, some FROM t ORDER BY some DESC, id LIMIT 91", [2]),
    ("SELECT id, some FROM t ORDER BY some NULLS LAST, id LIMIT 3", [1]),
    ("SELECT id, some FROM t WHERE some IS NOT NULL ORDER BY some LIMIT 3", [1]),
    ("SELECT id, some FROM t WHERE some > 250 ORDER BY some LIMIT 3", [2]),
    ("SELECT id, late FROM t ORDER BY late, id LIMIT 200", [2]),
    ("SELECT id, late FROM t ORDER BY late, id LIMIT 201", [3]),
    ("SELECT id, late FROM t ORDER BY late NULLS LAST, id LIMIT 801", [10]),
    ("SELECT id, late FROM t ORDER BY late DESC NULLS FIRST, id LIMIT 201", [3]),
    # ties
    ("SELECT tie, id FROM t ORDER BY tie, id LIMIT 3", [1]),
    ("SELECT tie, name, id FROM t ORDER BY tie, name DESC, id LIMIT 3", [1]),
    ("SELECT tie, mixed, id FROM t ORDER BY tie, mixed, id LIMIT 3", [3]),
    ("SELECT tie, some, id FROM t ORDER BY tie, some, id LIMIT 3", [3]),
    ("SELECT tie, some, id FROM t ORDER BY tie, some NULLS LAST, id LIMIT 3", [1]),
    ("SELECT tie, late, id FROM t ORDER BY tie, late, id LIMIT 3", [2]),
    ("SELECT zero, tie, id FROM t ORDER BY zero, tie DESC, id DESC LIMIT 3", [1]),
    ("SELECT tie FROM t ORDER BY tie LIMIT 3", [1]),
    ("SELECT tie FROM t ORDER BY tie DESC LIMIT 101", [2]),
    ("SELECT tie, id FROM t ORDER BY tie DESC, id DESC LIMIT 101", [2]),
    ("SELECT mixed FROM t ORDER BY mixed LIMIT 3", [10]),
    # floating-point numbers: NaN comes last, and zeros are equal
    ("SELECT x, id FROM t ORDER BY x, id LIMIT 3", [1]),
    ("SELECT x, id FROM t ORDER BY x DESC, id LIMIT 3", [2]),
    ("SELECT zero, id FROM t ORDER BY zero, id LIMIT 3", [1]),
    ("SELECT zero, id FROM t ORDER BY zero DESC, id LIMIT 3", [1]),
    # filters: exact, residual for one file, residual for all files
    ("SELECT id FROM t WHERE id >= 250 ORDER BY id LIMIT 10", [2]),
    ("SELECT id FROM t WHERE id >= 250 AND id < 750 ORDER BY id DESC LIMIT 100", [2]),
    ("SELECT id FROM t WHERE year(day) = 1996 ORDER BY day LIMIT 10", [2]),
    ("SELECT id FROM t WHERE name LIKE '%5' ORDER BY id LIMIT 1", [10]),
    ("SELECT id FROM t WHERE id >= 300 AND name LIKE '%5' ORDER BY id LIMIT 1", [7]),
    ("SELECT id FROM t WHERE monotonically_increasing_id() >= 0 ORDER BY id LIMIT 1", [10]),
    # keys that are expressions
    ("SELECT id FROM t ORDER BY year(day) DESC, id LIMIT 10", [2]),
    ("SELECT id, id + 1 AS more FROM t ORDER BY more DESC LIMIT 10", [1]),
    ("SELECT id FROM t ORDER BY -id LIMIT 10", [1]),
    ("SELECT id FROM t ORDER BY coalesce(late, 0) DESC LIMIT 10", [1]),
    ("SELECT id FROM t ORDER BY soundex(name), id LIMIT 10", [1]),
    ("SELECT id FROM t ORDER BY reverse(name), id LIMIT 10", [10]),
    ("SELECT id FROM t ORDER BY name COLLATE UNICODE_CI, id LIMIT 10", [10]),
    ("SELECT id FROM t ORDER BY item, id LIMIT 10", [10]),
    # positions in a plan
    ("SELECT id FROM (SELECT * FROM t ORDER BY day LIMIT 10) WHERE id > 3 ORDER BY id", [1]),
    ("WITH c AS (SELECT id, day FROM t WHERE id > 3) SELECT * FROM c ORDER BY day LIMIT 2", [2]),
    (
        "SELECT a.id FROM (SELECT id FROM t ORDER BY id LIMIT 3) a "
        "JOIN (SELECT id FROM t ORDER BY id DESC LIMIT 999) b ON a.id = b.id ORDER BY 1",
        [1, 10],
    ),
    (
        "(SELECT id FROM t ORDER BY id LIMIT 3) UNION ALL "
        "(SELECT id FROM t ORDER BY id DESC LIMIT 3) ORDER BY id",
        [1, 1],
    ),
    ("SELECT id FROM t UNION ALL SELECT id + 1 FROM t ORDER BY id LIMIT 3", [10, 10]),
    ("SELECT id FROM t WHERE id IN (SELECT id FROM t ORDER BY day LIMIT 3) ORDER BY id", [1, 1]),
    ("SELECT (SELECT id FROM t ORDER BY id DESC LIMIT 1) AS last FROM t WHERE id = 3", [1, 1]),
    ("SELECT DISTINCT id FROM t ORDER BY id LIMIT 3", [10]),
    ("SELECT id, count(*) FROM t GROUP BY id ORDER BY id LIMIT 3", [10]),
    ("SELECT id, row_number() OVER (ORDER BY day) AS r FROM t ORDER BY day LIMIT 4", [10]),
    ("SELECT id FROM t ORDER BY id OFFSET 995", [10]),
]


@pytest.mark.parametrize(("statement", "files"), TOPK_CASES, ids=[each for each, _ in TOPK_CASES])
def test_topk_keeps_files_of_the_first_rows(
    rows: SparkSession, statement: str, files: list[int]
) -> None:
    frame = compared(rows, statement)
    assert sorted(kept(frame)) == sorted(files)


# statement, code of the reason
UNPRUNED_CASES = [
    ("SELECT id FROM t ORDER BY ts, id LIMIT 10", "TOPK_KEY_UNKNOWN"),
    ("SELECT id FROM t ORDER BY reverse(name), id LIMIT 10", "TOPK_RANGES_OVERLAP"),
    ("SELECT id FROM t WHERE name LIKE '%5' ORDER BY id LIMIT 1", "TOPK_NOT_COVERED"),
    ("SELECT id FROM t ORDER BY mixed, id LIMIT 1", "TOPK_RANGES_OVERLAP"),
]


@pytest.mark.parametrize(
    ("statement", "code"), UNPRUNED_CASES, ids=[each for each, _ in UNPRUNED_CASES]
)
def test_unpruned_topk_reports_the_reason(rows: SparkSession, statement: str, code: str) -> None:
    [scan] = scans(rows.sql(statement))
    assert scan["goals"][0]["reason"]["code"] == code


def test_footers_without_nan_counts_do_not_prune_topk(spark: SparkSession, folder: str) -> None:
    frame = spark.range(100).selectExpr("CAST(id AS DOUBLE) AS x")
    frame.repartitionByRange(4, "x").write.parquet(f"{folder}/t")
    tamis.index(spark, f"{folder}/t").build(fill_gaps=False)
    read_parquet(spark, f"{folder}/t").createOrReplaceTempView("doubles")
    [scan] = scans(compared(spark, "SELECT x FROM doubles ORDER BY x LIMIT 3"))
    assert scan["goals"][0]["reason"]["code"] == "TOPK_MAY_BE_NAN"
    for columns in ({"x": "bounds"}, None):  # requested, or because of a gap
        tamis.index(spark, f"{folder}/t").build(columns)
        assert kept(compared(spark, "SELECT x FROM doubles ORDER BY x LIMIT 3")) == [1]


def test_topk_of_dataframes(rows: SparkSession) -> None:
    frame = rows.table("t")
    assert [row.id for row in frame.orderBy("day").take(3)] == [0, 1, 2]
    assert kept(frame.orderBy("day").limit(3)) == [1]
    assert kept(frame.orderBy("day").offset(99).limit(2)) == [2]
    assert kept(frame.orderBy("day").limit(5).limit(3)) == [1]
    # the first rows of each partition: any partition may come first
    assert kept(frame.sortWithinPartitions("day").limit(3)) == [10]
    # any seven rows: LIMIT without ORDER BY decides
    assert kept(frame.limit(7).orderBy("day").limit(3)) == [1]
    cached = frame.orderBy("id").limit(3).cache()
    assert cached.count() == 3 == cached.count()
    assert frame.count() == 1000


def test_topk_by_partition_values_and_row_counts(spark: SparkSession, folder: str) -> None:
    frame = spark.range(100).selectExpr("id", "IF(id % 5 = 4, NULL, id % 5) AS p")
    frame.repartition(2).write.partitionBy("p").parquet(f"{folder}/t")
    read_parquet(spark, f"{folder}/t").createOrReplaceTempView("parts")
    [scan] = scans(compared(spark, "SELECT p, id FROM parts ORDER BY p DESC, id LIMIT 5"))
    assert scan["goals"][0]["reason"]["code"] == "TOPK_NOT_COVERED"
    tamis.index(spark, f"{folder}/t").build()
    assert kept(compared(spark, "SELECT p, id FROM parts ORDER BY p DESC, id LIMIT 5")) == [2]
    assert kept(compared(spark, "SELECT p, id FROM parts ORDER BY p, id LIMIT 5")) == [2]
    assert kept(compared(spark, "SELECT p FROM parts ORDER BY p LIMIT 5")) == [1]
    assert kept(compared(spark, "SELECT p FROM parts WHERE p > 1 ORDER BY p LIMIT 5")) == [1]


def test_reader_gets_the_topk_boundary(rows: SparkSession) -> None:
    def plan(statement: str) -> str:
        return str(rows.sql(statement)._jdf.queryExecution().executedPlan().toString())

    assert "Implied: [(id >= 900L)]" in plan("SELECT id FROM t ORDER BY id DESC LIMIT 3")
    assert "Implied: [((id IS NULL) OR (id <= 99L))]" in plan(
        "SELECT id FROM t ORDER BY id LIMIT 3"
    )
    assert "Goals: [first 3 by id ASC NULLS FIRST]" in plan("SELECT id FROM t ORDER BY id LIMIT 3")
    assert "Implied: []" in plan("SELECT id FROM t ORDER BY x LIMIT 3")


@pytest.mark.parametrize("order", ["DESC NULLS LAST", "ASC NULLS FIRST"])
@pytest.mark.parametrize("key", ["day", "ts"])
def test_boundary_in_the_old_calendar_does_not_reach_the_reader(
    spark: SparkSession, folder: str, key: str, order: str
) -> None:
    # A file that does not say who wrote it may hold days of either calendar: statistics of days
    # before 1582-10-15 say nothing, and Spark converts no filter with the first day of its type.
    days = pa.array([-141_438, 1_243, -200_000], pa.date32())
    micros = pa.array(
        [-141_438 * 86_400_000_000, 5, -20_000 * 86_400_000_000], pa.timestamp("us", "UTC")
    )
    Path(folder, "t").mkdir()
    pq.write_table(
        pa.table({"day": days, "ts": micros}),
        f"{folder}/t/1",
        use_deprecated_int96_timestamps=False,
    )
    tamis.index(spark, f"{folder}/t").build(fill_gaps=False)
    read_parquet(spark, f"{folder}/t").createOrReplaceTempView("old")
    for rows in (1, 2, 3):
        compared(spark, f"SELECT {key} FROM old ORDER BY {key} {order} LIMIT {rows}")


def test_conf_disables_topk_pruning(rows: SparkSession) -> None:
    rows.conf.set("spark.tamis.topK.enabled", "false")
    [scan] = scans(rows.sql("SELECT id FROM t ORDER BY id LIMIT 3"))
    assert (scan["files_kept"], scan["goals"]) == (10, [])


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.adaptive.enabled": "false"},
        {
            "spark.sql.parquet.enableVectorizedReader": "false",
            "spark.sql.parquet.recordLevelFilter.enabled": "true",
        },
        {"spark.sql.execution.topKSortFallbackThreshold": "1"},
    ],
    ids=["no AQE", "rows", "no top-k operator"],
)
def test_topk_in_other_execution_modes(rows: SparkSession, settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        rows.conf.set(name, value)
    assert kept(compared(rows, "SELECT id, some FROM t ORDER BY some, id LIMIT 120")) == [10]
    assert kept(compared(rows, "SELECT id, name FROM t ORDER BY name DESC, id LIMIT 120")) == [2]
