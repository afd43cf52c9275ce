"""What a footer states and pyarrow does not expose: sizes of row groups, and unusable statistics.

A footer is a Thrift struct in the compact protocol (parquet.thrift, thrift-compact-protocol.md):

    FileMetaData    4: list<RowGroup> row_groups
    RowGroup        1: list<ColumnChunk> columns   6: optional i64 total_compressed_size
    ColumnChunk     3: optional ColumnMetaData meta_data
    ColumnMetaData  1: Type type   12: optional Statistics statistics
    Statistics      1: max   2: min   5: max_value   6: min_value   (binary)
                    7: is_max_value_exact   8: is_min_value_exact   (boolean)

This module imports nothing from this package, because it also runs on executors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["StatedGroup", "stated_groups"]

_TRUE, _FALSE = 1, 2
_BYTE: Final = 3
_INTEGERS: Final = (4, 5, 6)
_DOUBLE: Final = 7
_BINARY: Final = 8
_LISTS: Final = (9, 10)
_STRUCT: Final = 12

_ROW_GROUPS: Final = 4
_COLUMNS: Final = 1
_TOTAL_COMPRESSED_SIZE: Final = 6
_META_DATA: Final = 3
_STATISTICS: Final = 12
_BOUNDS: Final = (1, 2, 5, 6)
_ARE_EXACT: Final = (7, 8)
#: The sizes in bytes of values, by physical type; FIXED_LEN_BYTE_ARRAY states its own.
_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}


@dataclass(frozen=True)
class StatedGroup:
    """What the footer states of one row group.

    Attributes:
        size: `total_compressed_size`, which Spark's readers use if it is set, whatever the column
            chunks state; None if it is omitted.
        unusable: Ordinals of the columns whose statistics must not be read. A bound has another
            length than the values, for which pyarrow ends the process; or a number is marked as
            inexact, so it need not be a value of a row.
    """

    size: int | None
    unusable: frozenset[int]


def stated_groups(metadata: pq.FileMetaData) -> list[StatedGroup]:
    """Return what the footer states of every row group.

    Raises:
        ValueError, IndexError: The footer is not valid.
    """
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)  # exactly the fields that were read
    content = sink.getvalue().to_pybytes()
    length = int.from_bytes(content[-8:-4], "little")
    widths = [_width(metadata.schema.column(i)) for i in range(metadata.num_columns)]
    groups = _Compact(content, len(content) - 8 - length, widths).groups()
    if len(groups) != metadata.num_row_groups:
        raise ValueError(f"{len(groups)} row groups instead of {metadata.num_row_groups}")
    return groups


def _width(column: pq.ColumnSchema) -> int | None:
    """Return the size in bytes of the values of a column; None for BYTE_ARRAY."""
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return int(column.length)
    return _WIDTHS.get(column.physical_type)


class _Compact:
    """A position in bytes of the compact protocol."""

    __slots__ = ("_at", "_bytes", "_widths")

    def __init__(self, content: bytes, at: int, widths: Sequence[int | None]) -> None:
        self._bytes = content
        self._at = at
        self._widths = widths

    def groups(self) -> list[StatedGroup]:
        field = 0
        while kind := self._byte():
            field = self._field(field, kind)
            if field == _ROW_GROUPS and kind & 15 in _LISTS:
                count, _ = self._list()
                return [self._group() for _ in range(count)]
            self._skip(kind & 15)
        return []

    def _group(self) -> StatedGroup:
        """Return one row group, and advance to its end."""
        size = None
        unusable: frozenset[int] = frozenset()
        field = 0
        while kind := self._byte():
            field = self._field(field, kind)
            if field == _TOTAL_COMPRESSED_SIZE and kind & 15 in _INTEGERS:
                raw = self._varint()
                size = (raw >> 1) ^ -(raw & 1)
            elif field == _COLUMNS and kind & 15 in _LISTS:
                count, _ = self._list()
                usable = [self._chunk(self._widths[i]) for i in range(count)]
                unusable = frozenset(i for i, each in enumerate(usable) if not each)
            else:
                self._skip(kind & 15)
        return StatedGroup(size, unusable)

    def _chunk(self, width: int | None) -> bool:
        """Return whether the statistics of one column chunk may be read; advance to its end."""
        usable = True
        field = 0
        while kind := self._byte():
            field = self._field(field, kind)
            if field != _META_DATA or kind & 15 != _STRUCT:
                self._skip(kind & 15)
                continue
            inner = 0
            while kind := self._byte():
                inner = self._field(inner, kind)
                if inner == _STATISTICS and kind & 15 == _STRUCT:
                    usable = self._statistics(width) and usable
                else:
                    self._skip(kind & 15)
        return usable

    def _statistics(self, width: int | None) -> bool:
        usable = True
        field = 0
        while kind := self._byte():
            field = self._field(field, kind)
            if field in _BOUNDS and kind & 15 == _BINARY:
                length = self._varint()
                self._at += length
                usable = usable and width in (None, length)
            else:
                if field in _ARE_EXACT and kind & 15 == _FALSE:
                    usable = usable and width is None  # text is known to be cut
                self._skip(kind & 15)
        return usable

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
                if element in (_TRUE, _FALSE):
                    self._at += 1  # a boolean that is not a field takes a byte
                else:
                    self._skip(element)
        elif kind == _BYTE:
            self._at += 1
        elif kind == _DOUBLE:
            self._at += 8
        elif kind not in (_TRUE, _FALSE):
            raise ValueError(f"a field of type {kind}, which does not occur in footers")
