"""The data files of a snapshot, as the shim gets them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from tamis.errors import TamisError
from tamis.serve.iceberg_files import write_iceberg_files
from tests.tables.iceberg.hand_made import File, Lake


def question(lake: Lake, directory: Path) -> str:
    document = {
        "version": 1,
        "id": "q1",
        "directory": str(directory),
        "snapshot": msgspec.to_builtins(lake.snapshot()),
        "storage": {"fs.s3a.secret.key": "hidden"},
    }
    return json.dumps(document)


def test_files_that_sparks_reader_can_read_are_marked(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(
        File("file:/w/a b"),
        File("file:/w/c", format="ORC"),
        File("file:/w/d", key_metadata=b"k"),
        File("file:/w/e"),
    )
    lake.add(
        File("file:/w/x", 2, content=1, referenced="file:/w/e"), deletes=True, sequence_number=2
    )
    answer = json.loads(write_iceberg_files(question(lake, tmp_path)))
    assert (answer["id"], answer["files"], answer["problem"]) == ("q1", 4, None)
    with pa.OSFile(str(tmp_path / "q1.iceberg.arrow")) as file:
        rows = pa.ipc.open_file(file).read_all()
    assert rows.column("uri").to_pylist() == [f"file:/w/{name}" for name in ("a%20b", *"cde")]
    assert rows.column("location").to_pylist()[0] == "file:/w/a b"
    assert rows.column("is_plain").to_pylist() == [True, False, False, False]
    assert rows.column("records").to_pylist() == [10] * 4


def test_an_unreadable_snapshot_is_an_answer_and_no_failure(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("file:/w/a")).unlink()
    answer = json.loads(write_iceberg_files(question(lake, tmp_path)))
    assert "cannot be read" in answer["problem"]
    assert not list(tmp_path.glob("*.arrow"))


def test_a_request_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TamisError):
        write_iceberg_files('{"version": 1, "id": "q1"}')
