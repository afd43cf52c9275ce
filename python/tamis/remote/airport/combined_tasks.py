"""Combines tasks, so that one task reads several endpoints.

A task costs Spark some milliseconds, and a connection to the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from tamis.remote.airport.flight_task import FlightTask
from tamis.remote.executor import Task

__all__ = ["combined"]

#: The most endpoints that a task reads.
_MOST: Final = 8


def combined(tasks: Sequence[Task], count: int | None) -> Sequence[Task]:
    """Return tasks that read the same rows.

    Args:
        tasks: The tasks, in the order of the server.
        count: The number of tasks to combine them into; None: they remain as they are. There are
            more if neighbors differ in their location, or are files.

    >>> tasks = [FlightTask("t", "grpc://a:1", [b"%d" % n], []) for n in range(5)]
    >>> [task.tickets for task in combined(tasks, 2)]
    [[b'0', b'1'], [b'2', b'3', b'4']]
    """
    if count is None or count >= len(tasks):
        return tasks
    # the number of rows is an estimate of the work, and some endpoints are larger than others
    count = max(count, -(-len(tasks) // _MOST))
    ends = [place * len(tasks) // count for place in range(count + 1)]
    return [task for start, end in pairwise(ends) for task in _combined(tasks[start:end])]


def _combined(tasks: Sequence[Task]) -> list[Task]:
    """Combine neighbors of the same location."""
    found: list[Task] = []
    for task in tasks:
        last = found[-1] if found else None
        if (
            isinstance(task, FlightTask)
            and isinstance(last, FlightTask)
            and (task.location, task.headers) == (last.location, last.headers)
        ):
            found[-1] = replace(last, tickets=[*last.tickets, *task.tickets])
        else:
            found.append(task)
    return found
