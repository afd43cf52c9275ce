"""The sidecar returns memory to the system once after a burst of questions."""

from __future__ import annotations

import threading
import time

import pytest

from tamis.serve.process.handler import Handler
from tamis.serve.process.memory_trimmer import Idle


@pytest.fixture
def acts() -> list[float]:
    return []


@pytest.fixture
def idle(acts: list[float]) -> Idle:
    instance = Idle(lambda: acts.append(time.monotonic()), seconds=0.2)
    threading.Thread(target=instance.watch, daemon=True).start()
    return instance


def wait_for(acts: list[float], count: int) -> None:
    deadline = time.monotonic() + 30
    while len(acts) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_memory_is_returned_once_after_a_burst(idle: Idle, acts: list[float]) -> None:
    time.sleep(0.3)
    assert acts == []  # no question yet
    for _ in range(10):
        idle.note_question()
        last = time.monotonic()
        time.sleep(0.02)
    wait_for(acts, 1)
    assert acts[0] >= last
    time.sleep(0.6)
    assert len(acts) == 1
    idle.note_question()
    wait_for(acts, 2)


def test_failing_questions_count_too() -> None:
    noticed: list[str] = []
    handler = Handler(lambda: noticed.append("asked"))
    assert '"internal_error"' in handler.plan("{") or '"refused"' in handler.plan("{")
    handler.imply("{")
    assert len(noticed) >= 2
