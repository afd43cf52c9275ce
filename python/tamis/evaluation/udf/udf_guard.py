"""Calls of users' functions, isolated from the planner: they may raise, hang or be slow.

They run in a separate thread for as long as the plan can wait. Results that are missing by then are
not known. Results are kept, so the next plan needs fewer calls. A call that does not return is
abandoned, and the function is not called again.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

__all__ = ["Answers", "UdfGuard", "run_within"]

#: Stands for the result of a call that raised, or that was not made.
_NO_ANSWER: Final = object()
_MOST_KEPT: Final = 400_000
#: How long a call may run after the time limit before it counts as hanging.
_GRACE_SECONDS: Final = 0.5


class UdfGuard:
    """The time that users' functions may still take in one plan, and the warnings about them.

    Args:
        seconds: The time.
        clock: Returns seconds since some moment.
    """

    def __init__(self, seconds: float = 1.5, clock: Callable[[], float] = time.monotonic) -> None:
        self.warnings: dict[str, str] = {}
        self._left = seconds
        self._clock = clock
        self._ends = 0.0

    def __enter__(self) -> bool:
        """Start the clock. Return whether any time is left."""
        self._ends = self._clock() + self._left
        return self._left > 0

    def __exit__(self, *_: object) -> None:
        self._left = self.left()

    def left(self) -> float:
        """Return the seconds that are left. Valid only inside the `with` block."""
        return max(0.0, self._ends - self._clock())

    def warn(self, code: str, text: str) -> None:
        """Keep the first warning of each code: a contract that fails does so in every file."""
        self.warnings.setdefault(code, text)


class Answers:
    """The kept answers of one function, by question."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.hangs = False
        self._kept: dict[Hashable, Any] = {}

    def of(
        self, questions: Iterable[Hashable], answer: Callable[[Any], Any], watch: UdfGuard
    ) -> dict[Hashable, Any]:
        """Return the answer to each question, without those that raised or had no time left."""
        distinct = list(dict.fromkeys(questions))
        missing = [each for each in distinct if each not in self._kept]
        if missing and not self.hangs:
            if len(self._kept) > _MOST_KEPT:
                self._kept.clear()
                missing = distinct
            self._ask(missing, answer, watch)
        answers = {each: self._kept.get(each, _NO_ANSWER) for each in distinct}
        return {each: result for each, result in answers.items() if result is not _NO_ANSWER}

    def _ask(self, missing: list[Hashable], answer: Callable[[Any], Any], watch: UdfGuard) -> None:
        def ask() -> None:
            for question in missing:
                if watch.left() == 0:
                    return
                try:
                    result = answer(question)
                except BaseException:  # including SystemExit: after any error, nothing is known
                    result = _NO_ANSWER
                self._kept[question] = result

        if not run_within(ask, watch.left() + _GRACE_SECONDS):
            self.hangs = True
            watch.warn(
                f"declaration_hangs:{self.name}",
                f"the declared function of {self.name} did not return in time. tamis does not "
                "call it again. Make it faster or correct it, and declare it again.",
            )


def run_within(task: Callable[[], None], seconds: float) -> bool:
    """Run a task in a separate thread. Return False if it did not finish and was abandoned."""
    thread = threading.Thread(target=task, name="tamis-user-code", daemon=True)
    thread.start()
    thread.join(seconds)
    if not thread.is_alive():
        return True
    # This ends a loop of Python code at once. Code that sleeps or runs in C ends when it returns to
    # Python.
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
    )
    return False
