"""What the sidecar does when no question has come for a while: it gives memory back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, NoReturn

__all__ = ["Idle"]

#: Questions come in bursts: until so many seconds have passed, the next may need the memory again.
_QUIET: Final = 1.0


class Idle:
    """Calls `act` once each time that no question has come for `seconds`. Thread-safe."""

    def __init__(self, act: Callable[[], None], seconds: float = _QUIET) -> None:
        self._act = act
        self._seconds = seconds
        self._asked = threading.Event()

    def asked(self) -> None:
        """There was a question. Takes no time."""
        self._asked.set()

    def watch(self) -> NoReturn:
        """What its thread does, for ever."""
        while True:
            self._asked.wait()
            while self._asked.is_set():
                self._asked.clear()
                time.sleep(self._seconds)
            self._act()
