"""The small run of the sweep against Spark; `make sweep` is the large one.

Both ANSI modes of every type, and one time zone besides UTC: about 2,400 values for each
expression. SWEEP_SEED chooses the containers. Without it, CI always uses the same containers, and
other runs use new ones. A failure names the seed.
"""

from __future__ import annotations

import os
from random import SystemRandom
from typing import TYPE_CHECKING

import pytest

from tamis.evaluation.interpreter import FUNCTIONS
from tests.differential.sweep import EXPRESSIONS, few_runs, sweep
from tests.differential.wrong_rules import WRONG, Wrong

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONTAINERS = 80
_FIXED = 20_261_121

#: Functions that no SQL produces in the tested version of Spark.
_NOT_IN_SQL = {
    "TimeAdd",  # Spark 4.0
    "KnownNotNull",  # around arguments of Scala functions
}


def _seed() -> int:
    fixed = str(_FIXED) if "CI" in os.environ else str(SystemRandom().randrange(1 << 30))
    return int(os.environ.get("SWEEP_SEED") or fixed)


def test_values_that_spark_computes_lie_within_their_bounds(spark: SparkSession) -> None:
    seed = _seed()
    print(f"SWEEP_SEED={seed}")
    findings = sweep(spark, seed, CONTAINERS, few_runs(seed), EXPRESSIONS, print)
    assert findings.wrong == [], f"SWEEP_SEED={seed}"
    # Every function with a rule occurs in an expression with a claim.
    assert set(findings.missing_functions()) <= _NOT_IN_SQL, f"SWEEP_SEED={seed}"
    assert findings.checks > 800_000


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.mistake)
def test_wrong_rule_is_reported(
    wrong: Wrong, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [run for run in few_runs(_FIXED, zones=0) if run.kind in wrong.sweep and not run.ansi]
    assert sweep(spark, _FIXED, CONTAINERS, runs, wrong.sweep).wrong == []
    monkeypatch.setitem(FUNCTIONS, wrong.function, wrong.rule)
    assert sweep(spark, _FIXED, CONTAINERS, runs, wrong.sweep).wrong
