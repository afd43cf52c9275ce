"""Files of indexes in object stores that are small enough to be read as a whole, once.

A request to an object store takes tens of milliseconds, however little it reads. Opening an index
reads many small parts of a few files, so these are kept in memory for a while. The files of a
segment never change: the number of bytes and the checksum in the pointer identify the content.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from tamis.indexing.format.layout import DataFile

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
        self._contents: OrderedDict[_Key, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

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
        with self._lock:
            content = self._contents.get(key)
            if content is not None:
                self._contents.move_to_end(key)
                return content
        content = read()
        if len(content) != identity.size:
            raise ValueError(f"it has {len(content)} bytes instead of {identity.size}")
        if zlib.crc32(content) != identity.checksum:
            raise ValueError("its checksum does not match")
        with self._lock:
            if key not in self._contents:
                self._contents[key] = content
                self._size += len(content)
            while self._size > self._most:
                _, oldest = self._contents.popitem(last=False)
                self._size -= len(oldest)
        return content
