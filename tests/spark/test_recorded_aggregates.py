"""Recorded aggregates answer queries, and the results equal those of plain Spark."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import ArithmeticException

import tamis
from tamis.errors import StatisticsIndexError
from tamis.indexing.build.rows import group_aggregation
from tamis.indexing.format import groups as groups_of_files
from tamis.indexing.format.row_statistics import load, recording_of
from tamis.indexing.format.store import Store
from tests.indexing.local import uri_of
from tests.spark.conftest import kept, read_parquet, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

Same = Callable[[str], "DataFrame"]

AGGREGATES = [
    "count(*)",
    "sum(price * (1 - discount))",
    "avg(price)",
    "sum(small)",
    "avg(small)",
    "sum(long)",
    "sum(whole)",
    "avg(whole)",
    "count(text)",
    "min(text)",
    "max(text)",
    "max(day)",
    "min(price)",
    "max(number)",
    "max(whole + 1)",
    "count(upper(text))",
]


@pytest.fixture(scope="module")
def lines_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 1,000 rows to 10 files clustered by id, with groups in every file.

    By flag and status there are 7 groups in each file, some of them with NULL.
    """
    path = str(tmp_path_factory.mktemp("lines") / "lines")
    spark_session.range(0, 1000, 1, 10).selectExpr(
        "id",
        "date_add(DATE '1995-01-01', CAST(id AS INT)) AS day",
        "element_at(array('A', 'N', 'R'), CAST(id % 3 AS INT) + 1) AS flag",
        "IF(id % 7 = 0, NULL, id % 2 = 0) AS status",
        "named_struct('a`b', CAST(id DIV 500 AS DECIMAL(5, 2))) AS `Größe`",
        "CAST(id * 1.25 - 300 AS DECIMAL(12, 2)) AS price",
        "CAST((id % 10) / 100 AS DECIMAL(12, 2)) AS discount",
        "CAST(id % 50 - 20 AS DECIMAL(7, 3)) AS small",
        "CAST(id * 1000000000000 AS DECIMAL(38, 4)) AS long",
        "IF(id % 5 = 0, NULL, CAST(id - 500 AS INT)) AS whole",
        "IF(id % 4 = 0, NULL, concat('t', id)) AS text",
        "CAST(id AS DOUBLE) / 3 + 1 AS number",
        "id DIV 300 AS part",
    ).write.partitionBy("part").parquet(path)
    tamis.index(spark_session, path).add(aggregates=AGGREGATES, by=["flag", "status"])

    tamis.index(spark_session, path).add(aggregates=["count(*)"], by=["Größe.a`b"])
    return path


@pytest.fixture
def lines(spark: SparkSession, lines_path: str) -> DataFrame:
    frame = read_parquet(spark, lines_path)
    frame.createOrReplaceTempView("lines")
    return frame


