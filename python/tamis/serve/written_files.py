"""Files that a query has written, which are indexed automatically."""

from __future__ import annotations

from tamis.tables.parquet import index_written_files
from tamis.wire.messages import WrittenFilesAnswer, read_written_files_request, write_answer


def index_written(text: str) -> str:
    """Start to index the files of a WrittenFilesRequest; return the answer.

    Raises:
        WireError: The request cannot be read.
        ValueError: Its lists do not have the same length.
    """
    request = read_written_files_request(text)
    index_written_files(request)
    return write_answer(WrittenFilesAnswer(request.id))
