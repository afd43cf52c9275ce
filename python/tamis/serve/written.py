"""Tables for the shim: as Arrow files in the private directory, where listings lie as well."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import pyarrow as pa

from tamis.errors import WireError

__all__ = ["written"]

#: Ids become names of files.
_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
#: Rows a batch: of one, the shim holds the vectors at a time.
_BATCH: Final = 16_384


def written(table: pa.Table, directory: str, request_id: str, kind: str) -> Path:
    """Write the table as `<id>.<kind>.arrow`, whole or not at all. The shim reads and removes it.

    Raises OSError, and WireError for an id that is no name.
    """
    if _ID.fullmatch(request_id) is None:
        raise WireError(f"the id {request_id!r} is no name of a file")
    target = Path(directory, f"{request_id}.{kind}.arrow")
    part = target.with_suffix(".part")
    try:
        with (
            pa.OSFile(str(part), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as writer,
        ):
            writer.write_table(table, max_chunksize=_BATCH)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target
