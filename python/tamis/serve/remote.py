"""Answers about remote tables."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from tamis.expr.nodes import Column, Expr, walk
from tamis.remote.contract import Applied, ColumnStatistics, RemoteError, RemoteSource
from tamis.remote.proof import rules_out_all
from tamis.remote.sources import open_source
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.messages import write_answer
from tamis.wire.remote import (
    RemoteAnswer,
    RemoteColumn,
    RemoteRequest,
    RemoteTasks,
    RemoteTasksRequest,
    read_remote_request,
    read_tasks_request,
)

__all__ = ["answer_remote", "answer_remote_tasks"]

_Found = TypeVar("_Found")


def answer_remote(text: str) -> str:
    """Answer a RemoteRequest.

    A server that fails or is slow is a problem of that server and not of the planner, so it is part
    of the answer. Reading the table then fails with the error of the server.

    Raises:
        TamisError: The request cannot be read.
    """
    request = read_remote_request(text)
    try:
        answer = _within(request.seconds, lambda: _answer(request))
    except RemoteError as error:
        answer = RemoteAnswer(request.id, problem=str(error))
    except queue.Empty:
        label = open_source(request.format, request.options).label
        problem = (
            f"{label} gave no answer within {request.seconds:.1f} s. If it is only slow, raise "
            "spark.tamis.timeout"
        )
        answer = RemoteAnswer(request.id, problem=problem)
    return write_answer(answer)


def answer_remote_tasks(text: str) -> str:
    """Answer a RemoteTasksRequest.

    Raises:
        TamisError: The request cannot be read.
        ImportError: This Python has no pyspark.
    """
    request = read_tasks_request(text)
    try:
        answer = _within(request.seconds, lambda: _tasks(request))
    except RemoteError as error:
        answer = RemoteTasks(request.id, problem=str(error))
    except queue.Empty:
        answer = RemoteTasks(request.id, is_late=True)
    return write_answer(answer)


def _tasks(request: RemoteTasksRequest) -> RemoteTasks:
    from tamis.remote.planning import pickled_tasks

    pickled = pickled_tasks(request.format, request.options, request.columns)
    return RemoteTasks(request.id, pickled.program, pickled.reader, pickled.tasks)


def _answer(request: RemoteRequest) -> RemoteAnswer:
    until = time.monotonic() + request.seconds
    source = open_source(request.format, request.options)
    conjuncts = decode_conjuncts(request.conjuncts)
    # The statistics come first. If rows are added in between, they are those of an older version,
    # which is the one that the query reads if nothing else of it is read.
    statistics = source.statistics(_columns(source, conjuncts, request.columns))
    is_empty = rules_out_all(conjuncts, statistics)
    # half of what is left: the footers that are not read in time are not needed for the answer
    left = (until - time.monotonic()) / 2
    files = None if is_empty else source.files(conjuncts, request.storage, left)
    asks = not is_empty and files is None
    applied = source.applied(conjuncts) if asks else [Applied.IGNORED] * len(conjuncts)
    return RemoteAnswer(
        request.id,
        source.label,
        [str(each) for each in applied],
        is_empty,
        None if files is None else list(files),
        statistics.rows,
        {name: _column(each) for name, each in statistics.columns.items()},
    )


def _columns(source: RemoteSource, conjuncts: list[Expr], more: list[str]) -> list[str]:
    """Return the columns of the table that the filters name, and these."""
    named = [node.path[0] for each in conjuncts for node in walk(each) if isinstance(node, Column)]
    offered = set(source.schema().names)
    return [name for name in dict.fromkeys([*named, *more]) if name in offered]


def _column(statistics: ColumnStatistics) -> RemoteColumn:
    return RemoteColumn(
        _constant(statistics.minimum), _constant(statistics.maximum), statistics.distinct
    )


def _constant(bound: pa.Scalar | None) -> bool | int | float | str | None:
    """Return a bound as a constant of an expression document; None if the optimizer has no use."""
    if bound is None:
        return None
    if pa.types.is_date32(bound.type):
        return int(bound.cast(pa.int32()).as_py())
    if pa.types.is_timestamp(bound.type):
        return int(bound.cast(pa.int64()).as_py())
    if pa.types.is_decimal(bound.type):
        return format(bound.as_py(), "f")
    if pa.types.is_boolean(bound.type) or pa.types.is_integer(bound.type):
        value: bool | int = bound.as_py()
        return value
    if pa.types.is_floating(bound.type) and math.isfinite(bound.as_py()):
        return float(bound.as_py())
    return None


def _within(seconds: float | None, find: Callable[[], _Found]) -> _Found:
    """Return what a function finds within a time; it continues in the background otherwise.

    Args:
        seconds: The time; None: without end.
        find: The function.

    Raises:
        queue.Empty: The time is over.
        RemoteError: The function fails.
    """
    if seconds is None:
        return find()
    results: queue.SimpleQueue[_Found | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put(find())
        except Exception as error:
            results.put(error)

    threading.Thread(target=run, name="tamis-remote", daemon=True).start()
    result = results.get(timeout=max(seconds, 0.001))
    if isinstance(result, RemoteError):
        raise result
    if isinstance(result, ImportError):
        raise result  # of this Python, and not of the server
    if isinstance(result, Exception):
        raise RemoteError("tamis", "", "preparing the scan", repr(result)) from result
    return result


if __name__ == "__main__":
    import sys

    print(answer_remote_tasks(sys.stdin.read()))
