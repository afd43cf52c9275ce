"""The sidecar returns memory to the system once after a burst of questions."""

from __future__ import annotations

import threading
from queue import Queue

from tamis.serve.process.handler import Handler
from tamis.serve.process.memory_trimmer import Idle

_LIMIT = 60  # seconds until a test fails


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.sleeps: Queue[float] = Queue()
        self._ends = threading.Semaphore(0)

    def sleep(self, seconds: float) -> None:
        self.sleeps.put(seconds)
        self._ends.acquire()

    def wait_for_sleep(self) -> None:
        self.sleeps.get(timeout=_LIMIT)

    def end_sleep(self) -> None:
        self._ends.release()


def test_memory_is_returned_once_after_a_burst() -> None:
    clock, acts = Clock(), Queue[str]()
    idle = Idle(lambda: acts.put("act"), clock.sleep)
    threading.Thread(target=idle.watch, daemon=True).start()
    idle.note_question()
    clock.wait_for_sleep()
    for _ in range(10):
        idle.note_question()
    clock.end_sleep()
    clock.wait_for_sleep()  # questions have arrived, so memory is kept for another interval
    assert acts.empty()
    clock.end_sleep()
    acts.get(timeout=_LIMIT)
    idle.note_question()
    clock.wait_for_sleep()
    assert acts.empty()  # it was returned once, and the next question starts another interval
    clock.end_sleep()
    acts.get(timeout=_LIMIT)


def test_failing_questions_count_too() -> None:
    noticed: list[str] = []
    handler = Handler(lambda: noticed.append("asked"))
    assert '"internal_error"' in handler.plan("{") or '"refused"' in handler.plan("{")
    handler.imply("{")
    assert len(noticed) >= 2
