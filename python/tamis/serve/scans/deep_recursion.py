"""Stack space for deep expressions: reading and evaluating them takes about ten calls per level.

Python allows 1,000 nested calls, which is enough for the 60 levels that wire.catalyst reads by
default. Here, expressions of more than 40 levels are planned in a separate thread, with a higher
recursion limit while it runs and a stack that is large enough for it. The shim writes at most 200
levels; deeper levels are opaque, in the shim and here.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["DEEPEST", "depth_of", "with_room"]

T = TypeVar("T")

#: Levels that are read with a larger stack: all that the shim writes.
DEEPEST: Final = 202
#: The recursion limit, over thirty calls per level. Calls through C take one or two kilobytes of
#: stack.
_CALLS: Final = 8_000
_STACK: Final = 64 << 20
#: Levels that do not need a larger stack.
_SHALLOW: Final = 40

_lock = threading.Lock()


def depth_of(document: object) -> int:
    """Return how many levels of expression documents are nested.

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
    """Call a function with enough stack for expressions of a depth.

    Returns:
        What the function returns. What it raises is raised.
    """
    if depth <= _SHALLOW:
        return function()
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((True, function()))
        except BaseException as error:  # raised again in the calling thread
            outcome.extend((False, error))

    # Both settings apply to the whole process: plan one deep expression at a time, then restore.
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
