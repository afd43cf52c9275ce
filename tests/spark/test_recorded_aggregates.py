"""Recorded aggregates answer queries, and the results equal those of plain Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import kept, read_parquet, rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Same = Callable[[str], "DataFrame"]

AGGREGATES = [
    "count(*)",
    "sum(price * (1 - discount))",
    "avg(price)",
    "sum(small)",
    "avg(small)",
    "sum(long)",
    "sum(whole)",
    "avg(whole)",
    "count(text)",
    "min(text)",
    "max(text)",
    "max(day)",
    "min(price)",
    "max(number)",
    "max(whole + 1)",
    "count(upper(text))",
]



@pytest.fixture(scope="module")
def lines_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 1,000 rows to 10 files clustered by id, with groups in every file.

    By flag and status there are 7 groups in each file, some of them with NULL.
    """
    path = str(tmp_path_factory.mktemp("lines") / "lines")
    spark_session.range(0, 1000, 1, 10).selectExpr(
        "id",
        "date_add(DATE '1995-01-01', CAST(id AS INT)) AS day",
        "element_at(array('A', 'N', 'R'), CAST(id % 3 AS INT) + 1) AS flag",
        "IF(id % 7 = 0, NULL, id % 2 = 0) AS status",
        "named_struct('a`b', CAST(id DIV 500 AS DECIMAL(5, 2))) AS `Größe`",
        "CAST(id * 1.25 - 300 AS DECIMAL(12, 2)) AS price",
        "CAST((id % 10) / 100 AS DECIMAL(12, 2)) AS discount",
        "CAST(id % 50 - 20 AS DECIMAL(7, 3)) AS small",
        "CAST(id * 1000000000000 AS DECIMAL(38, 4)) AS long",
        "IF(id % 5 = 0, NULL, CAST(id - 500 AS INT)) AS whole",
        "IF(id % 4 = 0, NULL, concat('t', id)) AS text",
        "CAST(id AS DOUBLE) / 3 + 1 AS number",
        "id DIV 300 AS part",
    ).write.partitionBy("part").parquet(path)
    tamis.index(spark_session, path).add(aggregates=AGGREGATES, by=["flag", "status"])

    return path


@pytest.fixture
def lines(spark: SparkSession, lines_path: str) -> DataFrame:
    frame = read_parquet(spark, lines_path)
    frame.createOrReplaceTempView("lines")
    return frame


