"""The history: the decision for every scan that ran, as a small log of Parquet files."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pyarrow as pa

from tamis.errors import some_of
from tamis.scan_history.log import Log, default_location
from tamis.scan_history.maintenance_log import maintenance_history
from tamis.scan_history.schema import SCHEMA

__all__ = ["SCHEMA", "Log", "default_location", "history", "maintenance_history"]


def history(location: str | os.PathLike[str] | None = None) -> pa.Table:
    """Read the history: one row per scan that ran, oldest first.

    The columns are those of `tamis.scan_history.schema.SCHEMA`, described in docs/history.md. Null
    means that the value is not known. Foreign and damaged files in the directory are skipped, with
    one warning for all foreign files and one for all damaged files. If the directory does not
    exist, the history is empty. A scan appears a few seconds after its query has ended.

    Args:
        location: The directory set in `spark.tamis.history.location`. Default: the directory of
            this user.

    Example:
        tamis.history().select(["time", "table", "files_kept", "files_total"]).to_pandas()
    """
    log = Log(default_location() if location is None else Path(location))
    table, skipped = log.read()
    foreign = [each for each in skipped if each.is_foreign]
    damaged = [str(each) for each in skipped if not each.is_foreign]
    if foreign:
        names = some_of([each.path.name for each in foreign], 1)
        warnings.warn(
            f"{log.folder} contains files that are not part of a history: {names}. Check that it "
            "is the directory set in spark.tamis.history.location.",
            stacklevel=2,
        )
    if damaged:
        warnings.warn(
            f"tamis ignores damaged files of the history in {log.folder}: {some_of(damaged, 1)}. "
            "Delete them to stop this warning.",
            stacklevel=2,
        )
    return table
