"""Writing the history to a file for the shim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from tamis.errors import some_of
from tamis.scan_history import Log, default_location
from tamis.scan_history.log import Skipped
from tamis.serve.scans.arrow_export import written
from tamis.wire.messages import Written, read_history_request, write_answer

__all__ = ["write_history"]


def write_history(question: str) -> str:
    """Write every scan of the history, the oldest first; no rows if the directory does not exist.

    Raises:
        TamisError: The request cannot be read.
        OSError: The file cannot be written.
    """
    request = read_history_request(question)
    log = Log(default_location() if request.location is None else Path(request.location))
    table, skipped = log.read()
    written(_as_spark_has_it(table), request.directory, request.id, "history")
    return write_answer(Written(request.id, len(table), _notes(log.folder, skipped)))


def _notes(folder: Path, skipped: Sequence[Skipped]) -> list[str]:
    """Return one remark on the files that were not read."""
    if not skipped:
        return []
    first = some_of([*map(str, skipped)], 1)
    return [
        f"files in {folder} were left out of the history: {first}. Check that this is the "
        "directory of spark.tamis.history.location, and remove damaged files."
    ]


def _as_spark_has_it(table: pa.Table) -> pa.Table:
    """Convert timestamps to microseconds, the only unit that Spark has."""
    schema = pa.schema(
        [
            pa.field(f.name, pa.timestamp("us", f.type.tz)) if pa.types.is_timestamp(f.type) else f
            for f in table.schema
        ]
    )
    return table.cast(schema)
