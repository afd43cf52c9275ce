"""Tables for the shim, written as Arrow files to the private directory, beside the listings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pyarrow as pa

from tamis.errors import WireError
from tamis.whole_files import writing_whole

__all__ = ["path_of", "written"]

#: Ids are used as file names.
_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
#: Rows per batch: the shim holds the vectors of one batch at a time.
_BATCH: Final = 16_384


def written(table: pa.Table, directory: str, request_id: str, kind: str) -> Path:
    """Write a table as `<id>.<kind>.arrow`, completely or not at all. The shim removes it.

    Raises:
        OSError: The file cannot be written.
        WireError: The id cannot be used as a file name.
    """
    target = path_of(directory, request_id, kind)
    with (
        writing_whole(target) as unfinished,
        pa.OSFile(str(unfinished), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=_BATCH)
    return target


def path_of(directory: str, request_id: str, kind: str) -> Path:
    """Return the path of such a file.

    Raises:
        WireError: The id cannot be used as a file name.
    """
    if _ID.fullmatch(request_id) is None:
        raise WireError(f"the id {request_id!r} cannot be used as a file name")
    return Path(directory, f"{request_id}.{kind}.arrow")
