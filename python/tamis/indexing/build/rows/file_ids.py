"""Numbers of files, by which Spark groups their rows: see FileId in the shim.

A number is Spark's `xxhash64(path, size, mtime)`. A file that differs from the listed one in any of
these has another number, and so do the files of a listing, but for a chance of 1 in 2**64 for each
pair. A number that two listed files share counts for neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
        """Return the place of each file by its number.

        Args:
            found: Numbers that Spark found. They show how it spells paths.
        """
        numbers = set(found)
        return next((each for each in self._spelled if not numbers.isdisjoint(each)), {})

    @property
    def _spelled(self) -> Iterator[dict[int, int]]:
        for spell in (str, unquote):
            for knows_size in (True, False):
                ids = [
                    file_id(spell(uri), size if knows_size else None, mtime)
                    for uri, size, mtime in self._files
                ]
                counts = Counter(ids)
                yield {each: place for place, each in enumerate(ids) if counts[each] == 1}
