"""Errors of Spark without the stack trace of the JVM, in messages and in the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["causes", "unlogged_errors"]


def causes(problem: BaseException) -> str:
    """Return what failed and the final cause, in one line.

    >>> causes(
    ...     Exception("An error occurred while calling o1.f.\\n: A: no\\n\\tat x\\nCaused by: C: c")
    ... )
    'A: no; C: c'
    >>> causes(KeyError())
    'KeyError'
    """
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    stated = [line for line in lines if not line.startswith(("An error occurred", "at ", "... "))]
    final = [line for line in stated if line.startswith("Caused by: ")]
    # a line between the first and the last cause names the file
    files = [line for line in stated if "reading file" in line]
    chosen = (*stated[:1], *files[:1], *final[-1:])
    text = "; ".join(
        dict.fromkeys(c.removeprefix(": ").removeprefix("Caused by: ") for c in chosen)
    )
    return text or type(problem).__name__


@contextmanager
def unlogged_errors() -> Iterator[None]:
    """Keep PySpark from logging the errors of this thread with the stack trace of the JVM.

    `pyspark.errors.exceptions.base` (seen in 4.1) logs what it raises to one of two loggers.
    """
    from pyspark.logger import PySparkLogger

    own = threading.get_ident()

    def is_of_another_thread(record: logging.LogRecord) -> bool:
        return record.thread != own

    loggers = [
        PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")
    ]
    for logger in loggers:
        logger.addFilter(is_of_another_thread)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_another_thread)
