"""Why what a table format records is not used."""

from __future__ import annotations

from tamis.errors import TamisError

__all__ = ["SnapshotUnreadable"]


class SnapshotUnreadable(TamisError):
    """The metadata of a snapshot cannot be read, and queries run without it.

    Attributes:
        code: Stable; each format names its own.
        text: What cannot be read, and why.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = str(code)
        self.text = text