# statement | files that each scan opens, of 10 with 100 rows each, by id
LINES = [
    # every function
    ("SELECT sum(price * (1 - discount)) FROM lines", []),
    ("SELECT sum((1 - discount) * price), count(*) FROM lines", []),
    ("SELECT avg(price), sum(price), avg(small), sum(small) FROM lines", []),
    ("SELECT sum(long), sum(whole), avg(whole), avg(CAST(whole AS DOUBLE)) FROM lines", []),
    ("SELECT count(text), min(text), max(text), max(day), min(price) FROM lines", []),
    ("SELECT max(whole + 1), count(upper(text)), max(number) FROM lines", []),
    # groups: all of the recorded columns, some of them, none
    ("SELECT flag, status, sum(price * (1 - discount)), count(*) FROM lines GROUP BY 1, 2", []),
    ("SELECT flag, sum(whole), avg(price) FROM lines GROUP BY flag", []),
    ("SELECT status, max(text), sum(small) FROM lines GROUP BY status", []),
    ("SELECT DISTINCT flag FROM lines", []),
    ("SELECT DISTINCT status, flag FROM lines", []),
    ("SELECT sum(whole) FROM lines GROUP BY status, flag", []),
    ("SELECT concat(flag, '!') AS f, count(*) FROM lines GROUP BY flag", []),
    ("SELECT part, flag, sum(whole) FROM lines GROUP BY part, flag", []),
    ("SELECT status, part, flag, sum(whole) FROM lines GROUP BY part, flag, status", []),
    # filters that rows of a file pass or not as a whole, and files that are cut
    ("SELECT flag, sum(whole), avg(price) FROM lines WHERE id >= 300 GROUP BY flag", []),
    ("SELECT flag, sum(whole), avg(price) FROM lines WHERE id >= 250 GROUP BY flag", [1]),
    ("SELECT sum(price * (1 - discount)) FROM lines WHERE id BETWEEN 150 AND 850", [2]),
    ("SELECT avg(small), avg(whole), avg(price) FROM lines WHERE id BETWEEN 150 AND 850", [2]),
    ("SELECT part, sum(long) FROM lines WHERE id < 777 GROUP BY part", [1]),
    ("SELECT sum(whole), count(whole) FROM lines WHERE id < 0", []),
    # filters by columns of the groups
    ("SELECT sum(whole) FROM lines WHERE flag = 'R'", []),
    ("SELECT count(*) FROM lines WHERE flag = 'R'", []),
    ("SELECT count(*), max(text) FROM lines WHERE status", []),
    ("SELECT count(*) FROM lines WHERE status IS NULL AND flag <> 'A'", []),
    ("SELECT flag, count(*) FROM lines WHERE status OR flag IN ('A', 'N') GROUP BY flag", []),
    ("SELECT count(*) FROM lines WHERE flag = 'no such flag'", []),
    ("SELECT status, sum(small) FROM lines WHERE flag > 'B' AND id >= 450 GROUP BY 1", [1]),
    ("SELECT count(*) FROM lines WHERE flag = 'A' OR id < 300", []),
    ("SELECT count(*) FROM lines WHERE lower(flag) LIKE 'r%'", []),
    # positions of aggregates
    ("SELECT flag, sum(whole) AS s FROM lines GROUP BY flag HAVING s > 0 ORDER BY s DESC", []),
    ("SELECT sum(whole) / count(*) + 1 AS r FROM lines", []),
    ("SELECT * FROM (SELECT flag AS f, sum(whole) AS s FROM lines GROUP BY flag) WHERE f > 'A'", []),
    ("SELECT id FROM lines WHERE id > (SELECT avg(whole) + 900 FROM lines)", [10]),
    ("SELECT sum(s) FROM (SELECT sum(whole) AS s FROM lines GROUP BY flag, status)", []),
    ("SELECT f, sum(w) FROM (SELECT upper(flag) AS f, whole AS w FROM lines) GROUP BY f", [10]),
    ("SELECT flag, try_sum(whole), mean(whole) FROM lines GROUP BY flag", []),
    # not recorded, or not in this form
    ("SELECT sum(id) FROM lines", [10]),
    ("SELECT sum(number) FROM lines", [10]),
    ("SELECT flag, max(id) FROM lines GROUP BY flag", [10]),
    ("SELECT id, count(*) FROM lines GROUP BY id", [10]),
    ("SELECT flag, sum(DISTINCT whole) FROM lines GROUP BY flag", [10]),
    ("SELECT sum(whole) FILTER (WHERE id > 3), sum(whole) FROM lines", [10]),
    ("SELECT flag, status, sum(whole) FROM lines GROUP BY ROLLUP(flag, status)", [10]),
    ("SELECT flag, sum(whole) FROM lines GROUP BY CUBE(flag)", [10]),
    ("SELECT flag, approx_count_distinct(whole) FROM lines GROUP BY flag", [10]),
    ("SELECT sum(price * (1 - discount)) FROM lines WHERE rand(3) < 2", [10]),
    ("SELECT sum(price * (1 + discount)) FROM lines", [10]),
    ("SELECT first(flag), sum(whole) FROM lines WHERE id < 100", [1]),
    ("SELECT sum(whole) OVER (PARTITION BY flag) FROM lines", [10]),
]


@pytest.mark.parametrize(("statement", "files"), LINES, ids=[each for each, _ in LINES])
def test_recorded_aggregates_open_few_files(
    lines: DataFrame, same: Same, statement: str, files: list[int]
) -> None:
    assert sorted(kept(same(statement))) == sorted(files)
