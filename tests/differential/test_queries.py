"""Small runs of the comparison with Spark; `make queries` is the large one."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.differential.answers import drops_a_sort
from tests.differential.grammar import Grammar
from tests.differential.grammar.productions import Productions
from tests.differential.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SEED, COUNT = 7686, 70
#: The methods of the grammar, without those of the common base class.
PRODUCTIONS = {
    name
    for subject in Grammar.__mro__
    if subject is not Productions and issubclass(subject, Productions)
    for name in vars(subject)
    if not name.startswith("_")
}


def test_random_queries_return_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    used: set[str] = set()

    class Recorded(Grammar):
        def __getattribute__(self, name: str) -> Any:
            used.add(name)
            return super().__getattribute__(name)

    tally = run(spark, tmp_path, seed=SEED, count=COUNT, grammar=Recorded)
    assert tally.differences == []
    assert tally.queries >= COUNT
    # After a change of the grammar, another seed or more queries may be needed to use everything.
    assert used >= PRODUCTIONS
    # A comparison without pruning proves nothing.
    assert tally.fallbacks == 0
    assert tally.exact > 0
    assert tally.goals > 0
    assert tally.rows > 0
    assert tally.remembered > 0
    assert tally.remembered_conjuncts > 0
    assert tally.files_kept < tally.files_total


def test_sort_that_spark_drops_is_detected(spark: SparkSession) -> None:
    spark.range(10).createOrReplaceTempView("t")
    first = "(SELECT * FROM t ORDER BY id DESC LIMIT 5)"
    for join, is_dropped in (("LEFT JOIN", True), ("JOIN", False)):
        statement = f"SELECT q.id FROM {first} q {join} t ON q.id > t.id LIMIT 3"
        assert drops_a_sort(spark, statement) == is_dropped
    assert not drops_a_sort(spark, f"SELECT * FROM {first} LIMIT 3")
    assert spark.conf.get("spark.tamis.enabled") == "true"


@pytest.mark.skipif(
    "CI" in os.environ, reason="CI compares a change and its parent with the same queries"
)
def test_random_queries_of_a_new_seed_return_the_same_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    tally = run(spark, tmp_path, seed=int(time.time()), count=20)
    assert tally.differences == []  # each difference names its seed
