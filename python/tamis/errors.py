"""The exceptions of tamis, as a hierarchy.

    TamisError
    ├── ConfError            a configuration value cannot be used
    ├── DeclarationError     a contract of a user-defined function is refuted or unusable
    ├── WireError            a message cannot be read or written
    │   └── WireVersionError the two halves of tamis have different versions
    └── StatisticsIndexError the statistics index cannot be built, read or dropped

Neither `tamis.evaluate` nor the boundary between Spark and Python raises them: a failure there
means "keep every file and every filter". Every message says what failed, where, and what to do.
"""

from __future__ import annotations

__all__ = [
    "ConfError",
    "DeclarationError",
    "StatisticsIndexError",
    "TamisError",
    "WireError",
    "WireVersionError",
]


class TamisError(Exception):
    """The base class of all errors that tamis raises on purpose."""


class ConfError(TamisError):
    """A configuration value that cannot be used."""


class DeclarationError(TamisError):
    """A contract of a user-defined function that is refuted or cannot be used."""


class WireError(TamisError):
    """A message that cannot be read or a document that cannot be written."""


class WireVersionError(WireError):
    """The shim and the package speak different versions of the protocol.

    >>> str(WireVersionError(3, 1))
    'the jar speaks version 3 of the wire protocol, this package speaks 1: install a tamis whose \
jar and package match (python -m tamis doctor)'
    """

    def __init__(self, theirs: object, ours: int) -> None:
        super().__init__(
            f"the jar speaks version {theirs} of the wire protocol, this package speaks {ours}: "
            "install a tamis whose jar and package match (python -m tamis doctor)"
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
