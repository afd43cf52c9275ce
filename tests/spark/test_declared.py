"""Predicates over user-defined functions with declared properties, end to end."""

from __future__ import annotations

import datetime
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.functions import col, udf
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType

import tamis
from tests.spark.conftest import kept, rows, scans

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

Same = "Callable[[str], DataFrame]"
CONF = "spark.tamis.declarations"


def discretize(x: int) -> int:
    return x // 100


def conjunct(frame: DataFrame, part: str) -> dict[str, Any]:
    (scan,) = scans(frame)
    (match,) = [each for each in scan["conjuncts"] if part in each["sql"]]
    return dict(match)


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan())


def warnings(spark: SparkSession) -> list[str]:
    return [str(each) for each in spark._jvm.io.tamis.Tamis.warnings()]


def test_undeclared_function_prunes_nothing_and_suggests_a_declaration(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    spark.udf.register("discretize", discretize, LongType())
    frame = same("SELECT * FROM events WHERE discretize(id) = 3")
    assert kept(frame) == [10]
    info = conjunct(frame, "discretize")
    assert info["pushdown"] == "unsupported"
    assert info["reason"]["code"] == "FUNCTION_NOT_DECLARED"
    assert 'tamis.declare(spark, "discretize"' in info["reason"]["fix"]


@pytest.mark.parametrize(
    ("predicate", "files"),
    [
        ("discretize(id) = 3", 1),
        ("discretize(id) IN (2, 7)", 2),
        ("discretize(id) > 7", 2),
        ("discretize(id) = 10", 0),
        ("NOT (discretize(id) < 9)", 1),
        ("discretize(id) = 3 OR id = 5", 2),
        ("discretize(id) + 1 = 3", 1),
        ("discretize(id + 100) = 3", 1),
        ("discretize(id) = 3 AND amount IS NOT NULL", 1),
        ("discretize(id) IS NULL", 10),
    ],
)
def test_monotone_function_prunes_and_its_filter_stays(
    spark: SparkSession, events: DataFrame, same: Same, predicate: str, files: int
) -> None:
    spark.udf.register("discretize", discretize, LongType())
    tamis.declare(spark, "discretize", monotone=discretize)
    frame = same(f"SELECT * FROM events WHERE {predicate}")
    assert kept(frame) == [files]
    info = conjunct(frame, "discretize")
    assert info["pushdown"] == "inexact"
    assert info["reason"]["code"] == "DECLARED_FUNCTION"
    assert "BatchEvalPython" in plan(frame)


@pytest.mark.parametrize("predicate", ["discretize(id) >= 0", "NOT (discretize(id) <=> 77)"])
def test_predicate_true_by_declaration_stays_in_the_plan(
    spark: SparkSession, events: DataFrame, same: Same, predicate: str
) -> None:
    spark.udf.register("discretize", discretize, LongType())
    tamis.declare(spark, "discretize", monotone=discretize)
    frame = same(f"SELECT * FROM events WHERE {predicate}")
    assert conjunct(frame, "discretize")["pushdown"] == "inexact"
    assert "BatchEvalPython" in plan(frame)


def test_decreasing_function_prunes(spark: SparkSession, events: DataFrame, same: Same) -> None:
    spark.udf.register("rank", lambda x: 1000 - x, LongType())
    tamis.declare(spark, "rank", monotone=lambda x: 1000 - x, increasing=False, types=["BIGINT"])
    assert kept(same("SELECT * FROM events WHERE rank(id) < 50")) == [1]


def test_declared_image_prunes(spark: SparkSession, events: DataFrame, same: Same) -> None:
    def wobble(x: int) -> int:
        return x // 100 * 2 + x % 2

    def image(lower: int, upper: int) -> tuple[int, int]:
        return lower // 100 * 2, upper // 100 * 2 + 1

    spark.udf.register("wobble", wobble, LongType())
    with pytest.raises(tamis.DeclarationError, match="wobble is declared never to decrease"):
        tamis.declare(spark, "wobble", monotone=wobble)
    with pytest.raises(tamis.DeclarationError, match="is 0 to 0, but wobble"):
        tamis.declare(spark, "wobble", image=lambda *x: tuple(map(wobble, x)), body=wobble)
    tamis.declare(spark, "wobble", image=image, body=wobble, types=["INT"])
    assert kept(same("SELECT * FROM events WHERE wobble(id) = 7")) == [1]
    assert kept(same("SELECT * FROM events WHERE wobble(id) IN (0, 9)")) == [2]


@pytest.mark.parametrize("arrow", [False, True])
def test_declared_function_of_dates_prunes(
    spark: SparkSession, events: DataFrame, same: Same, arrow: bool
) -> None:
    if arrow:
        pytest.importorskip("pandas")
    year = udf(lambda d: d.year if d else None, IntegerType(), useArrow=arrow)
    spark.udf.register("year_of", year)
    tamis.declare(spark, "year_of", monotone=lambda d: d.year if d else None, types=["DATE"])
    assert kept(same("SELECT * FROM events WHERE year_of(day) = 1996")) == [5]
    cents = udf(lambda x: None if x is None else int(x * 100), LongType(), useArrow=arrow)
    spark.udf.register("cents", cents)
    tamis.declare(spark, "cents", monotone=cents, types=["DECIMAL"])
    assert kept(same("SELECT * FROM events WHERE cents(amount) = 30150")) == [1]
    spark.udf.register("late", udf(lambda x: x > 750, BooleanType(), useArrow=arrow))
    tamis.declare(spark, "late", monotone=lambda x: x > 750, types=["BIGINT"])
    assert kept(same("SELECT * FROM events WHERE late(id)")) == [3]
    assert kept(same("SELECT * FROM events WHERE NOT late(id)")) == [8]
    first = udf(lambda s: s[:2], StringType(), useArrow=arrow)
    spark.udf.register("first_two", first)
    tamis.declare(spark, "first_two", monotone=first, types=["STRING"])
    assert kept(same("SELECT * FROM events WHERE first_two(name) = 'n1'")) == [0]


def test_other_arguments_must_be_constants(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    def bucketize(x: int, n: int) -> int:
        return x // n

    spark.udf.register("bucketize", bucketize, LongType())
    with pytest.raises(tamis.DeclarationError, match=r"bucketize\(.*, -1\) = "):
        tamis.declare(spark, "bucketize", monotone=bucketize)
    tamis.declare(spark, "bucketize", monotone=bucketize, constants=[range(1, 1000)])
    assert kept(same("SELECT * FROM events WHERE bucketize(id, 100) = 3")) == [1]
    assert kept(same("SELECT * FROM events WHERE bucketize(id, 50) = 3")) == [1]
    # Constants that the declaration does not cover, and an argument that is not constant.
    assert kept(same("SELECT * FROM events WHERE bucketize(id, -100) = -3")) == [10]
    assert kept(same("SELECT * FROM events WHERE bucketize(id, item.sku + 1) = 0")) == [10]


def test_function_is_evaluated_for_null_and_nan(
    spark: SparkSession, folder: str, same: Same
) -> None:
    spark.range(1000).selectExpr(
        "id", "IF(id BETWEEN 300 AND 399, NULL, id) AS n", "IF(id = 250, DOUBLE('NaN'), id) AS d"
    ).repartitionByRange(10, "id").write.parquet(folder + "/t")
    tamis.index(spark, folder + "/t").build()
    spark.read.parquet(folder + "/t").createOrReplaceTempView("t")

    def or_seven(x: int | None) -> int:
        return 7 if x is None else x // 100

    spark.udf.register("or_seven", or_seven, LongType())
    tamis.declare(spark, "or_seven", monotone=or_seven)
    assert kept(same("SELECT * FROM t WHERE or_seven(n) = 7")) == [2]
    assert kept(same("SELECT * FROM t WHERE or_seven(n) = 3")) == [0]
    # It raises for NULL: a file with NULL is read.
    spark.udf.register("plain", lambda x: x // 100, LongType())
    tamis.declare(spark, "plain", monotone=lambda x: x // 100, types=["BIGINT"])
    frame = spark.sql("SELECT * FROM t WHERE plain(n) = 5 AND id > 500")
    assert "3" not in str(kept(frame))
    assert kept(spark.sql("SELECT * FROM t WHERE plain(n) = 5")) == [2]

    def whole(x: float) -> float:
        return -1.0 if x != x else float(int(x / 100))

    spark.udf.register("whole", whole, "double")
    tamis.declare(spark, "whole", monotone=whole)
    frame = same("SELECT * FROM t WHERE whole(d) = -1.0")
    assert len(rows(frame)) == 1


def test_refuted_declaration_prunes_nothing(spark: SparkSession) -> None:
    with pytest.raises(tamis.DeclarationError, match=r"last\(-1\) = 1 and last\(0\) = 0"):
        tamis.declare(spark, "last", monotone=lambda x: abs(x) % 10, types=["INT"])
    assert spark.conf.get(CONF, None) is None


def test_broken_declaration_is_unknown_and_warned_once(
    spark: SparkSession, events: DataFrame, same: Same, tmp_path: Path
) -> None:
    spark.udf.register("discretize", discretize, LongType())
    statement = "SELECT * FROM events WHERE discretize(id) = 3"
    for entry, says in [
        (str(tmp_path / "declared-1-2"), "is not in the private directory"),
        ("no_such_module:CONTRACT", "No module named 'no_such_module'"),
        ("json:dumps", "is neither a tamis.Contract nor a list"),
        ("tamis.errors:ConfError", "is neither a tamis.Contract nor a list"),
    ]:
        spark.conf.set(CONF, entry)
        assert kept(same(statement)) == [10]
        assert kept(same(statement)) == [10]
        assert len([each for each in warnings(spark) if says in each and entry in each]) == 1
    tamis.declare(spark, "discretize", monotone=discretize)
    assert kept(same(statement)) == [1]


def test_function_is_declared_and_registered_again(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    statement = "SELECT * FROM events WHERE discretize(id) = 3"
    spark.udf.register("discretize", discretize, LongType())
    tamis.declare(spark, "discretize", monotone=discretize)
    assert kept(same(statement)) == [1]
    # Another function has the name: declarations of the old one do not apply to it.
    spark.udf.register("discretize", lambda x: 9 - x // 100, LongType())
    assert kept(same(statement)) == [10]
    assert any("is not the function that was declared" in each for each in warnings(spark))
    tamis.declare(
        spark, "discretize", monotone=lambda x: 9 - x // 100, increasing=False, types=["BIGINT"]
    )
    frame = same(statement)
    assert kept(frame) == [1]
    assert {row.id for row in frame.collect()} == set(range(600, 700))
    assert len(spark.conf.get(CONF).split(",")) == 1


def test_sessions_do_not_share_declarations(spark: SparkSession, events_path: str) -> None:
    other = spark.newSession()
    for session, size in ((spark, 100), (other, 500)):
        session.read.parquet(events_path).createOrReplaceTempView("events")
        session.udf.register("part", _parts(size), LongType())
        tamis.declare(session, "part", monotone=_parts(size))
    statement = "SELECT * FROM events WHERE part(id) = 1"
    assert kept(spark.sql(statement)) == [1]
    assert kept(other.sql(statement)) == [5]
    assert len(rows(spark.sql(statement))) == 100
    assert len(rows(other.sql(statement))) == 500
    assert kept(spark.newSession().read.parquet(events_path).where("id = 1")) == [1]
    spark.conf.unset(CONF)
    assert kept(spark.sql(statement)) == [10]
    assert kept(other.sql(statement)) == [5]


def _parts(size: int) -> Callable[[int], int]:
    def part(x: int) -> int:
        return x // size

    return part


def test_restarted_sidecar_keeps_declarations(
    spark: SparkSession, events: DataFrame, same: Same
) -> None:
    spark.udf.register("discretize", discretize, LongType())
    tamis.declare(spark, "discretize", monotone=discretize)
    assert kept(same("SELECT * FROM events WHERE discretize(id) = 4")) == [1]
    spark._jvm.io.tamis.Tamis.restart()
    assert kept(same("SELECT * FROM events WHERE discretize(id) = 4")) == [1]


def test_declaration_of_an_unregistered_udf(spark: SparkSession, events: DataFrame) -> None:
    tens = udf(lambda x: x // 100, LongType())
    tamis.declare(spark, tens, monotone=tens, types=["BIGINT"])
    frame = events.where(tens(col("id")) == 3)
    assert kept(frame) == [1]
    assert frame.count() == 100
    # Another function with the same name, "<lambda>".
    other = udf(lambda x: 9 - x // 100, LongType())
    assert kept(events.where(other(col("id")) == 3)) == [10]
    tamis.declare(spark, other, monotone=other, increasing=False, types=["BIGINT"])
    both = events.where((other(col("id")) == 6) & (tens(col("id")) == 3))
    assert kept(both) == [1]
    assert both.count() == 100


@pytest.mark.parametrize("body", ["raises", "exits", "hangs", "loops"])
def test_misbehaving_function_in_the_sidecar(
    spark: SparkSession, events: DataFrame, body: str
) -> None:
    driver = os.getpid()

    def misbehave(x: int) -> int:
        if os.getpid() == driver:
            return x // 100
        if body == "raises":
            raise ValueError(x)
        if body == "exits":
            sys.exit(3)
        if body == "hangs":
            time.sleep(60)
        while True:
            pass

    spark.udf.register("misbehave", lambda x: x // 100, LongType())
    tamis.declare(spark, "misbehave", monotone=misbehave)
    frame = spark.sql("SELECT * FROM events WHERE misbehave(id) = 3 AND id < 500")
    assert kept(frame) == [5]
    assert frame.count() == 100
    assert len(rows(spark.sql("SELECT * FROM events WHERE misbehave(id) = 3"))) == 100


def test_random_function_stays_opaque(spark: SparkSession, events: DataFrame) -> None:
    unstable = udf(lambda x: x // 100, LongType()).asNondeterministic()
    spark.udf.register("unstable", unstable)
    tamis.declare(spark, "unstable", monotone=lambda x: x // 100, types=["BIGINT"])
    assert kept(spark.sql("SELECT * FROM events WHERE unstable(id) = 3")) == [10]


@pytest.fixture(scope="module")
def half_hours(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 960 timestamps, one for each half hour, in 20 indexed files."""
    path = str(tmp_path_factory.mktemp("half_hours") / "t")
    session = spark_session.newSession()
    # Other kinds have no statistics.
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    session.range(960).selectExpr(
        "id", "timestamp_seconds(1711800000 - 10 * 86400 + id * 1800) AS ts"
    ).repartitionByRange(20, "id").write.parquet(path)
    tamis.index(session, path).build()
    return path


@pytest.mark.parametrize(
    ("zone", "arrow"),
    [
        *(("UTC", False), ("America/New_York", False), ("Pacific/Apia", False), ("+05:30", False)),
        *(("America/New_York", True), ("+05:30", True)),
    ],
)
def test_functions_of_timestamps_in_any_zone(
    spark: SparkSession, half_hours: str, zone: str, arrow: bool
) -> None:
    """Functions see local time of the worker's or the session's zone, also around clock changes."""
    if arrow:
        pytest.importorskip("pandas")
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.read.parquet(half_hours).createOrReplaceTempView("t")
    spark.udf.register("day_of", udf(lambda x: x.toordinal(), LongType(), useArrow=arrow))
    spark.udf.register("start_of", udf(_start_of, "timestamp", useArrow=arrow))
    tamis.declare(spark, "day_of", monotone=lambda x: x.toordinal(), types=["TIMESTAMP"])
    tamis.declare(spark, "start_of", monotone=_start_of)
    spark.conf.set("spark.tamis.enabled", "false")
    images = spark.sql("SELECT id, day_of(ts), CAST(start_of(ts) AS STRING) FROM t").collect()
    spark.conf.set("spark.tamis.enabled", "true")
    days: dict[int, list[int]] = {}
    starts: dict[str, list[int]] = {}
    for number, day, start in images:
        days.setdefault(day, []).append(number)
        starts.setdefault(start, []).append(number)
    for day in sorted(days)[::4]:
        frame = spark.sql(f"SELECT id FROM t WHERE day_of(ts) = {day}")
        assert sorted(row.id for row in frame.collect()) == sorted(days[day])
        assert 1 <= kept(frame)[0] <= 4
    for start in sorted(starts)[::4]:
        frame = spark.sql(f"SELECT id FROM t WHERE start_of(ts) = TIMESTAMP '{start}'")
        assert sorted(row.id for row in frame.collect()) == sorted(starts[start])
        assert 1 <= kept(frame)[0] <= 6


def _start_of(x: datetime.datetime) -> datetime.datetime:
    return x.replace(hour=0, minute=0, second=0, microsecond=0)


def test_declared_scala_function_of_a_primitive_prunes(
    spark: SparkSession, events: DataFrame
) -> None:
    """Spark calls it only where its argument is not NULL: IF(x IS NULL, NULL, f(x))."""
    pytest.importorskip("numpy")
    from pyspark.ml.feature import Bucketizer

    splits = [0.0, 100.0, 250.0, 800.0, 1000.0]
    stage = Bucketizer(splits=splits, inputCol="d", outputCol="bucket")
    frame = events.selectExpr("id", "double(id) AS d")
    filtered = stage.transform(frame).where("bucket = 1.0")
    (scan,) = scans(filtered)
    (undeclared,) = [each for each in scan["conjuncts"] if each.get("reason")]
    assert undeclared["reason"]["code"] == "FUNCTION_NOT_DECLARED"
    assert kept(filtered) == [10]
    name = undeclared["reason"]["text"].split(" in ")[0]
    tamis.declare(spark, name, monotone=lambda x: float(sum(x >= each for each in splits) - 1))
    filtered = stage.transform(frame).where("bucket = 1.0")
    assert kept(filtered) == [2]
    assert filtered.count() == 150
