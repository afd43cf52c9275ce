"""Why an index is not used."""

from __future__ import annotations

import shlex
from urllib.parse import unquote

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
    """The command that builds the index of a directory anew.

    Args:
        root: URL-encoded. Spark, and so the command, takes a path as it is.

    >>> rebuild("file:/data/t")
    'python -m tamis index build file:/data/t'
    """
    return f"python -m tamis index build {shlex.quote(unquote(root))}"


def restore(root: str) -> str:
    """The command that builds it anew, with all that it recorded before.

    >>> restore("file:/data/my%20t")
    "python -m tamis index refresh 'file:/data/my t'"
    """
    return f"python -m tamis index refresh {shlex.quote(unquote(root))}"


def overwritten(root: str) -> IndexUnusable:
    """The index has disappeared with the former content of the directory."""
    return IndexUnusable(
        "index.overwritten",
        f"the index of {root} is gone, as after an overwrite of the table",
        f"restore it with what it recorded: {restore(root)} (or forget it: python -m tamis index "
        f"drop {shlex.quote(unquote(root))})",
    )


def unreachable(index: str, what: str) -> IndexUnusable:
    """The storage of an index does not answer, or not to us."""
    return IndexUnusable(
        "index.storage_unreachable",
        f"the index {index} is out of reach ({what})",
        "check the fs.* settings of the session, or set spark.tamis.index.location to a storage "
        "that pyarrow reaches",
    )
