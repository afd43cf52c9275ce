"""Scans learn in which files no row passes their filters, and later scans leave these out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import kept, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 8
ROWS = 50

Learnt = Callable[[], list[Any]]


@pytest.fixture
def learnt(spark: SparkSession, tmp_path: Path) -> Learnt:
    """Turn learning on with a store of this test; the result returns what is stored."""
    spark.conf.set("spark.tamis.remember.enabled", "true")
    spark.conf.set("spark.tamis.cache.location", str(tmp_path / "cache"))
    return lambda: spark.sql("SELECT * FROM tamis_remembered()").collect()


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> str:
    """Write a log, of which only the files 2 and 5 hold the needle, in one row each."""
    return write_log(spark, str(tmp_path / "log"))


def write_log(spark: SparkSession, path: str) -> str:
    spark.range(0, FILES * ROWS, 1, FILES).selectExpr(
        "id",
        "id % 7 AS code",
        f"IF(id IN ({2 * ROWS + 7}, {5 * ROWS + 1}), 'a NEEDLE here', concat('hay ', id)) AS text",
        "IF(id % 5 = 0, NULL, id / 3.0D) AS ratio",
    ).write.mode("overwrite").parquet(path)
    age(path)
    return path


def age(path: str) -> None:
    """Let files become old enough: what was written a moment ago may be replaced unnoticed."""
    del path
    time.sleep(0.15)


NEEDLE = "text LIKE '%NEEDLE%'"


def test_second_scan_opens_only_files_with_the_needle(
    spark: SparkSession, log: str, learnt: Learnt
) -> None:
    frame = lambda: spark.read.parquet(log).where(NEEDLE)  # noqa: E731
    first = rows(frame())
    (note,) = learnt()
    assert (note.files, note.scans, note.skipped_files) == (FILES - 2, 0, 0)
    again = frame()
    assert kept(again) == [2]
    assert rows(again) == first
    assert len(first) == 2
    (note,) = learnt()
    assert note.predicates == ["(text IS NOT NULL)", "contains(text, 'NEEDLE')"]
    assert (note.scans >= 1, note.skipped_files >= FILES - 2) == (True, True)
