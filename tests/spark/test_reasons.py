"""Each reason is reported for some query, and its fix removes it.

A case makes tables of ten files with a hundred rows each, clustered by id unless it says otherwise.
It returns a query, and the fix as code: with the fix the reason is gone and the query reads fewer
files.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.reasons import REASONS
from tests.remote.airport_server import Served, parquet, serving
from tests.spark.conftest import read_parquet, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

COLUMNS = (
    "id",
    "id % 10 AS k",
    "IF(id < 50, NULL, id) AS some",
    "IF(id % 10 = 0, NULL, id) AS gaps",
    "id * 1.5D AS x",
    "concat('n', lpad(CAST(id AS STRING), 4, '0')) AS name",
    "concat(char(65 + CAST(id DIV 100 AS INT)), 'am') AS word",
    "concat('Tag', id % 10) AS tag",
    "timestamp_seconds(id * 86400) AS ts",
)
FILES = 10
INT96 = ("spark.sql.parquet.outputTimestampType", "INT96")


class World:
    """Tables of one test, by name: also temporary views of that name.

    written: a directory of tables that all tests share. A test copies the files of such a table
    before it changes them or their index.
    """

    def __init__(self, spark: SparkSession, folder: Path, written: Path) -> None:
        self.spark = spark
        self._folder = folder
        self._written = written
        self._shared: set[str] = set()  # names of tables whose files are shared
        self.paths: dict[str, str] = {}
        self.resources = ExitStack()

    def rows(self, where: str = "true") -> DataFrame:
        return self.spark.range(1000).selectExpr(*COLUMNS).where(where)

    def table(self, name: str = "t", by: str = "id", index: dict[str, Any] | None = None) -> None:
        """Replace a table, clustered by an expression.

        index: arguments of `build`, and without gaps filled by default; None: no index.
        """
        from pyspark.sql.functions import expr

        timestamps = self.spark.conf.get(INT96[0])
        written = self._written / re.sub(r"\W+", "_", f"{by} {timestamps} {index}")
        if not written.exists():
            self.rows().repartitionByRange(FILES, expr(by)).write.parquet(str(written))
            if index is not None:
                tamis.index(self.spark, str(written)).build(**{"fill_gaps": False, **index})
        self.paths[name] = str(written)
        self._shared.add(name)
        self.view(name, str(written))

    def own(self, name: str = "t") -> None:
        """Copy a shared table without its index, to change it."""
        if name in self._shared:
            shared = self.paths[name]
            ignored = shutil.ignore_patterns("_tamis")
            self.view(name, shutil.copytree(shared, self.path(name), ignore=ignored))

    def write(self, name: str, frame: DataFrame) -> None:
        path = self.path(name)
        frame.write.parquet(path)
        self.view(name, path)

    def view(self, name: str, path: str) -> None:
        read_parquet(self.spark, path).createOrReplaceTempView(name)

    def path(self, name: str) -> str:
        """Return a directory that does not exist yet, and make it the path of the table."""
        number = len(list(self._folder.iterdir()))
        self._shared.discard(name)
        self.paths[name] = str(self._folder / f"{name}-{number}")
        return self.paths[name]

    def index(self, name: str = "t", **what: Any) -> None:
        self.own(name)
        tamis.index(self.spark, self.paths[name]).build(**{"fill_gaps": False, **what})

    def set(self, key: str, value: str) -> None:
        self.spark.conf.set(key, value)

    def open(self, resource: AbstractContextManager[T]) -> T:
        """Return a resource that is open until the end of the test."""
        return self.resources.enter_context(resource)


T = TypeVar("T")
Query = Callable[[], "DataFrame"]
Fix = Callable[[], Any]
Case = Callable[[World], "tuple[Query | str, Fix | None]"]
CASES: list[tuple[str, Case]] = []


def case(code: str) -> Callable[[Case], Case]:
    def registered(made: Case) -> Case:
        CASES.append((code, made))
        return made

    return registered


# ---- predicates ----


@case("NO_STATISTICS")
def no_index(w: World) -> Any:
    w.table()
    return "SELECT * FROM t WHERE id < 50", lambda: w.index(columns=["id"])


@case("FOOTERS_WITHOUT_STATISTICS")
def int96(w: World) -> Any:
    w.set(*INT96)
    w.table(index={})
    fix = {"ts": "bounds"}
    return "SELECT * FROM t WHERE ts < TIMESTAMP '1970-02-01'", lambda: w.index(columns=fix)


@case("NO_NULL_COUNTS")
def nulls_without_an_index(w: World) -> Any:
    w.table()
    return "SELECT * FROM t WHERE some IS NULL", lambda: w.index(columns=["some"])


@case("INDEX_IS_OFF")
def index_is_off(w: World) -> Any:
    w.table(index={})
    w.set("spark.tamis.index.enabled", "false")
    return "SELECT * FROM t WHERE id < 50", lambda: w.set("spark.tamis.index.enabled", "true")


@case("SIGNED_ZERO")
def zero(w: World) -> Any:
    w.table(index={})
    return "SELECT * FROM t WHERE x > -1 AND x <> 0.0D", None


@case("READER_LOSES_ROWS")
def json_files(w: World) -> Any:
    path = w.path("j")
    w.rows().select("id", "name").repartitionByRange(FILES, "id").write.json(path)
    reader = w.spark.read.format("json").schema("id LONG, name STRING")
    tamis.index(w.spark, path, reader=reader).build()

    def mend() -> None:
        w.set("spark.sql.json.filterPushdown.enabled", "false")
        tamis.index(w.spark, path, reader=reader).build()

    return lambda: reader.load(path).where("id < 200 AND id >= 100"), mend


@case("RANGES_OVERLAP")
def not_clustered(w: World) -> Any:
    w.table(index={})
    return "SELECT * FROM t WHERE k < 3", lambda: w.table(by="k", index={})


@case("RANGES_OVERLAP")
def nulls_in_every_file(w: World) -> Any:
    w.table(index={})
    return "SELECT * FROM t WHERE gaps IS NULL", lambda: w.table(by="gaps", index={})


@case("VALUE_WITHIN_RANGES")
def one_value(w: World) -> Any:
    w.table(by="k", index={})
    return "SELECT * FROM t WHERE name = 'n0005'", lambda: w.index(columns={"name": "bloom"})


@case("VALUE_WITHIN_RANGES")
def some_values(w: World) -> Any:
    w.table(by="k", index={})
    statement = "SELECT * FROM t WHERE name IN ('n0005', 'n0405')"
    return statement, lambda: w.table(by="id", index={})


@case("VALUES_NOT_LISTED")
def one_value_in_a_narrow_range(w: World) -> Any:
    w.table(by="k", index={})
    return "SELECT * FROM t WHERE id = 5", lambda: w.index(columns={"id": "values"})


@case("VALUES_NOT_LISTED")
def values_outside_a_list(w: World) -> Any:
    w.table(by="k % 4", index={})
    fix = lambda: w.index(columns={"k": "values"})  # noqa: E731
    return "SELECT * FROM t WHERE k NOT IN (3, 7)", fix


@case("FILES_WITHOUT_STATISTICS")
def a_new_file(w: World) -> Any:
    w.table()
    w.index()
    w.rows("id < 100").write.mode("append").parquet(w.paths["t"])
    read = lambda: w.spark.read.parquet(w.paths["t"]).where("id >= 100")  # noqa: E731
    return read, lambda: tamis.index(w.spark, w.paths["t"]).refresh()


@case("ONLY_AT_THE_EDGE")
def a_constant_within_a_file(w: World) -> Any:
    w.table(index={})
    return "SELECT * FROM t WHERE id < 150", None


@case("MAY_BE_NAN")
def greater_than_all(w: World) -> Any:
    w.table(index={})
    return "SELECT * FROM t WHERE x > 1400.0D", lambda: w.index(columns={"x": "bounds"})


@case("BOUNDS_DECIDE_SINGLE_VALUES_ONLY")
def turned_around(w: World) -> Any:
    w.table(index={})
    fix = lambda: w.table(by="reverse(tag)", index={"expressions": ["reverse(tag)"]})  # noqa: E731
    return "SELECT * FROM t WHERE reverse(tag) = '3gaT'", fix


@case("BOUNDS_DECIDE_SINGLE_VALUES_ONLY")
def an_ending(w: World) -> Any:
    w.table(index={})
    condition = ["name LIKE '%007'"]
    return (lambda: w.spark.table("t").where(condition[0])), lambda: condition.__setitem__(
        0, "name = 'n0007'"
    )


@case("OR_NEEDS_EVERY_BRANCH")
def a_branch_that_keeps_all(w: World) -> Any:
    w.table(by="k", index={})
    return "SELECT * FROM t WHERE k = 3 OR id = 5", lambda: w.index(columns={"id": "bloom"})


@case("VALUES_MIXED")
def recorded_and_not_clustered(w: World) -> Any:
    what = {"expressions": ["upper(tag)"]}
    w.table(index=what)
    statement = "SELECT * FROM t WHERE upper(tag) = 'TAG3'"
    return statement, lambda: w.table(by="upper(tag)", index=what)


@case("COLUMNS_ARE_COMPARED")
def two_columns(w: World) -> Any:
    w.table(by="k - id", index={})
    return "SELECT * FROM t WHERE id < k", lambda: w.index(expressions=["k - id"])


@case("FUNCTION_NOT_UNDERSTOOD")
def soundex(w: World) -> Any:
    w.table(index={})
    statement = "SELECT * FROM t WHERE soundex(concat(word, tag)) = 'C532'"
    return statement, lambda: w.index(expressions=["soundex(concat(word, tag))"])


@case("FUNCTION_NOT_UNDERSTOOD")
def soundex_and_the_column_itself(w: World) -> Any:
    w.table(index={})
    statements = iter(["soundex(name) = 'n0250'", "name = 'n0250'"])
    current = [next(statements)]
    return (
        lambda: w.spark.table("t").where(current[0]),
        lambda: current.__setitem__(0, next(statements)),
    )


@case("EVALUATED_VALUES_MIXED")
def mixed_values(w: World) -> Any:
    w.table(index={"columns": {"tag": "values"}})
    statement = "SELECT * FROM t WHERE reverse(tag) = '3gaT'"
    return statement, lambda: w.table(by="tag", index={"columns": {"tag": "values"}})


@case("TOO_MANY_VALUES")
def more_values_than_are_evaluated(w: World) -> Any:
    w.table(index={"columns": {"word": "values"}})
    w.set("spark.tamis.evaluateValues.maxValues", "5")
    fix = lambda: w.set("spark.tamis.evaluateValues.maxValues", "10")  # noqa: E731
    return "SELECT * FROM t WHERE soundex(word) = 'C500'", fix


@case("FUNCTION_NOT_DECLARED")
def user_defined(w: World) -> Any:
    from pyspark.sql.types import LongType

    w.table(index={})
    w.spark.udf.register("hundreds", hundreds, LongType())
    statement = "SELECT * FROM t WHERE hundreds(id) = 3"
    return statement, lambda: tamis.declare(w.spark, "hundreds", monotone=hundreds)


@case("DECLARED_FUNCTION")
def declared(w: World) -> Any:
    statement, declare = user_defined(w)
    declare()
    return statement, None


def hundreds(x: int) -> int:
    return x // 100


@case("FUNCTION_NOT_UNDERSTOOD")
def a_lambda(w: World) -> Any:
    w.table(index={})
    statements = ["exists(array(x), e -> e = 7.5D)", "x = 7.5D"]
    return lambda: w.spark.table("t").where(statements[0]), lambda: statements.pop(0)


@case("EXPRESSION_NOT_UNDERSTOOD")
def moved_timestamps(w: World) -> Any:
    w.set(*INT96)
    w.table(index={})
    w.set("spark.sql.parquet.int96TimestampConversion", "true")
    statements = ["ts < TIMESTAMP '1970-02-01'", "id < 31"]
    return lambda: w.spark.table("t").where(statements[0]), lambda: statements.pop(0)


@case("AND_KEEPS_BRANCH")
def part_of_an_and(w: World) -> Any:
    w.table(index={})
    condition = "(id < 500 AND soundex(concat(word, tag)) = 'B532') OR id = 60"
    return f"SELECT * FROM t WHERE {condition}", lambda: w.index(
        expressions=["soundex(concat(word, tag))"]
    )


@case("OR_NEEDS_EVERY_BRANCH")
def part_of_an_or(w: World) -> Any:
    w.table(index={})
    statement = "SELECT * FROM t WHERE id = 5 OR soundex(concat(word, tag)) = 'C532'"
    return statement, lambda: w.index(expressions=["soundex(concat(word, tag))"])


@case("FILTER_NEEDED_BY_JOIN_RULES")
def partitions_of_the_other_side(w: World) -> Any:
    path = w.path("parts")
    w.rows().select("name", "k").write.partitionBy("k").parquet(path)
    w.spark.read.parquet(path).createOrReplaceTempView("parts")
    w.table(index={})
    return "SELECT * FROM parts JOIN t ON parts.k = t.id WHERE t.id < 100", None


@case("FILTER_NEEDED_FOR_BUCKETS")
def a_bucket(w: World) -> Any:
    # 0 and 1 are in different buckets of seven, and in the same bucket of 64
    w.rows().selectExpr("id", "id % 2 AS b").coalesce(1).write.bucketBy(7, "b").saveAsTable("ba")
    tamis.index(w.spark, "ba").build()
    return "SELECT * FROM ba WHERE b = 1", None


# ---- scans ----


@case("OBSERVING")
def observing(w: World) -> Any:
    w.table(index={})
    w.set("spark.tamis.mode", "observe")
    return "SELECT * FROM t WHERE id < 50", lambda: w.set("spark.tamis.mode", "apply")


@case("PLANNER_FAILED")
def no_python(w: World) -> Any:
    w.table(index={})
    bridge = w.spark._jvm.io.tamis.Tamis
    w.set("spark.tamis.python", "/nonexistent/python")
    bridge.restart()

    def mend() -> None:
        w.spark.conf.unset("spark.tamis.python")
        bridge.restart()

    return "SELECT * FROM t WHERE id < 50", mend


# ---- goals ----


@case("MAY_LOSE_FILES")
def files_may_be_missing(w: World) -> Any:
    w.table(index={})
    w.set("spark.sql.files.ignoreMissingFiles", "true")
    mend = lambda: w.set("spark.sql.files.ignoreMissingFiles", "false")  # noqa: E731
    return "SELECT id IS NULL FROM t LIMIT 5", mend


@case("MAY_LOSE_FILES")
def files_may_be_corrupt(w: World) -> Any:
    w.table(index={})
    w.set("spark.sql.files.ignoreCorruptFiles", "true")
    mend = lambda: w.set("spark.sql.files.ignoreCorruptFiles", "false")  # noqa: E731
    return "SELECT max(id) FROM t", mend


@case("LIMIT_NOT_COVERED")
def limit(w: World) -> Any:
    w.table(index={})
    return "SELECT k FROM t WHERE k = 3 LIMIT 5", lambda: w.table(by="k", index={})


@case("LIMIT_NOT_COVERED")
def limit_without_an_index(w: World) -> Any:
    w.table()
    return "SELECT id IS NULL FROM t LIMIT 5", lambda: w.index()


@case("SPLIT_DOES_NOT_PAY")
def split(w: World) -> Any:
    w.table(index={})
    statement = "SELECT sum(id) FROM t WHERE id >= 250 OR name LIKE '%7'"
    return statement, lambda: w.set("spark.tamis.residualSplit.minSaved", "0ms")


@case("PARTITION_GROUPS_SMALL")
def groups_of_partitions(w: World) -> Any:
    w.rows().select("id", "k").repartition(1).write.partitionBy("k").parquet(w.path("t"))
    w.view("t", w.paths["t"])
    statement = "SELECT k, id, count(*) FROM t GROUP BY k, id"
    return statement, lambda: w.set("spark.tamis.partitionGroups.minSize", "0b")


RANKED = "SELECT k, id, rank() OVER (PARTITION BY k ORDER BY id) FROM t"


def sorted_groups(w: World, order: str, files: int = 1) -> None:
    """Write this many files for each k, sorted by an order, and record whether by id."""
    rows = w.rows().select("id", "k").repartition(files)
    rows.createOrReplaceTempView("rows")
    path = w.path("t")
    w.spark.sql(f"SELECT * FROM rows SORT BY k, {order}").write.partitionBy("k").parquet(path)
    w.view("t", path)
    w.set("spark.tamis.partitionGroups.minSize", "0b")
    w.index(sorted_by=["id"])


@case("ORDER_NOT_RECORDED")
def sorted_files_without_a_record(w: World) -> Any:
    sorted_groups(w, "id")
    w.index()
    return RANKED, lambda: w.index(sorted_by=["id"])


@case("FILES_NOT_SORTED")
def files_in_another_order(w: World) -> Any:
    sorted_groups(w, "id DESC")
    return RANKED, lambda: sorted_groups(w, "id")


@case("SORTED_FILES_OVERLAP")
def sorted_files_with_the_same_range(w: World) -> Any:
    sorted_groups(w, "id", files=2)
    return RANKED, lambda: sorted_groups(w, "id")


@case("TOPK_KEY_UNKNOWN")
def sorted_by_int96(w: World) -> Any:
    w.set(*INT96)
    w.table(index={})
    return "SELECT ts FROM t ORDER BY ts LIMIT 5", lambda: w.index(columns={"ts": "bounds"})


@case("TOPK_KEY_UNKNOWN")
def sorted_by_an_expression(w: World) -> Any:
    w.table(index={})
    statement = "SELECT soundex(concat(word, tag)) AS s FROM t ORDER BY s LIMIT 5"
    return statement, lambda: w.index(expressions=["soundex(concat(word, tag))"])


@case("TOPK_NOT_COVERED")
def sorted_and_filtered(w: World) -> Any:
    w.table(index={})
    statement = "SELECT id FROM t WHERE k = 3 ORDER BY id LIMIT 5"
    return statement, lambda: w.table(by="k", index={})


@case("TOPK_SAMPLE_TOO_SMALL")
def sampled_in_vain(w: World) -> Any:
    w.table(index={})
    w.set("spark.tamis.topK.sample.minSaved", "0ms")
    statement = "SELECT id FROM t WHERE tag = 'Tag44' ORDER BY id LIMIT 5"
    assert w.spark.sql(statement).collect() == []
    return statement, lambda: w.index(columns={"tag": "values"})


@case("TOPK_MAY_BE_NAN")
def sorted_by_doubles(w: World) -> Any:
    w.table(index={})
    return "SELECT x FROM t ORDER BY x LIMIT 5", lambda: w.index(columns={"x": "bounds"})


@case("TOPK_RANGES_OVERLAP")
def sorted_and_not_clustered(w: World) -> Any:
    w.table(index={})
    return "SELECT k FROM t ORDER BY k, id LIMIT 5", lambda: w.table(by="k", index={})


@case("KEY_RANGE_UNKNOWN")
def joined_without_an_index(w: World) -> Any:
    w.table(index={})
    w.write("u", w.rows("id < 5").coalesce(1))
    return "SELECT t.id FROM t JOIN u ON t.id = u.id", lambda: w.index("u")


@case("KEY_RANGE_COVERS")
def joined_and_not_clustered(w: World) -> Any:
    w.table(index={})
    w.write("u", w.rows("id = 3").coalesce(1))
    w.index("u")
    return "SELECT t.id FROM t JOIN u ON t.k = u.id", lambda: w.table(by="k", index={})


@case("AGGREGATE_NOT_COVERED")
def counted_without_an_index(w: World) -> Any:
    w.table()
    return "SELECT count(*) FROM t", lambda: w.index()


@case("AGGREGATE_NOT_COVERED")
def counted_and_not_clustered(w: World) -> Any:
    w.table(index={})
    return "SELECT count(*) FROM t WHERE k = 3", lambda: w.table(by="k", index={})


@case("AGGREGATE_NOT_CERTAIN")
def max_of_strings(w: World) -> Any:
    w.table(index={})
    return "SELECT max(name), count(*) FROM t", lambda: w.index(columns={"name": "bounds"})


@case("AGGREGATE_FILTER_NOT_DECIDED")
def filter_clause_that_cuts_every_file(w: World) -> Any:
    w.table(index={})
    return "SELECT count(*) FILTER (WHERE k = 3) FROM t", lambda: w.table(by="k", index={})


@case("AGGREGATE_FILTER_NOT_DECIDED")
def filter_clause_of_other_columns_than_the_groups(w: World) -> Any:
    w.table(index={"aggregates": ["sum(id)"]})
    query = "SELECT sum(id) FILTER (WHERE k % 2 = 0) FROM t"
    return query, lambda: w.table(by="k", index={"aggregates": ["sum(id)"], "by": ["k"]})


@case("AGGREGATE_NOT_UNDERSTOOD")
def min_of_moved_timestamps(w: World) -> Any:
    w.set(*INT96)
    w.table(index={})
    w.set("spark.sql.parquet.int96TimestampConversion", "true")
    return "SELECT min(ts) FROM t", None


@case("AGGREGATE_NOT_RECORDED")
def sum_of_another_column(w: World) -> Any:
    w.table(index={"aggregates": ["sum(k)"]})
    return "SELECT sum(id) FROM t", lambda: w.index(aggregates=["sum(id)"])


@case("AGGREGATE_MAY_OVERFLOW")
def sum_of_large_numbers(w: World) -> Any:
    w.write("t", w.spark.range(0, 2, 1, 2).selectExpr("id + 9000000000000000000 AS a"))
    w.index(aggregates=["sum(a)"])
    return "SELECT try_sum(a) FROM t", None


@case("AGGREGATE_HAS_MANY_GROUPS")
def many_groups(w: World) -> Any:
    frame = w.spark.range(0, 12_000, 1, 24).selectExpr("id", "id AS g")
    w.write("t", frame)
    w.index(aggregates=["sum(id)"], by=["g"])
    return "SELECT g, sum(id) FROM t GROUP BY g", None


# ---- tables ----


@case("TAMIS_IS_OFF")
def disabled(w: World) -> Any:
    w.table(index={})
    w.set("spark.tamis.enabled", "false")
    return "SELECT * FROM t WHERE id < 50", lambda: w.set("spark.tamis.enabled", "true")


@case("TAMIS_IS_OFF")
def mode_off(w: World) -> Any:
    w.table(index={})
    w.set("spark.tamis.mode", "off")
    return "SELECT * FROM t WHERE id < 50", lambda: w.set("spark.tamis.mode", "apply")


@case("EXTENSION_NOT_LOADED")
def without_the_extension(w: World) -> Any:
    from pyspark.sql import SparkSession

    w.table(index={})
    jvm, context = w.spark._jvm, w.spark.sparkContext
    none = jvm.scala.Option.empty()
    nothing = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(jvm.java.util.HashMap())
    bare = jvm.org.apache.spark.sql.classic.SparkSession(
        context._jsc.sc(),
        none,
        none,
        jvm.org.apache.spark.sql.SparkSessionExtensions(),
        nothing,
        nothing,
    )
    sessions = [SparkSession(context, bare), w.spark]
    return lambda: sessions[0].read.parquet(w.paths["t"]).where("id < 50"), lambda: sessions.pop(0)


@case("OTHER_SOURCE")
def a_database(w: World) -> Any:
    driver = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
    jvm = w.spark._jvm
    jvm.System.setProperty(
        "derby.stream.error.file", str(Path(w.path("derby")).with_suffix(".log"))
    )
    jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(driver)
    url = "jdbc:derby:memory:reasons"
    connection = jvm.java.sql.DriverManager.getConnection(f"{url};create=true")
    connection.createStatement().execute("CREATE TABLE numbers (id INT)")
    connection.close()
    frame = w.spark.read.jdbc(url, "numbers", properties={"driver": driver}).where("id = 1")
    return lambda: frame, None


@case("REMOTE_TABLE")
def airport_table(w: World) -> Any:
    part = pa.table({"id": [1, 2, 3]})
    server = w.open(serving({("main", "t"): Served([part])}))
    return lambda: tamis.read_airport(w.spark, server.uri, "main", "t").where("id = 1"), None


@case("REMOTE_FILES")
def files_of_a_server(w: World) -> Any:
    w.rows().select("id", "name").write.parquet(w.path("remote"))
    files = [str(each) for each in Path(w.paths["remote"]).glob("*.parquet")]
    schema = pq.read_schema(files[0])
    served = Served([pa.table({})] * len(files), schema, locations=list(map(parquet, files)))
    server = w.open(serving({("main", "t"): served}))
    return lambda: tamis.read_airport(w.spark, server.uri, "main", "t").where("id = 1"), None


@case("FILE_SOURCE_V2")
def second_file_source(w: World) -> Any:
    w.table(index={})
    w.set("spark.sql.sources.useV1SourceList", "")
    return (
        lambda: w.spark.read.parquet(w.paths["t"]).where("id < 50"),
        lambda: w.set("spark.sql.sources.useV1SourceList", "avro,csv,json,kafka,orc,parquet,text"),
    )


@case("UNSUPPORTED_FORMAT")
def lines_of_text(w: World) -> Any:
    path = w.path("lines")
    w.rows().selectExpr("name AS value").write.text(path)
    w.spark.read.text(path).createOrReplaceTempView("lines")

    def mend() -> None:
        w.write("lines", w.spark.read.text(path).repartitionByRange(FILES, "value"))
        w.index("lines")

    return "SELECT * FROM lines WHERE value = 'n0005'", mend


@case("NOT_PARQUET")
def orc_without_a_filter(w: World) -> Any:
    path = w.path("o")
    w.rows().write.orc(path)
    return lambda: w.spark.read.orc(path), None


@case("BUCKETED")
def bucketed_without_a_filter(w: World) -> Any:
    w.rows().write.bucketBy(4, "id").saveAsTable("bw")
    return "SELECT * FROM bw", None


@case("READS_METADATA")
def metadata(w: World) -> Any:
    w.table(index={})
    columns = ["_metadata.file_name IS NULL", "id IS NULL"]
    frame = w.spark.read.parquet(w.paths["t"])
    return lambda: frame.selectExpr(columns[0]).limit(5), lambda: columns.pop(0)


@case("FOREIGN_FILE_INDEX")
def a_foreign_file_index(w: World) -> Any:
    w.table(index={})
    jvm = w.spark._jvm
    plan = w.spark.table("t")._jdf.queryExecution()
    mine = plan.optimizedPlan().scan().table().fileIndex()
    files = plan.analyzed().collectLeaves().head().relation()
    relation = jvm.org.apache.spark.sql.execution.datasources.HadoopFsRelation(
        mine,
        files.partitionSchema(),
        files.dataSchema(),
        files.bucketSpec(),
        files.fileFormat(),
        files.options(),
        w.spark._jsparkSession,
    )
    from pyspark.sql import DataFrame

    return lambda: DataFrame(
        w.spark._jsparkSession.baseRelationToDataFrame(relation), w.spark
    ), None


@case("STREAMING")
def a_batch_of_a_stream(w: World) -> Any:
    w.table(index={})
    schema = w.spark.read.parquet(w.paths["t"]).schema
    stream = w.spark.readStream.schema(schema).parquet(w.paths["t"]).where("id < 50")
    query = (
        stream.writeStream.format("parquet")
        .option("checkpointLocation", w.path("checkpoint"))
        .trigger(availableNow=True)
        .start(w.path("out"))
    )
    query.awaitTermination()
    execution = query._jsq.streamingQuery().lastExecution()
    plans: list[Any] = [Execution(w.spark, execution), w.spark.table("t").where("id < 50")]
    return lambda: plans[0], lambda: plans.pop(0)


class Execution:
    """A query that has run, in place of a DataFrame. Only `explanation` handles it."""

    def __init__(self, spark: SparkSession, execution: Any) -> None:
        self.spark = spark
        self.execution = execution


@case("PARTITION_COLUMN_IN_FILES")
def partition_column_in_files(w: World) -> Any:
    path = w.path("p")
    w.rows().repartitionByRange(FILES, "id").selectExpr("*", "7 AS p").write.parquet(f"{path}/p=7")
    w.spark.read.parquet(path).createOrReplaceTempView("p")

    def mend() -> None:
        w.path("p")
        frame = w.rows().repartitionByRange(FILES, "id").selectExpr("*", "7 AS p")
        frame.write.partitionBy("p").parquet(w.paths["p"])
        w.spark.read.parquet(w.paths["p"]).createOrReplaceTempView("p")
        w.index("p")

    return "SELECT id FROM p WHERE id < 50", mend


@case("VARIANT_COLUMN")
def variant(w: World) -> Any:
    path = w.path("v")
    frame = w.rows().repartitionByRange(FILES, "id").selectExpr("id", "parse_json('1') AS v")
    frame.write.parquet(path)
    w.index("v")
    readers = [w.spark.read, w.spark.read.schema("id BIGINT")]
    return lambda: readers[0].parquet(path).where("id < 50"), lambda: readers.pop(0)


@case("ROW_INDEX_COLUMN")
def generated_column(w: World) -> Any:
    path = w.path("g")
    frame = (
        w.rows().repartitionByRange(FILES, "id").selectExpr("id", "1L AS _tmp_metadata_row_index")
    )
    frame.write.parquet(path)
    w.index("g")
    readers = [w.spark.read, w.spark.read.schema("id BIGINT")]
    return lambda: readers[0].parquet(path).where("id < 50"), lambda: readers.pop(0)


@case("MATCHED_BY_FIELD_ID")
def field_ids(w: World) -> Any:
    from pyspark.sql.types import LongType, StructType

    key = "spark.sql.parquet.fieldId.read.enabled"
    w.table(index={})
    schema = StructType().add("id", LongType(), True, {"parquet.field.id": 1})
    w.set(key, "true")
    w.set("spark.sql.parquet.fieldId.read.ignoreMissing", "true")
    return (
        lambda: w.spark.read.schema(schema).parquet(w.paths["t"]).where("id < 50"),
        lambda: w.set(key, "false"),
    )


@case("OTHER_SESSION")
def view_of_another_session(w: World) -> Any:
    key = "spark.sql.parquet.datetimeRebaseModeInRead"
    w.table(index={})
    other = w.spark.newSession()
    other.conf.set(key, "LEGACY")
    other.read.parquet(w.paths["t"]).createOrReplaceGlobalTempView("of_another_session")
    statement = "SELECT * FROM global_temp.of_another_session WHERE id < 50"
    return statement, lambda: w.set(key, "LEGACY")


def with_metadata(w: World, *conditions: str) -> tuple[Query, Fix]:
    """Return a query that stays Spark's own relation, and its fix.

    The conditions: the first one, and one after the fix.
    """
    w.table(index={})
    left = list(conditions)
    frame = w.spark.read.parquet(w.paths["t"]).select("id", "_metadata.file_name", "_metadata")
    return lambda: frame.where(left[0]).drop("_metadata"), lambda: left.pop(0)


@case("FILE_INDEX_SWAP_IS_OFF")
def swap_is_off(w: World) -> Any:
    query, _ = with_metadata(w, "id < 50")
    w.set("spark.tamis.fileIndexSwap.enabled", "false")
    return query, lambda: w.set("spark.tamis.fileIndexSwap.enabled", "true")


@case("NO_FILTER")
def no_filter(w: World) -> Any:
    return with_metadata(w, "true", "id < 50")


@case("NO_FILTER")
def not_deterministic(w: World) -> Any:
    """Spark keeps the conjuncts of the second filter apart, and the conjunct over id prunes."""
    frame = w.rows().select("id", "name").repartitionByRange(FILES, "id")
    frame.write.bucketBy(4, "id").saveAsTable("rb")
    tamis.index(w.spark, "rb").build()
    conditions = ["rand() < 2", "id < 50 AND rand() < 2"]
    return lambda: w.spark.table("rb").where(conditions[0]), lambda: conditions.pop(0)


@case("FILTER_WITHOUT_FILE_COLUMNS")
def not_about_rows(w: World) -> Any:
    condition = "_metadata.file_size > 0"
    return with_metadata(w, condition, f"{condition} AND id < 50")


@case("NOTHING_GAINED")
def orc_without_an_index(w: World) -> Any:
    path = w.path("o")
    w.rows().select("id", "name").repartitionByRange(FILES, "id").write.orc(path)
    reader = w.spark.read.format("orc").schema("id LONG, name STRING")
    return (
        lambda: reader.load(path).where("id < 50"),
        lambda: tamis.index(w.spark, path, reader=reader).build(),
    )


# ---- checks for all cases ----

#: Reasons of tests without Spark: tests/classification/test_reasons.py, plan/test_scan_decision.py and
# serve/test_detail.py.
ELSEWHERE = {
    # tests/spark/test_evaluated_values.py
    "EVALUATION_FAILED",
    "EVALUATION_STOPPED",
    "NOT_ON_PARTITION_BOUNDARY",
    "PARTITION_VALUE_IS_COARSE",
    "PARTITION_VALUE_PROVES_NOTHING",
    "CONSTANTS_NOT_COMPARABLE",
    "SPLIT_NOT_NEEDED",
    "PARTITION_GROUPS_UNEVEN",  # needs several cores: GroupSizesSuite
    "SIDECAR_STARTING",  # tests/launch/test_early_query.py
    "ONLY_IMPLIED_RANGES",  # LeftToSparkSuite
    # of tables whose formats need jars: tests/formats
    "DELTA_CHOSE_NO_FILES",
    "DELTA_DELETION_VECTORS_AND_METADATA",
    "DELTA_EXECUTORS_LACK_JAR",  # needs a cluster: DeltaFilesSuite
    "DELTA_LISTED_AFTER_TAMIS",
    "DELTA_READER_IS_OFF",
    "DELTA_RELATION",
    "DELTA_UNKNOWN_FEATURE",
    "ICEBERG_CATALOG_PLANS",
    "ICEBERG_ENCRYPTED",
    "ICEBERG_FILE_IO",
    "ICEBERG_METADATA_COLUMNS",
    "ICEBERG_NO_SNAPSHOT",
    "ICEBERG_READ_OPTIONS",
    "ICEBERG_UNREADABLE",
    "ICEBERG_VERSION",  # IcebergTableSuite
}

#: Reasons whose fix changes how files are read, and not how many.
UNCHANGED_FILE_COUNT = {
    "FILES_NOT_SORTED",
    "ORDER_NOT_RECORDED",
    "PARTITION_GROUPS_SMALL",
    "READER_LOSES_ROWS",
    "SORTED_FILES_OVERLAP",
    "SPLIT_DOES_NOT_PAY",
}


def explanation(frame: Any) -> dict[str, Any]:
    """Return the document of `tamis.explain`."""
    if isinstance(frame, Execution):
        import json

        report = frame.spark._jvm.io.tamis.report.ScanReport
        return dict(json.loads(report.explained(frame.execution).toString()))
    return tamis.explain(frame).to_dict()


def reasons(document: dict[str, Any]) -> list[dict[str, Any]]:
    reported = []
    for scan in document["scans"]:
        reported += [each["reason"] for each in (*scan["conjuncts"], *scan["goals"])]
        reported.append(scan["fallback_reason"])
    reported += [each for relation in document["left_to_spark"] for each in relation["reasons"]]
    return [each for each in reported if each]


def files(document: dict[str, Any]) -> float:
    """Return the number of files read by the plan.

    Infinite for relations that are left to Spark: they read all files, and that number is unknown.
    """
    if document["left_to_spark"]:
        return float("inf")
    read = (
        scan["files_read"] if scan["observed"] else scan["files_kept"] for scan in document["scans"]
    )
    return float(sum(read))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize(
    ("code", "make_case"), CASES, ids=[f"{code}-{make_case.__name__}" for code, make_case in CASES]
)
def test_fix_removes_the_reason(
    spark: SparkSession, tmp_path: Path, written: Path, code: str, make_case: Case
) -> None:
    world = World(spark, tmp_path, written)
    with world.resources:
        check(code, *make_case(world), spark)


def check(code: str, query: Query | str, fix: Fix | None, spark: SparkSession) -> None:
    if isinstance(query, str):
        statement = query
        query = lambda: spark.sql(statement)  # noqa: E731
    before = explanation(query())
    (why, *_) = [each for each in reasons(before) if each["code"] == code] or [None]
    assert why is not None, f"{code} is not among {reasons(before)}"
    assert why["text"]
    assert all(each["code"] in REASONS for each in reasons(before))
    if REASONS[code].fix is None:
        assert fix is None
        return
    assert why["fix"]
    assert "(spark, path" not in why["fix"]  # a path or table that can be pasted
    assert fix is not None, "a fix is offered, and no test applies it"
    fix()
    frame = query()
    after = explanation(frame)
    assert code not in [each["code"] for each in reasons(after)]
    if code not in UNCHANGED_FILE_COUNT:
        assert files(after) < files(before)
        total = sum(scan["files_total"] for scan in after["scans"])
        assert files(after) < total or after["answered"]
    expected = rows(frame)
    spark.conf.set("spark.tamis.enabled", "false")
    assert rows(query()) == expected


def test_every_code_has_a_case() -> None:
    reached = {code for code, _ in CASES}
    assert reached.isdisjoint(ELSEWHERE)
    assert reached | ELSEWHERE == set(REASONS)
