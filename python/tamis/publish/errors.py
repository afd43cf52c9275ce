"""The error of a table that cannot be published or read."""

from __future__ import annotations

from tamis.errors import TamisError

__all__ = ["PublishError"]


class PublishError(TamisError):
    """A table cannot be published, or has changed. The message names the table or the file."""
