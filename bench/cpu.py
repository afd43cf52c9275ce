"""CPU time of a driver, which also runs the tasks, and of its sidecar."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def cpu_seconds(spark: SparkSession) -> float:
    """Return the CPU time of both so far, with all threads, at the resolution of Linux."""
    view: Any = spark.sparkContext._jvm
    processes = [int(view.java.lang.ProcessHandle.current().pid())]
    sidecar = view.io.tamis.bridge.SidecarSupervisor.current()
    if sidecar.isDefined():
        processes.append(int(sidecar.get().pid()))
    return sum(map(_of_process, processes))


def _of_process(process: int) -> float:
    cpu_clock = (~process << 3) | 2  # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of Linux
    return time.clock_gettime(cpu_clock)
