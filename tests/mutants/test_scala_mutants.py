"""The list of mistakes in the Scala rules fits the sources. `make mutants-scala` runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.scala_mutants import SOURCES, ScalaMutant, scala_mutants

MUTANTS = scala_mutants()
#: Files of `rules/` without guards of their own.
WITHOUT_GUARDS = {
    *("AggregateFromStatistics", "GoalRule", "GuardNames", "ImpliedQuestion", "Pruning"),
    *("FileRelation", "ScanInPlan", "SwappedRelation"),
    *("TamisRelation", "TamisScanRelation"),
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_text_occurs_exactly_once_in_the_file(mutant: ScalaMutant, repository: Path) -> None:
    assert mutant.mutated(repository) != (repository / SOURCES / mutant.file).read_text("utf-8")
    assert all((repository / each).exists() for each in mutant.test.split())
    suites = (repository / "jvm-shim/src/test/scala").rglob(f"{mutant.suite or '*'}.scala")
    assert any(suites), mutant.suite


def test_every_rule_has_a_mutant(repository: Path) -> None:
    rules = {path.stem for path in (repository / SOURCES / "rules").rglob("*.scala")}
    assert rules > WITHOUT_GUARDS
    mutated = {Path(mutant.file).stem for mutant in MUTANTS}
    assert rules - WITHOUT_GUARDS <= mutated, rules - WITHOUT_GUARDS - mutated
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
