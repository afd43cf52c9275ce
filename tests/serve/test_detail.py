"""Details of an answer: effects of conjuncts, and reasons that no output shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.serve.process.handler import Handler
from tamis.wire.messages import VERSION
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot

FILES = 4


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return four files of different sizes, where a is 0 .. 9, 10 .. 19, …."""
    root = tmp_path / "t"
    root.mkdir()
    for number in range(FILES):
        values = range(number * 10, number * 10 + 10)
        texts = ["x" * (100 * number + i) for i in range(10)]
        columns = {"a": pa.array(values, pa.int64()), "s": texts}
        pq.write_table(pa.table(columns), root / f"{number}.parquet")
    LocalIndex(root, spark_schema(a="long", s="string"), tmp_path / "scratch").build()
    return root


def answer_of(root: Path, conjuncts: list[Any], **more: Any) -> dict[str, Any]:
    directory = root.parent / "snapshot"
    fingerprint, files = write_snapshot(root, directory, {})
    request = {
        "version": VERSION,
        "id": "q1",
        "snapshot": {"fingerprint": fingerprint, "directory": str(directory), "files": files},
        "table": {"roots": [uri_of(root)]},
        "cache_directory": str(root.parent / "cache"),
        "conjuncts": conjuncts,
        **more,
    }
    answer = json.loads(Handler().plan(msgspec.json.encode(request).decode()))
    assert "error" not in answer, answer
    return dict(answer)


def a(function: str, limit: int) -> dict[str, Any]:
    column = {"n": "col", "p": ["a"], "t": "long"}
    literal = {"n": "lit", "t": "long", "v": limit}
    return {"n": "call", "f": function, "t": "boolean", "a": [column, literal]}


def test_files_pruned_and_added_by_each_conjunct(table: Path) -> None:
    sizes = [(table / f"{number}.parquet").stat().st_size for number in range(FILES)]
    conjuncts = [a("GreaterThan", 12), a("GreaterThan", 5), a("LessThan", 12), a("LessThan", 35)]
    answer = answer_of(table, conjuncts, detail=True)
    effects = [(each["pruned"], each["added"]) for each in answer["conjuncts"]]

    def share(*files: int) -> dict[str, int]:
        size = sum(sizes[number] for number in files)
        return {"files": len(files), "bytes": size, "rows": 10 * len(files)}

    assert effects == [
        (share(0), share(0)),
        (share(), share()),
        (
            share(2, 3),
            share(1, 2, 3),
        ),  # a > 12 AND a < 12: both together prune more than each alone.
        (share(), share()),
    ]
    assert answer["kept"]["form"] == "none"
    assert 0 < answer["opening_milliseconds"] <= answer["milliseconds"]


IS_OFF = "SET spark.tamis.index.enabled = true"
COLUMN_A = {"n": "col", "p": ["a"], "t": "long"}
IS_NULL = {"n": "call", "f": "IsNull", "t": "boolean", "a": [COLUMN_A]}


@pytest.mark.parametrize(
    ("conjunct", "code", "text"),
    [
        (a("GreaterThan", 12), "INDEX_IS_OFF", "spark.tamis.index.enabled is false, so no"),
        (IS_NULL, "INDEX_IS_OFF", "spark.tamis.index.enabled is false, so no"),
        (
            {"n": "call", "f": "Or", "t": "boolean", "a": [a("GreaterThan", 12), a("LessThan", 3)]},
            "OR_NEEDS_EVERY_BRANCH",
            "no statistics are known for a",
        ),
    ],
)
def test_fix_for_an_index_that_is_switched_off(
    table: Path, conjunct: dict[str, Any], code: str, text: str
) -> None:
    (answered,) = answer_of(table, [conjunct], index={"enabled": False})["conjuncts"]
    assert (answered["reason"]["code"], answered["reason"]["fix"]) == (code, IS_OFF)
    assert text in answered["reason"]["text"]


@pytest.mark.parametrize(
    ("goal", "code", "fix"),
    [
        (
            {"kind": "limit", "rows": 10},
            "LIMIT_NOT_COVERED",
            f"{IS_OFF}, and cluster the table by the filter columns so that more files match fully",
        ),
        (
            {"kind": "topk", "rows": 1, "key": COLUMN_A, "descending": True, "nulls_first": False},
            "TOPK_KEY_UNKNOWN",
            IS_OFF,
        ),
    ],
)
def test_fix_of_a_goal_if_the_index_is_switched_off(
    table: Path, goal: dict[str, Any], code: str, fix: str
) -> None:
    conjunct = a("GreaterThan", 12)
    why = answer_of(table, [conjunct], index={"enabled": False}, goal=goal)["goal"]["reason"]
    assert (why["code"], why["fix"]) == (code, fix)


def test_combined_effects_are_left_out_for_many_conjuncts(table: Path) -> None:
    answer = answer_of(table, [a("LessThan", 39 - i % 3) for i in range(40)], detail=True)
    looked = [each["added"] is not None for each in answer["conjuncts"]]
    assert looked == [True] * 32 + [False] * 8


def test_effects_are_left_out_without_detail(table: Path) -> None:
    (conjunct,) = answer_of(table, [a("LessThan", 12)])["conjuncts"]
    assert (conjunct["pruned"], conjunct["added"]) == (None, None)


def test_exact_filter_needs_no_split(table: Path) -> None:
    """The filter is exact, so no file is scanned without it. The shim does not show this reason."""
    goal = {"kind": "split", "freed": ["string"], "columns": 1, "least": 0}
    answer = answer_of(table, [a("LessThan", 20)], goal=goal)
    assert answer["goal"]["reason"]["code"] == "SPLIT_NOT_NEEDED"
    inexact = answer_of(table, [a("LessThan", 35)], goal=goal)
    assert inexact["goal"].get("reason", {}).get("code") != "SPLIT_NOT_NEEDED"
