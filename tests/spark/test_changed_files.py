"""Files change under a listing that Spark keeps: Spark reads the new content, and so does tamis."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import kept, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

FILES, ROWS = 5, 100


def _write(path: Path, first: int, count: int = ROWS) -> None:
    ids = pa.array(range(first, first + count), pa.int64())
    pq.write_table(pa.table({"id": ids}), path, row_group_size=20)


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Path:
    """Write ids 0 to 499 to five indexed files, and list them in Spark as the table `t`."""
    folder = tmp_path / "a table"
    folder.mkdir()
    for number in range(FILES):
        _write(folder / f"part-{number}.parquet", number * ROWS)
    spark.sql(f"CREATE TABLE t USING parquet LOCATION '{folder}'")
    tamis.index(spark, str(folder)).build()
    assert kept(spark.table("t").where("id = 250")) == [1]
    return folder


QUERIES = [
    "SELECT * FROM t WHERE id >= 5000",
    "SELECT * FROM t WHERE id BETWEEN 210 AND 250",
    "SELECT count(*) FROM t",
    "SELECT count(*), max(id), min(id) FROM t WHERE id >= 150",
    "SELECT id FROM t ORDER BY id DESC LIMIT 7",
    "SELECT count(*) FROM (SELECT * FROM t WHERE id < 250 LIMIT 220)",
    "SELECT a.id FROM t a JOIN t b ON a.id = b.id WHERE b.id > 4000",
]


@pytest.mark.parametrize("count", [ROWS, 10, 5 * ROWS], ids=["as large", "smaller", "larger"])
def test_file_overwritten_in_place_gives_its_new_rows(
    spark: SparkSession, folder: Path, same: Callable[[str], DataFrame], count: int
) -> None:
    # Spark reads as many bytes as it listed, so that a larger file needs its rows there
    _write(folder / "part-2.parquet", 5000, count)
    for sql in QUERIES:
        same(sql)
    assert kept(same(QUERIES[0])) == [1]
    warnings = [text for text in spark._jvm.io.tamis.Tamis.warnings() if str(folder.name) in text]
    assert any("(1 in all)" in text and "REFRESH TABLE" in text for text in warnings)
    spark.catalog.refreshTable("t")
    tamis.index(spark, str(folder)).refresh()
    assert kept(same("SELECT * FROM t WHERE id >= 5000")) == [1]
    assert kept(same("SELECT * FROM t WHERE id = 130")) == [1]


def test_file_changed_twice_and_restored(
    spark: SparkSession, folder: Path, same: Callable[[str], DataFrame]
) -> None:
    """A frame that was made before the changes sees each state."""
    file = folder / "part-2.parquet"
    before, status = file.read_bytes(), file.stat()
    frame = spark.table("t").where("id >= 1000")
    for first in (5000, 7000):
        _write(file, first)
        assert len(rows(spark.table("t").where("id >= 1000"))) == ROWS
        assert len(rows(frame.select("id"))) == ROWS
    file.write_bytes(before)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert kept(same("SELECT * FROM t WHERE id = 250")) == [1]
    assert rows(frame.select("id")) == []


def test_deleted_file_raises_as_in_plain_spark(spark: SparkSession, folder: Path) -> None:
    """Spark fails. A query that would not read the file fails, too."""
    (folder / "part-2.parquet").unlink()
    for sql in ("SELECT count(*) FROM t", "SELECT * FROM t WHERE id < 10"):
        for on in ("false", "true"):
            spark.conf.set("spark.tamis.enabled", on)
            with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist"):
                spark.sql(sql).collect()
