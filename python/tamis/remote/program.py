"""The program of a process in which an executor reads tasks. It imports only pyarrow.

The extension starts `python -c` with this text and the path of a Unix domain socket, because
executors may have no tamis. Numbers are 4 bytes, the most significant first.

    to the program    for each task: the length of the pickled reader, the reader,
                      the length of the pickled task, the task
    from the program  for each task: an Arrow IPC stream of the rows,
                      the length of an error, the error in UTF-8; 0 if there is none

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

    def flush(self) -> None:
        """Do nothing: every write is sent."""


def blocks(connection: socket.socket) -> Iterator[bytes]:
    """Yield what the executor sends."""
    with connection.makefile("rb") as incoming:
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


def send_rows(outgoing: Any, reader: bytes, task: bytes) -> str:
    """Send the rows of a task; return the error, or an empty string."""
    stream = None
    problem = ""
    try:
        with closing(ahead(pickle.loads(reader).read(pickle.loads(task)))) as batches:
            for batch in batches:
                if stream is None:
                    stream = pa.ipc.new_stream(outgoing, batch.schema)
                stream.write_batch(batch)
    except Exception as error:
        # the errors of tasks are texts for users; of others, the place helps
        expected = type(error) is RuntimeError
        problem = str(error) if expected else traceback.format_exc()
    (stream or pa.ipc.new_stream(outgoing, pa.schema([]))).close()
    return problem


def serve(path: str) -> None:
    """Read tasks until the executor closes the socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        connection.connect(path)
        outgoing = Outgoing(connection)
        file = pa.PythonFile(outgoing, "w")
        received = blocks(connection)
        for reader in received:
            problem = send_rows(file, reader, next(received)).encode()
            outgoing.write(len(problem).to_bytes(4, "big") + problem)


if __name__ == "__main__":
    serve(sys.argv[1])
