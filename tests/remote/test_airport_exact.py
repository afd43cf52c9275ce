"""What Spark does with what an Airport server declares and knows."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import Applied, JoinKeys, ReadRequest, RemoteError
from tests.remote.airport_server import AirportServer, Served, serving

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

from tamis.expr.nodes import Column, Compare, Comparison, Literal, Not
from tamis.expr.types import LONG

N = Column(("n",), LONG)
OVER_5 = Compare(Comparison.GREATER, N, Literal(5, LONG))
ODD = Not(Not(OVER_5))  # a form that is not sent
NUMBERS = pa.table(
    {"n": pa.array([None, *range(20)], pa.int64()), "s": [f"s{i}" for i in range(21)]}
)


def served(**more: Any) -> dict[tuple[str, str], Served]:
    parts = [NUMBERS.slice(0, 8), NUMBERS.slice(8)]
    return {("main", "t"): Served(parts, **{"filters": True, **more})}


def source(server: AirportServer, **more: str) -> AirportSource:
    return AirportSource({"uri": server.uri, "schema": "main", "table": "t", **more})


def read(spark: SparkSession, server: AirportServer) -> DataFrame:
    return tamis.read_airport(spark, server.uri, "main", "t")


def plan(frame: DataFrame) -> str:
    text: str = frame._jdf.queryExecution().optimizedPlan().toString()
    return text


def explained(frame: DataFrame, how: str) -> str:
    mode = frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString(how)
    text: str = frame._jdf.queryExecution().explainString(mode)
    return text


def physical(frame: DataFrame) -> str:
    return explained(frame, "formatted")


# --- the source -------------------------------------------------------------------------------


def test_declared_filters_are_exact() -> None:
    with serving(served(declares=1)) as server:
        assert source(server).applied([ODD, OVER_5, Not(OVER_5)]) == [
            Applied.IGNORED,
            Applied.EXACTLY,
            Applied.IGNORED,
        ]
        assert source(server).applied([OVER_5, OVER_5]) == [Applied.EXACTLY, Applied.PARTLY]


def test_server_that_declares_nothing_is_not_asked() -> None:
    with serving(served()) as server:
        assert source(server).applied([OVER_5]) == [Applied.PARTLY]
        assert server.endpoints() == []


def test_server_that_refuses_filters_applies_none_exactly() -> None:
    with serving(served(declares=1, refuses_filters=True)) as server:
        assert source(server).applied([OVER_5]) == [Applied.PARTLY]
        with pytest.raises(RemoteError, match=r"endpoints of the table main\.t failed"):
            source(server).tasks(ReadRequest(("n",), required=(OVER_5,)))


@pytest.mark.parametrize("required", [(OVER_5, OVER_5), (ODD,)])
def test_required_filter_that_is_not_applied_is_an_error(required: tuple[Any, ...]) -> None:
    with (
        serving(served(declares=1)) as server,
        pytest.raises(RemoteError, match="has withdrawn its declaration"),
    ):
        source(server).tasks(ReadRequest(("n",), required=required))


@pytest.mark.parametrize(
    "metadata", [b"", b"\xc1", b"\x05", b"\x81\xa1a\x01", b"\x81\xb5tamis.applied_exactly\x05"]
)
def test_malformed_declaration_declares_nothing(metadata: bytes) -> None:
    from pyarrow import flight

    from tamis.remote.airport.endpoints import exact_filters

    endpoint = flight.FlightEndpoint(b"t", [], None, metadata)
    assert exact_filters([endpoint], 3) == frozenset()


def test_every_endpoint_must_declare() -> None:
    import msgpack
    from pyarrow import flight

    from tamis.remote.airport.endpoints import exact_filters

    def declaring(*places: int) -> flight.FlightEndpoint:
        about = msgpack.packb({"tamis.applied_exactly": places})
        return flight.FlightEndpoint(b"t", [], None, about)

    assert exact_filters([declaring(0, 1), declaring(1, 2)], 3) == {1}
    assert exact_filters([declaring(0, 7)], 1) == {0}
    assert exact_filters([], 2) == {0, 1}


def test_keys_of_a_join_are_sent() -> None:
    with serving(served()) as server:
        source(server).tasks(ReadRequest(("n",), keys=(JoinKeys(N, (1, 2)),)))
        (document,) = [each["json_filters"] for each in server.endpoints()]
    assert [each["type"] for each in json.loads(document)["filters"]] == ["COMPARE_IN"]


def test_statistics_are_those_of_the_current_version() -> None:
    with serving(served(statistics=True, rows=21)) as server:
        known = source(server).statistics(["n", "s"])
        assert (known.rows, known.columns["n"].maximum) == (21, pa.scalar(19))
        assert known.columns["s"].minimum == pa.scalar("s0")
        older = source(server, atUnit="VERSION", atValue="1").statistics(["n"])
        assert not older.columns


def test_column_without_values_has_no_statistics() -> None:
    table = pa.table({"n": pa.nulls(3, pa.int64())})
    with serving({("main", "t"): Served([table], statistics=True)}) as server:
        assert source(server).statistics(["n"]).columns["n"].minimum is None


# --- Spark ------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.parametrize(("declares", "left"), [(0, True), (1, True), (9, False)])
def test_exact_filters_leave_the_plan(spark: SparkSession, declares: int, left: bool) -> None:
    with serving(served(declares=declares)) as server:
        frame = read(spark, server).where("n > 5")
        assert ("Filter" in plan(frame)) == left
        assert sorted(row.n for row in frame.collect()) == list(range(6, 20))
        assert frame.count() == 14


@pytest.mark.spark
def test_filter_that_is_not_sent_stays(spark: SparkSession) -> None:
    with serving(served(declares=9)) as server:
        frame = read(spark, server).where("n > 5 AND n % 2 = 0")
        text = plan(frame)
        assert "% 2" in text
        assert "> 5" not in text
        assert sorted(row.n for row in frame.collect()) == [6, 8, 10, 12, 14, 16, 18]


@pytest.mark.spark
def test_limit_reaches_the_scan_if_all_filters_are_exact(spark: SparkSession) -> None:
    with serving(served(declares=9)) as server:
        frame = read(spark, server).where("n > 5").limit(2)
        assert "Limit: 2" in physical(frame)
        assert frame.count() == 2
        assert "Limit: none" in physical(read(spark, server).where("n > 5 AND n % 2 = 0").limit(2))


@pytest.mark.spark
def test_server_that_does_not_apply_what_it_declares_is_found(spark: SparkSession) -> None:
    spark.conf.set("spark.tamis.remote.verify.enabled", "true")
    with serving(served(declares=9, filters=False)) as server:
        frame = read(spark, server).where("n > 5")
        with pytest.raises(Exception, match=r"the table main\.t of the Airport server .*declared"):
            frame.collect()
    with serving(served(declares=9)) as server:
        assert read(spark, server).where("n > 5").count() == 14


@pytest.mark.spark
def test_statistics_rule_out_the_scan(spark: SparkSession) -> None:
    with serving(served(statistics=True)) as server:
        frame = read(spark, server)
        assert frame.where("n > 19").count() == 0
        assert server.endpoints() == []
        assert "Empty" in physical(frame.where("n > 19"))
        assert frame.where("n > 18").count() == 1
        outer = frame.alias("a").join(frame.where("n > 19").alias("b"), "n", "left")
        assert outer.count() == 21
        assert frame.where("n > 19").agg({"n": "max"}).first() == (None,)


@pytest.mark.spark
@pytest.mark.parametrize(("rows", "is_small"), [(21, True), (-1, False), (10**12, False)])
def test_number_of_rows_reaches_the_optimizer(
    spark: SparkSession, rows: int, is_small: bool
) -> None:
    with serving(served(rows=rows)) as server:
        big = spark.range(10**9).withColumnRenamed("id", "n")
        joined = big.join(read(spark, server), "n")
        assert ("BroadcastHashJoin" in physical(joined)) == is_small


@pytest.mark.spark
def test_bounds_reach_the_optimizer_with_cbo(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.cbo.enabled", "true")
    with serving(served(rows=20, statistics=True)) as server:
        text = explained(read(spark, server).where("n < 10"), "cost")
    first = next(line for line in text.splitlines() if "Statistics" in line)
    (rows,) = re.findall(r"rowCount=([\d.]+)", first)
    assert 8 <= float(rows) <= 12


@pytest.mark.spark
def test_join_keys_reach_the_server(spark: SparkSession) -> None:
    with serving(served()) as server:
        read(spark, server).createOrReplaceTempView("t")
        statement = "SELECT n FROM t JOIN range(20) ON n = id WHERE id % 4 = 3"
        rows = Counter(row.n for row in spark.sql(statement).collect())
        assert rows == Counter([3, 7, 11, 15, 19])
        documents = [json.loads(e["json_filters"]) for e in server.endpoints() if e["json_filters"]]
        lists = [f for d in documents for f in d["filters"] if f["type"] == "COMPARE_IN"]
    assert [c["value"]["value"] for c in lists[-1]["children"][1:]] == [3, 7, 11, 15, 19]


@pytest.mark.spark
def test_slow_server_keeps_every_filter(spark: SparkSession) -> None:
    spark.conf.set("spark.tamis.timeout", "3s")
    answers = threading.Event()
    with serving(served(declares=9, answers=answers)) as server:
        frame = read(spark, server).where("n > 5")
        assert "> 5" in plan(frame)
        answers.set()
        assert frame.count() == 14
        warnings = list(spark._jvm.io.tamis.bridge.Warnings.all().mkString("\n").splitlines())
    assert any(" gave no answer within" in each for each in warnings)
