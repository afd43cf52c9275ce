"""A small run of the comparison with Spark; tests/differential/queries.py is the large one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.differential.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_no_query_differs(spark: SparkSession, tmp_path: Path) -> None:
    tally = run(spark, tmp_path, seed=20_261_121, count=89)
    assert tally.differences == []
    assert tally.queries == 89
    # A comparison of nothing would prove nothing.
    assert tally.fallbacks == 0
    assert tally.exact > 0
    assert tally.files_kept < tally.files_total
