"""The tasks of a scan of a remote table, as the shim requests them."""

from __future__ import annotations

import base64
import json
import pickle
import re
import threading
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tamis.errors import TamisError
from tamis.serve.process.handler import Handler
from tamis.serve.remote import answer_remote_tasks
from tests.remote.airport_server import AirportServer, Served, serving

ROWS = [pa.table({"id": [1, 2], "name": ["a", None]}), pa.table({"id": [3], "name": ["c"]})]
ID, NAME = StructField("id", LongType()), StructField("name", StringType())


def asked(server: AirportServer, *columns: StructField, **more: Any) -> dict[str, Any]:
    """Return the answer about tasks that read these columns."""
    options = {"uri": server.uri, "schema": "main", "table": "t", **more.pop("options", {})}
    request = {
        "version": 1,
        "id": "r1",
        "format": "tamis.airport",
        "options": options,
        "columns": StructType(list(columns)).json(),
        **more,
    }
    answer: dict[str, Any] = json.loads(answer_remote_tasks(json.dumps(request)))
    assert answer["id"] == "r1"
    return answer


def rows_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Read all tasks, as executors do."""
    reader = pickle.loads(base64.b64decode(answer["reader"]))
    tasks = [pickle.loads(base64.b64decode(each)) for each in answer["tasks"]]
    return [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]


def test_tasks_read_the_columns() -> None:
    with serving({("main", "t"): Served(ROWS)}) as server:
        answer = asked(server, NAME, ID)
        assert len(answer["tasks"]) == 2
        assert "import pickle" in answer["program"]
        assert answer["problem"] is None
        assert not answer["is_late"]
        rows = rows_of(answer)
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert [row["name"] for row in rows] == ["a", None, "c"]


def test_limit_ends_a_task_unless_the_rows_are_ordered() -> None:
    order = json.dumps([{"column": "id", "is_descending": True, "nulls_first": False}])
    parts = [pa.concat_tables([ROWS[0], ROWS[0]])]  # two batches
    with serving({("main", "t"): Served(parts)}) as server:
        limited = asked(server, ID, options={"tamis.limit": "1"}, seconds=60.0)
        assert len(rows_of(limited)) == 2
        ordered = asked(server, ID, options={"tamis.limit": "1", "tamis.order": order})
        assert len(rows_of(ordered)) == 4


@pytest.mark.parametrize(
    ("columns", "options", "says"),
    [
        (
            (StructField("id", StringType()),),
            {},
            "t of the Airport server .*planning the scan failed",
        ),
        ((ID,), {"table": "u"}, "there is no such table"),
        ((ID,), {"tabel": "u"}, "tabel is not one of"),
        ((ID,), {"uri": "grpc://127.0.0.1:1"}, "list_schemas"),
    ],
)
def test_what_cannot_be_read_is_a_problem(
    columns: tuple[StructField, ...], options: dict[str, str], says: str
) -> None:
    with serving({("main", "t"): Served(ROWS)}) as server:
        answer = asked(server, *columns, options=options)
    assert answer["tasks"] == []
    assert re.search(says, answer["problem"])


def test_answer_after_the_time_limit_is_marked_as_late() -> None:
    answers = threading.Event()
    with serving({("main", "t"): Served(ROWS, answers=answers)}) as server:
        answer = asked(server, ID, seconds=0.2)
        answers.set()
        assert answer["is_late"]
        assert answer["problem"] is None
        assert len(asked(server, ID)["tasks"]) == 2  # without a limit of time


def test_malformed_requests_are_failures() -> None:
    with pytest.raises(TamisError):
        answer_remote_tasks('{"version": 1, "id": "r1"}')
    failure = json.loads(Handler().remoteTasks('{"version": 1, "id": "r1", "columns": 3}'))
    assert failure["id"] == "r1"
    assert failure["error"]["code"] == "refused"