# statement | files that each scan opens, of 10 with 100 rows each, by id
LINES = [
    # every function
    ("SELECT sum(price * (1 - discount)) FROM lines", []),
    ("SELECT sum((1 - discount) * price), count(*) FROM lines", []),
    ("SELECT avg(price), sum(price), avg(small), sum(small) FROM lines", []),
    ("SELECT sum(long), sum(whole), avg(whole), avg(CAST(whole AS DOUBLE)) FROM lines", []),
    ("SELECT count(text), min(text), max(text), max(day), min(price) FROM lines", []),
    ("SELECT max(whole + 1), count(upper(text)), max(number) FROM lines", []),
    # groups: all of the recorded columns, some of them, none
    ("SELECT flag, status, sum(price * (1 - discount)), count(*) FROM lines GROUP BY 1, 2", []),
    ("SELECT flag, sum(whole), avg(price) FROM lines GROUP BY flag", []),
    ("SELECT status, max(text), sum(small) FROM lines GROUP BY status", []),
    ("SELECT DISTINCT flag FROM lines", []),
    ("SELECT DISTINCT status, flag FROM lines", []),
    ("SELECT sum(whole) FROM lines GROUP BY status, flag", []),
    ("SELECT concat(flag, '!') AS f, count(*) FROM lines GROUP BY flag", []),
    ("SELECT part, flag, sum(whole) FROM lines GROUP BY part, flag", []),
    ("SELECT status, part, flag, sum(whole) FROM lines GROUP BY part, flag, status", []),
    ("SELECT FLAG AS f, Sum(WHOLE), MAX(Text) FROM lines GROUP BY Flag", []),
    ("SELECT `Größe`.`a``b`, count(*) FROM lines GROUP BY 1", []),
    (
        "SELECT `GRÖSSE`, count(*) FROM (SELECT `Größe`.`A``b` AS `GRÖSSE` FROM lines) GROUP BY 1",
        [],
    ),
    ("SELECT count(*) FROM lines WHERE `Größe`.`a``b` = 0", []),
    ("SELECT `Größe`.`a``b` AS g, flag, count(*) FROM lines GROUP BY 1, 2", [10]),
    # filters that rows of a file pass or not as a whole, and files that are cut
    ("SELECT flag, sum(whole), avg(price) FROM lines WHERE id >= 300 GROUP BY flag", []),
    ("SELECT flag, sum(whole), avg(price) FROM lines WHERE id >= 250 GROUP BY flag", [1]),
    ("SELECT sum(price * (1 - discount)) FROM lines WHERE id BETWEEN 150 AND 850", [2]),
    ("SELECT avg(small), avg(whole), avg(price) FROM lines WHERE id BETWEEN 150 AND 850", [2]),
    ("SELECT part, sum(long) FROM lines WHERE id < 777 GROUP BY part", [1]),
    ("SELECT sum(whole), count(whole) FROM lines WHERE id < 0", []),
    # filters by columns of the groups
    ("SELECT sum(whole) FROM lines WHERE flag = 'R'", []),
    ("SELECT count(*) FROM lines WHERE flag = 'R'", []),
    ("SELECT count(*), max(text) FROM lines WHERE status", []),
    ("SELECT count(*) FROM lines WHERE status IS NULL AND flag <> 'A'", []),
    ("SELECT flag, count(*) FROM lines WHERE status OR flag IN ('A', 'N') GROUP BY flag", []),
    ("SELECT count(*) FROM lines WHERE flag = 'no such flag'", []),
    ("SELECT status, sum(small) FROM lines WHERE flag > 'B' AND id >= 450 GROUP BY 1", [1]),
    ("SELECT count(*) FROM lines WHERE flag = 'A' OR id < 300", []),
    ("SELECT count(*) FROM lines WHERE lower(flag) LIKE 'r%'", []),
    # positions of aggregates
    ("SELECT flag, sum(whole) AS s FROM lines GROUP BY flag HAVING s > 0 ORDER BY s DESC", []),
    ("SELECT sum(whole) / count(*) + 1 AS r FROM lines", []),
    (
        "SELECT * FROM (SELECT flag AS f, sum(whole) AS s FROM lines GROUP BY flag) WHERE f > 'A'",
        [],
    ),
    ("SELECT id FROM lines WHERE id > (SELECT avg(whole) + 900 FROM lines)", [10]),
    ("SELECT sum(s) FROM (SELECT sum(whole) AS s FROM lines GROUP BY flag, status)", []),
    ("SELECT f, sum(w) FROM (SELECT upper(flag) AS f, whole AS w FROM lines) GROUP BY f", [10]),
    ("SELECT flag, try_sum(whole), mean(whole) FROM lines GROUP BY flag", []),
    # FILTER: all rows of a file or group count, or none
    ("SELECT sum(whole) FILTER (WHERE id >= 300), sum(whole) FROM lines", []),
    ("SELECT sum(whole) FILTER (WHERE id > 3), sum(whole) FROM lines", [1]),
    ("SELECT sum(whole) FILTER (WHERE id < 0), count(*) FILTER (WHERE id < 0) FROM lines", []),
    ("SELECT count(*) FILTER (WHERE flag = 'R'), count(*) FROM lines", []),
    ("SELECT avg(price) FILTER (WHERE status), max(text) FILTER (WHERE flag <> 'A') FROM lines", []),
    ("SELECT avg(whole) FILTER (WHERE status), avg(small) FILTER (WHERE flag = 'N') FROM lines", []),
    ("SELECT avg(price) FILTER (WHERE id < 100), avg(price) FILTER (WHERE id < 500) FROM lines", []),
    ("SELECT min(text) FILTER (WHERE id > 850), min(price) FILTER (WHERE id < 100) FROM lines", [1]),
    ("SELECT flag, count(*) FILTER (WHERE status IS NULL) AS n FROM lines GROUP BY flag", []),
    ("SELECT flag, sum(small) FILTER (WHERE id < 450) FROM lines GROUP BY flag", [1]),
    ("SELECT flag, max(text) FILTER (WHERE id > 2000) FROM lines WHERE id >= 250 GROUP BY 1", [1]),
    ("SELECT flag, sum(long) FILTER (WHERE flag = 'R' OR id < 300) FROM lines GROUP BY flag", []),
    ("SELECT part, count(text) FILTER (WHERE part > 1) FROM lines GROUP BY part", []),
    ("SELECT count(*) FILTER (WHERE length(text) > 3) FROM lines", [10]),
    ("SELECT count(*) FILTER (WHERE text LIKE '%7'), sum(whole) FROM lines", [10]),
    ("SELECT count(*) FILTER (WHERE 100 / id > 200) FROM lines WHERE id >= 300", []),
    ("SELECT sum(DISTINCT whole) FILTER (WHERE id >= 300) FROM lines", [10]),
    # grouping sets
    ("SELECT flag, status, sum(whole) FROM lines GROUP BY ROLLUP(flag, status)", []),
    ("SELECT flag, sum(whole) FROM lines GROUP BY CUBE(flag)", []),
    (
        "SELECT flag, status, grouping(flag), grouping_id() AS i, count(*), avg(price), avg(whole), "
        "min(text), sum(long) FROM lines GROUP BY CUBE(flag, status)",
        [],
    ),
    ("SELECT flag, status, sum(small), count(text) FROM lines WHERE id >= 250 GROUP BY CUBE(1, 2)", [1]),
    ("SELECT status, avg(small), max(day) FROM lines WHERE id < 777 GROUP BY ROLLUP(status)", [1]),
    ("SELECT flag, count(*) FROM lines GROUP BY GROUPING SETS ((flag), (flag), ())", []),
    ("SELECT flag, count(*) FROM lines WHERE id > 8 GROUP BY GROUPING SETS ((flag), (flag), ())", [1]),
    ("SELECT flag, status, sum(whole) FROM lines GROUP BY flag, ROLLUP(status)", []),
    ("SELECT flag, status FROM lines GROUP BY GROUPING SETS ((flag, status), (status)) HAVING grouping(flag) = 1", []),
    ("SELECT flag, count(*) FROM lines WHERE id > 8 GROUP BY ROLLUP(flag) HAVING grouping(flag) = 0", [1]),
    ("SELECT flag, sum(whole) FROM lines GROUP BY CUBE(flag, status) HAVING grouping_id() IN (1, 2)", []),
    ("SELECT flag, sum(whole) FROM lines GROUP BY ROLLUP(flag) HAVING grouping(flag) = 1 AND sum(whole) > 5", []),
    ("SELECT flag, count(*) FROM lines GROUP BY ROLLUP(flag) HAVING flag = 'R' OR grouping(flag) = 1", []),
    ("SELECT flag, count(*) FROM lines GROUP BY ROLLUP(flag) HAVING grouping(flag) > rand()", []),
    ("SELECT flag, count(*) FROM lines WHERE id < 0 GROUP BY ROLLUP(flag)", []),
    ("SELECT count(*) FROM lines WHERE id < 0 GROUP BY GROUPING SETS (())", []),
    ("SELECT count(*) FROM lines GROUP BY GROUPING SETS ((), ())", [10]),
    ("SELECT flag, status FROM lines GROUP BY ROLLUP(flag, status)", []),
    ("SELECT part, flag, sum(whole) FROM lines GROUP BY CUBE(part, flag)", []),
    ("SELECT part, count(*) FROM lines WHERE id >= 250 GROUP BY ROLLUP(part)", [1]),
    ("SELECT flag, sum(whole) FILTER (WHERE status) AS s FROM lines GROUP BY ROLLUP(flag)", []),
    ("SELECT concat(flag, '!') AS f, sum(whole) + 1 FROM lines GROUP BY ROLLUP(flag)", []),
    ("SELECT flag, status, max(text) FROM lines GROUP BY GROUPING SETS ((flag), (status), (status, flag))", []),
    ("SELECT flag, count(flag) FROM lines GROUP BY ROLLUP(flag)", [10]),
    ("SELECT flag, count(DISTINCT status) FROM lines GROUP BY ROLLUP(flag)", [10]),
    ("SELECT upper(flag), count(*) FROM lines GROUP BY ROLLUP(upper(flag))", [10]),
    ("SELECT count(DISTINCT flag), count(DISTINCT status) FROM lines", [10]),
    # not recorded, or not in this form
    ("SELECT sum(id) FROM lines", [10]),
    ("SELECT sum(number) > 0 FROM lines", [10]),
    ("SELECT flag, max(id) FROM lines GROUP BY flag", [10]),
    ("SELECT id, count(*) FROM lines GROUP BY id", [10]),
    ("SELECT flag, sum(DISTINCT whole) FROM lines GROUP BY flag", [10]),
    ("SELECT flag, approx_count_distinct(whole) FROM lines GROUP BY flag", [10]),
    ("SELECT sum(whole) IS NULL FROM lines WHERE rand(3) < 0.99", [10]),
    ("SELECT sum(price * (1 + discount)) FROM lines", [10]),
    ("SELECT first(flag), sum(whole) FROM lines WHERE id < 100", [1]),
    ("SELECT sum(whole) OVER (PARTITION BY flag) FROM lines", [10]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "files"), LINES, ids=[each for each, _ in LINES])
