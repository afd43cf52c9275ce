"""Subqueries of a query whose scans wait for subqueries of tamis do not wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: More than the threads in which Spark runs subqueries (spark.sql.subquery.maxThreadThreshold).
SUBQUERIES = 18
#: Seconds. A query that is stuck never ends.
PATIENCE = 200

pytestmark = pytest.mark.usefixtures("no_codegen")

SAMPLE = "SELECT sum(id) FROM (SELECT id FROM t WHERE mode LIKE '%3%' ORDER BY id LIMIT {n})"
KEYS = "SELECT sum(t.id) FROM t JOIN (SELECT key FROM keys WHERE other % 50 = {n}) ON id = key"


@pytest.fixture(scope="module")
def paths(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write 8,000 rows in 40 files by id, and as many keys in one file."""
    folder = tmp_path_factory.mktemp("nested")
    paths = {name: str(folder / name) for name in ("t", "keys")}
    spark_session.range(0, 8000, 1, 40).selectExpr(
        "id", "CAST(id % 7 AS STRING) mode", "repeat(sha2(CAST(id AS STRING), 256), 4) pad"
    ).write.parquet(paths["t"])
    keys = spark_session.range(0, 8000, 1, 1).selectExpr("id DIV 100 key", "id other")
    keys.write.parquet(paths["keys"])
    tamis.index(spark_session, paths["t"]).build()
    return paths


@pytest.fixture
def session(spark: SparkSession, paths: dict[str, str]) -> Iterator[SparkSession]:
    spark.conf.set("spark.tamis.topK.sample.minSaved", "1ms")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    for name, path in paths.items():
        read_parquet(spark, path).createOrReplaceTempView(name)
    yield spark
    spark.sparkContext.cancelAllJobs()


def goals_and_conditions(frame: DataFrame) -> str:
    return repr([(scan["goals"], scan["runtime"]) for scan in scans(frame)])


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize(
    ("subquery", "added"), [(SAMPLE, "known from a sample"), (KEYS, "IN")], ids=["sample", "keys"]
)
def test_many_subqueries_that_wait_end(
    session: SparkSession,
    rows_without_tamis: dict[str, list[object]],
    subquery: str,
    added: str,
    adaptive: str,
) -> None:
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    texts = [subquery.format(n=n + 3) for n in range(SUBQUERIES)]
    query = f"SELECT {', '.join(f'({text})' for text in texts)}"
    frame = session.sql(query)
    found: list[list[object]] = []
    waiting = threading.Thread(target=lambda: found.append(list(frame.collect()[0])), daemon=True)
    waiting.start()
    waiting.join(PATIENCE)
    assert found, f"the query still runs after {PATIENCE} seconds"
    assert added in goals_and_conditions(session.sql(texts[0]))
    session.conf.set("spark.tamis.enabled", "false")
    if query not in rows_without_tamis:
        rows_without_tamis[query] = list(session.sql(query).collect()[0])
    assert found == [rows_without_tamis[query]]
