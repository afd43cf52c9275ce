"""The memory in which the Python processes of executors hand over batches."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tamis.remote import program
from tests.remote.airport_server import Served, serving
from tests.remote.test_task_process import Executor, read, readers, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.programs


class Batches:
    """Reads tasks that are lists of batches: the number of rows, and the name of the column."""

    def read(self, task: list[tuple[int, str]]) -> Iterator[pa.RecordBatch]:
        for number, (rows, name) in enumerate(task):
            yield pa.RecordBatch.from_arrays([pa.repeat(number, rows)], [name])


class Stream:
    """The rows of a task, as the JVM reads them."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.incoming = executor.incoming
        self.schema = pa.ipc.read_schema(pa.ipc.read_message(self.incoming))

    def next(self) -> tuple[int | None, pa.RecordBatch] | None:
        """Return the place of a batch in the memory, and the batch. None: the end."""
        place = int.from_bytes(self.incoming.peek(4)[:4], "big", signed=True)
        if place < 0:
            try:
                message = pa.ipc.read_message(self.incoming)
            except EOFError:
                return None
            return None, pa.ipc.read_record_batch(message, self.schema)
        self.incoming.read(4)
        memory = pa.py_buffer(self.executor.memory)[place:]
        message = pa.ipc.read_message(pa.BufferReader(memory))
        return place, pa.ipc.read_record_batch(message, self.schema)

    def release(self, place: int) -> None:
        self.executor.connection.sendall(place.to_bytes(4, "big"))

    def places(self) -> list[int | None]:
        """Read all batches, and release each before the next one."""
        found = []
        while (each := self.next()) is not None:
            place, _ = each
            found.append(place)
            if place is not None:
                self.release(place)
        return found


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[Executor]:
    with running(tmp_path, shares=True) as executor:
        yield executor


def sent(executor: Executor, *batches: tuple[int, str]) -> Stream:
    executor.send(list(batches), Batches())
    return Stream(executor)


def numbers(batch: pa.RecordBatch) -> set[int]:
    return set(batch.column(0).to_pylist())


def is_silent(executor: Executor) -> bool:
    return not select.select([executor.connection], [], [], 0.3)[0]


def test_batches_after_the_first_are_in_the_memory(executor: Executor) -> None:
    for _ in range(2):
        places = sent(executor, *[(10, "n")] * 4).places()
        assert executor.problem() == ""
        assert places[0] is None
        assert all(each is not None for each in places[1:])


def test_slot_is_used_again_only_after_its_release(executor: Executor) -> None:
    stream = sent(executor, *[(10, "n")] * 5)
    assert stream.next() is not None
    held = [stream.next() for _ in range(program.SLOTS)]
    assert is_silent(executor)
    # the memory still has the batches that were not released
    assert [numbers(each[1]) for each in held if each is not None] == [{1}, {2}]
    assert held[0] is not None
    stream.release(held[0][0])
    third = stream.next()
    assert third is not None
    assert third[0] == held[0][0]
    assert numbers(third[1]) == {3}
    assert held[1] is not None
    assert numbers(held[1][1]) == {2}


def test_next_task_waits_for_the_release_of_the_last_batch(executor: Executor) -> None:
    stream = sent(executor, (10, "n"), (10, "n"))
    stream.next()
    last = stream.next()
    assert stream.next() is None
    assert executor.problem() == ""
    assert last is not None
    stream.release(last[0])
    assert sent(executor, (10, "m")).places() == [None]
    assert executor.problem() == ""


def test_large_batches_are_sent(executor: Executor) -> None:
    large = program.SLOT_BYTES // 8
    places = sent(executor, (1, "n"), (large, "n"), (large - 1000, "n"), (0, "n")).places()
    assert executor.problem() == ""
    assert places[:2] == [None, None]
    assert None not in places[2:]


def test_other_columns_in_the_middle_fail(executor: Executor) -> None:
    assert len(sent(executor, (1, "n"), (1, "n"), (1, "m")).places()) == 2
    assert "different schema" in executor.problem()


@pytest.mark.parametrize(
    "start",
    [
        "import os; del os.memfd_create\n",
        "import os\ndef fails(*a): raise OSError\nos.memfd_create = fails\n",
        "import os\ndef fails(*a): raise OSError\nos.posix_fallocate = fails\n",
    ],
)
def test_batches_are_sent_if_there_is_no_memory(tmp_path: Path, start: str) -> None:
    with running(tmp_path, shares=True, start=start) as executor:
        assert sent(executor, *[(10, "n")] * 4).places() == [None] * 4
        assert executor.problem() == ""