def test_recorded_aggregates_open_few_files(
    lines: DataFrame, same: Same, statement: str, files: list[int]
) -> None:
    assert sorted(kept(same(statement))) == sorted(files)


@pytest.mark.parametrize(
    ("statement", "confs"),
    [
        ("SELECT flag, sum(whole) FROM lines GROUP BY flag", {"spark.tamis.enabled": "false"}),
        ("SELECT sum(whole) FROM lines", {"spark.tamis.aggregates.enabled": "false"}),
        ("SELECT sum(whole) FROM lines", {"spark.tamis.mode": "observe"}),
        # the argument computes something else under these
        ("SELECT max(whole + 1) FROM lines", {"spark.sql.ansi.enabled": "false"}),
        (
            "SELECT sum(price * (1 - discount)) FROM lines",
            {"spark.sql.decimalOperations.allowPrecisionLoss": "false"},
        ),
    ],
)
def test_settings_under_which_all_files_are_read(
    lines: DataFrame, statement: str, confs: dict[str, str]
) -> None:
    spark = lines.sparkSession
    expected = spark.sql(statement).collect()
    for key, value in confs.items():
        spark.conf.set(key, value)
    frame = spark.sql(statement)
    assert sorted(map(tuple, frame.collect())) == sorted(map(tuple, expected))
    assert len(frame.inputFiles()) == 10


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.session.timeZone", "Pacific/Kiritimati"),
        ("spark.sql.adaptive.enabled", "false"),
        (
            "spark.sql.optimizer.excludedRules",
            "org.apache.spark.sql.catalyst.optimizer.DecimalAggregates",
        ),
    ],
)
def test_settings_on_which_columns_do_not_depend(
    lines: DataFrame, same: Same, key: str, value: str
) -> None:
    lines.sparkSession.conf.set(key, value)
    columns = "avg(small), sum(small), avg(whole), sum(long), max(day), count(*)"
    assert kept(same(f"SELECT flag, {columns} FROM lines WHERE id < 450 GROUP BY flag")) == [1]
    assert kept(same(f"SELECT {columns} FROM lines")) == []


