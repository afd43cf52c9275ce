"""Reading from the test server that the authors of Airport publish on PyPI, unmodified."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
from tamis.expr.nodes import (
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Value,
)
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING
from tamis.remote import RemoteError
from tamis.remote.airport.flight_task import FlightTask
from tamis.remote.airport.sendable_filters import sendable
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import ReadRequest
from tests.differential.rows import row_value
from tests.remote.airport_filters import rows_of, run_with_server, served_by
from tests.remote.airport_test_server import AirportTestServer, airport_test_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.programs


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirportTestServer]:
    with airport_test_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def server(published: AirportTestServer) -> dict[str, str]:
    """Return the options of the server's own tables."""
    return {**published.options, "schema": "static_data"}


def test_spark_reads_tables(spark: SparkSession, server: dict[str, str]) -> None:
    chunk = tamis.read_airport(spark, **server, table="big_chunk")
    assert chunk.selectExpr("count(*)", "sum(id)").first() == (100_000, 4_999_950_000)
    assert chunk.where("id % 1000 = 7").count() == 100
    employees = tamis.read_airport(spark, **server, table="employees")
    assert dict(employees.dtypes) == {
        "name": "string", "age": "int", "start_date": "timestamp_ntz", "json_data": "string",
        "id": "string", "birthdate": "date", "is_active": "boolean", "nickname": "string",
        "salary": "double", "balance": "decimal(12,6)",
    }  # fmt: skip
    rows = employees.orderBy("name").collect()
    assert len(rows) == 2
    assert all(str(uuid.UUID(row.id)) == row.id for row in rows)
    assert sum(row.nickname is None for row in rows) == 1


def tasks_of(options: dict[str, str]) -> Sequence[FlightTask]:
    source = AirportSource(options)
    return source.tasks(ReadRequest(tuple(source.schema().names)))


ID, AGE = Column(("id",), LONG), Column(("age",), INTEGER)
NAME, ACTIVE = Column(("name",), STRING), Column(("is_active",), BOOLEAN)
NICKNAME, SALARY = Column(("nickname",), STRING), Column(("salary",), DOUBLE)
BIRTHDATE = Column(("birthdate",), DATE)


def compared(op: Comparison, column: Column, value: Value) -> Compare:
    return Compare(op, column, Literal(value, column.type))


FILTERS = [
    ("big_chunk", compared(Comparison.GREATER, ID, 99_990)),
    ("big_chunk", compared(Comparison.EQUAL, ID, 7)),
    ("big_chunk", In(ID, (1, 5, 99_999, 100_000))),
    ("big_chunk", Or((compared(Comparison.LESS, ID, 3), compared(Comparison.EQUAL, ID, 50)))),
    ("employees", IsNull(NICKNAME)),
    ("employees", Not(IsNull(NICKNAME))),
    ("employees", compared(Comparison.GREATER, AGE, 29)),
    ("employees", compared(Comparison.LESS_EQUAL, SALARY, 50_000.5)),
    ("employees", compared(Comparison.NOT_EQUAL, NAME, "Alice")),
    ("employees", Not(In(NAME, ("Emily", "Amy")))),
    ("employees", compared(Comparison.EQUAL, ACTIVE, True)),
    ("employees", compared(Comparison.GREATER_EQUAL, BIRTHDATE, 7_000)),
]


@pytest.mark.parametrize(("table", "predicate"), FILTERS, ids=[str(each) for _, each in FILTERS])
def test_rows_that_pass_a_filter_are_returned(
    server: dict[str, str], table: str, predicate: Expr
) -> None:
    source = AirportSource({**server, "table": table})
    assert any(sendable([predicate], source.schema()))
    names = tuple(source.schema().names)

    def answer(*filters: Expr) -> list[dict[str, Any]]:
        tasks = source.tasks(ReadRequest(names, filters))
        return [row for task in tasks for batch in task.batches() for row in batch.to_pylist()]

    def passes(row: dict[str, Any]) -> bool:
        born = row.get("birthdate")
        days = {} if born is None else {"birthdate": (born - datetime.date(1970, 1, 1)).days}
        return row_value(predicate, {(key,): v for key, v in (row | days).items()}) is True

    def texts(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(str(row) for row in rows if passes(row))

    assert texts(answer(predicate)) == texts(answer())


def test_random_filters_return_the_rows_that_pass(published: AirportTestServer) -> None:
    sent, _, wrong = run_with_server(7, 384, served_by(published))
    assert sent > 30
    assert wrong == []


def test_server_applies_the_filters(published: AirportTestServer) -> None:
    """Otherwise every filter would return the rows that pass."""
    options = published.create_table("numbers", pa.table({"id": range(10)}))
    source = AirportSource(options)
    request = ReadRequest(("id",), (compared(Comparison.GREATER, ID, 6),))
    assert sorted(rows_of(source, request)) == [7, 8, 9]


def test_what_cannot_be_read_is_named(server: dict[str, str]) -> None:
    for changed, says in (
        ({"table": "nowhere"}, "there is no such table. The tables are big_chunk, employees"),
        ({"schema": "nowhere"}, "there is no schema nowhere. The schemas are "),
        ({"schema": "remote_data", "table": "nyc_yellow_taxi"}, "the server refers to files"),
        ({"token": ""}, "Check the option token"),
    ):
        options = {"table": "employees", **server, **changed}
        with pytest.raises(RemoteError, match=says):
            tasks_of(options)


def test_table_is_read_at_its_version(server: dict[str, str]) -> None:
    options = {**server, "table": "big_chunk", "atUnit": "VERSION"}
    tasks = tasks_of({**options, "atValue": "0"})
    assert sum(batch.num_rows for task in tasks for batch in task.batches()) == 100_000
    with pytest.raises(
        RemoteError, match=r"flight_info of the table static_data\.big_chunk failed"
    ):
        tasks_of({**options, "atValue": "99"})
