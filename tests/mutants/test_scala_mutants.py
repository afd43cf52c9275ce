"""The list of mistakes in the Scala rules fits the sources. `make mutants-scala` runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.scala_mutants import SOURCES, ScalaMutant, scala_mutants

MUTANTS = scala_mutants()
#: Rules that leave out files or rows. Each has at least one mistake in the list.
RULES = (
    *("KeyLineage", "KeyOrigins", "JoinKeys", "PruneForLimit", "PruneForTopK", "ScanBelow"),
    *("PlainConjuncts", "StatisticsAggregate", "AggregateRewrite", "PruneAtRunTime"),
    *("RuntimeKeys", "Eligibility", "SplitResidual", "AddImpliedFilters", "KeepFilterOrder"),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_text_occurs_exactly_once_in_the_file(mutant: ScalaMutant, repository: Path) -> None:
    assert mutant.mutated(repository) != (repository / SOURCES / mutant.file).read_text("utf-8")
    assert all((repository / each).exists() for each in mutant.test.split())
    suites = (repository / "jvm-shim/src/test/scala").rglob(f"{mutant.suite or '*'}.scala")
    assert any(suites), mutant.suite


def test_every_rule_has_a_mutant() -> None:
    assert set(RULES) <= {Path(mutant.file).stem for mutant in MUTANTS}
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