def test_output_attributes_are_unchanged(lines: DataFrame) -> None:
    spark = lines.sparkSession
    for statement, _ in LINES:
        plans = []
        for enabled in ("false", "true"):
            spark.conf.set("spark.tamis.enabled", enabled)
            optimized = spark.sql(statement)._jdf.queryExecution().optimizedPlan()
            fields = optimized.schema().fields()
            plans.append([(f.name(), f.dataType().json(), f.nullable()) for f in fields])
        assert plans[0] == plans[1], statement


def test_explanation_names_the_aggregates(lines: DataFrame) -> None:
    spark = lines.sparkSession
    frame = spark.sql("SELECT flag, avg(whole) FROM lines WHERE id < 450 GROUP BY flag")
    (scan,) = tamis.explain(frame).to_dict()["scans"]
    assert scan["goals"][0]["goal"] == "avg(whole) BY flag: 4 files answered from statistics"
    whole = str(tamis.explain(spark.sql("SELECT sum(whole) FROM lines")))
    assert "sum(whole) answered from the statistics of 10 files; none of them is read" in whole
    (scan,) = tamis.why_not(spark.sql("SELECT sum(id) FROM lines")).to_dict()["scans"]
    reason = scan["goals"][0]["reason"]
    assert (reason["code"], reason["text"]) == (
        "AGGREGATE_NOT_RECORDED",
        "the index does not record sum(id)",
    )


# --- tables of few files ------------------------------------------------------------------------


class Table:
    """A directory of files, as the view t."""

    def __init__(self, spark: SparkSession, same: Same, path: Path) -> None:
        self.spark, self.same, self.path = spark, same, path

    def write(self, name: str, **columns: pa.Array) -> None:
        self.path.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), self.path / f"{name}.parquet")

    def view(self) -> None:
        self.spark.catalog.refreshByPath(str(self.path))
        self.spark.read.parquet(str(self.path)).createOrReplaceTempView("t")

    @property
    def index(self) -> tamis.Index:
        return tamis.index(self.spark, str(self.path))

    def kept(self, statement: str) -> list[int]:
        self.view()
        return kept(self.same(statement))


@pytest.fixture
def table(spark: SparkSession, same: Same, tmp_path: Path) -> Table:
    return Table(spark, same, tmp_path / "t")


