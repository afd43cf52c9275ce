"""Memory is given back once, after the last of some questions."""

from __future__ import annotations

import threading
import time

import pytest

from tamis.serve.handler import Handler
from tamis.serve.memory_trimmer import Idle


@pytest.fixture
def acts() -> list[float]:
    return []


@pytest.fixture
def idle(acts: list[float]) -> Idle:
    made = Idle(lambda: acts.append(time.monotonic()), seconds=0.2)
    threading.Thread(target=made.watch, daemon=True).start()
    return made


def wait_for(acts: list[float], count: int) -> None:
    deadline = time.monotonic() + 30
    while len(acts) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_once_after_a_burst(idle: Idle, acts: list[float]) -> None:
    time.sleep(0.3)
    assert acts == []  # nobody asked
    for _ in range(10):
        idle.asked()
        last = time.monotonic()
        time.sleep(0.02)
    wait_for(acts, 1)
    assert acts[0] >= last
    time.sleep(0.6)
    assert len(acts) == 1
    idle.asked()
    wait_for(acts, 2)


def test_questions_are_noticed_also_where_they_fail() -> None:
    noticed: list[str] = []
    handler = Handler(lambda: noticed.append("asked"))
    assert '"internal_error"' in handler.plan("{") or '"refused"' in handler.plan("{")
    handler.imply("{")
    assert len(noticed) >= 2
