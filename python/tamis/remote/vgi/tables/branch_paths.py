"""The Parquet files that a path with wildcards stands for, as DuckDB expands it.

*     any characters within a name
?     one character within a name
**    any number of folders; it must be a whole part of the path, and occur once
"""

from __future__ import annotations

import glob
import os
from pathlib import PurePath
from typing import Final

__all__ = ["matching_files"]

_RECURSIVE: Final = "**"


def matching_files(path: str) -> list[str]:
    """Return the files in the order of their paths: the path itself if it has no wildcards.

    Raises:
        ValueError: No file matches, or DuckDB may read other files or columns.
    """
    parts = PurePath(path).parts
    if not any(each in path for each in "*?"):
        files = [path]
    else:
        if any(_RECURSIVE in each and each != _RECURSIVE for each in parts) or (
            parts.count(_RECURSIVE) > 1
        ):
            raise ValueError(f"reads {path}: tamis does not expand these wildcards")
        # In DuckDB, ? stands for a byte, not for a character.
        matches = glob.iglob(os.fsencode(path), recursive=True, include_hidden=True)
        files = sorted(os.fsdecode(each) for each in matches if os.path.isfile(each))
    if not files:
        raise ValueError(f"reads {path}, which no file matches")
    for each in files:
        # DuckDB reads a folder key=value as a column.
        if any("=" in folder for folder in PurePath(each).parts[:-1]):
            raise ValueError(f"reads {each}: tamis does not read partitions of branches")
        # For ** DuckDB leaves links out, and Python follows them.
        if _RECURSIVE in parts and _has_link(each, parts.index(_RECURSIVE)):
            raise ValueError(
                f"reads {each}, which ** reaches through a symbolic link: tamis does not follow "
                "links there"
            )
    return files


def _has_link(file: str, depth: int) -> bool:
    """Return whether a part of a path is a link, not counting the first `depth` parts."""
    path = PurePath(file)
    below = len(path.parts) - depth - 1
    return any(os.path.islink(each) for each in (path, *list(path.parents)[:below]))
