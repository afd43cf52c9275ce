"""Answers are the same as when `make snapshots` recorded them."""

from __future__ import annotations

import pytest

from tests.snapshots.questions import question
from tests.snapshots.recorded import FAMILIES, read
from tests.snapshots.spell import digest, spelled

GROUPS = [
    pytest.param(family, recorded, id=f"{family}-{group}")
    for family in FAMILIES
    for group, recorded in read(family).items()
]


@pytest.mark.parametrize(("family", "recorded"), GROUPS)
def test_answers_equal_the_recorded_ones(family: str, recorded: dict[str, str]) -> None:
    for key, expected in recorded.items():
        drawn = question(family, key)
        if drawn is None:
            continue  # a call that was removed from the tables of cases
        answer = drawn.ask()
        assert digest(answer) == expected, (
            f"{family} {key}: the answer to {drawn.text} has changed to\n{spelled(answer)}\n"
            "If that is intended, run `make snapshots` and review which answers change."
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_most_questions_still_exist(family: str) -> None:
    recorded = [key for keys in read(family).values() for key in keys]
    existing = [key for key in recorded if question(family, key) is not None]
    assert len(existing) > 0.9 * len(recorded) > 100