def longs(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


def decimals(digits: int, *values: int) -> pa.Array:
    return pa.array(values, pa.decimal128(digits, 0))


BIG = 2**62
WIDE = 6 * 10**37
# the values of two files | aggregate | ANSI mode | files that are read
LIMITS = [
    ((longs(1, -5), longs(7)), "sum(a)", "true", []),
    ((longs(BIG, 5), longs(BIG - 6)), "sum(a)", "true", []),
    # an overflow raises, or wraps around
    ((longs(BIG), longs(BIG)), "sum(a)", "false", [2]),
    # no overflow in this order, but in another one
    ((longs(BIG, -5), longs(BIG, -7)), "sum(a)", "false", [2]),
    ((longs(-BIG, -BIG), longs(5)), "sum(a)", "false", [2]),
    ((longs(-BIG, -5), longs(-BIG, 7)), "try_sum(a)", "true", [2]),
    ((longs(BIG, BIG), longs(-BIG)), "sum(a)", "false", [2]),
    # a double is exact up to 2^53
    ((longs(2**52), longs(2**52 - 1, -3)), "avg(a)", "true", []),
    ((longs(2**53), longs(1, 1)), "avg(a)", "true", [2]),
    ((decimals(38, WIDE), decimals(38, 7)), "sum(a)", "true", []),
    ((decimals(38, WIDE), decimals(38, WIDE)), "sum(a)", "false", [2]),
    ((decimals(38, WIDE, -WIDE), decimals(38, WIDE)), "sum(a)", "false", [2]),
    ((decimals(12, 10**11), decimals(12, 10**11)), "sum(a)", "true", []),
    ((decimals(12, 10**11), decimals(12, 10**11, 1)), "avg(a)", "true", []),
    ((decimals(8, 10**7, 3), decimals(8, 10**7)), "sum(a)", "true", []),
    ((decimals(11, 10**10, 3), decimals(11, -(10**10))), "avg(a)", "true", []),
]


@pytest.mark.parametrize(("values", "aggregate", "ansi", "files"), LIMITS)
def test_sums_that_may_overflow_are_left_to_spark(
    table: Table, values: tuple[pa.Array, pa.Array], aggregate: str, ansi: str, files: list[int]
) -> None:
    table.spark.conf.set("spark.sql.ansi.enabled", ansi)
    table.write("one", a=values[0], g=longs(*[1] * len(values[0])))
    table.write("two", a=values[1], g=longs(*[2] * len(values[1])))
    table.index.build(aggregates=["sum(a)", "count(*)"], by=["g"])
    assert table.kept(f"SELECT {aggregate}, count(*) FROM t") == files
    table.same(f"SELECT g, {aggregate} FROM t GROUP BY g")


@pytest.mark.parametrize(
    ("excluded", "average"), [("", "0.00437"), ("DecimalAggregates", "0.00438")]
)
def test_averages_of_short_decimals_are_rounded_as_by_spark(
    table: Table, excluded: str, average: str
) -> None:
    """Spark divides doubles, in which 7 / 160 / 10 is slightly less than 0.004375."""
    if excluded:
        rule = f"org.apache.spark.sql.catalyst.optimizer.{excluded}"
        table.spark.conf.set("spark.sql.optimizer.excludedRules", rule)
    for name, tenths in (("one", 3), ("two", 4)):
        values = [Decimal("0.1")] * tenths + [Decimal(0)] * (80 - tenths)
        table.write(name, a=pa.array(values, pa.decimal128(9, 1)))
    table.index.build(aggregates=["avg(a)"])
    assert table.kept("SELECT avg(a) FROM t") == []
    assert [str(row[0]) for row in table.spark.sql("SELECT avg(a) FROM t").collect()] == [average]


def test_overflow_raises_as_without_tamis(table: Table) -> None:
    for name in ("one", "two"):  # nothing is recorded of a file whose own sum overflows
        table.write(name, a=longs(BIG))
    table.index.build(aggregates=["sum(a)"])
    table.view()
    frame = table.spark.sql("SELECT sum(a) FROM t")
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        frame.collect()
    (scan,) = tamis.why_not(frame).to_dict()["scans"]
    assert scan["goals"][0]["reason"]["code"] == "AGGREGATE_MAY_OVERFLOW"


def test_errors_of_arguments_are_not_lost(table: Table) -> None:
    """What was recorded without ANSI mode does not answer a query that raises in ANSI mode."""
    table.write("one", a=longs(1, 0), b=longs(7, 7))
    with pytest.raises(StatisticsIndexError, match="DIVIDE_BY_ZERO"):
        table.index.build(aggregates=["sum(b DIV a)"])
    table.spark.conf.set("spark.sql.ansi.enabled", "false")
    table.index.build(aggregates=["sum(b DIV a)"])
    statement = "SELECT sum(b DIV a) FROM t"
    assert table.kept(statement) == []
    table.spark.conf.set("spark.sql.ansi.enabled", "true")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        table.spark.sql(statement).collect()


def test_new_changed_and_deleted_files(table: Table) -> None:
    by_group = "SELECT g, sum(a), avg(a), count(*) FROM t GROUP BY g"
    for name in ("one", "two"):
        table.write(name, a=longs(1, 2, None), g=longs(1, None, 2))
    table.index.build(aggregates=["sum(a)", "count(*)"], by=["g"])
    assert table.kept(by_group) == []
    counted = "SELECT g, count(*) FROM t GROUP BY g"
    table.write("three", a=longs(40), g=longs(3))
    assert table.kept(counted) == [1]
    # nothing is known of the new file, so its sum may overflow
    assert table.kept(by_group) == [3]
    table.index.refresh()
    assert table.kept(by_group) == []
    assert table.index.describe().to_dict()["segments"] == 2
    table.write("two", a=longs(5, 6), g=longs(1, 2))
    assert table.kept(counted) == [1]
    table.same(by_group)
    table.write("empty", a=longs(), g=longs())
    (table.path / "one.parquet").unlink()
    table.index.refresh()
    assert table.kept(by_group) == []
    # another aggregate is added, and the earlier ones are kept
    table.index.add(aggregates=["max(a)"], by=["g"])
    assert table.kept("SELECT g, max(a), sum(a) FROM t GROUP BY g") == []
    assert table.kept("SELECT g, min(a), sum(a) FROM t GROUP BY g") == [3]


def test_overwrite_of_the_table_keeps_the_request(table: Table) -> None:
    table.write("one", a=longs(1, 2), g=longs(1, 2))
    table.index.build(aggregates=["sum(a)"], by=["g"])
    shutil.rmtree(table.path)
    table.write("one", a=longs(3, 4, 5), g=longs(1, 2, 2))
    table.index.refresh()
    assert table.kept("SELECT g, sum(a) FROM t GROUP BY g") == []


def test_damaged_aggregates_are_not_used(table: Table) -> None:
    table.write("one", a=longs(1, 2), g=longs(1, 2))
    table.index.build(aggregates=["sum(a)"], by=["g"])
    (groups,) = table.path.glob("_tamis/*/_0.groups")
    content = bytearray(groups.read_bytes())
    content[len(content) // 3] ^= 1
    groups.write_bytes(bytes(content))
    assert table.kept("SELECT g, sum(a) FROM t GROUP BY g") == [1]


def test_too_many_groups(table: Table) -> None:
    few, many = range(1000), range(1001)
    table.write("few", a=longs(*few), g=longs(*few))
    table.write("many", a=longs(*many), g=longs(*many))
    table.index.build(aggregates=["sum(a)"], by=["g"])
    (recorded,) = (e for e in table.index.describe().to_dict()["recorded"] if e["kind"] == "sum")
    assert recorded["files"] == 1
    assert table.kept("SELECT sum(a) FROM t WHERE g < 2000") == [1]


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "files"),
    [([1.5, 2.5, None], []), ([1.0, NAN], [1]), ([-0.0, 0.0], [1]), ([None, None], [])],
)
def test_extremes_of_floating_point_numbers(
    table: Table, values: list[float | None], files: list[int]
) -> None:
    table.write("one", a=pa.array(values, pa.float64()), g=longs(*[1] * len(values)))
    table.index.build(aggregates=["max(a)", "min(a)"], by=["g"])
    assert table.kept("SELECT g, max(a), count(*) FROM t GROUP BY g") == files


