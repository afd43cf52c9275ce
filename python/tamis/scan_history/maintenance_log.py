"""The part of the history that says what idle drivers did to indexes, and what that cost and saved.

    maintenance-<end, ms since 1970>-<random>.parquet

One file for each step, in the directory of the history. `Log.tidy` removes old ones.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.scan_history.log import MAINTENANCE, Log, default_location

__all__ = ["SCHEMA", "append", "maintenance_history"]

SCHEMA: Final = pa.schema(
    [
        ("time", pa.timestamp("ms", "UTC")),  # when the step ended
        ("application", pa.string()),
        ("table", pa.string()),  # the path or table
        ("root", pa.string()),  # its directory, a URL-encoded URI
        ("location", pa.string()),  # of indexes; null: in the directory of the table
        ("action", pa.string()),  # build, refresh, record
        ("kind", pa.string()),  # bloom, values; null for the other actions
        ("name", pa.string()),  # the column or expression; null for the other actions
        ("files", pa.int64()),  # that the step was about
        ("seconds", pa.float64()),
        ("cpu_seconds", pa.float64()),  # of the executors
        ("bytes_read", pa.int64()),  # by the executors, according to Spark
        ("problem", pa.string()),  # why the step failed; null if it did not
    ]
)


def append(folder: Path, step: dict[str, Any]) -> None:
    """Append a step. Missing values are null.

    Raises:
        OSError: The file cannot be written.
    """
    stamp = int(step["time"].timestamp() * 1000)
    Log(folder).write(MAINTENANCE, stamp, pa.Table.from_pylist([step], SCHEMA))


def maintenance_history(location: str | os.PathLike[str] | None = None) -> pa.Table:
    """Read what idle drivers did to indexes: one row per step, oldest first.

    The columns are those of `tamis.scan_history.maintenance_log.SCHEMA`, and two more:

    - `scans`: how many later scans of the table had a filter that could use the step. For `build`
      and `refresh`, these are all later scans that used an index.
    - `files_saved`: how many files these scans left out, because of that filter if the step
      recorded statistics for it. Other statistics may have ruled out some of them, too.

    If the directory does not exist, the result is empty. Files that cannot be read are skipped.

    Args:
        location: The directory set in `spark.tamis.history.location`. Default: the directory of
            this user.
    """
    log = Log(default_location() if location is None else Path(location))
    tables = [SCHEMA.empty_table()]
    for path in log.maintenance():
        try:
            tables.append(pq.read_table(path, schema=SCHEMA, partitioning=None))
        except (OSError, pa.ArrowException, ValueError):
            continue
    steps = pa.concat_tables(tables)
    steps = steps.take(pc.sort_indices(steps, sort_keys=[("time", "ascending")]))
    scans: list[dict[str, Any]] = []
    if len(steps):
        names = ["time", "roots", "files_kept", "files_total", "has_index", "conjuncts"]
        scans = log.read()[0].select(names).to_pylist()
    saved = [_saved(step, scans) for step in steps.to_pylist()]
    return steps.append_column(
        "scans", pa.array([each[0] for each in saved], pa.int64())
    ).append_column("files_saved", pa.array([each[1] for each in saved], pa.int64()))


def _saved(step: dict[str, Any], scans: list[dict[str, Any]]) -> tuple[int, int]:
    """Return how many later scans could use a step, and how many files they left out."""
    later = [
        scan for scan in scans if scan["time"] > step["time"] and scan["roots"] == [step["root"]]
    ]
    if step["problem"] is not None:
        return 0, 0
    if step["action"] != "record":
        used = [scan for scan in later if scan["has_index"]]
        return len(used), sum(_left_out(scan) for scan in used)
    count = files = 0
    for scan in later:
        ruled_out = [
            conjunct["pruned_files"] or 0
            for conjunct in scan["conjuncts"] or ()
            if _concerns(step["name"], conjunct)
        ]
        if ruled_out:
            count += 1
            files += max(ruled_out)
    return count, files


def _concerns(name: str, conjunct: dict[str, Any]) -> bool:
    """Return whether a conjunct is about a column, or has the SQL of an expression in it."""
    return name in (conjunct["columns"] or ()) or ("(" in name and name in conjunct["sql"])


def _left_out(scan: dict[str, Any]) -> int:
    return max(0, (scan["files_total"] or 0) - (scan["files_kept"] or 0))
