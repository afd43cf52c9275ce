"""docs/operators.md equals the page generated from the table of functions."""

from __future__ import annotations

from pathlib import Path

from tamis.evaluate.functions import TAUGHT, to_markdown
from tamis.evaluate.operators import FUNCTIONS, PREDICATES


def test_committed_table_is_up_to_date(repository: Path) -> None:
    committed = (repository / "docs" / "operators.md").read_text("utf-8")
    assert committed == to_markdown(), "run `make operators`"


def test_function_is_registered_once() -> None:
    names = [taught.name for taught in TAUGHT]
    assert len(set(names)) == len(names)
    assert set(names) == set(FUNCTIONS) | set(PREDICATES)
    assert all((taught.value is None) != (taught.predicate is None) for taught in TAUGHT)
