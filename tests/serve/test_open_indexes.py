"""Indexes are opened in the background as soon as the driver names their table."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tamis.serve import open_indexes
from tamis.serve.process.handler import Handler
from tamis.wire.messages import OpenIndexesRequest


def test_answer_does_not_wait_for_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    roots: list[str] = []
    answered, opened = threading.Event(), threading.Event()

    def open_slowly(request: OpenIndexesRequest) -> None:
        answered.wait(60)
        roots.extend(request.table.roots)
        opened.set()

    monkeypatch.setattr(open_indexes, "open_ahead", open_slowly)
    request = {"version": 1, "id": "o1", "table": {"roots": ["file:/data/t"]}}
    answer: dict[str, Any] = json.loads(Handler().openIndexes(json.dumps(request)))
    assert answer == {"id": "o1", "version": 1}
    answered.set()
    assert opened.wait(60)
    assert roots == ["file:/data/t"]


@pytest.mark.parametrize("request_", ["no JSON", '{"version": 1, "id": "o1"}', '{"version": 2}'])
def test_malformed_request_is_refused(request_: str) -> None:
    assert json.loads(Handler().openIndexes(request_))["error"]["code"] == "refused"
