"""The audit reads again what was left out: it finds nothing, unless something is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERIES = [
    "SELECT name FROM events WHERE id = 5",
    "SELECT name FROM events WHERE year(day) = 1995 AND name > ''",
    "SELECT a.name FROM events a JOIN events b ON a.id = b.id WHERE a.id < 50",
    "SELECT name FROM events WHERE id > (SELECT max(id) - 3 FROM events) AND id > 7",
    "SELECT name FROM events WHERE id > 500 LIMIT 3",
    "SELECT name FROM events",
]


@pytest.fixture
def audited(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.tamis.audit", "3")
    yield spark
    spark.conf.unset("spark.tamis.audit")


def found(spark: SparkSession) -> list[str]:
    """What the audit has to say, once all was audited."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    audit = spark._jvm.io.tamis.Tamis
    assert audit.awaitAudits(60_000)
    return [text for text in audit.warnings() if "audit" in text]


@pytest.mark.parametrize("query", QUERIES)
def test_nothing_is_wrong(audited: SparkSession, events: DataFrame, query: str) -> None:
    before = found(audited)
    checks = audited._jvm.io.tamis.Tamis.auditedFiles()
    audited.sql(query).collect()
    assert found(audited) == before
    if query.endswith("id = 5"):
        assert audited._jvm.io.tamis.Tamis.auditedFiles() >= checks + 4  # 3 left out, 1 read


def write(path: Path, first: int) -> None:
    table = pa.table({"c": pa.array(range(first, first + 10), pa.int64())})
    pq.write_table(table, path, use_dictionary=False, compression="none")


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("c < 5", "5 rows of .* were not read that pass"),
        ("c >= 10", "10 rows of .* were read that do not pass"),
    ],
)
def test_a_file_that_was_changed_in_secret_is_found(
    audited: SparkSession, tmp_path: Path, condition: str, says: str
) -> None:
    """Same path, size and time, so that the index is trusted; its rows are others."""
    changed = tmp_path / "b.parquet"
    write(tmp_path / "a.parquet", 0)
    write(changed, 10)
    tamis.index(audited, str(tmp_path)).build()
    frame = audited.read.parquet(str(tmp_path)).where(condition)
    before, known = os.stat(changed), found(audited)
    write(changed, 0)
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(changed).st_size == before.st_size
    frame.collect()
    (text,) = [text for text in found(audited) if text not in known]
    assert re.search(says, text), text
    assert "b.parquet" in text


def test_what_cannot_be_read_again_is_no_disagreement(
    audited: SparkSession, tmp_path: Path
) -> None:
    """Plain Spark raises for rows of a file that was not read: nobody has to see that."""
    audited.conf.set("spark.sql.ansi.enabled", "true")
    write(tmp_path / "a.parquet", 0)
    write(tmp_path / "b.parquet", 10)
    tamis.index(audited, str(tmp_path)).build()
    known = found(audited)
    frame = audited.read.parquet(str(tmp_path)).where("c >= 10 AND 100 / (c - 3) > 0")
    assert frame.count() == 10
    assert found(audited) == known
