"""Opening indexes in advance, while the driver still lists the files that they describe."""

from __future__ import annotations

import threading

from tamis.tables.parquet import open_ahead
from tamis.wire.messages import (
    OpenIndexesAnswer,
    read_open_indexes_request,
    write_answer,
)

__all__ = ["open_indexes"]


def open_indexes(text: str) -> str:
    """Start to open the indexes of an OpenIndexesRequest; return the answer.

    Raises:
        WireError: The request cannot be read.
    """
    request = read_open_indexes_request(text)
    # The answer does not wait for slow storage, so the driver needs no deadline.
    threading.Thread(
        target=open_ahead, args=(request,), name="tamis open ahead", daemon=True
    ).start()
    return write_answer(OpenIndexesAnswer(request.id))
