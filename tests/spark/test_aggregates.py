"""COUNT, MIN and MAX are computed from statistics and equal the results of plain Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import kept, rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

Same = Callable[..., "DataFrame"]

# statement | files that each scan opens, of the 10 files that hold 100 rows each by id
EVENTS = [
    ("SELECT count(*) FROM events", []),
    ("SELECT count(1), count(id), count(amount), min(day), max(amount) FROM events", []),
    ("SELECT min(item.sku), max(item.tags.`a b`), count(item.sku) FROM events", []),
    ("SELECT count(*) FROM events WHERE id >= 250 AND id < 750", [2]),
    ("SELECT count(*), max(id) - min(id) AS d FROM events WHERE id >= 300 AND id < 700", []),
    ("SELECT count(*) FROM events WHERE id >= 300 AND id < 710", [1]),
    ("SELECT count(*) AS n FROM events WHERE id < 0", []),
    ("SELECT min(id), max(day), count(amount) FROM events WHERE id < 0", []),
    ("SELECT max(id) FROM events WHERE id >= 250 AND id < 750", [1]),
    ("SELECT min(id), max(id) FROM events WHERE id >= 250 AND id < 750", [2]),
    ("SELECT min(day) FROM events WHERE id >= 250 AND id < 750", [1]),
    ("SELECT count(*) FROM events WHERE year(day) = 1996", [2]),
    ("SELECT count(*) FROM events WHERE amount IS NULL", [10]),
    ("SELECT count(*) FROM (SELECT day AS d, id AS k FROM events) WHERE k > 899", []),
    ("SELECT max(d) FROM (SELECT day AS d, id AS k FROM events) WHERE k > 850", []),
    ("SELECT max(d) FROM (SELECT day AS d, id AS k FROM events) WHERE k < 850", [1]),
    ("SELECT count(*) + 1, max(id) * 2, concat('m', min(id)) FROM events WHERE id < 150", [1]),
    ("SELECT count(*) FROM events HAVING count(*) > 5000", []),
    ("SELECT count(*) FROM events WHERE id < 100 HAVING max(id) < 100", []),
    # bounds of strings may be truncated: only files that can hold the maximum are read
    ("SELECT max(name) FROM events", [1]),
    ("SELECT min(name), max(name) FROM events", [2]),
    ("SELECT min(name) FROM events WHERE id >= 250", [2]),
    ("SELECT max(name), count(*) FROM events", [10]),
    # FILTER: a file is read if some of its rows count
    ("SELECT count(*) FILTER (WHERE id > 5), count(*) FROM events", [1]),
    ("SELECT max(id) FILTER (WHERE id < 150), min(day) FILTER (WHERE id >= 300) FROM events", [1]),
    ("SELECT count(id) FILTER (WHERE id < 300), max(id) FILTER (WHERE id < 0) FROM events", []),
    ("SELECT count(*) FILTER (WHERE name = 'x' OR id >= 0) FROM events WHERE id >= 250", [1]),
    ("SELECT count(*) FILTER (WHERE hash(name) % 2 = 0) FROM events", [10]),
    # aggregates that statistics do not answer
    ("SELECT sum(id) FROM events", [10]),
    ("SELECT count(DISTINCT id) FROM events", [10]),
    ("SELECT count(*), sum(id) FROM events WHERE id >= 250", [8]),
    ("SELECT max(id + 1) FROM events", [10]),
    ("SELECT count(DISTINCT day), max(id) FROM events", [10]),
    ("SELECT max(id) > 900 FROM events WHERE rand(5) < 0.99", [10]),
    ("SELECT count(*) FROM events WHERE item.tags.`a b` = 3", [10]),
    ("SELECT name, count(*) FROM events WHERE id < 100 GROUP BY name", [1]),
    ("SELECT min(DISTINCT id), max(DISTINCT day) FROM events", []),
    # positions where aggregates may occur
    ("SELECT id FROM events WHERE id > (SELECT max(id) - 3 FROM events)", [10]),
    (
        "SELECT (SELECT count(*) FROM events WHERE id < 150) AS n, id FROM events WHERE id < 2",
        [1, 1],
    ),
    ("SELECT count(*) FROM events UNION ALL SELECT max(id) FROM events WHERE id < 250", [1]),
    ("WITH c AS (SELECT * FROM events WHERE id >= 100) SELECT count(*), min(id) FROM c", []),
    ("WITH c AS (SELECT count(*) AS n FROM events) SELECT a.n + b.n FROM c a, c b", []),
    ("SELECT count(*) FROM (SELECT id FROM events LIMIT 7)", [1]),
    ("SELECT EXISTS(SELECT 1 FROM events WHERE id > 950) AS e", [1]),
    (
        "SELECT count(*), max(x.id) FROM events x JOIN events y ON x.id = y.id WHERE x.id < 100",
        [1, 1],
    ),
    ("SELECT max(n) FROM (SELECT count(*) AS n FROM events UNION ALL SELECT 3)", []),
]


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize(("statement", "files"), EVENTS, ids=[each for each, _ in EVENTS])
def test_aggregates_open_few_files(
    events: DataFrame, same: Same, statement: str, files: list[int], adaptive: str
) -> None:
    events.sparkSession.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = same(statement, unchanged=True)
    assert sorted(kept(frame)) == sorted(files)


def test_output_attributes_are_unchanged(events: DataFrame) -> None:
    spark = events.sparkSession
    for statement, _ in EVENTS:
        plans = []
        for enabled in ("false", "true"):
            spark.conf.set("spark.tamis.enabled", enabled)
            query = spark.sql(statement)._jdf.queryExecution()
            assert query.optimizedPlan().schema().json() is not None
            fields = query.optimizedPlan().schema().fields()
            analyzed = query.analyzed().output()
            optimized = query.optimizedPlan().output()
            ids = [optimized.apply(i).exprId().id() for i in range(optimized.size())]
            assert ids == [analyzed.apply(i).exprId().id() for i in range(analyzed.size())]
            plans.append([(f.name(), f.dataType().json(), f.nullable()) for f in fields])
        assert plans[0] == plans[1], statement


def test_dataframe_aggregates_use_statistics(events: DataFrame) -> None:
    assert events.count() == 1000
    assert events.where("id >= 250").count() == 750
    frame = events.where("id >= 300").agg({"id": "max", "day": "min", "*": "count"})
    assert kept(frame) == []
    assert not events.where("id < 300").isEmpty()


# --- groups -----------------------------------------------------------------------------------

PARTS = [
    ("SELECT p, count(*) FROM parts GROUP BY p", []),
    ("SELECT p, q, count(v), min(id), max(v) FROM parts GROUP BY p, q", []),
    ("SELECT q, p AS x, max(p), min(q), count(q) FROM parts GROUP BY p, q", []),
    ("SELECT count(*) FROM parts GROUP BY p", []),
    ("SELECT DISTINCT p FROM parts", []),
    ("SELECT DISTINCT q, p FROM parts WHERE id > 60", []),
    ("SELECT count(p), count(q), max(p), min(q), max(q) FROM parts", []),
    ("SELECT p, count(*) AS n FROM parts GROUP BY p HAVING n > 20 ORDER BY n", []),
    ("SELECT p, max(id) - min(id) AS d, p + 1 FROM parts WHERE p > 0 GROUP BY p", []),
    ("SELECT q, count(*) FROM parts WHERE p = 1 OR q = 'a' GROUP BY q", []),
    ("SELECT p, count(*) FROM parts WHERE p > 9 GROUP BY p", []),
    ("SELECT p, count(*) FROM parts WHERE id < 3 GROUP BY p", [3]),
    ("SELECT p, q, count(*), min(v) FROM parts WHERE id >= 31 GROUP BY q, p", [4]),
    ("SELECT upper(q), count(*) FROM parts GROUP BY upper(q)", [12]),
    ("SELECT p, count(*) FROM parts GROUP BY ROLLUP(p)", []),
    ("SELECT p, q, grouping_id(), count(*) FROM parts WHERE id >= 31 GROUP BY CUBE(q, p)", [4]),
    ("SELECT p, q, grouping_id(), max(id) FROM parts WHERE id >= 31 GROUP BY CUBE(q, p)", []),
    ("SELECT p, q, grouping(q) FROM parts GROUP BY GROUPING SETS ((p, q), (p), (p), ())", []),
    ("SELECT p, count(*) FILTER (WHERE q = 'a') FROM parts GROUP BY p", []),
    ("SELECT p, sum(id) FROM parts GROUP BY p", [12]),
    ("SELECT p, count(*) FROM parts GROUP BY p, v % 2", [12]),
    ("SELECT a.p, a.n, b.n FROM (SELECT p, count(*) n FROM parts GROUP BY p) a JOIN "
     "(SELECT p, max(id) n FROM parts WHERE id > 20 GROUP BY p) b ON a.p = b.p WHERE b.p < 2", []),
]  # fmt: skip


@pytest.fixture
def parts(spark: SparkSession, folder: str) -> str:
    """Write 24 files partitioned by p (NULL included) and q, clustered by id within each partition.

    Some values of v are NULL.
    """
    frame = spark.range(120).selectExpr(
        "id",
        "IF(id % 5 = 0, NULL, id * 2) AS v",
        "IF(id % 4 = 3, NULL, id % 4) AS p",
        "IF(id % 2 = 0, 'a', 'b c') AS q",
    )
    for low, high in ((0, 40), (40, 80), (80, 120)):
        some = frame.where(f"id >= {low} AND id < {high}").coalesce(1)
        some.write.mode("append").partitionBy("p", "q").parquet(f"{folder}/parts")
    tamis.index(spark, f"{folder}/parts").build()
    spark.read.parquet(f"{folder}/parts").createOrReplaceTempView("parts")
    return f"{folder}/parts"


def test_groups_by_partition_columns_use_statistics(
    spark: SparkSession, parts: str, same: Same
) -> None:
    for statement, files in PARTS:
        for adaptive in ("true", "false"):
            spark.conf.set("spark.sql.adaptive.enabled", adaptive)
            assert kept(same(statement, unchanged=True)) == files, statement


def test_filtered_groups_use_statistics(spark: SparkSession, parts: str, same: Same) -> None:
    frame = same("SELECT p, count(*), max(v) FROM parts WHERE id >= 45 GROUP BY p")
    (scan,) = scans(frame)
    assert scan["files_kept"] == 4  # the bound falls within one of three files in each directory
    assert scan["goals"] == [
        {"goal": "count(1), max(v) BY p: 4 files answered from statistics", "reason": None}
    ]
    # a file without matching rows makes no group
    assert len(rows(same("SELECT p, count(*) FROM parts WHERE id = 45 GROUP BY p"))) == 1
    assert len(rows(same("SELECT DISTINCT p FROM parts WHERE id IN (45, 46)"))) == 2


def test_directories_with_equal_values_form_one_group(
    spark: SparkSession, folder: str, same: Same
) -> None:
    for spelled, start in (("p=1", 0), ("p=01", 10), ("p=2", 20)):
        spark.range(start, start + 5).write.parquet(f"{folder}/t/{spelled}")
    spark.read.schema("id BIGINT, p INT").parquet(f"{folder}/t").createOrReplaceTempView("t")
    tamis.index(spark, "t").build()
    frame = same("SELECT p, count(*), min(id), max(id) FROM t GROUP BY p")
    assert len(rows(frame)) == 2
    assert kept(frame) == []


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_partition_values_that_are_equal_and_not_identical_are_left_to_spark(
    spark: SparkSession, folder: str, same: Same, kind: str
) -> None:
    spelled = ["0.0", "-0.0", "NaN", "2"]
    for number, value in enumerate(spelled):
        spark.range(number * 10, number * 10 + 5).write.parquet(f"{folder}/t/p={value}")
    spark.read.schema(f"id BIGINT, p {kind}").parquet(f"{folder}/t").createOrReplaceTempView("t")
    tamis.index(spark, "t").build()
    frame = same("SELECT p, count(*), min(id), max(id) FROM t GROUP BY p")
    assert len(rows(frame)) == len(spelled) - 1
    assert kept(frame) == [len(spelled)]
    assert len(rows(same("SELECT DISTINCT p FROM t"))) == len(spelled) - 1


def test_each_file_with_a_zero_is_read(spark: SparkSession, folder: str, same: Same) -> None:
    for name, values in {"a": [-0.0, 2.0], "b": [0.0, 3.0], "c": [1.0, 4.0], "d": [5.0]}.items():
        file = Path(folder, "t", f"{name}.parquet")
        file.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"c": pa.array(values)}), file)
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
    tamis.index(spark, "t").build(columns={"c": "bounds"})
    # Spark may return either zero
    assert kept(same("SELECT min(c) = 0 FROM t")) == [2]
    assert kept(same("SELECT min(c) = 0, max(c) FROM t")) == [2]
    assert kept(same("SELECT max(c) FROM t")) == []


def test_catalog_table_counts_appended_files(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    spark.sql(
        "CREATE TABLE t USING parquet PARTITIONED BY (d) AS SELECT id, id DIV 100 AS d FROM events"
    )
    tamis.index(spark, "t").build()
    assert kept(same("SELECT d, count(*), max(id) FROM t WHERE d > 3 GROUP BY d")) == []
    assert kept(same("SELECT count(*), max(d) FROM t WHERE d > 3 AND id < 5000")) == []
    spark.sql("CREATE TABLE counts (n BIGINT) USING parquet")
    spark.sql("INSERT INTO counts SELECT count(*) FROM t WHERE id < 450")
    assert rows(spark.table("counts")) == ["(450,)"]
    # appended: the new files are not in the index and are read
    spark.sql("INSERT INTO t SELECT id + 5000, 7 FROM range(10)")
    frame = same("SELECT count(*), max(id) FROM t")
    assert rows(frame) == ["(1010, 5009)"]
    assert 1 <= kept(frame)[0] <= 2
    spark.sql("INSERT OVERWRITE t SELECT id, 0 FROM range(3)")
    assert rows(same("SELECT count(*), max(id), max(d) FROM t")) == ["(3, 2, 0)"]


def test_caches_of_aggregates(events: DataFrame) -> None:
    spark = events.sparkSession
    counted = spark.sql("SELECT count(*) AS n, max(id) AS m FROM events WHERE id >= 250").cache()
    assert rows(counted) == rows(counted) == ["(750, 999)"]
    cached = events.where("id >= 300").cache()
    assert cached.count() == 700 == cached.count()
    assert rows(cached.agg({"id": "max"})) == ["(999,)"]


# --- trusted statistics ---------------------------------------------------------------------


def _write_files(
    spark: SparkSession, folder: str, ddl: str, *files: pa.Table, **options: Any
) -> None:
    for number, each in enumerate(files):
        pq.write_table(each, Path(folder, f"{number}.parquet"))
    spark.read.schema(ddl).parquet(folder).createOrReplaceTempView("t")
    tamis.index(spark, folder).build(**options)


def test_statistics_answer_without_the_files(spark: SparkSession, folder: str) -> None:
    """Empty the files, so that only their statistics can answer."""
    tables = [pa.table({"a": range(n, n + 10)}) for n in (0, 10, 20)]
    _write_files(spark, folder, "a BIGINT", *tables)
    for number in (0, 1):
        path = Path(folder, f"{number}.parquet")
        status = path.stat()
        path.write_bytes(b"\0" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert rows(spark.sql("SELECT count(*), min(a), max(a) FROM t")) == ["(30, 0, 29)"]
    assert rows(spark.sql("SELECT count(*), max(a) FROM t WHERE a < 25")) == ["(25, 24)"]
    with pytest.raises(Exception, match="parquet"):
        spark.sql("SELECT sum(a) FROM t").collect()


def test_floating_point_bounds(spark: SparkSession, folder: str, same: Same) -> None:
    nan = float("nan")
    files = [[1.5, 2.5], [nan, 1.0], [-0.0, 0.0, 3.5], [nan, nan], [None, -7.0], [None, None]]
    tables = [
        pa.table({"f": pa.array(f, pa.float64()), "n": [n] * len(f)}) for n, f in enumerate(files)
    ]
    _write_files(spark, folder, "f DOUBLE, n BIGINT", *tables)
    tamis.index(spark, folder).build(fill_gaps=False)
    queries = [f"SELECT min(f), max(f), count(f) FROM t WHERE n {each}" for each in
               ("= 0", "= 1", "= 3", "= 4", "= 5", "< 9", "IN (0, 4, 5)")]  # fmt: skip
    # Footers do not count NaN, so files with a value are read.
    assert [sum(kept(same(query))) for query in queries] == [1, 1, 1, 1, 0, 5, 2]
    for columns in ({"f": "bounds", "n": []}, None):  # requested, or because of a gap
        tamis.index(spark, folder).build(columns)
        opened = [sum(kept(same(query))) for query in queries]
        assert opened == [0, 1, 1, 0, 0, 3, 0]  # NaN, and zeros of unknown sign
    same("SELECT max(f), min(f) FROM t WHERE n = 2")


def test_bounds_of_strings_and_binary(spark: SparkSession, folder: str, same: Same) -> None:
    long = "x" * 3000
    files = [["a", "b"], ["c", None], [long, long + "y"], ["é", "z\0"]]
    tables = [
        pa.table({"s": f, "b": [None if v is None else v.encode() for v in f], "n": [n, n]})
        for n, f in enumerate(files)
    ]
    _write_files(spark, folder, "s STRING, b BINARY, n BIGINT", *tables)
    query = "SELECT min({0}), max({0}), count({0}) FROM t WHERE n {1}"
    for column in ("s", "b"):
        assert sum(kept(same(query.format(column, "< 2")))) == 2
    tamis.index(spark, folder).build(columns={"s": "bounds", "b": "bounds", "n": []})
    for column in ("s", "b"):
        assert sum(kept(same(query.format(column, "< 2")))) == 0
        assert sum(kept(same(query.format(column, "< 9")))) == 1  # truncated bounds


def test_aggregates_of_types(spark: SparkSession, folder: str, same: Same) -> None:
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    spark.range(40).selectExpr(
        "id", "id > 20 AS bool", "CAST(id AS TINYINT) AS i8", "CAST(-id AS SMALLINT) AS i16",
        "CAST(id AS INT) AS i32", "CAST(id - 7 AS DECIMAL(9, 2)) AS d9", "CAST(id - 7 AS DECIMAL(38, 10)) AS d38",
        "date_add(DATE '1582-10-01', CAST(id AS INT)) AS old", "timestamp_seconds(id * 1e9 - 1e10) AS ts",
        "CAST(timestamp_seconds(id * 3600) AS TIMESTAMP_NTZ) AS ntz", "make_ym_interval(CAST(id AS INT), 1) AS ym",
        "make_dt_interval(CAST(id AS INT)) AS dt",
    ).repartitionByRange(4, "id").write.parquet(f"{folder}/t")  # fmt: skip
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
    tamis.index(spark, f"{folder}/t").build()
    for name in ("bool", "i8", "i16", "i32", "d9", "d38", "old", "ts", "ntz"):
        assert kept(same(f"SELECT min({name}), max({name}), count({name}) FROM t")) == [], name
        assert sum(kept(same(f"SELECT min({name}), max({name}) FROM t WHERE id > 12"))) <= 1
    for name in ("ym", "dt"):
        frame = same(f"SELECT CAST(min({name}) AS STRING), CAST(max({name}) AS STRING) FROM t")
        assert kept(frame) == [4]


def test_int96_and_legacy_calendars(spark: SparkSession, folder: str, same: Same) -> None:
    frame = spark.range(20).selectExpr("id", "timestamp_seconds(id * 86400) AS ts")
    frame.repartitionByRange(2, "id").write.parquet(f"{folder}/t")  # INT96
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
    tamis.index(spark, f"{folder}/t").build(fill_gaps=False)
    assert kept(same("SELECT max(ts) FROM t")) == [2]
    assert kept(same("SELECT count(*) FROM t")) == []
    tamis.index(spark, f"{folder}/t").build()
    assert kept(same("SELECT max(ts) FROM t")) == []
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    spark.sql(
        "SELECT date_add(DATE '1500-01-01', CAST(id AS INT)) AS d FROM range(20)"
    ).write.parquet(f"{folder}/old")
    spark.read.parquet(f"{folder}/old").createOrReplaceTempView("t")
    tamis.index(spark, f"{folder}/old").build()
    assert kept(same("SELECT min(d) FROM t")) != []


def test_schema_differs_from_the_index(spark: SparkSession, folder: str, same: Same) -> None:
    tables = [pa.table({"a": pa.array([n, n + 1], pa.int32())}) for n in (0, 2)]
    _write_files(spark, folder, "a INT", *tables, pa.table({"b": [1, 2, 3]}))
    assert rows(same("SELECT count(*), count(a), min(a), max(a) FROM t")) == ["(7, 4, 0, 3)"]
    assert kept(spark.sql("SELECT count(*), count(a), min(a), max(a) FROM t")) == []
    for ddl in ("a BIGINT", "a INT, b BIGINT", "A INT", "a STRING COLLATE UTF8_LCASE"):
        spark.read.schema(ddl).parquet(folder).createOrReplaceTempView("t")
        if "STRING" not in ddl:
            same("SELECT count(*), count(a), min(a), max(a) FROM t WHERE a > 0")
            same("SELECT count(*), count(a), min(a), max(a) FROM t")
        else:
            same("SELECT count(*) FROM t")


def test_aggregates_of_char_and_varchar(spark: SparkSession, same: Same) -> None:
    spark.sql("CREATE TABLE t (c CHAR(5), v VARCHAR(9), n INT) USING parquet")
    spark.sql("INSERT INTO t VALUES ('a', 'x', 1), ('bc', 'yy', 2)")
    spark.sql("INSERT INTO t VALUES ('abc', 'z', 3)")
    tamis.index(spark, "t").build(columns={"v": "bounds", "n": []})
    assert sum(kept(same("SELECT min(c), max(c), count(c) FROM t"))) > 0
    assert kept(same("SELECT min(v), max(v), count(v) FROM t")) == []
    assert kept(same("SELECT min(n), count(*) FROM t")) == []
    for padding in ("true", "false"):
        spark.conf.set("spark.sql.readSideCharPadding", padding)
        same("SELECT min(c), max(c) FROM t")


def test_count_of_null_is_zero_without_null_propagation(
    spark: SparkSession, folder: str, same: Same
) -> None:
    """Spark replaces COUNT(NULL) by 0 unless that rule is excluded."""
    _write_files(spark, folder, "v INT", pa.table({"v": pa.array([1, 2], pa.int32())}))
    spark.conf.set(
        "spark.sql.optimizer.excludedRules",
        "org.apache.spark.sql.catalyst.optimizer.NullPropagation",
    )
    same("SELECT count(NULL), count(CAST(NULL AS INT)), count(*) FROM t")


def test_bounds_do_not_answer_for_other_collations(
    spark: SparkSession, folder: str, same: Same
) -> None:
    _write_files(spark, folder, "s STRING", pa.table({"s": ["a", "B"]}), columns={"s": "bounds"})
    assert kept(same("SELECT min(s) FROM t")) == []
    assert kept(same("SELECT min(s COLLATE UTF8_LCASE) FROM t")) == [1]
    spark.read.schema("s STRING COLLATE UTF8_LCASE").parquet(folder).createOrReplaceTempView("t")
    assert kept(same("SELECT min(s) FROM t")) == [1]


def test_aggregates_without_an_index(spark: SparkSession, folder: str, same: Same) -> None:
    spark.range(20).selectExpr("id", "id % 2 AS p").write.partitionBy("p").parquet(f"{folder}/t")
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
    frame = same("SELECT p, count(*), max(p) FROM t GROUP BY p")
    (scan,) = scans(frame)
    assert scan["goals"][0]["reason"]["code"] == "AGGREGATE_NOT_COVERED"
    assert scan["files_kept"] == scan["files_total"]


# --- plans and reports ----------------------------------------------------------------------


def test_aggregates_report_reasons(events: DataFrame) -> None:
    def code(statement: str) -> str:
        (scan,) = scans(events.sparkSession.sql(statement))
        return str(scan["goals"][0]["reason"]["code"])

    assert code("SELECT count(*) FROM events WHERE id % 2 = 0") == "AGGREGATE_NOT_COVERED"
    assert code("SELECT max(name), count(*) FROM events") == "AGGREGATE_NOT_CERTAIN"


def test_conf_disables_aggregates_from_statistics(events: DataFrame) -> None:
    spark = events.sparkSession
    spark.conf.set("spark.tamis.aggregates.enabled", "false")
    (scan,) = scans(spark.sql("SELECT count(*) FROM events WHERE id >= 250"))
    assert (scan["files_kept"], scan["goals"]) == (8, [])
    spark.conf.set("spark.tamis.aggregates.enabled", "true")
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")  # Spark may count fewer rows
    assert kept(spark.sql("SELECT count(*) FROM events")) == [10]


def test_plans_and_explanations_show_answered_files(events: DataFrame) -> None:
    spark = events.sparkSession
    frame = spark.sql("SELECT count(*) FROM events WHERE id >= 250")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "Goals: [count(1): 7 files answered from statistics]" in plan
    assert "count(1): 7 files answered from statistics" in str(tamis.explain(frame))
    whole = tamis.explain(spark.sql("SELECT count(*), max(id) FROM events"))
    [answered] = whole.to_dict()["answered"]
    assert (answered["goal"], answered["files"]) == ("count(1), max(id)", 10)
    assert "answered from the statistics of 10 files" in str(whole)
    [answered] = tamis.explain(
        spark.sql("SELECT id FROM events WHERE id > (SELECT max(id) - 3 FROM events)")
    ).to_dict()["answered"]
    assert answered["goal"] == "max(id)"


def test_decimals_keep_their_type(spark: SparkSession, folder: str, same: Same) -> None:
    values = [Decimal("1.10"), Decimal("-99999999999999999999999999.99"), None]
    table = pa.table({"d": pa.array(values, pa.decimal128(38, 2))})
    _write_files(spark, folder, "d DECIMAL(38, 2)", table)
    frame = same("SELECT min(d), max(d), count(d) FROM t")
    assert frame.first()[0] == values[1]  # type: ignore[index]
