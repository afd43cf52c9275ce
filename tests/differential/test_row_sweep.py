"""The sweep without Spark, as part of `make check`; it has to report wrong rules."""

from __future__ import annotations

import pytest

from tamis.evaluation.interpreter import FUNCTIONS
from tests.cases.tables import CASES
from tests.differential.random_calls import calls_in
from tests.differential.row_sweep import drawn, run
from tests.differential.wrong_rules import WRONG, Wrong

SEED = 20_261_121
DRAWN = drawn(SEED, 6_000, most=50)


@pytest.mark.parametrize("function", DRAWN)
def test_values_lie_within_their_bounds(function: str) -> None:
    findings = run(SEED, DRAWN[function])
    assert findings.wrong == []
    assert function in findings.functions, "no claim was ever made"


def test_every_function_of_a_case_table_is_drawn() -> None:
    of_tables = {
        call.name
        for case in CASES
        for predicate in (*case.hits, *case.misses, *case.full)
        for call in calls_in(predicate)
    }
    assert of_tables <= set(DRAWN)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.mistake)
def test_wrong_rule_is_reported(wrong: Wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, wrong.function, wrong.rule)
    assert run(SEED, DRAWN[wrong.function]).wrong
