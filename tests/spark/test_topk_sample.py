"""ORDER BY with LIMIT reads a sample first where a filter decides which rows count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import read_parquet, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 40


@pytest.fixture(scope="module")
def sorted_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 40,000 rows in 40 files clustered by id, with columns that follow id and others."""
    path = str(tmp_path_factory.mktemp("sampled") / "t")
    frame = spark_session.range(40_000).selectExpr(
        "id",
        "CAST(pmod(hash(id), 7) AS STRING) AS mode",
        "date_add(DATE '1995-01-01', CAST(id DIV 50 AS INT)) AS day",
        "CAST(id * 1.5 AS DECIMAL(12, 2)) AS price",
        "concat('name ', lpad(CAST(id AS STRING), 6, '0')) AS name",
        "IF(id % 10 = 0, NULL, id) AS some",
        "IF(id = 7777, DOUBLE('NaN'), IF(id = 20000, -0.0D, id - 20000.0D)) AS x",
        "id DIV 20000 AS half",
        "named_struct('a', id, 'b.c', -id) AS item",
        "-id AS `odd ``na.me`",
        "pmod(hash(id, 3), 1000) AS spread",
        "IF(id BETWEEN 39000 AND 39999, 'last', 'other') AS place",
    )
    frame.repartitionByRange(FILES, "id").sortWithinPartitions("id").write.parquet(path)
    tamis.index(spark_session, path).build(fill_gaps=False, columns={"x": "bounds"})
    return path


@pytest.fixture
def rows(spark: SparkSession, sorted_path: str) -> SparkSession:
    """Return the session with the view `t`, where the smallest gain is enough."""
    spark.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    read_parquet(spark, sorted_path).createOrReplaceTempView("t")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW dims AS SELECT CAST(id AS STRING) AS m, id * 2 AS n "
        "FROM range(4)"
    )
    return spark


def compared(spark: SparkSession, statement: str) -> DataFrame:
    """Return the frame, which has run with tamis on, and whose rows are those with tamis off."""
    spark.conf.set("spark.tamis.enabled", "false")
    off = [repr(tuple(row)) for row in spark.sql(statement).collect()]
    spark.conf.set("spark.tamis.enabled", "true")
    frame = spark.sql(statement)
    assert [repr(tuple(row)) for row in frame.collect()] == off
    return frame


def files_read(frame: DataFrame) -> dict[str, list[int]]:
    """Return the number of files that samples and other scans have opened."""
    opened: dict[str, list[int]] = {"samples": [], "scans": []}
    for scan in scans(frame):
        is_sample = any(each["goal"].startswith("sample for") for each in scan["goals"])
        opened["samples" if is_sample else "scans"].append(scan["files_read"])
    return opened


# statement, files that samples open, files that the scan opens
SAMPLED: list[tuple[str, list[int], list[int]]] = [
    ("SELECT * FROM t WHERE mode = '3' ORDER BY id DESC LIMIT 10", [1], [1]),
]


@pytest.mark.parametrize(
    ("statement", "samples", "opened"), SAMPLED, ids=[each for each, *_ in SAMPLED]
)
def test_sample_rules_out_files(
    rows: SparkSession, statement: str, samples: list[int], opened: list[int]
) -> None:
    frame = compared(rows, statement)
    print(tamis.explain(frame))
    print(frame._jdf.queryExecution().toString())
    assert files_read(frame) == {"samples": samples, "scans": opened}
