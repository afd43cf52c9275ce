"""Several questions in one message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tamis.serve.process.handler import Handler
from tamis.wire.messages import VERSION
from tests.serve.test_known_decisions import above, request_of, table

__all__ = ["table"]


def ask(*questions: Any) -> Any:
    request = {"version": VERSION, "id": "all", "questions": questions}
    return json.loads(Handler().plans(json.dumps(request)))


def question(root: Path, number: int) -> dict[str, Any]:
    return {"version": VERSION, "id": f"q{number}", **request_of(root, above(number))}


def test_answers_are_those_to_each_question(table: Path) -> None:
    answer = ask(*(question(table, number) for number in (12, 25, 12)))
    assert answer["id"] == "all"
    assert answer["version"] == VERSION
    for each, number in zip(answer["answers"], (12, 25, 12), strict=True):
        alone = json.loads(Handler().plan(json.dumps(question(table, number))))
        assert {**each, "milliseconds": 0, "opening_milliseconds": 0} == {
            **alone,
            "milliseconds": 0,
            "opening_milliseconds": 0,
        }


def test_a_question_that_fails_does_not_affect_the_others(table: Path) -> None:
    other = question(table, 12)
    other["snapshot"]["fingerprint"] = "gone"
    failed, good = ask(other, question(table, 25))["answers"]
    assert failed["id"] == "q12"
    assert failed["error"]["code"] == "internal_error"
    assert good["kept"] == {"form": "ranges", "data": [[2, 3]]}


@pytest.mark.parametrize("text", ["", "{", '{"version": 2, "id": "q1"}', '{"version": 1}'])
def test_malformed_request_is_a_failure(text: str) -> None:
    assert "error" in json.loads(Handler().plans(text))
