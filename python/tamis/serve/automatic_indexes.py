"""Automatic indexes: files that a query has written, and files that wait to be indexed."""

from __future__ import annotations

from tamis.tables.parquet import index_written_files, waiting_files
from tamis.wire.messages import (
    WaitingFilesAnswer,
    WrittenFilesAnswer,
    read_waiting_files_request,
    read_written_files_request,
    write_answer,
)

__all__ = ["count_waiting", "index_written"]


def index_written(text: str) -> str:
    """Start to index the files of a WrittenFilesRequest; return the answer.

    Raises:
        WireError: The request cannot be read.
        ValueError: Its lists do not have the same length.
    """
    request = read_written_files_request(text)
    index_written_files(request)
    return write_answer(WrittenFilesAnswer(request.id))


def count_waiting(text: str) -> str:
    """Answer a WaitingFilesRequest.

    Raises:
        WireError: The request cannot be read.
    """
    request = read_waiting_files_request(text)
    files = waiting_files(request.root, request.location)
    return write_answer(WaitingFilesAnswer(request.id, files))
