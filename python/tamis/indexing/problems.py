"""The reasons why an index is not used."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from tamis.errors import StatisticsIndexError

#: Follows a command if it is not known how the files are read; see `IndexUnusable.reading_with`.
AS_READ: Final = ", with the --format, --schema and --option of the files if they are not Parquet"


class IndexUnusable(StatisticsIndexError):
    """An index cannot be used, and queries run as if there were none.

    `code` is stable. The text names the index, the problem, and the command that repairs it.
    """

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.code = code
        self.text = str(self)
        self._what, self._fix = what, fix

    def reading_with(self, options: Sequence[str]) -> IndexUnusable:
        """Return the same problem with commands that read the files with these options."""
        fix = self._fix.replace(AS_READ, _joined(options))
        return IndexUnusable(self.code, self._what, fix)

    def fixed_by(self, fix: str) -> IndexUnusable:
        """Return the same problem with another fix."""
        return IndexUnusable(self.code, self._what, fix)


class IndexMissing(IndexUnusable):
    """There is no index. This is not reported as a warning."""


def rebuild_command(
    root: str, location: str | None = None, options: Sequence[str] | None = None
) -> str:
    """Return the command that rebuilds the index of a directory.

    Args:
        root: The URL-encoded URI. The command has it decoded, because Spark expects plain paths.
        location: The directory of `spark.tamis.index.location`. None: the index is in the table.
        options: The options that say how to read the files (see `command_options`); none for
            Parquet. None: not known, so the text names them.

    >>> rebuild_command("file:/data/t", options=["--format", "orc"])
    'python -m tamis index build file:/data/t --format orc'
    """
    return _command("build", root, location, options)


def refresh_command(
    root: str, location: str | None = None, options: Sequence[str] | None = None
) -> str:
    """Return the command that rebuilds an index with everything that it recorded before.

    >>> refresh_command("file:/data/my%20t", "s3a://indexes/", ())
    "python -m tamis index refresh 'file:/data/my t' --conf spark.tamis.index.location=s3a://indexes/"
    """
    return _command("refresh", root, location, options)


def _command(name: str, root: str, location: str | None, options: Sequence[str] | None) -> str:
    return f"python -m tamis index {name} {arguments(root, location, options)}"


def arguments(root: str, location: str | None, options: Sequence[str] | None) -> str:
    """Return the arguments with which a command finds the index of a directory."""
    words = [unquote(root)]
    if location is not None:
        words += ["--conf", f"spark.tamis.index.location={location}"]
    return shlex.join(words) + (AS_READ if options is None else _joined(options))


def _joined(options: Sequence[str]) -> str:
    return f" {shlex.join(options)}" if options else ""


def overwritten(
    root: str, location: str | None = None, options: Sequence[str] | None = None
) -> IndexUnusable:
    """Return the error that an index has disappeared with the previous content of its table."""
    return IndexUnusable(
        "index.overwritten",
        f"the index of {root} is missing, probably after an overwrite of the table",
        "to restore it with everything that it recorded, run "
        f"{refresh_command(root, location, options)}; to do without it, run "
        f"{_command('drop', root, location, options)}",
    )


def other_names(table: str, why: str) -> IndexUnusable:
    """Return the error that an index does not describe a table of a format any more."""
    return IndexUnusable(
        "index.other_names",
        f"no index can describe the files of {table} ({why})",
        "queries use what the table format records; to remove an index that was built before, run "
        f"tamis.index(spark, {json.dumps(table, ensure_ascii=False)}).drop()",
    )


def unreachable(index: str, what: str) -> IndexUnusable:
    """Return the error that the storage of an index cannot be reached."""
    return IndexUnusable(
        "index.storage_unreachable",
        f"the index {index} cannot be reached ({what})",
        "check the fs.* settings of the session, or set spark.tamis.index.location to storage "
        "that pyarrow can reach",
    )
