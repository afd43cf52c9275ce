"""Reading one part of a function's rows, on an executor."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa

from tamis.remote.executor import Task
from tamis.remote.vgi.protocol.framing import CallFailed
from tamis.remote.vgi.transports.connection import Connection, ConnectionFailed, one_line
from tamis.remote.vgi.transports.location import connected

__all__ = ["VgiTask"]


@dataclass
class VgiTask(Task):
    """A scan of a worker, which the executor starts itself if the location is a command.

    - `request`: the record of the request.
    - `fallback`: a request without the filters that Spark applies again, for a worker that refuses
      them; empty: none.
    - `limit`: the number of rows after which the scan ends; None: all rows.

    The token and the requests do not appear in texts.
    """

    where: str
    location: str
    version: str
    request: bytes = field(repr=False)
    fallback: bytes = field(default=b"", repr=False)
    limit: int | None = None
    token: str | None = field(default=None, repr=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows, and end the scan as soon as the limit is reached.

        Raises:
            RuntimeError: The worker cannot be reached, or ends the scan with an error. Spark then
                fails the task, so no part of the scan is returned as a result.
        """
        requests = [each for each in (self.request, self.fallback) if each]
        while requests:
            with self._step("starting the worker"):
                connection = connected(self.location, self.token)
            with closing(connection):
                batches = self._started(connection, requests.pop(0), bool(requests))
                if batches is None:
                    continue
                with closing(batches), self._step("reading"):
                    try:
                        first = next(batches, None)
                    except CallFailed:
                        if requests:
                            continue  # a worker may find out with the first batch
                        raise
                    if first is not None:
                        yield from self._limited(chain([first], batches))
                return

    def _started(
        self, connection: Connection, request: bytes, may_fail: bool
    ) -> Generator[pa.RecordBatch, None, None] | None:
        """Return the batches of a scan; None if the worker refuses a request that may fail."""
        with self._step("starting the scan"):
            try:
                return connection.scan(request, self.version)
            except CallFailed:
                if may_fail:
                    return None
                raise

    def _limited(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in batches:
            yield batch
            rows += batch.num_rows
            if self.limit is not None and rows >= self.limit:
                return

    @contextmanager
    def _step(self, step: str) -> Iterator[None]:
        try:
            yield
        except (CallFailed, ConnectionFailed) as error:
            raise RuntimeError(f"{self.where}: {step} failed: {one_line(error)}") from error
