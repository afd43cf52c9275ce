"""Answers are the same as when `make snapshots` recorded them.

`make check` (HYPOTHESIS_PROFILE=quick) asks every fourth question, `make test` all of them.
"""

from __future__ import annotations

import os
from itertools import islice

import pytest

from tests.snapshots.questions import FAMILIES, Question, question
from tests.snapshots.recorded import read
from tests.snapshots.spell import digest, spelled

GROUPS = [
    pytest.param(family, recorded, id=f"{family}-{group}")
    for family in FAMILIES
    for group, recorded in read(family).items()
]

#: One of this many questions is asked.
STEP = 4 if os.environ.get("HYPOTHESIS_PROFILE") == "quick" else 1
#: Whether a recorded question still exists, by family and name. Drawing one takes a millisecond.
EXISTS: dict[tuple[str, str], bool] = {}


def drawn(family: str, name: str) -> Question | None:
    result = question(family, name)
    EXISTS[family, name] = result is not None
    return result


def asked_of(recorded: dict[str, str]) -> list[str]:
    return list(islice(recorded, 0, None, STEP))


def exists(family: str, name: str) -> bool:
    if (family, name) not in EXISTS:  # if the tests of its group were not selected
        drawn(family, name)
    return EXISTS[family, name]


@pytest.mark.parametrize(("family", "recorded"), GROUPS)
def test_answers_equal_the_recorded_ones(family: str, recorded: dict[str, str]) -> None:
    for name in asked_of(recorded):
        expected, asked = recorded[name], drawn(family, name)
        if asked is None:
            continue  # the tables of cases or the generator have changed
        answer = asked.ask()
        assert digest(answer) == expected, (
            f"{family} {name}: the answer to {asked.text} has changed to\n{spelled(answer)}\n"
            "If that is intended, run `make snapshots` and review which answers change."
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_most_questions_still_exist(family: str) -> None:
    recorded = [name for names in read(family).values() for name in asked_of(names)]
    existing = sum(exists(family, name) for name in recorded)
    assert existing > 0.9 * len(recorded) > 100 / STEP
