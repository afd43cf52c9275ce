"""An action for the sidecar when no question has arrived for a while: returning memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, NoReturn

__all__ = ["Idle"]

#: Seconds without a question. Questions come in bursts, so before that the next one may need the
#: memory again.
_QUIET: Final = 1.0


class Idle:
    """Calls `act` once whenever no question has arrived for `_QUIET` seconds. Thread-safe.

    Args:
        act: The action.
        sleep: Returns after so many seconds.
    """

    def __init__(
        self, act: Callable[[], None], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._act = act
        self._sleep = sleep
        self._has_question = threading.Event()

    def note_question(self) -> None:
        """Note that a question has arrived. Returns immediately."""
        self._has_question.set()

    def watch(self) -> NoReturn:
        """Run the loop of the watching thread, which never ends."""
        while True:
            self._has_question.wait()
            while self._has_question.is_set():
                self._has_question.clear()
                self._sleep(_QUIET)
            self._act()
