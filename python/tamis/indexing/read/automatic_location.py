"""Where automatic indexes are: see `tamis.indexing.automatic`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import quote

import platformdirs

from tamis._version import __version__
from tamis.indexing.format.layout import FORMAT
from tamis.indexing.read.cache import private_directory

__all__ = ["location_of"]


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
    text = f"{schema}\n{case_sensitive}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        directory = private_directory(base, f"automatic-{__version__}-{FORMAT}", digest)
        return None if directory is None else "file:" + quote(str(directory.resolve()))
    except (OSError, UnicodeError):
        return None