def test_program_ends_if_its_reader_is_gone_and_all_slots_are_used(executor: Executor) -> None:
    stream = sent(executor, *[(10, "n")] * 9)
    for _ in range(1 + program.SLOTS):
        stream.next()
    executor.close()
    assert executor.process.wait(30) == 0


def test_killed_program_leaves_no_file(executor: Executor) -> None:
    assert sent(executor, *[(10, "n")] * 4).places()
    path = Path(executor.path)
    assert os.readlink(path).endswith(" (deleted)")  # it has no name
    executor.process.send_signal(signal.SIGKILL)
    executor.process.wait(30)
    assert not path.exists()


# --- Spark --------------------------------------------------------------------------------------


def table(batches: int) -> pa.Table:
    """Return a table of several types. Every other batch is longer."""
    parts = []
    for number in range(batches):
        rows = 100 + number % 2 * 1000
        ids = [number * 10_000 + row for row in range(rows)]
        parts.append(
            pa.table(
                {
                    "id": pa.array(ids, pa.int64()),
                    "is_even": pa.array([each % 2 == 0 for each in ids], pa.bool_()),
                    "name": pa.array(
                        [str(each) if each % 3 else None for each in ids], pa.string()
                    ),
                    "tags": pa.array([["é"] * (each % 3) for each in ids], pa.list_(pa.string())),
                    "place": pa.array(
                        [{"x": each / 2, "y": None} for each in ids],
                        pa.struct({"x": pa.float64(), "y": pa.int32()}),
                    ),
                }
            )
        )
    return pa.concat_tables(parts)


def maps_memory(spark: SparkSession) -> bool:
    pid = spark._jvm.ProcessHandle.current().pid()
    return "memfd:tamis" in Path(f"/proc/{pid}/maps").read_text()


def rows_of(frame: Any) -> list[dict[str, Any]]:
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda r: r["id"])


def test_spark_reads_batches_from_the_memory(spark: SparkSession) -> None:
    content = table(20)
    with serving({("main", "t"): Served([content, table(7).slice(3)])}) as server:
        expected = [*content.to_pylist(), *table(7).slice(3).to_pylist()]
        expected.sort(key=lambda row: row["id"])
        for _ in range(2):  # again, in the same processes
            assert rows_of(read(spark, server)) == expected
        assert maps_memory(spark)


def test_spark_reads_empty_batches_from_the_memory(spark: SparkSession) -> None:
    whole = table(2)
    batches = [whole.slice(0, rows).combine_chunks().to_batches() for rows in (1, 2, 3)]
    empty = pa.RecordBatch.from_pylist([], whole.schema)
    stream = [batch for each in batches for batch in (*each, empty, empty)]
    # tables do not send empty batches
    part = pa.RecordBatchReader.from_batches(whole.schema, stream)
    with serving({("main", "t"): Served([part])}) as server:
        rows = rows_of(read(spark, server))
    assert [row["id"] for row in rows] == [0, 0, 0, 1, 1, 2]


def test_error_after_shared_batches_fails_the_query(spark: SparkSession) -> None:
    served = Served([table(9)], problem="the disk is full", good_batches=6)
    with serving({("main", "t"): served}) as server:
        with pytest.raises(Exception, match="the disk is full"):
            read(spark, server).collect()
        good = Served([table(5)])
    with serving({("main", "t"): good}) as server:
        assert read(spark, server).count() == table(5).num_rows


def test_process_killed_after_shared_batches_fails_the_query(spark: SparkSession) -> None:
    continues = threading.Event()
    served = Served([table(9)], problem="not reached", good_batches=6, continues=continues)
    with serving({("main", "t"): served}) as server, ThreadPoolExecutor(1) as pool:
        query = pool.submit(read(spark, server).collect)
        assert server.waiting.wait(60)
        for pid in readers(spark):
            os.kill(pid, signal.SIGKILL)
        error = query.exception(60)
        continues.set()
    assert "the Python process that reads the table has ended (exit code 137)" in str(error)


def test_limit_ends_the_reading_of_shared_batches(spark: SparkSession) -> None:
    with serving({("main", "t"): Served([table(40)])}) as server:
        assert len(read(spark, server).where("id % 2 = 1").limit(300).collect()) == 300
        assert read(spark, server).count() == table(40).num_rows