def test_strings_that_cannot_be_groups(table: Table) -> None:
    texts = [b"ok", b"\xff\xfe", None]
    table.write("one", g=pa.array(texts, pa.binary()).view(pa.string()), a=longs(1, 2, 3))
    table.write("two", g=pa.array(["ok", "long" * 300]), a=longs(1, 2))
    table.write("three", g=pa.array(["ok", None, ""]), a=longs(1, 2, 3))
    table.index.build(aggregates=["sum(a)", "max(g)"], by=["g"])
    assert table.kept("SELECT sum(a) FROM t WHERE g = 'ok'") == [2]
    assert table.kept("SELECT hex(g), sum(a), max(g) IS NULL FROM t GROUP BY g") == [2]


def test_other_types_are_not_used(table: Table) -> None:
    table.write("one", a=pa.array([1, 2], pa.int32()), g=pa.array([1, 2], pa.int32()))
    table.index.build(aggregates=["sum(a)"], by=["g"])
    for ddl in ("a INT, g BIGINT", "a BIGINT, g INT"):
        table.spark.read.schema(ddl).parquet(str(table.path)).createOrReplaceTempView("t")
        assert kept(table.same("SELECT g, sum(a) FROM t GROUP BY g")) == [1]


# aggregates | by | part of the error
REFUSED = [
    (["sum(d)"], [], "depends on the order of the rows"),
    (["avg(d + 1)"], [], "depends on the order of the rows"),
    (["count(DISTINCT a)"], [], "leave DISTINCT out"),
    (["median(a)"], [], "write count, sum, avg"),
    (["a"], [], "write count, sum, avg"),
    (["sum(a) + sum(a)"], [], "cannot be analyzed"),
    (["sum(a, a)"], [], "cannot be analyzed"),
    (["sum(none)"], [], "cannot be analyzed"),
    (["sum(a * rand())"], [], "not deterministic"),
    (["count(a > 1)"], [], "of a predicate"),
    (["min(l)"], [], "cannot be aggregated"),
    (["count(*)"], ["d"], "by: d has type double"),
    (["count(*)"], ["l"], "no column l"),
    (["count(*)"], ["missing"], "no column missing"),
    (["count(*)"], ["p"], "partition column"),
    (["sum(p)"], [], "partition column"),
    ([], ["a"], "pass both"),
    ("sum(a)", [], "take lists"),
]


@pytest.mark.parametrize(("aggregates", "by", "error"), REFUSED)
def test_requests_that_are_refused(
    table: Table, aggregates: Any, by: list[str], error: str
) -> None:
    (table.path / "p=1").mkdir(parents=True)
    table.write("p=1/one", a=longs(1), d=pa.array([1.0]), l=pa.array([[1]]))
    with pytest.raises(StatisticsIndexError, match=error):
        table.index.build(aggregates=aggregates, by=by)


def test_other_formats_are_refused(table: Table) -> None:
    path = str(table.path)
    table.spark.range(3).write.orc(path)
    index = tamis.index(table.spark, path, reader=table.spark.read.format("orc"))
    with pytest.raises(StatisticsIndexError, match="ORC files do not use recorded aggregates"):
        index.build(aggregates=["count(*)"])


def test_char_columns_are_refused(table: Table) -> None:
    spark = table.spark
    spark.sql(f"CREATE TABLE chars (c CHAR(3), a INT) USING parquet LOCATION '{table.path}'")
    spark.sql("INSERT INTO chars VALUES ('a', 1), ('b', 2)")
    for aggregates, by in ((["max(c)"], []), (["count(*)"], ["c"])):
        with pytest.raises(StatisticsIndexError, match="CHAR column"):
            tamis.index(spark, "chars").build(aggregates=aggregates, by=by)
    tamis.index(spark, "chars").build(aggregates=["sum(a)"])
    assert kept(table.same("SELECT c, sum(a) FROM chars GROUP BY c")) == [1]


def test_old_dates_are_not_recorded(table: Table) -> None:
    days = pa.array([-200_000, 5], pa.int32()).cast(pa.date32())
    table.write("old", day=days, a=longs(1, 2))
    table.write("new", day=days.slice(1), a=longs(1))
    table.index.build(aggregates=["sum(a)"], by=["day"])
    assert table.kept("SELECT day, sum(a) FROM t GROUP BY day") == [1]


def test_goal_of_a_table_without_recorded_aggregates(table: Table) -> None:
    """It is not mentioned: most tables record none."""
    table.write("one", a=longs(1, 2), g=longs(1, 2))
    table.index.build()
    table.view()
    (scan,) = scans(table.spark.sql("SELECT g, sum(a) FROM t GROUP BY g"))
    assert not scan.get("goals")


# --- FILTER clauses and grouping sets ---


