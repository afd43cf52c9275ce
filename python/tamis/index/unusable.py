"""Why an index is not used."""

from __future__ import annotations

from tamis.errors import StatisticsIndexError


class IndexUnusable(StatisticsIndexError):
    """There is an index, and it cannot be used: queries run as if there were none.

    `code` is stable; the text says which index, what is wrong with it, and the command that mends
    it.
    """

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.code = code
        self.text = str(self)


class IndexMissing(IndexUnusable):
    """There is no index. Not worth a warning."""


def rebuild(root: str) -> str:
    """The command that mends the index of a directory.

    >>> rebuild("file:/data/t")
    'python -m tamis index build file:/data/t'
    """
    return f"python -m tamis index build {root}"
