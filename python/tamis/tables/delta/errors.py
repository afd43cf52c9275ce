"""The reason why the log of a Delta table is not used."""

from __future__ import annotations

from tamis.errors import TamisError

__all__ = ["SnapshotUnreadable", "unreadable"]


class SnapshotUnreadable(TamisError):
    """The log of a snapshot cannot be read, and queries run without its statistics.

    - `code`: stable: "delta.log_unreadable", "delta.schema_unreadable" or
      "delta.unsupported_layout".
    - `text`: one sentence for users.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


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
