"""Ranges that predicates imply are added above tables of a database: Derby, which Spark ships."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.conftest import rows
from tests.spark.test_implied_filters import plan, pushed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DRIVER = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
COLLATION = "territory=en_US;collation=TERRITORY_BASED:PRIMARY"
DAYS = ("1994-12-31", "1995-01-01", "1995-06-15", "1995-12-31", "1996-01-01")
TIMES = ("00:00:00", "00:30:00", "10:30:00", "23:30:00", "23:59:59.999999")
TEXTS = ("MA", "ma", "Ma", "mb", "mä", "M", "", " MA", "MA ", "N")


@dataclass(frozen=True)
class Database:
    """A database in memory."""

    spark: SparkSession
    url: str

    def execute(self, sql: str) -> None:
        connection = self.spark._jvm.java.sql.DriverManager.getConnection(self.url)
        connection.createStatement().execute(sql)
        connection.close()

    def view(self, table: str, **options: str) -> None:
        """Register the table as a temporary view of the same name."""
        frame = self.spark.read.jdbc(self.url, table, properties={"driver": DRIVER, **options})
        frame.createOrReplaceTempView(table)


@pytest.fixture
def database(spark: SparkSession, tmp_path: Path) -> Iterator[Database]:
    """Create the tables `moments` (dates, timestamps, times) and `texts` (own collation)."""
    jvm = spark._jvm
    jvm.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(DRIVER)
    url = "jdbc:derby:memory:sources"
    jvm.java.sql.DriverManager.getConnection(f"{url};create=true;{COLLATION}").close()
    made = Database(spark, url)
    made.execute("CREATE TABLE moments (n INT, d DATE, ts TIMESTAMP, t TIME, price DECIMAL(9, 2))")
    made.execute("CREATE TABLE texts (n INT, s VARCHAR(9), c CHAR(4))")
    values = [
        f"({i}, '{day}', '{day} {time}', '{time[:8]}', {i}.25)"
        for i, (day, time) in enumerate((d, t) for d in DAYS for t in TIMES)
    ]
    made.execute(f"INSERT INTO moments VALUES {', '.join(values)}, (99, NULL, NULL, NULL, NULL)")
    values = [f"({i}, '{text}', '{text}')" for i, text in enumerate(TEXTS)]
    made.execute(f"INSERT INTO texts VALUES {', '.join(values)}, (99, NULL, NULL)")
    yield made
    with pytest.raises(Exception, match="dropped"):
        jvm.java.sql.DriverManager.getConnection(f"{url};drop=true")


@pytest.fixture(params=["UTC", "GMT-12:00"])
def zone_of_the_driver(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Set the zone in which timestamps of a database are read. Constants use the session's zone."""
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone(request.param))
    yield request.param
    zones.setDefault(before)


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("year(d) = 1995", "D,1994-12-31"),
        ("year(d) = 1995", "D,1996-01-01"),
        ("year(ts) = 1995", "TS,1994-12-2"),
        ("date_trunc('DAY', ts) = TIMESTAMP '1995-06-16'", "TS,1995-06-1"),
        ("trunc(d, 'MONTH') = DATE '1995-01-01'", "D,1995-02-01"),
        ("n + 1 > 10", "N,9"),
        ("CAST(price AS INT) = 7", "PRICE,6.99"),
        ("n DIV 10 = 1 AND year(ts) > 1990", "N,9"),
    ],
)
def test_dates_timestamps_and_numbers_get_ranges(
    spark: SparkSession,
    database: Database,
    zone_of_the_driver: str,
    same: Callable[[str], DataFrame],
    condition: str,
    columns: str,
) -> None:
    """The zones of session and driver are up to 26 hours apart; this loses no row."""
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
    database.view("moments")
    frame = same(f"SELECT * FROM moments WHERE {condition}")
    assert f"OrEqual({columns}" in pushed(frame)
    assert rows(frame)


def test_predicates_over_two_columns_and_without_rows(
    database: Database, same: Callable[[str], DataFrame]
) -> None:
    database.view("moments")
    for condition in ("year(d) < 1800 OR n + 1 > 20", "year(d) = 12000", "price + 1 = 3.25"):
        same(f"SELECT n FROM moments WHERE {condition}")


def test_strings_of_a_database_get_no_range(
    database: Database, same: Callable[[str], DataFrame]
) -> None:
    """The database orders strings differently: under its collation 'MA' = 'ma' < 'mb'."""
    database.view("texts")
    for column in ("s", "c"):
        frame = same(f"SELECT * FROM texts WHERE substring({column}, 1, 2) = 'MA'")
        assert len(frame.collect()) == 2
        assert f"PushedFilters: [*IsNotNull({column.upper()})]" in pushed(frame)
    same("SELECT * FROM texts WHERE upper(s) > 'M' AND n + 1 > 2")


def test_time_column_gets_no_range(
    spark: SparkSession,
    database: Database,
    zone_of_the_driver: str,
    same: Callable[[str], DataFrame],
) -> None:
    """Spark reads a TIME as a timestamp, while the database would compare it as a time of day."""
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
    database.view("moments")
    (text,) = spark.sql(
        "SELECT CAST(date_trunc('HOUR', max(t)) AS STRING) FROM moments WHERE n = 2"
    ).first()
    frame = same(f"SELECT n FROM moments WHERE date_trunc('HOUR', t) = TIMESTAMP '{text}'")
    assert len(frame.collect()) == 5
    assert "PushedFilters: []" in plan(frame)


def test_type_declared_by_the_query_gets_no_range(
    database: Database, same: Callable[[str], DataFrame]
) -> None:
    database.view("moments", customSchema="n BIGINT, price DECIMAL(18, 6)")
    assert "GreaterThanOrEqual" not in pushed(same("SELECT * FROM moments WHERE n + 1 > 10"))


def test_jdbc_catalog_gets_ranges(
    spark: SparkSession, database: Database, same: Callable[[str], DataFrame]
) -> None:
    """Spark's V2 source, which also pushes some functions to Derby."""
    catalog = "spark.sql.catalog.base"
    package = "org.apache.spark.sql.execution.datasources.v2.jdbc"
    spark.conf.set(catalog, f"{package}.JDBCTableCatalog")
    spark.conf.set(f"{catalog}.url", database.url)
    spark.conf.set(f"{catalog}.driver", DRIVER)
    table = "base.APP.MOMENTS"
    for condition, filters in (
        ("date_trunc('DAY', ts) = TIMESTAMP '1995-06-15'", "TS >= 803001600000000"),
        ("trunc(d, 'MONTH') = DATE '1995-06-01'", "D >= 9281"),
        ("n + 1 > 10", "N >= 9"),
    ):
        frame = same(f"SELECT * FROM {table} WHERE {condition}")
        assert filters in pushed(frame)
        assert rows(frame), condition
    frame = same(
        f"SELECT n FROM {table} WHERE date_trunc('HOUR', t) = TIMESTAMP '1970-01-01 10:00:00'"
    )
    assert "PushedFilters: []" in plan(frame)
    same("SELECT * FROM base.APP.TEXTS WHERE substring(s, 1, 2) = 'MA'")