def random_files(table: Table, rng: random.Random) -> None:
    """Write five files clustered by id, one of them without rows, with NULL in each other column.

    All zeros have the same sign: of 0.0 and -0.0, Spark's MIN and MAX return the first that they
    see, which depends on how files are divided among tasks.
    """
    zero = rng.choice([0.0, -0.0])
    for number, rows in enumerate(rng.sample([0, 1, 20, 40, 41], 5)):

        def some(values: list[Any], rows: int = rows) -> list[Any]:
            return [rng.choice([None, *values]) for _ in range(rows)]

        table.write(
            f"f{number}",
            id=longs(*range(number * 100, number * 100 + rows)),
            g=longs(*some([0, 1, -1])),
            s=pa.array(some(["", "a", "ß"]), pa.string()),
            b=pa.array(some([True, False]), pa.bool_()),
            x=pa.array(some([Decimal("0.05"), Decimal("-7.10")]), pa.decimal128(9, 2)),
            n=pa.array(some([1, -3, 2**31 - 1]), pa.int32()),
            d=pa.array(some([zero, 1.5] + [NAN] * rng.randint(0, 1)), pa.float64()),
        )


def random_query(rng: random.Random) -> str:
    conditions = [
        "id < 200", "id >= 130", "id < 0", "g = 1", "g IS NULL", "s > 'a'", "s IN ('', 'ß')", "b",
        "NOT b", "g = 1 OR id < 220", "b AND id >= 100", "n > 0", "coalesce(g, 0) = 0", "1 / g > 0",
    ]  # fmt: skip
    functions = [
        "count(*)", "count(x)", "count(s)", "sum(x)", "avg(x)", "sum(n)", "avg(n)", "min(n)",
        "max(s)", "min(d)", "max(d)", "max(x)", "min(b)", "sum(x * (1 - x))", "max(id)",
    ]  # fmt: skip
    calls = [
        call + (f" FILTER (WHERE {rng.choice(conditions)})" if rng.random() < 0.5 else "")
        for call in rng.sample(functions, rng.randint(1, 4))
    ]
    keys = rng.sample(["g", "s", "b"], rng.randint(1, 3))
    listed = ", ".join(keys)
    sets = ["()", *(f"({', '.join(rng.sample(keys, rng.randint(1, len(keys))))})" for _ in "abc")]
    group = rng.choice(
        ["", listed, f"ROLLUP({listed})", f"CUBE({listed})", f"{keys[0]}, ROLLUP({listed})",
         f"GROUPING SETS (({listed}), {', '.join(rng.sample(sets, rng.randint(1, 4)))})"]
    )  # fmt: skip
    shown = ([*keys] if group else []) + calls
    if "(" in group:
        shown += [f"grouping({keys[0]})", "grouping_id()"]
    # Spark does not resolve grouping() of a column that has another name in the SELECT list
    named = ", ".join(sql if sql in keys else f"{sql} AS c{k}" for k, sql in enumerate(shown))
    where = f" WHERE {rng.choice(conditions[:12])}" if rng.random() < 0.4 else ""
    having = [f"{keys[0]} IS NULL", "count(*) > 3"]
    if "(" in group:
        having += [f"grouping({keys[-1]}) = {rng.randint(0, 1)}", "grouping_id() > 1"]
        having += [f"grouping({keys[0]}) = 1 OR {keys[0]} IS NOT NULL"]
    # Spark does not resolve HAVING if a grouping set occurs twice
    is_resolved = group.startswith(("ROLLUP", "CUBE", listed)) and ", ROLLUP" not in group
    filtered = f" HAVING {rng.choice(having)}" if is_resolved and rng.random() < 0.4 else ""
    return f"SELECT {named} FROM t{where}" + (f" GROUP BY {group}{filtered}" if group else "")


@pytest.mark.parametrize("seed", range(3))
def test_random_filters_and_grouping_sets_equal_those_of_spark(table: Table, seed: int) -> None:
    rng = random.Random(seed)
    random_files(table, rng)
    recorded = ["count(*)", "sum(x)", "sum(n)", "min(n)", "max(s)", "min(d)", "max(d)", "max(x)"]
    recorded += ["min(b)", "count(s)", "sum(x * (1 - x))", "max(id)"]
    table.index.build(aggregates=recorded, by=["g", "s", "b"])
    # so that 1 / g, which raises in one mode and is NULL in the other, has both outcomes
    table.spark.conf.set("spark.sql.ansi.enabled", "false" if seed % 2 else "true")
    answered = {"FILTER": 0, "ROLLUP": 0, "CUBE": 0, "SETS": 0, "HAVING": 0}
    for _ in range(40):
        statement = random_query(rng)
        try:
            files = table.kept(statement)
        except ArithmeticException:
            # Spark raises, with tamis off and on
            table.spark.conf.set("spark.tamis.enabled", "true")
            with pytest.raises(ArithmeticException):
                table.spark.sql(statement).collect()
            continue
        for word in answered:
            answered[word] += word in statement and sum(files) < 4
    assert all(answered.values()), answered


# --- how sums are recorded ----------------------------------------------------------------------


