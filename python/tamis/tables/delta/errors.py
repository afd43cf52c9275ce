"""The reasons why the log of a Delta table is not used.

Their codes are "delta.log_unreadable", "delta.schema_unreadable" and "delta.unsupported_layout".
"""

from __future__ import annotations

from tamis.tables.unreadable import SnapshotUnreadable

__all__ = ["SnapshotUnreadable", "unreadable"]


def unreadable(uri: str, problem: object) -> SnapshotUnreadable:
    """Return that a file of the log is missing or damaged."""
    what = problem if isinstance(problem, str) else f"{type(problem).__name__}: {problem}"
    return SnapshotUnreadable(
        "delta.log_unreadable",
        f"the file {uri} of the Delta log cannot be read, so its statistics are not used "
        f"({' '.join(what.split())})",
    )


def adaptive_metadata(uri: str) -> SnapshotUnreadable:
    """Return that the log has a layout that this package does not know."""
    return SnapshotUnreadable(
        "delta.unsupported_layout",
        f"the file {uri} of the Delta log uses the table feature adaptiveMetadata, which stores "
        "statistics in another layout, so they are not used",
    )
