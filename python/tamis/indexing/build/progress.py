"""A progress bar for Spark jobs on a terminal."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

_GROUP = "spark.jobGroup.id"
_EVERY = 0.2  # seconds


@contextmanager
def progress_of(context: SparkContext, what: str) -> Iterator[None]:
    """Show how many tasks of the jobs run inside are finished. Shows nothing without a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    group = f"tamis-{secrets.token_hex(4)}"
    before = context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, what, group, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        # py4j passes None as null, which removes the property
        context.setLocalProperty(_GROUP, before)  # type: ignore[arg-type]


def _watch(context: SparkContext, what: str, group: str, done: threading.Event) -> None:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        while not done.wait(_EVERY):
            finished, total = _tasks(context, group)
            if total:
                bar.update(task, completed=finished, total=total)


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    """Return the number of finished tasks and of all tasks of the jobs of a group."""
    tracker = context.statusTracker()
    finished = total = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            state = tracker.getStageInfo(stage)
            if state:
                finished += state.numCompletedTasks
                total += state.numTasks
    return finished, total
