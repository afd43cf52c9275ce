"""Questions about values that the shim evaluates, and what it answers."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.outcomes import Outcome
from tamis.serve.process.handler import Handler
from tamis.wire.messages import VERSION
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot

FILES = 4
_numbers = itertools.count()

COLUMN = {"n": "col", "p": ["a"], "t": "long"}
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask about four files, where a is 0 .. 9, 10 .. 19, …."""
    root, directory = tmp_path / "t", tmp_path / "snapshot"
    root.mkdir()
    for number in range(FILES):
        values = pa.array(range(number * 10, number * 10 + 10), pa.int64())
        pq.write_table(pa.table({"a": values}), root / f"{number}.parquet")
    LocalIndex(root, spark_schema(a="long"), tmp_path / "scratch").build()
    fingerprint, files = write_snapshot(root, directory, {})

    def asked(*conjuncts: Any, id: str = "q1", most_values: int = 100, **more: Any) -> Any:
        request = {
            "version": VERSION,
            "id": id,
            "snapshot": {"fingerprint": fingerprint, "directory": str(directory), "files": files},
            "table": {"roots": [uri_of(root)]},
            "cache_directory": str(tmp_path / "cache"),
            "conjuncts": list(conjuncts),
            "most_values": most_values,
            **more,
        }
        return json.loads(Handler().plan(msgspec.json.encode(request).decode()))

    return asked


def directory_of(tmp_path: Path) -> Path:
    return tmp_path / "snapshot"


@pytest.fixture
def key() -> str:
    """Return a key that no other test uses: what is learnt stays known in this process."""
    return f"key-{next(_numbers)}"


def evaluable(key: str, sql: str = "f(a)") -> dict[str, Any]:
    opaque = {"n": "opaque", "sql": sql, "cols": [["a"]], "t": "boolean"}
    return {"n": "evaluable", "k": key, "c": COLUMN, "a": opaque}


def outcomes(key: str, codes: list[int], place: int = 0, request: str = "q1") -> dict[str, Any]:
    text = base64.b64encode(bytes(codes)).decode()
    return {"request": request, "place": place, "key": key, "codes": text}


def true_for(*values: int, count: int = 40) -> list[int]:
    """Return the codes of the values 0, 1, …, of NULL, and of NaN."""
    found = [Outcome.TRUE if each in values else Outcome.FALSE for each in range(count)]
    return [int(each) for each in (*found, Outcome.NULL, Outcome.NOT_EVALUATED)]


def values_in(tmp_path: Path, place: int = 0) -> list[Any]:
    with pa.OSFile(str(directory_of(tmp_path) / f"q1.values{place}.arrow")) as source:
        table = pa.ipc.open_file(source).read_all()
    values: list[Any] = table.column("value").to_pylist()
    return values


def test_second_question_is_answered_with_the_outcomes(ask: Ask, key: str, tmp_path: Path) -> None:
    first = ask(evaluable(key))
    assert (first["kept"]["form"], first["wanted"]) == ("all", [{"key": key, "rows": 40}])
    assert values_in(tmp_path) == list(range(40))
    second = ask(evaluable(key), id="q2", outcomes=[outcomes(key, true_for(13, 35))])
    assert (second["kept"]["data"], second["wanted"]) == ([[1, 2], [3, 4]], [])
    assert second["conjuncts"][0]["reason"]["code"] == "EVALUATED_VALUES_MIXED"


def test_later_questions_need_no_values(ask: Ask, key: str) -> None:
    ask(evaluable(key))
    ask(evaluable(key), id="q2", outcomes=[outcomes(key, true_for(5))])
    later = ask(evaluable(key), id="q3")
    assert (later["kept"]["data"], later["wanted"]) == ([[0, 1]], [])


def test_only_values_of_kept_files_are_wanted_and_what_is_known_adds_up(
    ask: Ask, key: str, tmp_path: Path
) -> None:
    def above(limit: int) -> dict[str, Any]:
        literal = {"n": "lit", "t": "long", "v": limit}
        return {"n": "call", "f": "GreaterThan", "t": "boolean", "a": [COLUMN, literal]}

    assert ask(above(29), evaluable(key))["wanted"] == [{"key": key, "rows": 10}]
    assert values_in(tmp_path) == list(range(30, 40))
    codes = true_for(count=10)
    second = ask(above(29), evaluable(key), id="q2", outcomes=[outcomes(key, codes)])
    assert second["kept"]["form"] == "none"
    third = ask(evaluable(key))
    assert third["kept"]["data"] == [[0, 3]]
    assert values_in(tmp_path) == list(range(30))
    whole = ask(evaluable(key), id="q4", outcomes=[outcomes(key, true_for(0, count=30))])
    assert whole["kept"]["data"] == [[0, 1]]


