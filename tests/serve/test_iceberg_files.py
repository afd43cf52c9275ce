"""The data files of a snapshot, as the shim gets them."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from tamis.errors import TamisError
from tamis.serve.iceberg_files import write_iceberg_files
from tamis.tables import iceberg
from tamis.tables.iceberg import open_snapshot
from tests.tables.iceberg.hand_made import File, Lake


def question(lake: Lake, directory: Path, patience_ms: int = 60_000) -> str:
    document = {
        "version": 1,
        "id": "q1",
        "directory": str(directory),
        "snapshot": msgspec.to_builtins(lake.snapshot()),
        "storage": {"fs.s3a.secret.key": "hidden"},
        "patience_ms": patience_ms,
    }
    return json.dumps(document)


def test_all_files_are_written_in_the_order_of_their_locations(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("file:/w/c", format="ORC"), File("file:/w/a b", size=7))
    answer = json.loads(write_iceberg_files(question(lake, tmp_path)))
    assert (answer["id"], answer["files"], answer["problem"]) == ("q1", 2, None)
    with pa.OSFile(str(tmp_path / "q1.iceberg.arrow")) as file:
        rows = pa.ipc.open_file(file).read_all()
    assert rows.to_pylist() == [
        {"location": "file:/w/a b", "uri": "file:/w/a%20b", "size": 7, "manifest": 0},
        {"location": "file:/w/c", "uri": "file:/w/c", "size": 1000, "manifest": 0},
    ]


def test_a_slow_snapshot_is_read_to_its_end_for_a_later_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("file:/w/a"))
    may_read, reads = threading.Event(), []

    def slow(*arguments: Any) -> Any:
        reads.append(arguments)
        assert may_read.wait(60)
        return open_snapshot(*arguments)

    monkeypatch.setattr(iceberg, "open_snapshot", slow)
    asked = question(lake, tmp_path, patience_ms=10)
    for _ in range(2):
        answer = json.loads(write_iceberg_files(asked))
        assert answer["is_pending"]
        assert "later query" in answer["problem"]
    assert len(reads) == 1
    may_read.set()
    answer = json.loads(write_iceberg_files(question(lake, tmp_path)))
    assert (answer["files"], answer["is_pending"]) == (1, False)


def test_an_unreadable_snapshot_is_an_answer_and_no_failure(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("file:/w/a")).unlink()
    answer = json.loads(write_iceberg_files(question(lake, tmp_path)))
    assert "cannot be read" in answer["problem"]
    assert not list(tmp_path.glob("*.arrow"))


def test_a_request_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TamisError):
        write_iceberg_files('{"version": 1, "id": "q1"}')
