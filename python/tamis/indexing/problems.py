"""The reasons why an index is not used."""

from __future__ import annotations

import shlex
from urllib.parse import unquote

from tamis.errors import StatisticsIndexError


class IndexUnusable(StatisticsIndexError):
    """An index cannot be used, and queries run as if there were none.

    `code` is stable. The text names the index, the problem, and the command that repairs it.
    """

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.code = code
        self.text = str(self)


class IndexMissing(IndexUnusable):
    """There is no index, which does not warrant a warning."""


def rebuild(root: str) -> str:
    """Return the command that rebuilds the index of a directory.

    Args:
        root: The URL-encoded URI. The command has it decoded, because Spark expects plain paths.

    >>> rebuild("file:/data/t")
    'python -m tamis index build file:/data/t'
    """
    return f"python -m tamis index build {shlex.quote(unquote(root))}"


def restore(root: str) -> str:
    """Return the command that rebuilds an index with everything that it recorded before.

    >>> restore("file:/data/my%20t")
    "python -m tamis index refresh 'file:/data/my t'"
    """
    return f"python -m tamis index refresh {shlex.quote(unquote(root))}"


def overwritten(root: str) -> IndexUnusable:
    """Return the error that an index has disappeared with the previous content of its table."""
    return IndexUnusable(
        "index.overwritten",
        f"the index of {root} is missing, probably after an overwrite of the table",
        f"restore it with everything that it recorded: {restore(root)} (or forget it: python -m "
        f"tamis index drop {shlex.quote(unquote(root))})",
    )


def unreachable(index: str, what: str) -> IndexUnusable:
    """Return the error that the storage of an index cannot be reached."""
    return IndexUnusable(
        "index.storage_unreachable",
        f"the index {index} cannot be reached ({what})",
        "check the fs.* settings of the session, or set spark.tamis.index.location to storage "
        "that pyarrow can reach",
    )
