"""Asking functions of the user, which may raise, hang, or be slow: none of that may matter.

They run in a thread of their own, for as long as the plan can wait. What was not answered by then
is not known, and is answered faster the next time, for answers are kept. A single call that does
not come back is not waited for, and the contract is not asked again.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

__all__ = ["Answers", "Watch", "run_within"]

_UNHEARD: Final = object()
_MOST_KEPT: Final = 400_000
#: How long a call may go on after the time is over, before it counts as hanging.
_GRACE_SECONDS: Final = 0.5


class Watch:
    """How long user code may still take in one plan, and what has to be said of it."""

    def __init__(self, seconds: float = 1.5) -> None:
        self.warnings: dict[str, str] = {}
        self._left = seconds
        self._ends = 0.0

    def __enter__(self) -> bool:
        """The watch runs; whether there is time at all."""
        self._ends = time.monotonic() + self._left
        return self._left > 0

    def __exit__(self, *_: object) -> None:
        self._left = self.left()

    def left(self) -> float:
        """Seconds, while the watch runs."""
        return max(0.0, self._ends - time.monotonic())

    def warn(self, code: str, text: str) -> None:
        """Once for each code: a contract that fails does so in every file."""
        self.warnings.setdefault(code, text)


class Answers:
    """The answers of one function to questions, kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.hangs = False
        self._kept: dict[Hashable, Any] = {}

    def of(
        self, questions: Iterable[Hashable], answer: Callable[[Any], Any], watch: Watch
    ) -> dict[Hashable, Any]:
        """Answers by question; a question is missing where it raised or there was no time."""
        asked = list(dict.fromkeys(questions))
        missing = [each for each in asked if each not in self._kept]
        if missing and not self.hangs:
            if len(self._kept) > _MOST_KEPT:
                self._kept.clear()
                missing = asked
            self._ask(missing, answer, watch)
        found = {each: self._kept.get(each, _UNHEARD) for each in asked}
        return {each: given for each, given in found.items() if given is not _UNHEARD}

    def _ask(self, missing: list[Hashable], answer: Callable[[Any], Any], watch: Watch) -> None:
        def ask() -> None:
            for question in missing:
                if watch.left() == 0:
                    return
                try:
                    given = answer(question)
                except BaseException:  # SystemExit too: whatever it was, nothing is known
                    given = _UNHEARD
                self._kept[question] = given

        if not run_within(ask, watch.left() + _GRACE_SECONDS):
            self.hangs = True
            watch.warn(
                f"declaration_hangs:{self.name}",
                f"the declared function of {self.name} does not return: it is not asked any more. "
                "Declare it anew.",
            )


def run_within(task: Callable[[], None], seconds: float) -> bool:
    """Run a task in a thread of its own; False if it had to be left behind."""
    thread = threading.Thread(target=task, name="tamis-user-code", daemon=True)
    thread.start()
    thread.join(seconds)
    if not thread.is_alive():
        return True
    # A loop of Python code ends with this; what sleeps, or is in C code, when it returns.
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
    )
    return False
