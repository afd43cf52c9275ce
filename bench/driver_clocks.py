"""The clocks of a running driver: wall, CPU of the process, CPU of the thread that plans."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from bench.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CALLS: Final = 3000  # of Python, which one thread of the driver answers


class DriverClocks:
    """Reads the clocks of the driver. Linux only."""

    #: The order of the clocks.
    NAMES = ("wall", "CPU of the driver", "CPU of the thread")

    def __init__(self, spark: SparkSession) -> None:
        self._pid = int(jvm(spark).java.lang.ProcessHandle.current().pid())
        before = self._threads()
        for _ in range(_CALLS):
            jvm(spark).java.lang.System.nanoTime()
        taken = {name: ran - before.get(name, 0) for name, ran in self._threads().items()}
        # py4j runs every call of a Python thread in the same thread of the driver
        self._thread = max(taken, key=lambda name: taken[name])

    def read(self) -> npt.NDArray[np.float64]:
        """Return seconds."""
        process = time.clock_gettime((~self._pid << 3) | 2)  # CPUCLOCK_SCHED, see <linux/time.h>
        return np.array([time.perf_counter(), process, self._ran(self._thread) / 1e9])

    def _threads(self) -> dict[str, int]:
        return {
            task.name: self._ran(task.name) for task in Path(f"/proc/{self._pid}/task").iterdir()
        }

    def _ran(self, thread: str) -> int:
        """Return the nanoseconds for which a thread has run; 0 if it has ended."""
        try:
            status = Path(f"/proc/{self._pid}/task/{thread}/schedstat").read_text()
        except OSError:
            return 0
        return int(status.split()[0])
