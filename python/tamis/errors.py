"""The exceptions of tamis, as a hierarchy.

    TamisError
    ├── ConfError            a configuration value cannot be used
    ├── DeclarationError     a contract of a user-defined function is refuted or unusable
    ├── WireError            a message cannot be read or written
    │   └── WireVersionError the jar and the package have different versions
    ├── SnapshotUnreadable   the log of a Delta table cannot be read (tamis.tables.delta)
    ├── StatisticsIndexError the statistics index cannot be built, read or dropped
    │   └── IndexUnusable    an index cannot be used; IndexMissing: there is none
    └── RemoteError          a remote table cannot be read (tamis.remote)

Planning the files of a scan never raises them, and neither does `tamis.evaluate`: a failure there
means "keep every file and every filter". Messages for users say what failed and where, and what to
do where that is known. A WireError reports a defect of tamis, or a jar of another release.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

__all__ = [
    "WITHOUT_TAMIS",
    "ConfError",
    "DeclarationError",
    "StatisticsIndexError",
    "TamisError",
    "WireError",
    "WireVersionError",
    "some_of",
    "warn_caller",
]

WITHOUT_TAMIS = (
    "this session runs without tamis: create it with tamis.configure(SparkSession.builder), in a "
    "process that has no session yet"
)


class TamisError(Exception):
    """The base class of all errors that tamis raises on purpose."""


class ConfError(TamisError):
    """A configuration value that cannot be used."""


class DeclarationError(TamisError):
    """A contract of a user-defined function that is refuted or cannot be used."""


class WireError(TamisError):
    """A message that cannot be read or a document that cannot be written."""


class WireVersionError(WireError):
    """The jar and the package use different versions of the wire protocol.

    >>> str(WireVersionError(3, 1))
    'the jar uses version 3 of the wire protocol, but the Python package uses 1: install the \
package and the jar of the same release, and check with python -m tamis doctor'
    """

    def __init__(self, theirs: object, ours: int) -> None:
        super().__init__(
            f"the jar uses version {theirs} of the wire protocol, but the Python package uses "
            f"{ours}: install the package and the jar of the same release, and check with python "
            "-m tamis doctor"
        )
        self.theirs = theirs
        self.ours = ours


class StatisticsIndexError(TamisError):
    """The statistics index of a directory cannot be built, read or dropped.

    Args:
        text: What failed, where, and what to do in Python.
        shell: The same for the command line, if it differs.
    """

    def __init__(self, text: str, *, shell: str | None = None) -> None:
        super().__init__(text)
        self.shell = text if shell is None else shell


def some_of(texts: Sequence[str], most: int) -> str:
    """Return the first texts, and how many others there are, for an error.

    >>> some_of(["a", "b", "c"], 2), some_of(["a"], 2), some_of([], 2)
    ('a, b and 1 more', 'a', 'none')
    """
    more = len(texts) - most
    return (", ".join(texts[:most]) or "none") + (f" and {more} more" if more > 0 else "")


def warn_caller(text: str) -> None:
    """Warn with the line outside of this package that called it."""
    package = os.path.dirname(__file__) + os.sep
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
