"""Recorded registers of approx_count_distinct give exactly the results of plain Spark."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.errors import StatisticsIndexError
from tamis.indexing.build.rows import group_aggregation
from tamis.indexing.format import groups
from tests.spark.conftest import kept, read_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]

NAN = float("nan")
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flag": (pa.bool_(), [True, False]),
    "tiny": (pa.int8(), [*range(-128, 128)]),
    "whole": (pa.int32(), [*range(2000)]),
    "long": (pa.int64(), [2**62, -(2**63), *range(50)]),
    "single": (pa.float32(), [0.0, -0.0, NAN, 1.5, float("inf")]),
    "number": (pa.float64(), [0.0, -0.0, NAN, -NAN, 1.5, 1e300]),
    "price": (pa.decimal128(9, 2), [Decimal(k) / 4 for k in range(300)]),
    "wide": (pa.decimal128(38, 5), [Decimal(3) ** k for k in range(60)]),
    "text": (pa.string(), ["", "a", "ß", "A", *map(str, range(3000))]),
    "raw": (pa.binary(), [b"", b"\0", b"\xff\xfe", b"a" * 2000]),
    "day": (pa.date32(), [*range(0, 20_000, 7)]),
    "instant": (pa.timestamp("us", "UTC"), [*range(0, 10**15, 10**12)]),
    "local": (pa.timestamp("us"), [*range(0, 10**15, 10**12)]),
}
EXPRESSIONS = ("upper(text)", "whole % 100", "price * 2")
#: 16, 512 and 4096 registers.
DEVIATIONS = (0.39, 0.05, 0.02)


def files_of(path: Path) -> None:
    """Write six files with other values, clustered by id; one has no rows and one only NULL."""
    path.mkdir()
    rng = random.Random(3)
    for k, rows in enumerate([400, 1, 0, 700, 30, 2500]):
        columns = {"id": pa.array(range(k * 10_000, k * 10_000 + rows), pa.int64())}
        columns["g"] = pa.array([rng.choice([None, "x", "y"]) for _ in range(rows)], pa.string())
        for name, (kind, pool) in TYPES.items():
            some = [None] if k == 4 else [None, *rng.sample(pool, rng.randint(1, len(pool)))]
            cells = [rng.choice(some) for _ in range(rows)]
            storage = {"day": pa.int32(), "instant": pa.int64(), "local": pa.int64()}.get(name)
            columns[name] = pa.array(cells, storage or kind).cast(kind)
        pq.write_table(pa.table(columns), path / f"f{k}.parquet")


@pytest.fixture(scope="module")
def values_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("values") / "values"
    files_of(path)
    calls = [f"approx_count_distinct({name})" for name in (*TYPES, *EXPRESSIONS)]
    calls += [f"approx_count_distinct(text, {each})" for each in DEVIATIONS]
    calls += ["approx_count_distinct(long, 0.02D)", "sum(whole)", "count(*)"]
    tamis.index(spark_session, str(path)).add(aggregates=calls, by=["g"])
    return str(path)


@pytest.fixture
def values(spark: SparkSession, values_path: str) -> DataFrame:
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    frame = read_parquet(spark, values_path)
    frame.createOrReplaceTempView("v")
    return frame


EVERYTHING = ", ".join(f"approx_count_distinct({name})" for name in (*TYPES, *EXPRESSIONS))
TEXTS = ", ".join(f"approx_count_distinct(text, {each})" for each in DEVIATIONS)
# statement | files that are read, of 6
STATEMENTS = [
    (f"SELECT {EVERYTHING}, {TEXTS} FROM v", []),
    (f"SELECT g, {EVERYTHING}, sum(whole) FROM v GROUP BY g", []),
    (f"SELECT g, {EVERYTHING}, {TEXTS}, count(*) FROM v WHERE id >= 30100 GROUP BY g", [1]),
    (f"SELECT {EVERYTHING}, {TEXTS} FROM v WHERE id BETWEEN 7 AND 50009", [2]),
    (f"SELECT {EVERYTHING} FROM v WHERE id < 0", []),
    ("SELECT approx_count_distinct(text), approx_count_distinct(day) FROM v WHERE id < 3", [1]),
    ("SELECT APPROX_COUNT_DISTINCT(Text, 0.02BD), approx_count_distinct(long, 2E-2) FROM v", []),
    ("SELECT approx_count_distinct(text), count(*) FROM v WHERE g = 'x'", []),
    ("SELECT approx_count_distinct(text), max(id) FROM v WHERE g = 'x'", [4]),
    # FILTER and grouping sets
    ("SELECT approx_count_distinct(text) FILTER (WHERE g = 'x'), count(*) FROM v", []),
    ("SELECT approx_count_distinct(day) FILTER (WHERE id < 20000) FROM v", []),
    ("SELECT g, approx_count_distinct(day) FILTER (WHERE id < 0) FROM v GROUP BY g", []),
    ("SELECT approx_count_distinct(day) FILTER (WHERE id < 9) FROM v WHERE g = 'x'", [1]),
    ("SELECT g, approx_count_distinct(raw), approx_count_distinct(tiny) FROM v GROUP BY CUBE(g)", []),
    ("SELECT g, approx_count_distinct(text, 0.39) FROM v WHERE id > 8 GROUP BY ROLLUP(g)", [1]),
    ("SELECT g FROM v GROUP BY g HAVING approx_count_distinct(text) + 1 > 40", []),
    # not recorded
    ("SELECT approx_count_distinct(day, 0.02) FROM v", [6]),
    ("SELECT approx_count_distinct(id) FROM v", [6]),
    ("SELECT approx_count_distinct(lower(text)) FROM v", [6]),
    ("SELECT approx_count_distinct(DISTINCT text) FROM v", [6]),
    ("SELECT approx_count_distinct(text COLLATE UTF8_LCASE) FROM v", [6]),
    ("SELECT approx_count_distinct(struct(text)), approx_count_distinct(array(whole)) FROM v", [6]),
    ("SELECT approx_count_distinct(text), approx_count_distinct(id % 7) FROM v", [6]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "files"), STATEMENTS, ids=[s for s, _ in STATEMENTS])
def test_registers_answer_as_spark(
    values: DataFrame, same: Same, statement: str, files: list[int]
) -> None:
    assert kept(same(statement)) == files


def test_registers_in_compiled_code(spark: SparkSession, same: Same, values_path: str) -> None:
    read_parquet(spark, values_path).createOrReplaceTempView("v")
    assert kept(same(f"SELECT g, {TEXTS} FROM v WHERE id > 8 GROUP BY ROLLUP(g)")) == [1]
    assert kept(same(f"SELECT {TEXTS} FROM v")) == []


def test_output_is_unchanged(values: DataFrame) -> None:
    spark = values.sparkSession
    statement = "SELECT g, approx_count_distinct(text) AS n FROM v WHERE id > 8 GROUP BY g"
    schemas = []
    for enabled in ("false", "true"):
        spark.conf.set("spark.tamis.enabled", enabled)
        fields = spark.sql(statement)._jdf.queryExecution().optimizedPlan().schema().fields()
        schemas.append([(f.name(), f.dataType().json(), f.nullable()) for f in fields])
    assert schemas[0] == schemas[1]
    (scan,) = tamis.explain(spark.sql(statement)).to_dict()["scans"]
    goal = "approx_count_distinct(text) BY g: 4 files answered from statistics"
    assert scan["goals"][0]["goal"] == goal
    (scan,) = tamis.why_not(spark.sql("SELECT approx_count_distinct(id) FROM v")).to_dict()["scans"]
    assert scan["goals"][0]["reason"]["code"] == "AGGREGATE_NOT_RECORDED"


def test_registers_of_another_version_of_spark_are_not_used(
    spark: SparkSession, same: Same, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    spark.range(0, 40, 1, 4).write.parquet(str(path))
    statement = f"SELECT approx_count_distinct(id) FROM parquet.`{path}`"
    index = tamis.index(spark, str(path))
    with monkeypatch.context() as patched:
        patched.setattr(type(spark), "version", property(lambda _: "4.0.0"))
        index.build(aggregates=["approx_count_distinct(id)"])
    assert kept(same(statement)) == [4]
    index.refresh()  # computes them again
    assert kept(same(statement)) == []
    (recorded,) = index.describe().to_dict()["recorded"]
    assert (recorded["kind"], recorded["files"]) == ("approx_count_distinct", 4)


def test_files_with_many_registers_are_read(
    spark: SparkSession, same: Same, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    rows = spark.range(0, 40, 1, 2).selectExpr("id", "IF(id < 20, 1, id) AS g")
    rows.write.parquet(str(path))
    monkeypatch.setattr(groups, "_MOST_BYTES", 3 * 416)
    index = tamis.index(spark, str(path))
    index.build(aggregates=["approx_count_distinct(id)", "count(id)"], by=["g"])
    table = f"parquet.`{path}`"
    assert kept(same(f"SELECT approx_count_distinct(id) FROM {table}")) == [1]
    assert kept(same(f"SELECT g, count(id) FROM {table} GROUP BY g")) == []


def test_registers_need_the_jar_on_executors(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t")
    spark.range(4).write.parquet(path)
    monkeypatch.setattr(group_aggregation, "aggregated", lambda *_, **__: None)
    with pytest.raises(StatisticsIndexError, match="pass it to --jars"):
        tamis.index(spark, path).build(aggregates=["approx_count_distinct(id)"])


# aggregate | part of the error
REFUSED = [
    ("approx_count_distinct(id, 0.001)", "such as 0.01"),
    ("approx_count_distinct(id, 0.5)", "at most 0.39"),
    ("approx_count_distinct(id, 0)", "above 0"),
    ("approx_count_distinct(DISTINCT id)", "leave DISTINCT out"),
    ("approx_count_distinct(id, id)", "cannot be analyzed"),
    ("approx_count_distinct(array(id))", "cannot be aggregated"),
    ("approx_count_distinct(id > 1)", "of a predicate"),
]


@pytest.mark.parametrize(("aggregate", "error"), REFUSED)
def test_requests_that_are_refused(
    spark: SparkSession, tmp_path: Path, aggregate: str, error: str
) -> None:
    pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), tmp_path / "one.parquet")
    with pytest.raises(StatisticsIndexError, match=error):
        tamis.index(spark, str(tmp_path)).build(aggregates=[aggregate])
