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
from tests.tables.iceberg.hand_made import File, Lake, Spec, integer, summary


def question(lake: Lake, directory: Path, patience_ms: int = 60_000, **more: Any) -> str:
    document = {
        "version": 1,
        "id": "q1",
        "directory": str(directory),
        "snapshot": msgspec.to_builtins(lake.snapshot()),
        "storage": {"fs.s3a.secret.key": "hidden"},
        "patience_ms": patience_ms,
        **more,
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


def test_manifests_that_cannot_match_are_left_out(tmp_path: Path) -> None:
    spec = Spec(0, [(1000, "p", 1, "identity", "int")])
    lake = Lake(tmp_path, [(1, "c", "int")], [spec])
    paths = [
        lake.add(File(f"file:/w/{n}", partition=[n]), summaries=[summary(integer(n), integer(n))])
        for n in range(4)
    ]
    column = {"n": "col", "p": ["c"], "t": "integer"}
    one = {
        "n": "call",
        "f": "EqualTo",
        "t": "boolean",
        "a": [column, {"n": "lit", "t": "integer", "v": 1}],
    }

    def answered(**more: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(write_iceberg_files(question(lake, tmp_path, **more)))
        assert found["problem"] is None
        return found

    answer = answered(conjuncts=[one])
    assert (answer["files"], answer["table_files"], answer["table_records"]) == (1, 4, 40)
    assert answer["manifests"] == [str(paths[1])]
    assert answer["listed"] == {"form": "ranges", "data": [[1, 2]]}
    again = answered(
        conjuncts=[one], known=[answer["listed"], {"form": "ranges", "data": [[0, 2]]}]
    )
    assert (again["known"], again["files"]) == (0, 0)
    among = answered(among=[str(paths[2]), str(paths[3])])
    assert among["listed"] == {"form": "ranges", "data": [[2, 4]]}
    nothing = answered(conjuncts=[one], among=[str(paths[2])])
    assert (nothing["files"], nothing["listed"]) == (0, {"form": "none"})
    for whole in (answered(), answered(known=[answer["listed"]]), answered(conjuncts=[{"n": "?"}])):
        assert (whole["files"], whole["listed"], whole["known"]) == (4, None, None)
    # deleted rows of files that are not listed are not counted
    lake.add(File("file:/w/d", content=1, partition=[0]), deletes=True)
    assert answered(conjuncts=[one])["table_records"] is None


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
    asked = question(lake, tmp_path)  # writes the list of manifests, which a thread then reads
    impatient = json.dumps({**json.loads(asked), "patience_ms": 10})
    for _ in range(2):
        answer = json.loads(write_iceberg_files(impatient))
        assert answer["is_pending"]
        assert "later query" in answer["problem"]
    assert len(reads) == 1
    may_read.set()
    answer = json.loads(write_iceberg_files(asked))
    assert (answer["files"], answer["is_pending"]) == (1, False)


def test_an_unreadable_snapshot_is_an_answer_and_no_failure(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("file:/w/a")).unlink()
    answer = json.loads(write_iceberg_files(question(lake, tmp_path)))
    assert "cannot be read" in answer["problem"]
    assert answer["may_pass"]
    assert not list(tmp_path.glob("*.arrow"))


def test_what_another_attempt_would_find_again_is_no_failure_of_the_storage(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    path = lake.add(File("file:/w/a"))
    snapshot = {**msgspec.to_builtins(lake.snapshot()), "format_version": 4}
    answer = json.loads(write_iceberg_files(question(lake, tmp_path, snapshot=snapshot)))
    assert "version 4" in answer["problem"]
    assert not answer["may_pass"]
    path.write_bytes(b"damaged")
    answer = json.loads(write_iceberg_files(question(lake, tmp_path)))
    assert answer["problem"]
    assert not answer["may_pass"]


def test_a_request_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TamisError):
        write_iceberg_files('{"version": 1, "id": "q1"}')
