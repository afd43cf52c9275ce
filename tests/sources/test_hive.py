"""Tables that Spark reads through a SerDe: the metastore selects partitions by implied ranges."""

from __future__ import annotations

import pytest

from tests.sources.conftest import Sources

pytestmark = pytest.mark.spark

FALLBACK = "spark.sql.hive.metastorePartitionPruningFallbackOnException"


def test_metastore_selects_partitions_by_implied_ranges(sources: Sources) -> None:
    sources.sql(
        "CREATE TABLE old (n INT, name STRING) PARTITIONED BY (day DATE, p INT, s STRING) "
        "STORED AS TEXTFILE"
    )
    sources.sql(
        "INSERT INTO old SELECT id, concat('k', id), date_add(DATE '1994-12-01', CAST(id * 100 AS INT)), "
        "CAST(id % 4 AS INT), IF(id % 2 = 0, 'MA', 'ma') FROM range(16)",
        **{"hive.exec.dynamic.partition.mode": "nonstrict"},
    )
    in_1995 = "SELECT n FROM old WHERE year(day) = 1995"
    assert sources.same(in_1995).partitions_fetched == 16
    on = {FALLBACK: "true"}
    for statement, rows, fetched in (
        (in_1995, 3, 3),
        ("SELECT n FROM old WHERE p * 2 = 6", 4, 8),  # a margin of one: 2 and 3
        ("SELECT n FROM old WHERE p + 1 > 3 AND year(day) = 1996 AND n + 1 > 0", 1, 2),
        ("SELECT n FROM old WHERE substring(s, 1, 1) = 'M'", 8, 16),
        ("SELECT n FROM old WHERE n + 1 = 5", 1, 16),
        ("SELECT n FROM old WHERE year(day) = 1995 OR n = 15", 4, 16),
    ):
        answer = sources.same(statement, **on)
        assert (len(answer.rows), answer.partitions_fetched) == (rows, fetched), statement
