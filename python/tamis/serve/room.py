"""Room for deep expressions: reading and evaluating them recurses, some ten calls a level.

Python allows 1,000 calls, which is enough for the 60 levels that are read elsewhere. Deeper ones
are planned in a thread of their own, whose stack has room for as many calls as are allowed while it
runs. The shim writes at most 200 levels; what lies below is opaque, there as here.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["DEEPEST", "depth_of", "with_room"]

T = TypeVar("T")

#: Levels that are read, with room: those that the shim writes.
DEEPEST: Final = 202
#: Calls for these levels: thirty for each. Those made by way of C take a kilobyte or two of stack.
_CALLS: Final = 8_000
_STACK: Final = 64 << 20
#: Levels for which no more room is needed than there is.
_SHALLOW: Final = 40

_lock = threading.Lock()


def depth_of(document: object) -> int:
    """How many expression documents lie inside one another.

    >>> depth_of([{"n": "call", "a": [{"n": "in", "a": {"n": "col"}}]}, {"n": "col"}])
    3
    """
    deepest = 0
    pending: list[tuple[object, int]] = [(document, 0)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, list | tuple):
            pending.extend((each, depth) for each in node if isinstance(each, dict | list))
        elif isinstance(node, dict):
            deepest = max(deepest, depth + 1)
            pending.append((node.get("a"), depth + 1))
    return deepest


def with_room(depth: int, function: Callable[[], T]) -> T:
    """The result of the function, or what it raises, with room for expressions of that depth."""
    if depth <= _SHALLOW:
        return function()
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((True, function()))
        except BaseException as error:  # raised where it was called
            outcome.extend((False, error))

    # Both settings are the whole process's: one deep plan at a time, and then as they were.
    with _lock:
        calls, stack = sys.getrecursionlimit(), threading.stack_size(_STACK)
        sys.setrecursionlimit(max(calls, _CALLS))
        try:
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            threading.stack_size(stack)
            thread.join()
        finally:
            threading.stack_size(stack)
            sys.setrecursionlimit(calls)
    succeeded, result = outcome
    if succeeded:
        return result  # type: ignore[no-any-return]
    raise result
