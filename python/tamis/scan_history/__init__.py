"""The history: the decision for every scan that ran, as a small log of Parquet files."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pyarrow as pa

from tamis.scan_history.log import Log, default_location
from tamis.scan_history.schema import SCHEMA

__all__ = ["SCHEMA", "Log", "default_location", "history"]


def history(location: str | os.PathLike[str] | None = None) -> pa.Table:
    """Read the history: one row per scan that ran, oldest first.

    The columns are those of `tamis.scan_history.schema.SCHEMA`, described in docs/history.md. Null
    means that the value is not known. Files in the folder that do not belong to the history or are
    damaged are skipped with one warning. If the folder does not exist, the history is empty. A scan
    appears a few seconds after its query has ended.

    Args:
        location: The folder set in `spark.tamis.history.location`. Default: the folder of this
            user.

    Example:
        tamis.history().select(["time", "table", "files_kept", "files_total"]).to_pandas()
    """
    log = Log(default_location() if location is None else Path(location))
    table, skipped = log.read()
    if skipped:
        first = f"{skipped[0].path.name} ({skipped[0].why})"
        others = f" and {len(skipped) - 1} more" if len(skipped) > 1 else ""
        warnings.warn(
            f"tamis: files skipped in the history in {log.folder}: {first}{others}", stacklevel=2
        )
    return table
