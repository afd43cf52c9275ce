"""Writing the history to a file for the shim."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tamis.scan_history import Log, default_location
from tamis.serve.arrow_export import written
from tamis.wire.messages import Written, read_history_request, write_answer

__all__ = ["write_history"]


def write_history(question: str) -> str:
    """Write every scan of the history, the oldest first; no rows if the folder does not exist.

    Raises:
        TamisError: The request cannot be read.
        OSError: The file cannot be written.
    """
    request = read_history_request(question)
    log = Log(default_location() if request.location is None else Path(request.location))
    table, skipped = log.read()
    written(_as_spark_has_it(table), request.directory, request.id, "history")
    notes = [f"left out of the history in {log.folder}: {s.path.name} ({s.why})" for s in skipped]
    return write_answer(Written(request.id, len(table), notes))


def _as_spark_has_it(table: pa.Table) -> pa.Table:
    """Convert timestamps to microseconds, the only unit that Spark has."""
    schema = pa.schema(
        [
            pa.field(f.name, pa.timestamp("us", f.type.tz)) if pa.types.is_timestamp(f.type) else f
            for f in table.schema
        ]
    )
    return table.cast(schema)
