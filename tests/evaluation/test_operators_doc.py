"""docs/operators.md equals the page generated from the table of functions."""

from __future__ import annotations

from pathlib import Path

from tamis.evaluation.functions.registry import FUNCTION_ENTRIES, to_markdown
from tamis.evaluation.nodes.operators import FUNCTIONS, PREDICATES


def test_committed_table_is_up_to_date(repository: Path) -> None:
    committed = (repository / "docs" / "operators.md").read_text("utf-8")
    assert committed == to_markdown(), "run `make operators`"


def test_function_is_registered_once() -> None:
    names = [entry.name for entry in FUNCTION_ENTRIES]
    assert len(set(names)) == len(names)
    assert set(names) == set(FUNCTIONS) | set(PREDICATES)
    assert all((entry.value is None) != (entry.predicate is None) for entry in FUNCTION_ENTRIES)
