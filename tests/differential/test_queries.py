"""Small runs of the comparison with Spark; `make queries` is the large one."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.differential.grammar import Grammar
from tests.differential.grammar.productions import Productions
from tests.differential.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SEED, COUNT = 116, 45
#: The methods of the grammar, without those that all of them share.
PRODUCTIONS = {
    name
    for subject in Grammar.__mro__
    if subject is not Productions and issubclass(subject, Productions)
    for name in vars(subject)
    if not name.startswith("_")
}


def test_no_query_differs(spark: SparkSession, tmp_path: Path) -> None:
    used: set[str] = set()

    class Recorded(Grammar):
        def __getattribute__(self, name: str) -> Any:
            used.add(name)
            return super().__getattribute__(name)

    tally = run(spark, tmp_path, seed=SEED, count=COUNT, grammar=Recorded)
    assert tally.differences == []
    assert tally.queries >= COUNT
    # Another grammar may need another seed, or more queries, for all of its productions.
    assert used >= PRODUCTIONS
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
    tally = run(spark, tmp_path, seed=int(time.time()), count=20)
    assert tally.differences == []  # each names its seed
