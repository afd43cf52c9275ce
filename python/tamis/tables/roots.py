"""Which directories may have an index that describes the files of a scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.indexing.read.automatic_location import has_maintained, location_of, maintained_location
from tamis.indexing.read.open_indexes import OpenIndex
from tamis.indexing.read.snapshot import Snapshot
from tamis.wire.scans import ScanRequest

__all__ = [
    "MOST_ROOTS",
    "automatic_roots",
    "candidates",
    "is_below",
    "maintained_roots",
    "tables_above",
    "tables_of",
]

#: Roots of a scan with automatic indexes.
MOST_ROOTS: Final = 16
#: If a scan has more roots, for example from a glob, their tables are not determined.
_MAX_NAMED_ROOTS: Final = 100


def candidates(root: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield the directories whose index may describe a root: itself, and its table directories."""
    root = root.rstrip("/")
    directories = snapshot.files.directories
    if directories and not any(d == root or d.startswith(f"{root}/") for d in directories):
        root = root.rpartition("/")[0]  # the root is a file
    yield from tables_above(root)


def tables_above(directory: str) -> Iterator[str]:
    """Yield a directory, and those above it of which it may be a partition."""
    yield directory
    while "=" in directory.rpartition("/")[2]:
        directory = directory.rpartition("/")[0]
        yield directory


def _may_have_cached_indexes(request: ScanRequest) -> bool:
    """Return whether indexes in the cache directory may describe files of a request."""
    options, roots = request.index, request.table.roots
    is_wanted = options.enabled and options.automatic is not None
    return is_wanted and request.reading is None and len(roots) <= MOST_ROOTS


def automatic_roots(request: ScanRequest, snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    """Return the root and the location of the automatic index for each root of a request.

    Of a table with many roots, or of files that are not Parquet, there is none.
    """
    wanted, roots = request.index.automatic, request.table.roots
    if wanted is None or not _may_have_cached_indexes(request):
        return {}
    case_sensitive = request.table.case_sensitive
    location = location_of(request.cache_directory, wanted.schema, case_sensitive)
    if location is None:
        return {}
    return {root: ([*candidates(root, snapshot)][-1], location) for root in roots}


def maintained_roots(
    request: ScanRequest, snapshot: Snapshot
) -> Iterator[tuple[Iterator[str], str]]:
    """Yield where maintenance may have put an index for each root of a request: see `maintain`."""
    if not _may_have_cached_indexes(request) or not has_maintained(request.cache_directory):
        return
    location = maintained_location(request.cache_directory)
    if location is not None:
        for root in request.table.roots:
            yield candidates(root, snapshot), location


def is_below(root: str, snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Return for each file whether it belongs to a root."""
    root = root.rstrip("/")
    directories = snapshot.files.directories
    below = np.array([d == root or d.startswith(f"{root}/") for d in directories], bool)
    if not below.any():  # the root is a file
        below = np.array([root.startswith(f"{d}/") for d in directories], bool)
    return below[snapshot.group]


def tables_of(
    roots: Sequence[str], snapshot: Snapshot, indexes: Sequence[OpenIndex]
) -> frozenset[str]:
    if indexes:
        return frozenset(each.pointer.root for each in indexes)
    if len(roots) > _MAX_NAMED_ROOTS:
        return frozenset()
    return frozenset([*candidates(root, snapshot)][-1] for root in roots)
