"""CPU time of a driver, which also runs the tasks, and of its sidecar."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


#: What Linux calls the threads of the JVM that compile hot code.
_COMPILERS = ("C1 CompilerThre", "C2 CompilerThre")


def cpu_seconds(spark: SparkSession, *, compilers: bool = True) -> float:
    """Return the CPU time of both so far, with all threads, at the resolution of Linux.

    Args:
        spark: The session.
        compilers: Whether to count the threads of the JVM that compile hot code. For hundreds of
            queries, they compile parts of Spark at times that have nothing to do with the query.
    """
    view: Any = spark.sparkContext._jvm
    processes = [int(view.java.lang.ProcessHandle.current().pid())]
    sidecar = view.io.tamis.bridge.SidecarSupervisor.current()
    if sidecar.isDefined():
        processes.append(int(sidecar.get().pid()))
    return sum(map(_of_process, processes)) - (0.0 if compilers else _of_compilers(processes[0]))


def _of_process(process: int) -> float:
    cpu_clock = (~process << 3) | 2  # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of Linux
    return time.clock_gettime(cpu_clock)


def _of_compilers(process: int) -> float:
    nanoseconds = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if (thread / "comm").read_text().strip() in _COMPILERS:
                nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9
