"""Files of indexes in object stores that are small enough to be read as a whole, once.

A request to an object store takes tens of milliseconds, however little it reads. Opening an index
reads many small parts of a few files, so these are kept in memory for a while. The files of a
segment never change: the number of bytes and the checksum in the pointer identify the content.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

from tamis.indexing.format.layout import DataFile
from tamis.recent import Recent

__all__ = ["KEPT_BYTES", "MOST_BYTES", "SmallObjects"]

#: The largest file that is read as a whole.
MOST_BYTES: Final = 1 << 20
#: The most bytes that are kept.
KEPT_BYTES: Final = 4 << 20

_Key = tuple[str, int, int]


class SmallObjects:
    """The contents of files that were read recently. Thread-safe.

    Args:
        most: The most bytes that are kept.
    """

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._most = most
        self._contents = Recent[bytes](most, len)

    def get(self, uri: str, identity: DataFile, read: Callable[[], bytes]) -> bytes:
        """Return the content of a file, which is read if it is not known.

        Args:
            uri: Where the file is.
            identity: The number of bytes and the checksum that the content must have.
            read: Reads the file. Its exceptions are passed on.

        Raises:
            ValueError: The content is another one.
        """
        key = (uri, identity.size, identity.checksum)
        known = self._contents.get(key)
        if known is not None:
            return known
        content = read()
        if len(content) != identity.size:
            raise ValueError(f"it has {len(content)} bytes instead of {identity.size}")
        if zlib.crc32(content) != identity.checksum:
            raise ValueError("its checksum does not match")
        if len(content) <= self._most:
            self._contents.keep(key, content)
        return content
