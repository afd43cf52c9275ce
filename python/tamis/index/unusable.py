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


def unreachable(index: str, what: str) -> IndexUnusable:
    """The storage of an index does not answer, or not to us."""
    return IndexUnusable(
        "index.storage_unreachable",
        f"the index {index} is out of reach ({what})",
        "check the fs.* settings of the session, or set spark.tamis.index.location to a storage "
        "that pyarrow reaches",
    )
