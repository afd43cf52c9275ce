"""The history as a file for the shim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.scan_history import SCHEMA, Log
from tamis.scan_history.schema import rows_to_table
from tamis.serve.process.handler import Handler


def read(folder: Path, directory: Path) -> dict[str, Any]:
    request = {"version": 1, "id": "q1", "directory": str(directory), "location": str(folder)}
    answer: dict[str, Any] = json.loads(Handler().history(json.dumps(request)))
    assert "error" not in answer, answer
    answer["table"] = pa.ipc.open_file(directory / "q1.history.arrow").read_all()
    return answer


def test_missing_folder_is_an_empty_history(tmp_path: Path) -> None:
    answer = read(tmp_path / "none", tmp_path)
    assert (answer["rows"], answer["table"].num_rows) == (0, 0)
    assert answer["table"].column_names == SCHEMA.names
    assert answer["table"].schema.field("time").type == pa.timestamp("us", "UTC")


def test_rows_and_skipped_files(tmp_path: Path) -> None:
    rows = [{"id": str(n), "time": n, "roots": ["r"], "table": "t"} for n in (2, 1)]
    Log(tmp_path / "h").append(rows_to_table(rows))
    (tmp_path / "h" / "other.txt").write_text("no history")
    answer = read(tmp_path / "h", tmp_path)
    assert answer["table"].column("id").to_pylist() == ["1", "2"]
    assert answer["table"].column("roots").to_pylist() == [["r"], ["r"]]
    (note,) = answer["notes"]
    assert "left out of the history: other.txt (not a history file). Check" in note


def test_malformed_request_is_a_failure(tmp_path: Path) -> None:
    assert "error" in json.loads(Handler().history("no JSON"))
