"""The error of a table that cannot be read."""

from __future__ import annotations

from tamis.errors import TamisError

__all__ = ["SourceError"]


class SourceError(TamisError):
    """The files of a table are not known, or cannot be read. The message names the table."""
