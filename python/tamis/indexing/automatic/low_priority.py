"""Adding files to an automatic index in a process of its own, of the lowest priority.

Reading many footers takes seconds of processor time. Queries of the driver need the processors at
the same time, so the process starts a little later, and uses only what they leave. If the storage
hangs, the process is killed.

The process reads a pickled `Unindexed` from standard input. It writes a line whenever it has read
some footers, and the pickled result at the end. It ends if standard input does, that is, with this
process.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Final

from tamis.indexing.automatic import file_adder
from tamis.indexing.automatic.file_adder import Unindexed
from tamis.indexing.read.snapshot import FileKeys

__all__ = ["add_files"]

#: Seconds until the process starts: by then, most queries that read the files have ended.
_PAUSE: Final = 2.0
#: Seconds after which a process that has read no file is killed.
_HUNG: Final = 600.0
#: The lines that the process writes.
_PROGRESS: Final = b"read\n"
_RESULT: Final = b"result\n"
#: The imports take a third of a second, so the priority comes first. If memory is short, Linux ends
#: this process before others. The JVM of libhdfs would reserve a quarter of the memory.
_PROGRAM: Final = f"""
import os
if hasattr(os, "nice"):
    os.nice(19)
try:
    with open("/proc/self/oom_score_adj", "w") as adjustment:
        adjustment.write("1000")
except OSError:
    pass
os.environ.setdefault("LIBHDFS_OPTS", "-Xmx128m")
from {__name__} import main
main()
"""


def add_files(wanted: Unindexed) -> tuple[int, FileKeys]:
    """Read the footers of files and commit them: see `file_adder.add_files`.

    Raises:
        Exception: The process cannot be started, has failed or was killed. What it has committed
            stays.
    """
    time.sleep(_PAUSE)
    process: subprocess.Popen[bytes] = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Ctrl-C in a terminal is for the driver. In a new session, Linux would ignore the priority.
        process_group=0,
    )
    watchdog = _Watchdog(process.kill)
    try:
        watchdog.feed()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # the process has failed
            pickle.dump(wanted, process.stdin)
            process.stdin.flush()  # and left open
        while line := process.stdout.readline():
            watchdog.feed()
            if line == _RESULT:
                described, missed = pickle.load(process.stdout)
                return described, missed
        raise OSError("the process that reads footers has failed")
    finally:
        watchdog.end()
        process.kill()
        with suppress(subprocess.TimeoutExpired):  # storage may block it in the kernel
            process.communicate(timeout=5)


class _Watchdog:
    """Calls a function if it is not fed for a while."""

    def __init__(self, bark: Callable[[], None]) -> None:
        self._bark = bark
        self._timer: threading.Timer | None = None

    def feed(self) -> None:
        self.end()
        self._timer = threading.Timer(_HUNG, self._bark)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def main() -> None:
    """Do what standard input says."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints does not go into the result
    wanted: Unindexed = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, args=(sys.stdin.buffer,), daemon=True).start()

    def note_progress() -> None:
        output.write(_PROGRESS)
        output.flush()

    result = file_adder.add_files(wanted, note_progress)
    output.write(_RESULT)
    pickle.dump(result, output)
    output.flush()


def _end_with_parent(parent: BinaryIO) -> None:
    while parent.read(4096):
        pass
    os._exit(1)
