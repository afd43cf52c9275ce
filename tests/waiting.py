"""Waiting for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(is_so: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until something is so, which fails the test if it takes longer than this."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)
