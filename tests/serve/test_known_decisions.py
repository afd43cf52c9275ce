"""Further questions about a scan begin with the decision of the first one."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Column, Evaluated, Not
from tamis.expr.outcomes import Outcome, Outcomes
from tamis.expr.types import LONG
from tamis.serve.process.handler import Handler
from tamis.serve.scans import known_decisions, request_text, scan_files
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.messages import VERSION
from tamis.wire.scans import ScanRequest
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot

F = {"n": "col", "p": ["f"], "t": "double"}
K = {"n": "col", "p": ["k"], "t": "long"}
SCHEMA = spark_schema(k="long", f="double")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return an indexed table of three files; k is 0 .. 9, 10 .. 19, 20 .. 29, and f is k / 2."""
    root = tmp_path / "table"
    root.mkdir()
    for number in range(3):
        keys = range(10 * number, 10 * number + 10)
        columns = {"k": pa.array(keys, pa.int64()), "f": [k / 2 for k in keys]}
        pq.write_table(pa.table(columns), root / f"{number}.parquet")
    build(root)
    return root


def build(root: Path) -> None:
    LocalIndex(root, SCHEMA, root.parent / "scratch").build()


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets an entry for each decision that is made."""
    made: list[Any] = []
    original = scan_files.decide

    def decide(*arguments: Any) -> Any:
        made.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(scan_files, "decide", decide)
    return made


def request_of(root: Path, *conjuncts: Any) -> dict[str, Any]:
    directory = root.parent / "snapshot"
    if not directory.exists():
        write_snapshot(root, directory)
    (groups,) = directory.glob("*.groups.arrow")
    return {
        "snapshot": {
            "fingerprint": groups.name.removesuffix(".groups.arrow"),
            "directory": str(directory),
            "files": len(list(root.glob("*.parquet"))),
        },
        "table": {"roots": [uri_of(root)]},
        "cache_directory": str(root.parent / "cache"),
        "conjuncts": conjuncts,
    }


def ask(root: Path, *conjuncts: Any, **fields: Any) -> dict[str, Any]:
    request = {"version": VERSION, "id": "q1", **request_of(root, *conjuncts), **fields}
    answer = json.loads(Handler().plan(msgspec.json.encode(request).decode()))
    assert "error" not in answer, answer
    return {
        name: value
        for name, value in answer.items()
        if name not in ("milliseconds", "opening_milliseconds")
    }


def above(value: int) -> dict[str, Any]:
    return call("GreaterThan", K, {"n": "lit", "t": "long", "v": value})


def call(name: str, *arguments: Any, data_type: str = "boolean") -> dict[str, Any]:
    return {"n": "call", "f": name, "t": data_type, "a": list(arguments)}


def test_a_question_is_decided_once(table: Path, decided: list[Any]) -> None:
    first = ask(table, above(12))
    assert first["kept"] == {"form": "ranges", "data": [[1, 3]]}
    assert ask(table, above(12)) == first
    assert len(decided) == 1


def test_goals_begin_with_the_decision(table: Path, decided: list[Any]) -> None:
    plain = ask(table, above(12))
    clustered = ask(table, above(12), goal={"kind": "clustered", "keys": [K]})
    limit = {"kind": "limit", "rows": 5, "outputs": []}
    limited = ask(table, above(12), goal=limit)
    assert clustered["conjuncts"] == limited["conjuncts"] == plain["conjuncts"]
    source = {"scan": request_of(table, above(12)), "key": K}
    goal = {"kind": "join", "key": K, "sources": [source], "others": None}
    assert ask(table, goal=goal)["goal"]["files"] == plain["kept"]
    # the filter of the source, and the scan without a filter
    assert len(decided) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"conjuncts": [above(13)]},
        {"conjuncts": []},
        {"among": {"form": "ranges", "data": [[0, 2]]}},
        {"table": {"case_sensitive": True}},
        {"table": {"partition_columns": [{"name": "k", "type": "long"}]}},
        {"index": {"enabled": False}},
        {"detail": True},
    ],
)
def test_what_a_decision_depends_on(
    table: Path, decided: list[Any], fields: dict[str, Any]
) -> None:
    ask(table, above(12))
    of_table = {"roots": [uri_of(table)], **fields.get("table", {})}
    arguments = {"conjuncts": [above(12)], **fields, "table": of_table}
    ask(table, **arguments)
    assert len(decided) == 2


def test_what_is_not_in_the_text_decides_anew(table: Path, decided: list[Any]) -> None:
    request = msgspec.convert(request_of(table, above(12)), ScanRequest)
    (plain,) = decode_conjuncts(request.conjuncts)
    assert known_decisions._text(request, [plain]) is not None
    codes = np.array([Outcome.TRUE], np.uint8)
    outcomes = Outcomes(LONG, np.array([13]), codes, Outcome.NULL)
    known = Evaluated(plain, Column(("k",), LONG), outcomes)
    assert known_decisions._text(request, [Not(known)]) is None
    declaring = msgspec.structs.replace(request, declarations=["declared"])
    assert known_decisions._text(declaring, [plain]) is None


def test_zeros_of_both_signs_are_different_filters(table: Path, decided: list[Any]) -> None:
    for value in (0.0, -0.0):
        ask(table, call("EqualTo", F, {"n": "lit", "t": "double", "v": value}))
    assert len(decided) == 2


def test_another_index_decides_anew(table: Path, decided: list[Any]) -> None:
    before = ask(table, above(12))
    build(table)
    assert ask(table, above(12), index={"epoch": 1}) == before
    assert len(decided) == 2


def test_nothing_is_kept_while_an_index_cannot_be_read(table: Path, decided: list[Any]) -> None:
    (pointer,) = table.glob("_tamis/*.json")
    text = pointer.read_text()
    pointer.write_text("{")
    for _ in range(2):
        assert ask(table, above(12))["warnings"]
    assert len(decided) == 2
    pointer.write_text(text)
    assert ask(table, above(12), index={"epoch": 1})["kept"] == {"form": "ranges", "data": [[1, 3]]}


def test_flags_are_not_shared(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = scan_files.known_or

    def cleared(*arguments: Any) -> Any:
        decision = original(*arguments)
        kept = decision.kept.copy()
        decision.kept[:] = False
        return known_decisions.replace(decision, kept=kept)

    monkeypatch.setattr(scan_files, "known_or", cleared)
    first = ask(table, above(12))
    assert ask(table, above(12)) == first


def test_only_few_decisions_are_kept(
    table: Path, decided: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_decisions, "_MOST", 2)
    for value in (1, 2, 3, 1, 3):  # 1 was forgotten for 3, 2 for 1
        ask(table, above(value))
    assert len(decided) == 4


@pytest.mark.parametrize(
    ("module", "name", "most"),
    [(known_decisions, "_MOST_FILES", 2), (request_text, "_LONGEST", 20)],
)
def test_large_decisions_are_not_kept(
    table: Path,
    decided: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    name: str,
    most: int,
) -> None:
    monkeypatch.setattr(module, name, most)
    for _ in range(2):
        ask(table, above(12))
    assert len(decided) == 2
