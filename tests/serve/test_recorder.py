"""Records become rows of the history: in batches, with statistics, and despite failures."""

from __future__ import annotations

import base64
import json
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.indexing.read.snapshot import snapshot_path
from tamis.serve.history.recorder import Recorder
from tamis.serve.process.handler import Handler

FILES = 12


def equal(column: str, value: int) -> dict[str, Any]:
    return {
        "n": "call", "f": "EqualTo", "t": "boolean",
        "a": [{"n": "col", "p": [column], "t": "integer"}, {"n": "lit", "t": "integer", "v": value}],
    }  # fmt: skip


def snapshot(directory: Path) -> dict[str, Any]:
    """Return a listing of 12 files in partitions p = 0 .. 3, as the shim writes it."""

    def write(kind: str, table: pa.Table) -> None:
        with pa.ipc.new_file(snapshot_path(str(directory), "f1", kind), table.schema) as out:
            out.write_table(table)

    directories = [f"file:/nowhere/t/p={p}" for p in range(4)]
    write(
        "groups",
        pa.table({"directory": directories, "partition.p": pa.array(range(4), pa.int32())}),
    )
    write("files", pa.table({
        "group": pa.array([i // 3 for i in range(FILES)], pa.int32()),
        "name": [f"{i}.parquet" for i in range(FILES)],
        "size": pa.array([1000] * FILES, pa.int64()),
        "mtime": pa.array([0] * FILES, pa.int64()),
    }))  # fmt: skip
    return {"fingerprint": "f1", "directory": str(directory), "files": FILES}


def record(folder: Path, number: int = 0, **changes: Any) -> str:
    """Return a scan with the filter p = 1 AND x = 5 that keeps three files."""
    bits = base64.b64encode((0b111000).to_bytes(2, "little")).decode()
    why = {"code": "NO_STATISTICS", "text": "no statistics", "fix": "build the index"}
    return json.dumps({
        "version": 1, "id": f"s{number}", "time": 1_770_000_000_000 + number, "application": "app",
        "execution": number, "table": "t", "files_kept": 3, "files_read": 3, "files_total": FILES,
        "bytes_kept": 3000, "bytes_total": 12000, "rows_kept": None, "rows_total": None,
        "row_groups_kept": None, "row_groups_total": None, "rows_read": 300, "rows_passed": 2,
        "planning_ms": 1.5, "fallback": None, "goals": [{"goal": "LIMIT 10", "reason": why}],
        "conjuncts": [{"sql": "(p = 1)", "pushdown": "exact", "reason": None},
                      {"sql": "(x = 5)", "pushdown": "unsupported", "reason": why}],
        "history": {"location": str(folder), "max_age_ms": 90000 * 86_400_000, "max_bytes": 64 << 20},
        "kept": {"form": "bitmap", "data": bits},
    } | changes)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def question(tmp_path: Path) -> dict[str, Any]:
    return {
        "version": 1, "id": "q", "snapshot": snapshot(tmp_path),
        "table": {"name": "t", "roots": ["file:/nowhere/t"],
                  "partition_columns": [{"name": "p", "type": "integer"}]},
        "conjuncts": [equal("p", 1), equal("x", 5)], "detail": True,
    }  # fmt: skip


def test_scan_becomes_a_row(folder: Path, question: dict[str, Any]) -> None:
    handler = Handler()
    assert handler.record(record(folder, question=question)) == ""
    assert handler.flush() == ""
    (row,) = tamis.history(folder).to_pylist()
    assert (row["files_kept"], row["files_total"], row["rows_passed"]) == (3, FILES, 2)
    assert row["roots"] == ["file:/nowhere/t"]
    assert row["goals"] == [{"goal": "LIMIT 10", "reason": "NO_STATISTICS"}]
    assert row["tamis"] == tamis.__version__
    p, x = row["conjuncts"]
    assert (p["pruned_files"], p["columns"], p["files_without_bounds"]) == (9, ["p"], 0)
    assert (x["pruned_files"], x["columns"], x["files_without_bounds"]) == (0, ["x"], 3)
    assert (x["reason"], x["text"], x["fix"]) == (
        "NO_STATISTICS",
        "no statistics",
        "build the index",
    )
    # Each value of p is in three files. x is unknown.
    assert row["columns"] == [{"name": "p", "depth": 3.0}, {"name": "x", "depth": None}]
    assert (row["has_index"], row["files_without_index"]) == (False, 3)


@pytest.mark.parametrize(
    ("places", "files"), [([], 3), ([0], 3), ([0, 1], 0)], ids=["no filter", "true", "cuts files"]
)
def test_files_that_recorded_aggregates_would_replace(
    folder: Path, question: dict[str, Any], places: list[int], files: int
) -> None:
    wanted = {"aggregates": ["sum(x)"], "by": ["y"], "groups": 4}
    conjuncts = json.loads(record(folder))["conjuncts"]
    question |= {"conjuncts": [question["conjuncts"][k] for k in places]}
    changes = {"aggregates": wanted, "conjuncts": [conjuncts[k] for k in places]}
    handler = Handler()
    handler.record(record(folder, question=question, **changes))
    handler.record(record(folder, 1, question=None, **changes))
    assert handler.flush() == ""
    known, unknown = (row["aggregates"] for row in tamis.history(folder).to_pylist())
    assert known == wanted | {"files": files, "bytes": files * 1000}
    assert unknown == wanted | {"files": None, "bytes": None}


@pytest.mark.parametrize(
    "changes",
    [{}, {"question": None}, {"kept": None}, {"conjuncts": []}],
    ids=["lost listing", "no question", "nothing kept", "no conjuncts"],
)
def test_details_that_cannot_be_computed_are_null(
    folder: Path, question: dict[str, Any], changes: dict[str, Any]
) -> None:
    if changes:
        changes = {"question": question} | changes
    else:  # a listing that was removed
        lost = question["snapshot"] | {"fingerprint": "f2"}
        changes = {"question": question | {"snapshot": lost}}
    handler = Handler()
    handler.record(record(folder, **changes))
    assert handler.flush() == ""
    (row,) = tamis.history(folder).to_pylist()
    assert (row["files_kept"], row["has_index"], row["columns"]) == (3, None, None)
    assert all(c["pruned_files"] is None for c in row["conjuncts"])


def test_burst_of_records_becomes_one_file(folder: Path) -> None:
    recorder = Recorder(seconds=3600)
    for number in range(256):  # a full batch, which does not wait for further records
        assert recorder.take(record(folder, number)) == ""
    deadline = time.monotonic() + 60
    while not folder.exists() or not list(folder.glob("*.parquet")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert len(list(folder.iterdir())) == 1
    assert len(tamis.history(folder)) == 256


def test_end_writes_pending_records(folder: Path) -> None:
    recorder = Recorder(seconds=3600)
    recorder.end(30)  # no record is pending
    assert not folder.exists()
    recorder.take(record(folder))
    recorder.end(30)
    assert len(tamis.history(folder)) == 1


def test_malformed_record_does_not_affect_others(folder: Path) -> None:
    recorder = Recorder(seconds=3600)
    for text in ("{", json.dumps({"version": 99}), record(folder)):
        recorder.take(text)
    problem = recorder.flush()
    assert "could not be recorded" in problem
    assert "spark.tamis.history.enabled=false" in problem
    assert len(tamis.history(folder)) == 1
    recorder.take(record(folder, 1))
    assert recorder.flush() == ""  # the next batch has no failure


def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    recorder = Recorder(seconds=3600)
    assert recorder.take(record(blocked / "history")) == ""
    recorder.flush()
    assert "cannot be written" in recorder.take(record(blocked / "history", 1))


def test_histories_are_written_separately(tmp_path: Path) -> None:
    recorder = Recorder(seconds=3600)
    for number in range(4):
        recorder.take(record(tmp_path / f"h{number % 2}", number))
    assert recorder.flush() == ""
    for parity in range(2):
        executions = tamis.history(tmp_path / f"h{parity}").column("execution").to_pylist()
        assert executions == [parity, parity + 2]


def test_records_are_accepted_during_a_write(folder: Path) -> None:
    """The oldest records are dropped if there are too many."""
    recorder = Recorder(seconds=3600)

    def take() -> None:
        for number in range(3000):
            recorder.take(record(folder, number))

    before = threading.active_count()
    with recorder._writing:
        taking = threading.Thread(target=take, daemon=True)
        taking.start()
        taking.join(300)  # would block forever if it waited for the batch
        assert not taking.is_alive()
        assert threading.active_count() < before + 50
    recorder.flush()
    executions = tamis.history(folder).column("execution").to_pylist()
    assert executions[-1] == 2999
    assert len(executions) <= 1024 + 256


def test_audit_is_recorded_with_its_scan(folder: Path) -> None:
    audit = {
        "version": 1, "kind": "audit", "id": "s1", "time": 1_770_000_000_999,
        "history": {"location": str(folder), "max_age_ms": 90000 * 86_400_000, "max_bytes": 64 << 20},
        "audit": {"result": "disagreement", "files": 3, "text": "2 rows"},
    }  # fmt: skip
    recorder = Recorder(seconds=3600)
    for text in (
        record(folder, 1, kind="scan", observed=True, bytes_read=12000),
        json.dumps(audit),
    ):
        assert recorder.take(text) == ""
    assert recorder.flush() == ""
    (row,) = tamis.history(folder).to_pylist()
    assert row["audit"] == {"result": "disagreement", "files": 3, "text": "2 rows"}
    assert (row["observed"], row["bytes_read"], row["files_kept"]) == (True, 12000, 3)
