"""A worker process that is started for the connection. Runs on executors too.

The standard streams of the process are the transport. What it writes to its standard error is
shown in errors.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Final

import pyarrow as pa

from tamis.remote.vgi.protocol.framing import CANCEL, EMPTY, Stream
from tamis.remote.vgi.transports.connection import (
    CALL_SECONDS,
    FAILURES,
    Connection,
    ConnectionFailed,
    check_header,
    next_part,
    one_line,
    result_of,
)

__all__ = ["PipeConnection"]

_END_SECONDS: Final = 3.0
_LOG_LINES: Final = 3
_LINE_BYTES: Final = 400


class PipeConnection(Connection):
    """A process that speaks VGI on its standard streams. No shell is involved.

    Args:
        command: The program and its arguments.

    Raises:
        ConnectionFailed: The program cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise ConnectionFailed(
                f"the program {command[0]} cannot be started ({one_line(error)})",
                "Check the option uri",
            ) from error
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._input, self._output, self._error = (_present(each) for each in streams)
        self._is_late = False
        self._log: deque[bytes] = deque(maxlen=_LOG_LINES)
        self._logger = threading.Thread(target=self._read_log, daemon=True)
        self._logger.start()

    def _answer(self, protocol: str, method: str, request: bytes) -> bytes | None:
        with self._described(), self._deadline():
            self._send(request)
            return result_of(Stream(self._output))

    def _scan(self, protocol: str, request: bytes) -> Generator[pa.RecordBatch, None, None]:
        with self._described():
            with self._deadline():
                self._send(request)
                check_header(Stream(self._output))
            writer = pa.ipc.new_stream(self._input, EMPTY.schema)
        return self._turns(writer)

    def _turns(self, writer: pa.RecordBatchStreamWriter) -> Generator[pa.RecordBatch, None, None]:
        """Request one batch after the other."""
        parts = None
        is_at_end = False
        try:
            while True:
                with self._described():
                    writer.write_batch(EMPTY)
                    self._input.flush()
                    # The worker may send the schema only after the first request.
                    parts = parts or Stream(self._output)
                    part = next_part(parts)
                if part is None:
                    is_at_end = True
                    return
                yield part.batch
        finally:
            with suppress(*FAILURES):
                if not is_at_end:
                    writer.write_batch(EMPTY, custom_metadata={CANCEL: b"1"})
                writer.close()
                self._input.flush()

    def _send(self, request: bytes) -> None:
        self._input.write(request)
        self._input.flush()

    def close(self) -> None:
        process = self._process
        for stream in (self._input, self._output):
            with suppress(*FAILURES):
                stream.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                process.wait(_END_SECONDS)
                break
            except subprocess.TimeoutExpired:
                self._signal(number)
        process.wait()
        self._logger.join(_END_SECONDS)
        if not self._logger.is_alive():
            self._error.close()

    def _signal(self, number: int) -> None:
        """Send a signal to the process and those that it has started, such as those of a shell."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _read_log(self) -> None:
        """Keep the last lines that the worker logs, so that its pipe never fills up."""
        with suppress(*FAILURES):
            while line := self._error.readline(_LINE_BYTES):
                if line.strip():
                    self._log.append(line)

    @contextmanager
    def _deadline(self) -> Iterator[None]:
        """End the process if the block takes too long."""
        timer = threading.Timer(CALL_SECONDS, self._expire)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._is_late = True
        self._signal(signal.SIGKILL)

    @contextmanager
    def _described(self) -> Iterator[None]:
        """Raise ConnectionFailed, with what is known of the process, for a failure of the pipe."""
        try:
            yield
        except FAILURES as error:
            raise ConnectionFailed(self._end_of_process() or one_line(error)) from error

    def _end_of_process(self) -> str:
        """Return how the process has ended, and what it logged last; empty if it runs."""
        try:
            status = self._process.wait(_END_SECONDS / 3)
        except subprocess.TimeoutExpired:
            return ""
        self._logger.join(_END_SECONDS)
        log = one_line(b" ".join(self._log).decode(errors="replace"))
        late = f"the worker was killed, because it gave no answer within {CALL_SECONDS:.0f} s"
        what = late if self._is_late else f"the worker ended with the status {status}"
        return what + (f": {log}" if log else "")


def _present(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # all three are pipes
    return stream