def drawn(rng: random.Random, digits: int, widest: int) -> int | None:
    """Return an unscaled value of a decimal; None is NULL."""
    most = 10 ** rng.randint(1, min(digits, widest)) - 1
    return rng.choice([None, 0, most, -most, rng.randint(-most, most), rng.randint(0, most)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("widest", [9, 38])
def test_sums_as_longs_equal_those_as_decimals(
    table: Table, monkeypatch: pytest.MonkeyPatch, seed: int, widest: int
) -> None:
    """widest: the most digits of a value. Sums of values of 38 digits do not fit a LONG."""
    rng = random.Random(seed)
    kinds = [(9, 2), (15, 2), (18, 5), (25, 0), (38, 10), (7, 7)]
    for name in ("one", "two", "three"):
        rows = rng.choice([1, 7, 60])
        columns = {"g": longs(*(rng.choice([None, 1, 2]) for _ in range(rows)))}
        columns["l"] = longs(*(rng.choice([None, 2**62, -(2**62), 5]) for _ in range(rows)))
        for i, (digits, scale) in enumerate(kinds):
            with localcontext(Context(prec=38)):
                values = [drawn(rng, digits, widest) for _ in range(rows)]
                scaled = [None if v is None else Decimal(v).scaleb(-scale) for v in values]
            columns[f"c{i}"] = pa.array(scaled, pa.decimal128(digits, scale))
        table.write(name, **columns)
    names = [f"c{i}" for i in range(len(kinds))]
    table.spark.conf.set("spark.sql.ansi.enabled", "false")
    aggregates = [f"sum({name})" for name in [*names, "l"]]
    aggregates += [f"sum({rng.choice(names)} * (1 - {rng.choice(names)}))" for _ in range(4)]
    aggregates += [f"sum({rng.choice(names)} - {rng.choice(names)})" for _ in range(4)]
    aggregates += [f"count({names[0]})", f"min({names[0]})", "count(*)"]
    recorded = []
    again = group_aggregation.are_incomplete
    for always in (False, True):
        monkeypatch.setattr(
            group_aggregation,
            "are_incomplete",
            lambda k, entry, found, always=always: (
                (always and entry.kind == "sum") or again(k, entry, found)
            ),
        )
        table.index.build(aggregates=list(dict.fromkeys(aggregates)), by=["g"])
        recorded.append(recorded_groups(table))
    assert recorded[0] == recorded[1]
    assert len(recorded[0]) > 12


def recorded_groups(table: Table) -> list[tuple[str, list[int], list[dict[str, Any]]]]:
    """Return the name of each recorded aggregate, the number of groups of each file, and these."""
    store = Store.at(uri_of(table.path), None, {})
    pointer = store.pointer()
    recording = recording_of(store, pointer)
    assert recording is not None
    return [
        (entry.name, groups.sizes.tolist(), groups.table.to_pylist())
        for k, entry in enumerate(recording.entries)
        if (groups := load(store, pointer, k, entry).groups) is not None
    ]


def test_parts_of_a_file_are_merged(table: Table) -> None:
    """Tasks that read parts of a file record the same as one task that reads the whole file."""
    rng = random.Random(1)
    table.path.mkdir()
    for number in range(3):
        rows = 60

        def some(*values: Any) -> list[Any]:
            return [rng.choice([None, *values]) for _ in range(rows)]  # noqa: B023

        columns = {
            "g": longs(*some(0, 1)),
            "s": pa.array(some("", "a", "ß"), pa.string()),
            "l": longs(*some(2**62, -(2**62), 5)),
            "x": pa.array(some(Decimal("0.05"), Decimal("-7.10")), pa.decimal128(9, 2)),
            "t": pa.array(some("b", "", "é", "x" * 2000), pa.string()),
            "d": pa.array(some(NAN, 1.5, -2.0), pa.float64()),
            "u": longs(*(number * 1000 + rng.randint(0, 10) for _ in range(rows))),
        }
        pq.write_table(pa.table(columns), table.path / f"f{number}.parquet", row_group_size=7)
    aggregates = ["sum(l)", "sum(x)", "avg(x * (1 - x))", "count(t)", "min(t)", "max(t)", "min(d)"]
    aggregates += ["max(d)", "count(*)", "max(g)", "approx_count_distinct(u)"]
    aggregates += ["approx_count_distinct(t, 0.2)"]
    recorded = []
    for size in ("128m", "400b"):
        table.spark.conf.set("spark.sql.files.maxPartitionBytes", size)
        table.spark.conf.set("spark.sql.files.openCostInBytes", "1b")
        table.index.build(aggregates=aggregates, by=["g", "s"])
        recorded.append(recorded_groups(table))
        tasks = read_parquet(table.spark, str(table.path)).rdd.getNumPartitions()
        assert (tasks > 3) == (size == "400b")
    assert recorded[0] == recorded[1]
    assert all(sum(sizes) > 3 for _, sizes, _ in recorded[0])


def test_file_with_more_groups_than_can_be_recorded(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether one task reads the file, or several that find few enough groups each."""
    table.path.mkdir()
    for number, groups in enumerate([4, 5, 12]):
        values = [n % groups for n in range(48)]
        pq.write_table(
            pa.table({"g": longs(*sorted(values))}),
            table.path / f"f{number}.parquet",
            row_group_size=12,
        )
    monkeypatch.setattr(groups_of_files, "MAX_GROUPS", 4)
    for size in ("128m", "200b"):
        table.spark.conf.set("spark.sql.files.maxPartitionBytes", size)
        table.spark.conf.set("spark.sql.files.openCostInBytes", "1b")
        table.index.build(aggregates=["count(*)", "sum(g)"], by=["g"])
        for _, sizes, _ in recorded_groups(table):
            assert sorted(sizes) == [-1, -1, 4], size
