"""Processes of a test: started from a plain shell environment, limited in time, and terminated."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.class_archive import class_path, java_options

LIMIT = 240.0  # seconds; a machine may be busy, and a healthy start takes ten
SPARK_HOME = Path(str(find_spec("pyspark").origin)).parent
EXTENSION = "spark.sql.extensions=io.tamis.TamisExtensions"
REPORT = "REPORT "


def shell(directory: Path, **more: str) -> dict[str, str]:
    """Return the environment of a shell with this Python activated.

    Spark's settings in it are time limits that a busy machine keeps, options of the JVM with which
    executors start fast, and those that avoid work which takes longer than a small query. They are
    properties of the JVM. A directory of settings would be on its class path, which the archive of
    classes does not permit.
    """
    defaults = {
        "spark.tamis.timeout": "60s",
        # so that the first query waits for the sidecar, although its files are few and small
        "spark.sql.files.openCostInBytes": "1g",
        "spark.executor.extraJavaOptions": java_options(),
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
    }
    properties = {"java.io.tmpdir": str(directory), **defaults}
    submit_options = shlex.join(f"-D{name}={value}" for name, value in properties.items())
    of_this_machine = {
        name: os.environ[name]
        for name in ("HOME", "JAVA_HOME", "LANG", "LD_LIBRARY_PATH", "XDG_CACHE_HOME")
        if name in os.environ
    }
    return {
        **of_this_machine,
        **class_path(),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_CONF_DIR": str(directory / "settings"),  # for a test to create
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Spark's own temporary files, and the private directory of tamis
        "SPARK_SUBMIT_OPTS": f"{submit_options} {java_options()}",
        "SPARK_DAEMON_JAVA_OPTS": java_options(),
        "XDG_STATE_HOME": str(directory / "state"),
        **more,
    }


def spark(command: str) -> str:
    """Return a command of Spark: `spark-submit`, `spark-sql`, `spark-class`, `beeline`."""
    return str(SPARK_HOME / "bin" / command)


def run(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> str:
    """Run a command, which must succeed, and return its standard output."""
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def report(output: str) -> dict[str, Any]:
    """Return the report of an application of `apps/` about its query (see apps/query.py)."""
    (line,) = [line for line in output.splitlines() if line.startswith(REPORT)]
    document: dict[str, Any] = json.loads(line.removeprefix(REPORT))
    return document


class Running:
    """A process whose output goes to a file."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log

    @property
    def pid(self) -> int:
        return self.process.pid

    def output(self) -> str:
        return self.log.read_text("utf-8", errors="replace")

    def wait_until(self, done: Callable[[], object], what: str) -> None:
        """Wait for the condition. Fail if the process ends first or the limit passes."""
        deadline = time.monotonic() + LIMIT
        while not done():
            assert self.process.poll() is None, f"ended before {what}:\n{self.output()}"
            assert time.monotonic() < deadline, f"no {what}:\n{self.output()}"
            time.sleep(0.1)

    def wait_for(self, text: str) -> None:
        self.wait_until(lambda: text in self.output(), repr(text))

    def wait_for_port(self, port: int) -> None:
        self.wait_until(lambda: _listens(port), f"listening on {port}")


@contextmanager
def running(
    command: Sequence[str], directory: Path, environment: Mapping[str, str], name: str = "process"
) -> Iterator[Running]:
    """Start a process, yield it, and terminate it with all its descendants."""
    log = directory / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Running(process, log)
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def sidecars_under(pid: int) -> list[int]:
    """Return the sidecars among the descendants of a process."""
    sidecars = []
    for child in _children(pid):
        sidecars += sidecars_under(child)
        if b"tamis.serve" in _read(child, "cmdline"):
            sidecars.append(child)
    return sidecars


def java_under(pid: int) -> int:
    """Return the JVM that a process became or has started."""
    (java,) = [p for p in (pid, *_children(pid)) if b"java" in _read(p, "cmdline").split(b"\0")[0]]
    return java


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    try:
        return [int(p) for t in tasks.iterdir() for p in (t / "children").read_text().split()]
    except OSError:
        return []


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def wait_until_gone(pid: int) -> None:
    """Wait for the process to end; a zombie has ended."""
    deadline = time.monotonic() + 30
    while _read(pid, "stat").rpartition(b") ")[2][:1] not in (b"", b"Z", b"X"):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.1)
