"""Queries of every plan shape over Airport tables return the rows of local tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tamis
from tests.remote.airport_server import Served, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTS = pa.table(
    {
        "id": pa.array(range(200), pa.int64()),
        "k": pa.array([None if n % 7 == 0 else n % 10 for n in range(200)], pa.int64()),
        "name": [f"n{n % 13}" for n in range(200)],
        "pair": [{"a": n % 5, "b": f"b{n}"} for n in range(200)],
        "tags": [[n, n + 1] if n % 3 else None for n in range(200)],
        "Amount": pa.array([n / 4 for n in range(200)]),
    }
)
GROUPS = pa.table(
    {"k": pa.array([1, 2, 3, None, 20], pa.int64()), "label": ["a", "b", "c", "d", "e"]}
)

STATEMENTS = [
    "SELECT * FROM facts",
    "SELECT count(*) FROM facts",
    "SELECT count(*) FROM facts WHERE k > 3",
    "SELECT 1 FROM facts WHERE name = 'n3'",
    "SELECT amount FROM facts WHERE AMOUNT > 20",
    "SELECT pair.a FROM facts WHERE pair.a = 2",
    "SELECT pair.b FROM facts WHERE k = 2",
    "SELECT explode(tags) FROM facts WHERE k < 5",
    "SELECT id FROM facts WHERE array_contains(tags, 5L)",
    "SELECT k, sum(id), max(name) FROM facts WHERE k <> 3 GROUP BY k HAVING sum(id) > 100",
    "SELECT DISTINCT name FROM facts WHERE id >= 100",
    "SELECT k, name, count(*) FROM facts GROUP BY CUBE (k, name)",
    "SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) FROM facts WHERE k IN (1, 2)",
    "SELECT * FROM (SELECT id, rank() OVER (ORDER BY k) r FROM facts) WHERE r < 4",
    "SELECT id FROM facts WHERE k > 1 ORDER BY id DESC LIMIT 5",
    "SELECT id FROM facts ORDER BY id LIMIT 5 OFFSET 3",
    "SELECT count(*) FROM (SELECT id FROM facts LIMIT 7)",
    "SELECT count(*) FROM (SELECT id FROM facts WHERE k > 1 LIMIT 7)",
    "SELECT count(*) FROM (SELECT id FROM facts LIMIT 150 OFFSET 100)",
    "SELECT count(*) FROM (SELECT id FROM (SELECT id FROM facts LIMIT 20) WHERE id >= 0)",
    "SELECT f.id, g.label FROM facts f JOIN groups g ON f.k = g.k WHERE g.label > 'a'",
    "SELECT f.id, g.label FROM facts f LEFT JOIN groups g ON f.k = g.k AND g.label = 'b'",
    "SELECT f.id, g.label FROM facts f LEFT JOIN groups g ON f.k = g.k WHERE g.k IS NULL",
    "SELECT f.id, g.label FROM facts f RIGHT JOIN groups g ON f.k = g.k AND f.id < 50",
    "SELECT f.id, g.label FROM facts f FULL JOIN groups g ON f.k = g.k",
    "SELECT f.id FROM facts f JOIN groups g ON f.k <=> g.k",
    "SELECT id FROM facts WHERE k IN (SELECT k FROM groups WHERE label < 'c')",
    "SELECT id FROM facts WHERE k NOT IN (SELECT k FROM groups WHERE k IS NOT NULL)",
    "SELECT id FROM facts f WHERE NOT EXISTS (SELECT 1 FROM groups g WHERE g.k = f.k)",
    "SELECT id FROM facts f WHERE id > (SELECT max(id) - 10 FROM facts x WHERE x.k = f.k)",
    "SELECT (SELECT label FROM groups g WHERE g.k = f.k) FROM facts f WHERE f.id < 20",
    "SELECT a.id FROM facts a JOIN facts b ON a.id = b.id + 1 WHERE a.k = 1 AND b.k = 0",
    "SELECT id FROM facts WHERE k = 1 UNION ALL SELECT id FROM facts WHERE k = 2",
    "SELECT k FROM facts INTERSECT SELECT k FROM groups",
    "SELECT k FROM facts WHERE k > 2 EXCEPT SELECT k FROM groups",
    "WITH f AS (SELECT * FROM facts WHERE k > 1) SELECT count(*) FROM f a JOIN f b ON a.id = b.id WHERE b.k < 5",
    "WITH RECURSIVE r(n) AS (SELECT 3L UNION ALL SELECT f.id + 1 FROM r JOIN facts f ON f.id = r.n WHERE n < 9) SELECT * FROM r",
    "SELECT * FROM groups g, LATERAL (SELECT max(id) AS m FROM facts f WHERE f.k = g.k)",
    "SELECT id FROM facts TABLESAMPLE (100 PERCENT) WHERE k = 4",
    "SELECT id FROM facts WHERE if(k IS NULL, -1, k) = -1",
    "SELECT id FROM facts WHERE CASE WHEN k > 5 THEN name ELSE 'x' END = 'x'",
    "SELECT id FROM facts WHERE id = 7 AND uuid() IS NOT NULL",
    "SELECT id FROM facts WHERE k = 1 AND 10 / (k - 3) < 0",
    "SELECT id FROM facts WHERE k = 1L OR name LIKE 'n1%'",
    "SELECT id FROM facts WHERE CAST(k AS STRING) = '3'",
    "SELECT id FROM facts WHERE k = 3.0",
    "SELECT id FROM facts WHERE k BETWEEN 2 AND 4 AND NOT (name = 'n2')",
    "SELECT id FROM facts WHERE false",
    "SELECT id FROM facts WHERE k = NULL",
]


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    tables = {
        ("main", "facts"): Served([FACTS.slice(0, 90), FACTS.slice(90)], filters=True),
        ("main", "groups"): Served([GROUPS], filters=True),
    }
    with serving(tables) as server:
        yield server.uri


def test_rows_are_those_of_local_tables(spark: SparkSession, uri: str) -> None:
    def answers() -> list[Counter[str]]:
        return [Counter(map(str, spark.sql(each).collect())) for each in STATEMENTS]

    for name, rows in (("facts", FACTS), ("groups", GROUPS)):
        spark.createDataFrame(rows).createOrReplaceTempView(name)
    expected = answers()
    for name in ("facts", "groups"):
        tamis.read_airport(spark, uri, "main", name).createOrReplaceTempView(name)
    for statement, answer, local in zip(STATEMENTS, answers(), expected, strict=True):
        assert answer == local, statement


@pytest.mark.parametrize("statement", STATEMENTS[::8])
def test_rows_do_not_depend_on_tamis(spark: SparkSession, uri: str, statement: str) -> None:
    for name in ("facts", "groups"):
        tamis.read_airport(spark, uri, "main", name).createOrReplaceTempView(name)
    on = Counter(map(str, spark.sql(statement).collect()))
    spark.conf.set("spark.tamis.enabled", "false")
    assert Counter(map(str, spark.sql(statement).collect())) == on


def test_writes_and_caches_have_every_row(spark: SparkSession, uri: str) -> None:
    facts = tamis.read_airport(spark, uri, "main", "facts")
    facts.createOrReplaceTempView("facts")
    spark.sql("CREATE TABLE copied USING parquet AS SELECT id, k FROM facts WHERE k > 2")
    spark.sql("INSERT INTO copied SELECT id, k FROM facts WHERE k <= 2")
    assert spark.table("copied").count() == 171
    spark.sql("DROP TABLE copied")
    spark.sql("CACHE TABLE some AS SELECT * FROM facts WHERE k = 1")
    assert spark.table("some").where("id > 100").count() == 9
    assert spark.sql("SELECT count(*) FROM facts").first() == (200,)
    spark.sql("UNCACHE TABLE some")


def test_columns_that_differ_in_case(spark: SparkSession) -> None:
    table = pa.table({"a": [1, 2, 3], "A": [3, 1, 2]})
    spark.conf.set("spark.sql.caseSensitive", "true")
    with serving({("main", "t"): Served([table], filters=True)}) as server:
        frame = tamis.read_airport(spark, server.uri, "main", "t")
        assert [row.A for row in frame.where("a = 2").select("A").collect()] == [1]
        assert [row.a for row in frame.where("A = 3").select("a").collect()] == [1]


def test_streaming_query_joins_an_airport_table(
    spark: SparkSession, uri: str, tmp_path: str
) -> None:
    groups = tamis.read_airport(spark, uri, "main", "groups")
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    joined = stream.join(groups.where("label < 'c'"), stream.value == groups.k)
    query = joined.writeStream.format("memory").queryName("joined").trigger(once=True).start()
    query.awaitTermination(120)
    assert sorted(row.k for row in spark.table("joined").collect()) == [1, 2]
