"""The goal of a join on the wire: one request with the scans of the other side."""

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

SCHEMA = spark_schema(k="long", s="string", f="double")
K = {"n": "col", "p": ["k"], "t": "long"}
S = {"n": "col", "p": ["s"], "t": "string"}
F = {"n": "col", "p": ["f"], "t": "double"}


def write_table(root: Path, *files: list[int]) -> Path:
    """Write an indexed table with a file for each list of keys."""
    root.mkdir()
    for number, keys in enumerate(files):
        texts = [f"t{key:03}" for key in keys]
        columns = {"k": pa.array(keys, pa.int64()), "s": texts, "f": pa.array(keys, pa.float64())}
        pq.write_table(pa.table(columns), root / f"{number}.parquet")
    LocalIndex(root, SCHEMA, root.parent / "scratch").build()
    return root


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return five files with ten keys each, from 0."""
    return write_table(tmp_path / "target", *(list(range(10 * n, 10 * n + 10)) for n in range(5)))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return three files with the keys 5 .. 7, 31 .. 33 and 45."""
    return write_table(tmp_path / "source", [5, 6, 7], [31, 32, 33], [45])


def scan(root: Path, *conjuncts: Any, **fields: Any) -> dict[str, Any]:
    directory = root.parent / f"snapshot of {root.name}"
    fingerprint, files = write_snapshot(root, directory)
    return {
        "snapshot": {"fingerprint": fingerprint, "directory": str(directory), "files": files},
        "table": {"roots": [uri_of(root)]},
        "cache_directory": str(root.parent / "cache"),
        "conjuncts": conjuncts,
        **fields,
    }


def call(name: str, *arguments: Any) -> dict[str, Any]:
    return {"n": "call", "f": name, "t": "boolean", "a": list(arguments)}


def long(value: int) -> dict[str, Any]:
    return {"n": "lit", "t": "long", "v": value}


def join(
    target: dict[str, Any], key: Any, *sources: tuple[dict[str, Any], Any], others: Any = None
) -> dict[str, Any]:
    goal = {
        "kind": "join",
        "key": key,
        "sources": [{"scan": each, "key": of_source} for each, of_source in sources],
        "others": others,
    }
    request = {**target, "version": VERSION, "id": "q1", "goal": goal}
    answer = json.loads(Handler().plan(msgspec.json.encode(request).decode()))
    assert "error" not in answer
    return {name: value for name, value in answer["goal"].items() if value is not None}


def files(*ranges: tuple[int, int]) -> dict[str, Any]:
    return {"kind": "files", "files": {"form": "ranges", "data": [list(each) for each in ranges]}}


def test_files_without_a_key_of_the_source_are_left_out(target: Path, source: Path) -> None:
    assert join(scan(target), K, (scan(source), K)) == files((0, 1), (3, 5))
    assert join(scan(target), S, (scan(source), S)) == files((0, 1), (3, 5))


def test_filters_of_both_scans_count(target: Path, source: Path) -> None:
    above = scan(source, call("GreaterThan", K, long(40)))
    assert join(scan(target), K, (above, K)) == files((4, 5))
    below = scan(target, call("LessThan", K, long(35)))
    assert join(below, K, (scan(source), K)) == files((0, 1), (3, 4))


def test_join_uses_only_the_files_to_which_a_scan_is_confined(target: Path, source: Path) -> None:
    among = {"form": "ranges", "data": [[1, 2]]}
    assert join(scan(target), K, (scan(source, among=among), K)) == files((3, 4))
    within = {"form": "ranges", "data": [[0, 3]]}
    assert join(scan(target, among=within), K, (scan(source), K)) == files((0, 1))


def test_keys_of_several_sources_and_other_keys_are_united(target: Path, source: Path) -> None:
    parts = [scan(source, among={"form": "ranges", "data": [[n, n + 1]]}) for n in (0, 2)]
    assert join(scan(target), K, *((part, K) for part in parts)) == files((0, 1), (4, 5))
    others = {"n": "in", "a": K, "t": "long", "v": [12]}
    assert join(scan(target), K, (parts[0], K), others=others) == files((0, 2))
    assert join(scan(target), K, others=others) == files((1, 2))


def test_source_without_rows_matches_no_file(target: Path, source: Path) -> None:
    none = scan(source, call("GreaterThan", K, long(99)))
    answer = join(scan(target), K, (none, K))
    assert answer == {"kind": "files", "files": {"form": "none"}}


@pytest.mark.parametrize(("key", "of_source"), [(F, F), (K, S), (S, K)])
def test_keys_without_a_range_or_of_another_type_keep_all_files(
    key: Any, of_source: Any, target: Path, source: Path
) -> None:
    answer = join(scan(target), key, (scan(source), of_source))
    assert (answer["kind"], answer["reason"]["code"]) == ("nothing", "KEY_RANGE_UNKNOWN")


def test_one_unknown_source_keeps_all_files(target: Path, source: Path) -> None:
    bare = scan(source, index={"enabled": False})
    answer = join(scan(target), K, (scan(source), K), (bare, K))
    assert answer["reason"]["code"] == "KEY_RANGE_UNKNOWN"


def test_covering_range_is_the_reason(target: Path, source: Path) -> None:
    within = {"form": "ranges", "data": [[3, 5]]}
    answer = join(scan(target, among=within), K, (scan(source), K))
    assert answer["reason"]["code"] == "KEY_RANGE_COVERS"
    assert answer["reason"]["arguments"] == {"column": "k"}


def test_unreadable_snapshot_of_a_source_is_a_failure(target: Path, source: Path) -> None:
    lost = scan(source)
    lost["snapshot"]["fingerprint"] = "00"
    goal = {"kind": "join", "key": K, "sources": [{"scan": lost, "key": K}], "others": None}
    request = {**scan(target), "version": VERSION, "id": "q1", "goal": goal}
    answer = json.loads(Handler().plan(msgspec.json.encode(request).decode()))
    assert answer["error"]["code"] == "internal_error"
