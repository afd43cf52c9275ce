"""The history: what was decided for every scan that ran, as a small log of Parquet files."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pyarrow as pa

from tamis.history.log import Log, default_location
from tamis.history.schema import SCHEMA

__all__ = ["SCHEMA", "Log", "default_location", "history"]


def history(location: str | os.PathLike[str] | None = None) -> pa.Table:
    """Read the history: one row a scan that ran, the oldest first.

    The columns are those of `tamis.history.schema.SCHEMA`, described in docs/history.md. A null is
    a value that is not known. Files in the folder that are not of the history, or are damaged, are
    left out with one warning. No folder is an empty history. A scan is in it some seconds after its
    query has ended.

    Args:
        location: the folder, where `spark.tamis.history.location` is set; else that of this user.

    Example:
        tamis.history().select(["time", "table", "files_kept", "files_total"]).to_pandas()
    """
    log = Log(default_location() if location is None else Path(location))
    table, skipped = log.read()
    if skipped:
        first = f"{skipped[0].path.name} ({skipped[0].why})"
        others = f" and {len(skipped) - 1} more" if len(skipped) > 1 else ""
        warnings.warn(
            f"tamis: left out of the history in {log.folder}: {first}{others}", stacklevel=2
        )
    return table
