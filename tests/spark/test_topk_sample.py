"""ORDER BY with LIMIT reads a sample first where a filter decides which rows count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 100


@pytest.fixture(scope="module")
def sorted_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 100,000 rows in 100 files clustered by id, with columns that follow id and others."""
    path = str(tmp_path_factory.mktemp("sampled") / "t")
    frame = spark_session.range(100_000).selectExpr(
        "id",
        "CAST(pmod(hash(id), 7) AS STRING) AS mode",
        "date_add(DATE '1995-01-01', CAST(id DIV 125 AS INT)) AS day",
        "CAST(id * 1.5 AS DECIMAL(12, 2)) AS price",
        "concat('name ', lpad(CAST(id AS STRING), 6, '0')) AS name",
        "IF(id % 10 = 0, NULL, id) AS some",
        "IF(id = 7777, DOUBLE('NaN'), IF(id = 50000, -0.0D, id - 50000.0D)) AS x",
        "id DIV 50000 AS half",
        "named_struct('a', id, 'b.c', -id) AS item",
        "-id AS `odd ``na.me`",
        "pmod(hash(id, 3), 1000) AS spread",
    )
    frame.repartitionByRange(FILES, "id").sortWithinPartitions("id").write.parquet(path)
    tamis.index(spark_session, path).build(fill_gaps=False, columns={"x": "bounds"})
    return path


@pytest.fixture
def rows(spark: SparkSession, sorted_path: str) -> SparkSession:
    """Return the session with the view `t`, where a small gain is enough."""
    spark.conf.set("spark.tamis.topK.sample.minSaved", "1ms")
    read_parquet(spark, sorted_path).createOrReplaceTempView("t")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW dims AS "
        "SELECT * FROM VALUES ('0', 0), ('1', 2), ('2', 4), ('3', 6) AS dims (m, n)"
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
    ("SELECT * FROM t WHERE mode = '3' ORDER BY id DESC LIMIT 10", [1, 0], [1]),
    ("SELECT * FROM t WHERE mode = '3' ORDER BY id LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode LIKE '%3%' ORDER BY id NULLS LAST LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY day, id LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY price DESC, id LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY name, id LIMIT 10", [1, 0], [1]),
    ("SELECT name AS n FROM t WHERE mode = '3' ORDER BY n LIMIT 1", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY id LIMIT 10 OFFSET 5", [2, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY -id LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY year(day), id LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY item.a LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY item.`b.c` LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY `odd ``na.me` LIMIT 10", [1, 0], [1]),
    ("SELECT id, x FROM t WHERE mode = '3' ORDER BY x, id LIMIT 10", [1, 0], [1]),
    # NaN is the greatest value
    ("SELECT id, x FROM t WHERE mode = '3' ORDER BY x DESC, id LIMIT 3", [1, 0], [2]),
    # NULLs in every file
    ("SELECT id, some FROM t WHERE mode = '3' ORDER BY some, id LIMIT 10", [], [100]),
    ("SELECT id, some FROM t WHERE mode = '3' ORDER BY some DESC, id LIMIT 10", [1, 0], [1]),
    ("SELECT id, some FROM t WHERE mode = '3' ORDER BY some NULLS LAST, id LIMIT 9", [1, 0], [1]),
    ("SELECT id, some FROM t WHERE mode = '3' AND some > 0 ORDER BY some LIMIT 9", [3, 0], [1]),
    # ties of the first key
    ("SELECT half, id FROM t WHERE mode = '3' ORDER BY half, id LIMIT 10", [1, 0], [1]),
    ("SELECT half, id FROM t WHERE mode = '3' ORDER BY half DESC, id DESC LIMIT 10", [1, 0], [1]),
    # the second sample gives the answer
    ("SELECT id FROM t WHERE spread = 3 ORDER BY id LIMIT 3", [1, 5], [2]),
    # no sample has enough rows
    ("SELECT id FROM t WHERE spread = 3 AND mode = '3' ORDER BY id LIMIT 2", [4, 5], [100]),
    # statistics are enough
    ("SELECT id FROM t WHERE id > 500 ORDER BY id LIMIT 10", [], [2]),
    # every file may hold one of the first rows
    ("SELECT id FROM t WHERE mode = '3' ORDER BY spread, id LIMIT 3", [], [100]),
    # not repeatable, or not on the scan
    (
        "SELECT id FROM t WHERE mode = '3' AND monotonically_increasing_id() >= 0 ORDER BY id LIMIT 10",
        [],
        [40],
    ),
    ("SELECT id FROM t WHERE mode = (SELECT max(m) FROM dims) ORDER BY id LIMIT 3", [1, 0], [1]),
    ("SELECT DISTINCT id FROM t WHERE mode = '3' ORDER BY id LIMIT 10", [], [100]),
    # joins
    ("SELECT id, n FROM t JOIN dims ON mode = m ORDER BY id LIMIT 10", [1, 0], [1]),
    (
        "SELECT id, n FROM t JOIN dims ON mode = m WHERE n > 2 ORDER BY id DESC, n LIMIT 9",
        [1, 0],
        [1],
    ),
    ("SELECT id, n FROM t LEFT JOIN dims ON mode = m ORDER BY id DESC LIMIT 10", [1, 0], [1]),
    ("SELECT id, n FROM dims RIGHT JOIN t ON mode = m ORDER BY id DESC, n LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t LEFT SEMI JOIN dims ON mode = m ORDER BY id LIMIT 10", [1, 0], [1]),
    ("SELECT id FROM t LEFT ANTI JOIN dims ON mode = m ORDER BY id LIMIT 10", [1, 0], [1]),
    (
        "SELECT id, n FROM t RIGHT JOIN dims ON mode = m ORDER BY id NULLS LAST, n LIMIT 10",
        [],
        [40],
    ),
    ("SELECT id, n FROM t FULL JOIN dims ON mode = m ORDER BY id DESC LIMIT 10", [], [100]),
    ("SELECT id, n FROM t JOIN dims ON mode = m ORDER BY n, id LIMIT 10", [], [100]),
]


@pytest.mark.parametrize(
    ("statement", "samples", "opened"), SAMPLED, ids=[each for each, *_ in SAMPLED]
)
def test_sample_rules_out_files(
    rows: SparkSession, statement: str, samples: list[int], opened: list[int]
) -> None:
    frame = compared(rows, statement)
    assert files_read(frame) == {"samples": samples, "scans": opened}
