"""Requests on one byte stream, answers on another: the transport of a worker process.

A scan is one answer of two streams, the header and the batches. The client sends one batch without
rows per turn, and gets one batch per turn. A scan that could not be opened is answered by an error;
its client sends an empty stream then.
"""

from __future__ import annotations

import io
import logging
from typing import BinaryIO

import pyarrow as pa

from tamis.publish.vgi.refusals import error_of
from tamis.publish.vgi.requests.dispatch import Dispatcher, empty_batch, error_body, only_request
from tamis.publish.vgi.requests.scan_batches import Scan
from tamis.remote.vgi.protocol.framing import METHOD, MalformedMessage, Part, Stream

__all__ = ["serve"]

_LOG = logging.getLogger(__name__)


def serve(dispatcher: Dispatcher, source: io.BufferedReader, sink: BinaryIO) -> bool:
    """Answer requests until the source ends.

    Returns:
        Whether it ended between two requests. After a malformed one the rest cannot be read.
    """
    while source.peek(1):
        try:
            request = _next_request(source)
            if request is None:
                continue
            answer = dispatcher.answer(request)
            _write(sink, answer.body)
            if answer.scan is not None:
                _scan(answer.scan, Stream(source), sink)
        except MalformedMessage as error:
            _LOG.error("the client has sent something that is not a request: %s", error)
            _write(sink, error_body(error))
            return False
        except BrokenPipeError:
            return True
    return True


def _next_request(source: BinaryIO) -> Part | None:
    """Return the next request; None for the input of a scan that could not be opened."""
    stream = Stream(source)
    parts = list(stream)
    is_input = not len(stream.schema) and all(METHOD not in each.metadata for each in parts)
    return None if is_input else only_request(parts)


def _scan(scan: Scan, turns: Stream, sink: BinaryIO) -> None:
    buffer = io.BytesIO()
    writer = pa.ipc.new_stream(buffer, scan.schema)
    is_open = True
    for turn in turns:
        if not is_open:
            continue  # what follows the end is read, so that the next request begins after it
        is_open = _turn(scan, turn, writer)
        if not is_open:
            writer.close()
        _flush(buffer, sink)
    if is_open:
        writer.close()
        _flush(buffer, sink)


def _turn(scan: Scan, turn: Part, writer: pa.ipc.RecordBatchStreamWriter) -> bool:
    """Write the batch of one turn. Return whether the scan continues."""
    try:
        batch = scan.next(turn.metadata)
    except Exception as problem:
        writer.write_batch(empty_batch(scan.schema), custom_metadata=dict(error_of(problem)))
        return False
    if batch is None:
        return False
    writer.write_batch(batch)
    return True


def _flush(buffer: io.BytesIO, sink: BinaryIO) -> None:
    _write(sink, buffer.getvalue())
    buffer.seek(0)
    buffer.truncate()


def _write(sink: BinaryIO, body: bytes) -> None:
    sink.write(body)
    sink.flush()
