"""The processes in which executors read remote tables."""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import tamis
from tamis.remote import program
from tests.remote.airport_server import AirportServer, Served, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.programs

ROWS = [pa.table({"id": [1, 2], "name": ["a", None]}), pa.table({"id": [3], "name": ["c"]})]


class Numbers:
    """Reads tasks that say how many batches there are, and how reading ends."""

    def read(self, task: tuple[int, Exception | None]) -> Iterator[pa.RecordBatch]:
        batches, problem = task
        for number in range(batches):
            yield pa.record_batch({"n": [number] * 1000})
        if problem is not None:
            raise problem


class Executor:
    """The other side of a program's socket.

    `path` is that of the shared memory, and `memory` its content if the executor `shares` it.
    """

    def __init__(
        self, connection: socket.socket, process: subprocess.Popen[bytes], *, shares: bool
    ) -> None:
        self.connection, self.process = connection, process
        self.incoming = connection.makefile("rb")
        self.path = self.text()
        self.memory = b"" if not (shares and self.path) else mapped(self.path)
        connection.sendall(int(len(self.memory) > 0).to_bytes(4, "big"))

    def send(self, task: Any, reader: Any = None) -> None:
        for block in (pickle.dumps(reader or Numbers()), pickle.dumps(task)):
            self.connection.sendall(len(block).to_bytes(4, "big") + block)

    def rows(self) -> int:
        return sum(batch.num_rows for batch in pa.ipc.open_stream(self.incoming))

    def text(self) -> str:
        return self.incoming.read(int.from_bytes(self.incoming.read(4), "big")).decode()

    def problem(self) -> str:
        return self.text()

    def close(self) -> None:
        self.incoming.close()
        self.connection.close()


def mapped(path: str) -> mmap.mmap:
    with Path(path).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)


