"""Small runs of the comparison with Spark; `make queries` is the large one."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.differential.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_no_query_differs(spark: SparkSession, tmp_path: Path) -> None:
    tally = run(spark, tmp_path, seed=20_261_121, count=110)
    assert tally.differences == []
    assert tally.queries >= 110
    # A comparison of nothing would prove nothing.
    assert tally.fallbacks == 0
    assert tally.exact > 0
    assert tally.goals > 0
    assert tally.rows > 0
    assert tally.files_kept < tally.files_total


@pytest.mark.skipif(
    "CI" in os.environ, reason="a change is judged by the same queries as its parent"
)
def test_no_query_of_a_new_seed_differs(spark: SparkSession, tmp_path: Path) -> None:
    tally = run(spark, tmp_path, seed=int(time.time()), count=40)
    assert tally.differences == []  # each names its seed
