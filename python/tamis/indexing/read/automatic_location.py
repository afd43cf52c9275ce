"""Where the indexes in the cache directory are: automatic ones, and those of maintenance."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final
from urllib.parse import quote

import platformdirs

from tamis._version import __version__
from tamis.indexing.format.layout import FORMAT
from tamis.indexing.read.cache import private_directory

__all__ = ["has_maintained", "location_of", "maintained_location"]

#: Instead of the schema, which an index of maintenance has in its pointer.
_MAINTAINED: Final = "maintained"

_VERSION: Final = f"automatic-{__version__}-{FORMAT}"


def location_of(cache_directory: str | None, schema: str, case_sensitive: bool) -> str | None:
    """Return the location of automatic indexes of files with these data columns, as a URI.

    None: the directory cannot be used. An index of another schema would lack columns, so each
    schema has its own. Partition columns are not in it, so their types may differ, as they do
    between a table of a catalog and its path.

    Args:
        cache_directory: The conf `spark.tamis.cache.location`; None: the cache of the user.
        schema: Spark's JSON of the data columns.
        case_sensitive: Whether column names are case-sensitive.
    """
    base = Path(cache_directory or platformdirs.user_cache_dir("tamis"))
    if not base.is_absolute() and not cache_directory:
        return None  # a user without a home directory
    try:
        directory = private_directory(base, _VERSION, _digest(schema, case_sensitive))
        return None if directory is None else "file:" + quote(str(directory.resolve()))
    except (OSError, UnicodeError):
        return None


def _digest(schema: str, case_sensitive: bool) -> str:
    return hashlib.sha256(f"{schema}\n{case_sensitive}".encode()).hexdigest()[:16]


def maintained_location(cache_directory: str | None) -> str | None:
    """Return the location of indexes of tables where an index cannot be written, as a URI.

    They lie beside the automatic indexes, and are removed like these if no query uses them.
    None: the directory cannot be used.

    Args:
        cache_directory: As for `location_of`.
    """
    return location_of(cache_directory, _MAINTAINED, False)


def has_maintained(cache_directory: str | None) -> bool:
    """Return whether there may be such indexes: most users have none."""
    base = Path(cache_directory or platformdirs.user_cache_dir("tamis"))
    try:
        with os.scandir(base / _VERSION / _digest(_MAINTAINED, False)) as entries:
            return next(entries, None) is not None
    except (OSError, UnicodeError):
        return False