def test_predicate_that_is_true_for_all_values_is_exact(ask: Ask, key: str) -> None:
    ask(evaluable(key))
    codes = true_for(*range(40))
    answer = ask(evaluable(key), id="q2", outcomes=[outcomes(key, codes)])
    assert answer["conjuncts"][0]["pushdown"] == "exact"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(Outcome.RAISED, "EVALUATION_FAILED"), (Outcome.NOT_EVALUATED, "EVALUATION_STOPPED")],
)
def test_file_with_a_value_of_unknown_outcome_is_kept(
    ask: Ask, key: str, outcome: Outcome, code: str
) -> None:
    ask(evaluable(key))
    codes = true_for(5)
    codes[22] = int(outcome)
    answer = ask(evaluable(key), id="q2", outcomes=[outcomes(key, codes)])
    assert answer["kept"]["data"] == [[0, 1], [2, 3]]
    assert answer["conjuncts"][0]["reason"]["code"] == code


def test_too_many_values_are_not_evaluated(ask: Ask, key: str) -> None:
    answer = ask(evaluable(key), most_values=39)
    assert (answer["wanted"], answer["kept"]["form"]) == ([], "all")
    assert answer["conjuncts"][0]["reason"]["code"] == "TOO_MANY_VALUES"


def test_nothing_is_wanted_unless_the_shim_evaluates(ask: Ask, key: str, tmp_path: Path) -> None:
    answer = ask(evaluable(key), most_values=0)
    assert answer["wanted"] == []
    assert not list(directory_of(tmp_path).glob("*.values*"))
    assert answer["conjuncts"][0]["reason"]["code"] == "EXPRESSION_NOT_UNDERSTOOD"


def test_each_predicate_has_a_file_of_its_own(ask: Ask, key: str, tmp_path: Path) -> None:
    answer = ask(evaluable(key), evaluable(f"{key}-b"), evaluable(key))
    assert [each["key"] for each in answer["wanted"]] == [key, f"{key}-b"]
    assert values_in(tmp_path, 0) == values_in(tmp_path, 1)


@pytest.mark.parametrize(
    "sent",
    [
        lambda key: outcomes(key, true_for(1, count=39)),
        lambda key: outcomes(key, true_for(1, count=41)),
        lambda key: outcomes(key, []),
        lambda key: outcomes(key, [9] * 42),
        lambda key: outcomes(key, [*true_for(1)[:-1], 7]),
        lambda key: {**outcomes(key, true_for(1)), "codes": "not base64"},
        lambda key: outcomes(key, true_for(1), place=3),
        lambda key: outcomes(key, true_for(1), request="unknown"),
        lambda key: outcomes(key, true_for(1), request="../q1"),
    ],
)
def test_outcomes_that_do_not_fit_are_an_error_and_not_kept(
    ask: Ask, key: str, sent: Callable[[str], dict[str, Any]]
) -> None:
    ask(evaluable(key))
    assert "error" in ask(evaluable(key), id="q2", outcomes=[sent(key)])
    assert ask(evaluable(key), id="q3")["kept"]["form"] == "all"


def test_truncated_values_are_an_error(ask: Ask, key: str, tmp_path: Path) -> None:
    ask(evaluable(key))
    file = directory_of(tmp_path) / "q1.values0.arrow"
    file.write_bytes(file.read_bytes()[:-40])
    assert "error" in ask(evaluable(key), id="q2", outcomes=[outcomes(key, true_for(1))])


@pytest.mark.parametrize(
    "change",
    [{"k": None}, {"k": 5}, {"c": None}, {"c": {"n": "lit", "t": "long", "v": 1}}, {"a": None}],
)
def test_malformed_evaluable_predicate_keeps_every_file(
    ask: Ask, key: str, change: dict[str, Any]
) -> None:
    answer = ask({**evaluable(key), **change})
    assert answer["kept"]["form"] == "all"