@contextmanager
def running(directory: Path, *, shares: bool = False, start: str = "") -> Iterator[Executor]:
    """Run the program after the statements `start`."""
    path = str(directory / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        text = start + Path(program.__file__).read_text("utf-8")
        with subprocess.Popen([sys.executable, "-c", text, path]) as process:
            connection, _ = server.accept()
            executor = Executor(connection, process, shares=shares)
            try:
                yield executor
            finally:
                executor.close()
                process.kill()


def test_program_reads_tasks_one_after_the_other(tmp_path: Path) -> None:
    with running(tmp_path) as executor:
        for task, rows in [((3, None), 3000), ((0, None), 0), ((1, None), 1000)]:
            executor.send(task)
            assert (executor.rows(), executor.problem()) == (rows, "")


@pytest.mark.parametrize("batches", [0, 2])
def test_program_reports_an_error_after_the_rows(tmp_path: Path, batches: int) -> None:
    with running(tmp_path) as executor:
        executor.send((batches, RuntimeError("t: the disk is full")))
        assert executor.rows() == batches * 1000
        assert executor.problem() == "t: the disk is full"
        executor.send((batches, KeyError("é")))
        executor.rows()
        trace = executor.problem()
        assert "Traceback" in trace
        assert trace.endswith("KeyError: 'é'\n")
        executor.send((1, None))  # and it reads the next task
        assert (executor.rows(), executor.problem()) == (1000, "")


def test_program_reads_only_a_few_batches_ahead() -> None:
    read: list[int] = []
    is_over = threading.Event()

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for number in range(1000):
                read.append(number)
                yield pa.record_batch({"n": [number]})
        finally:
            is_over.set()

    ahead = program.ahead(batches())
    assert next(ahead).to_pylist() == [{"n": 0}]
    assert not is_over.wait(0.2)
    ahead.close()  # such as when a batch cannot be sent
    assert is_over.wait(30)
    # those that wait, the one that was taken, and those that were read before and after the end
    assert len(read) <= program.BATCHES_AHEAD + 3


def test_program_ends_with_its_socket(tmp_path: Path) -> None:
    with running(tmp_path) as executor:
        executor.close()
        assert executor.process.wait(30) == 0


def test_program_ends_if_its_reader_is_gone(tmp_path: Path) -> None:
    with running(tmp_path) as executor:
        executor.send((10**9, None))
        executor.incoming.read(8)
        executor.close()
        assert executor.process.wait(30) == 0


# --- the processes of Spark -------------------------------------------------------------------


def read(spark: SparkSession, server: AirportServer) -> Any:
    return tamis.read_airport(spark, server.uri, "main", "t")


def readers(spark: SparkSession) -> set[int]:
    """Return the numbers of the processes that Spark's JVM has started to read tasks."""
    jvm = spark._jvm.ProcessHandle.current()
    handles = [jvm, *jvm.children().toList()][1:]
    found = set()
    for handle in handles:
        arguments = Path(f"/proc/{handle.pid()}/cmdline")
        if arguments.exists() and program.__doc__.encode() in arguments.read_bytes():
            found.add(int(handle.pid()))
    return found


def test_process_is_used_again(spark: SparkSession) -> None:
    with serving({("main", "t"): Served(ROWS[:1])}) as server:
        assert read(spark, server).count() == 2
        before = readers(spark)
        assert before
        assert read(spark, server).where("id = 1").collect() == [(1, "a")]
        assert readers(spark) == before


def test_killed_process_fails_the_query(spark: SparkSession) -> None:
    continues = threading.Event()
    served = Served(ROWS[:1], problem="not reached", continues=continues)
    with serving({("main", "t"): served}) as server, ThreadPoolExecutor(1) as pool:
        query = pool.submit(read(spark, server).collect)
        assert server.waiting.wait(60)
        for pid in readers(spark):
            os.kill(pid, signal.SIGKILL)
        error = query.exception(60)
        continues.set()
    assert "main.t of the Airport server" in str(error)
    assert "the Python process that reads the table has ended (exit code 137)" in str(error)


def test_limit_above_a_filter_ends_the_reading(spark: SparkSession) -> None:
    part = pa.table({"id": list(range(200_000))})
    with serving({("main", "t"): Served([part, part])}) as server:
        assert len(read(spark, server).where("id % 2 = 1").limit(3).collect()) == 3
        assert read(spark, server).where("id % 2 = 1").count() == 200_000


def test_rows_are_read_without_a_planner(spark: SparkSession) -> None:
    bridge = spark._jvm.io.tamis.Tamis
    spark.conf.set("spark.tamis.python", "/nonexistent/python")
    bridge.restart()
    try:
        with serving({("main", "t"): Served(ROWS)}) as server:
            rows = read(spark, server).where("id > 1").collect()
        assert sorted(map(tuple, rows)) == [(2, None), (3, "c")]
    finally:
        spark.conf.unset("spark.tamis.python")
        bridge.restart()


def test_python_that_cannot_read_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/bin/false")
    monkeypatch.setattr(spark._sc, "pythonExec", "/bin/false")
    with serving({("main", "t"): Served(ROWS)}) as server:
        frame = read(spark, server)
        with pytest.raises(Exception, match="/bin/false cannot read remote tables: its"):
            frame.collect()


@pytest.mark.parametrize("has_planner", [True, False])
def test_missing_python_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, has_planner: bool
) -> None:
    missing = "/nonexistent/python"
    monkeypatch.setenv("PYSPARK_PYTHON", missing)
    monkeypatch.setattr(spark._sc, "pythonExec", missing)
    bridge = spark._jvm.io.tamis.Tamis
    if not has_planner:
        spark.conf.set("spark.tamis.python", missing)
        bridge.restart()
    try:
        with serving({("main", "t"): Served(ROWS)}) as server:
            step = "reading" if has_planner else "planning the scan"
            says = (
                f"the table main.t of the .*{urlsplit(server.uri).netloc}.*: {step} failed: "
                f"cannot run the Python interpreter {missing} .*spark.pyspark.python"
            )
            with pytest.raises(Exception, match=says):
                read(spark, server).collect()
    finally:
        if not has_planner:
            spark.conf.unset("spark.tamis.python")
            bridge.restart()


def test_process_keeps_the_memory_of_batches(spark: SparkSession) -> None:
    with serving({("main", "t"): Served(ROWS)}) as server:
        assert read(spark, server).count() == 3
    for pid in readers(spark):
        assert b"MALLOC_TRIM_THRESHOLD_=" in Path(f"/proc/{pid}/environ").read_bytes()
