"""Numbers of files, by which Spark groups their rows: see FileId in the shim.

A number is Spark's `xxhash64(path, size, mtime)`. A file that differs from the listed one in any of
these has another number, and so do the files of a listing, but for a chance of 1 in 2**64 for each
pair. A number that two listed files share counts for neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from tamis.indexing.format.hashing import hash_bytes, hash_long

__all__ = ["FileIds", "file_id"]


def file_id(path: str, size: int | None, mtime: int) -> int:
    """Return the number of a file, as Spark computes it. NULLs are skipped.

    >>> file_id("file:/t/a.parquet", 7, 1000)  # SELECT xxhash64('file:/t/a.parquet', 7L, 1000L)
    -7413564244362061976
    """
    number = hash_bytes(path.encode())
    for value in (size, mtime):
        if value is not None:
            number = hash_long(value, number)
    return number - (1 << 64) if number >= 1 << 63 else number


class FileIds:
    """The numbers that Spark gives to listed files.

    Args:
        uris: The canonical URIs of the files, URL-encoded.
        sizes: Their sizes in bytes. Iceberg does not tell Spark.
        mtimes: Their modification times.
    """

    def __init__(self, uris: Sequence[str], sizes: Sequence[int], mtimes: Sequence[int]) -> None:
        self._files = [*zip(uris, sizes, mtimes, strict=True)]

    def places(self, found: Iterable[int]) -> dict[int, int]:
        """Return the place of each file by the numbers that it may have.

        Args:
            found: Numbers that Spark found. They show whether it knows sizes.
        """
        numbers = set(found)
        places: dict[int, int] = {}
        shared = set()
        for knows_size in (True, False):
            for place, (uri, size, mtime) in enumerate(self._files):
                for path in {uri, unquote(uri)}:
                    number = file_id(path, size if knows_size else None, mtime)
                    if places.setdefault(number, place) != place:
                        shared.add(number)
            if numbers <= places.keys():
                break
        return {number: place for number, place in places.items() if number not in shared}
