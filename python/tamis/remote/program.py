"""The program of a process in which an executor reads tasks. It imports only pyarrow.

The extension starts `python -c` with this text and the path of a Unix domain socket, because
executors may have no tamis. Numbers are 4 bytes, the most significant first.

    from the program  once: the length of the path of shared memory, the path; 0 if there is none
    to the program    once: 1 if the executor has mapped this memory, else 0
    to the program    for each task: the length of the pickled reader, the reader,
                      the length of the pickled task, the task
    from the program  for each task: an Arrow IPC stream of the rows,
                      the length of an error, the error in UTF-8; 0 if there is none
    to the program    for each batch in the shared memory: its place, when it is no longer used

In the stream, a batch may be replaced by its place in the shared memory: the number of bytes before
its message. The other messages of the stream begin with the bytes FF FF FF FF. The executor
releases the batches of a task before it sends another task.

The rows count only if no error follows them. The program ends when the socket is closed. One thread
reads from the server while another one sends rows, so that neither waits for the other.
"""

import os
import pickle
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from typing import Any

import pyarrow as pa

#: How far this process may be ahead of the executor. The system may allow less.
SEND_BYTES = 4 << 20
#: How many batches wait to be sent.
BATCHES_AHEAD = 2
#: How many batches the shared memory holds: one that the executor reads, and the next one.
SLOTS = 2
#: The most bytes of a batch in the shared memory, with its schema. Larger batches are sent.
SLOT_BYTES = 16 << 20


class Outgoing:
    """The socket as a file that pyarrow writes buffers to without copying them."""

    closed = False

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def write(self, data: Any) -> None:
        """Send all of a buffer. End the process if the executor no longer reads."""
        try:
            self._connection.sendall(data)
        except OSError:
            os._exit(0)

    def write_text(self, text: str) -> None:
        """Send the length of a text, and the text in UTF-8."""
        content = text.encode()
        self.write(len(content).to_bytes(4, "big") + content)

    def flush(self) -> None:
        """Do nothing: every write is sent."""


class SharedMemory:
    """Memory that the executor maps, so that it reads batches without copying them.

    It is a file without a name, so that nothing is left when the processes end, however they end.
    It has a slot for each batch, which is used again after the executor has released it.

    Args:
        incoming: What the executor sends.

    Raises:
        AttributeError, OSError, pyarrow.ArrowException: The system has no such files.
    """

    def __init__(self, incoming: Any) -> None:
        self._incoming = incoming
        self._free = list(range(SLOTS))
        self._reserved = [0] * SLOTS  # bytes of each slot that the system has provided
        self._file = os.memfd_create("tamis")
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        os.ftruncate(self._file, SLOTS * SLOT_BYTES)
        self._content = pa.memory_map(self.path, "r+")

    def place(self, batch: pa.RecordBatch, schema: pa.Schema) -> int | None:
        """Write a batch, and return its place; None if there is no memory for it.

        Raises:
            pyarrow.ArrowInvalid: The batch does not have this schema.
        """
        size = pa.ipc.get_record_batch_size(batch)
        needed = schema.serialize().size + size
        if needed > SLOT_BYTES:
            return None
        if not self._free:
            self._wait()
        slot = self._free[-1]
        if not self._reserve(slot, needed):
            return None
        self._content.seek(slot * SLOT_BYTES)
        pa.ipc.new_stream(self._content, schema).write_batch(batch)
        self._free.pop()
        place: int = self._content.tell() - size
        return place

    def wait(self) -> None:
        """Wait until the executor has released all batches."""
        while len(self._free) < SLOTS:
            self._wait()

    def _reserve(self, slot: int, size: int) -> bool:
        """Return whether the system provides memory. Writing to other memory ends the process."""
        if size > self._reserved[slot]:
            try:
                os.posix_fallocate(self._file, slot * SLOT_BYTES, size)
            except OSError:
                return False
            self._reserved[slot] = size
        return True

    def _wait(self) -> None:
        """Wait until the executor has released a batch. End the process if it no longer reads."""
        place = self._incoming.read(4)
        if len(place) < 4:
            os._exit(0)
        self._free.append(int.from_bytes(place, "big") // SLOT_BYTES)


def shared_memory(outgoing: Outgoing, incoming: Any) -> SharedMemory | None:
    """Offer memory to the executor; return None if the executor or the system cannot share it."""
    try:
        memory = SharedMemory(incoming)
    except (AttributeError, OSError, pa.ArrowException):
        memory = None
    outgoing.write_text("" if memory is None else memory.path)
    is_mapped = int.from_bytes(incoming.read(4), "big") == 1
    return memory if is_mapped else None


def blocks(incoming: Any) -> Iterator[bytes]:
    """Yield what the executor sends."""
    while len(length := incoming.read(4)) == 4:
        size = int.from_bytes(length, "big")
        block = incoming.read(size)
        if len(block) < size:
            return
        yield block


def ahead(batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
    """Yield batches that another thread reads. If this generator is closed, that thread ends."""
    read: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(BATCHES_AHEAD)
    is_closed = threading.Event()

    def run() -> None:
        try:
            for batch in batches:
                read.put(batch)
                if is_closed.is_set():
                    return
            read.put(None)
        except BaseException as error:  # whatever it is, the other thread waits for it
            read.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        while (batch := read.get()) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield batch
    finally:
        is_closed.set()
        with suppress(queue.Empty):  # the thread may wait until there is room
            while True:
                read.get_nowait()


def send_rows(file: Any, memory: SharedMemory | None, reader: bytes, task: bytes) -> str:
    """Send the rows of a task; return the error, or an empty string."""
    stream: Any = None
    problem = ""
    try:
        with closing(ahead(pickle.loads(reader).read(pickle.loads(task)))) as batches:
            for batch in batches:
                place: int | None = None
                if stream is None:  # the schema, and the first batch, are sent
                    schema = batch.schema
                    stream = pa.ipc.new_stream(file, schema)
                elif memory is not None:
                    place = memory.place(batch, schema)
                if place is None:
                    stream.write_batch(batch)
                else:
                    file.write(place.to_bytes(4, "big"))
    except Exception as error:
        # the errors of tasks are texts for users; of others, the place helps
        expected = type(error) is RuntimeError
        problem = str(error) if expected else traceback.format_exc()
    (stream or pa.ipc.new_stream(file, pa.schema([]))).close()
    return problem


def serve(path: str) -> None:
    """Read tasks until the executor closes the socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        connection.connect(path)
        outgoing = Outgoing(connection)
        file = pa.PythonFile(outgoing, "w")
        incoming = connection.makefile("rb")
        memory = shared_memory(outgoing, incoming)
        received = blocks(incoming)
        for reader in received:
            outgoing.write_text(send_rows(file, memory, reader, next(received)))
            if memory is not None:
                memory.wait()


if __name__ == "__main__":
    serve(sys.argv[1])
