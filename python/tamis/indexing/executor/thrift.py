"""The compressed sizes of row groups that a footer states, which pyarrow does not expose.

A footer is a Thrift struct in the compact protocol (parquet.thrift, thrift-compact-protocol.md):

    FileMetaData  4: list<RowGroup> row_groups     RowGroup  6: optional i64 total_compressed_size

Spark's readers use that field if it is set, whatever the column chunks state. This module imports
nothing from this package, because it also runs on executors.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

_BOOLEANS: Final = (1, 2)
_BYTE: Final = 3
_INTEGERS: Final = (4, 5, 6)
_DOUBLE: Final = 7
_BINARY: Final = 8
_LISTS: Final = (9, 10)
_STRUCT: Final = 12

_ROW_GROUPS: Final = 4
_TOTAL_COMPRESSED_SIZE: Final = 6


def stated_sizes(metadata: pq.FileMetaData) -> list[int | None]:
    """Return `total_compressed_size` of every row group; None if the footer omits it.

    Raises:
        ValueError, IndexError: The footer is not valid.
    """
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)  # exactly the fields that were read
    content = sink.getvalue().to_pybytes()
    length = int.from_bytes(content[-8:-4], "little")
    sizes = _Compact(content, len(content) - 8 - length).sizes()
    if len(sizes) != metadata.num_row_groups:
        raise ValueError(f"{len(sizes)} row groups instead of {metadata.num_row_groups}")
    return sizes


class _Compact:
    """A position in bytes of the compact protocol."""

    __slots__ = ("_at", "_bytes")

    def __init__(self, content: bytes, at: int) -> None:
        self._bytes = content
        self._at = at

    def sizes(self) -> list[int | None]:
        field = 0
        while kind := self._byte():
            field = self._field(field, kind)
            if field == _ROW_GROUPS and kind & 15 in _LISTS:
                count, _ = self._list()
                return [self._size() for _ in range(count)]
            self._skip(kind & 15)
        return []

    def _size(self) -> int | None:
        """Return the size of one row group, and advance to its end."""
        size = None
        field = 0
        while kind := self._byte():
            field = self._field(field, kind)
            if field == _TOTAL_COMPRESSED_SIZE and kind & 15 in _INTEGERS:
                raw = self._varint()
                size = (raw >> 1) ^ -(raw & 1)
            else:
                self._skip(kind & 15)
        return size

    def _field(self, previous: int, header: int) -> int:
        """Return the number of a field: its header has the difference, or the number follows."""
        if header >> 4:
            return previous + (header >> 4)
        raw = self._varint()
        return (raw >> 1) ^ -(raw & 1)

    def _byte(self) -> int:
        byte = self._bytes[self._at]
        self._at += 1
        return byte

    def _varint(self) -> int:
        result = shift = 0
        while True:
            byte = self._bytes[self._at]
            self._at += 1
            result |= (byte & 127) << shift
            if byte < 128:
                return result
            shift += 7

    def _list(self) -> tuple[int, int]:
        """Return the number of elements of a list, and their type."""
        header = self._byte()
        count = header >> 4
        return (self._varint() if count == 15 else count), header & 15

    def _skip(self, kind: int) -> None:
        if kind in _INTEGERS:
            while self._bytes[self._at] > 127:
                self._at += 1
            self._at += 1
        elif kind == _BINARY:
            length = self._varint()
            self._at += length
        elif kind == _STRUCT:
            while header := self._byte():
                if not header >> 4:
                    self._varint()
                self._skip(header & 15)
        elif kind in _LISTS:
            count, element = self._list()
            for _ in range(count):
                if element in _BOOLEANS:
                    self._at += 1  # a boolean that is not a field takes a byte
                else:
                    self._skip(element)
        elif kind == _BYTE:
            self._at += 1
        elif kind == _DOUBLE:
            self._at += 8
        elif kind not in _BOOLEANS:
            raise ValueError(f"a field of type {kind}, which does not occur in footers")
