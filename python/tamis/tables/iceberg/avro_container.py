"""The header and the blocks of an Avro file.

pyiceberg writes one block per record, which polars reads ten times as slowly as the blocks of other
writers, and polars does not decompress zstandard. `for_polars` joins and decompresses such blocks.

Source: Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

__all__ = ["Container", "parse_container"]

_MAGIC: Final = b"Obj\x01"
_SYNC: Final = 16
#: Files with fewer records per block are joined. Other writers fill blocks of 64 KB.
_FEW_RECORDS: Final = 16


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """An Avro file.

    Attributes:
        data: The bytes of the file.
        metadata: The metadata in the header.
        start: Where the first block starts, after the marker that ends the header and each block.
        blocks: The number of records of each block, and where its data starts and stops.
    """

    data: bytes
    metadata: Mapping[str, bytes]
    start: int
    blocks: Sequence[tuple[int, int, int]]

    @property
    def num_records(self) -> int:
        return sum(count for count, _, _ in self.blocks)

    def records(self) -> bytes:
        """Return the records, without anything between them.

        Raises:
            zlib.error, OSError: A block is damaged.
            KeyError: The codec is not known.
        """
        decompress = _DECOMPRESS[self.metadata.get("avro.codec", b"null")]
        return b"".join(decompress(self.data[start:stop]) for _, start, stop in self.blocks)

    def for_polars(self, schema: bytes) -> bytes:
        """Return the bytes of a file with the same records, in one block if that is of use.

        Args:
            schema: The schema for its header. It describes the same encoding.

        Raises:
            zlib.error, OSError: A block is damaged.
        """
        codec = self.metadata.get("avro.codec", b"null")
        is_large = self.num_records >= _FEW_RECORDS * len(self.blocks)
        if codec not in _DECOMPRESS or (is_large and codec != b"zstandard"):
            header = _header_of(schema, codec, self.data[self.start - _SYNC : self.start])
            return b"".join([*header, self.data[self.start :]])
        sync = bytes(_SYNC)
        block = [_encoded(self.num_records), *_sized(self.records()), sync]
        return b"".join([*_header_of(schema, b"null", sync), *block])


def _zstandard(data: bytes) -> bytes:
    # pa.decompress needs the size, which a block does not have
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        content: bytes = stream.read()
        return content


_DECOMPRESS: Final[Mapping[bytes, Callable[[bytes], bytes]]] = {
    b"null": lambda data: data,
    b"deflate": lambda data: zlib.decompress(data, -zlib.MAX_WBITS),
    b"zstandard": _zstandard,
}


def _header_of(schema: bytes, codec: bytes, sync: bytes) -> list[bytes]:
    metadata = {b"avro.schema": schema, b"avro.codec": codec}
    entries = [part for pair in metadata.items() for text in pair for part in _sized(text)]
    return [_MAGIC, _encoded(len(metadata)), *entries, _encoded(0), sync]


def _sized(data: bytes) -> tuple[bytes, bytes]:
    return _encoded(len(data)), data


def _encoded(number: int) -> bytes:
    """Return a number that is not negative as variable-length zigzag."""
    number <<= 1
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def parse_container(data: bytes) -> Container:
    """Parse an Avro file.

    Raises:
        ValueError, IndexError, KeyError: It is damaged.
    """
    metadata, place = _header(data)
    sync = data[place : place + _SYNC]
    start = place = place + _SYNC
    blocks = []
    while place < len(data):
        count, place = _long(data, place)
        size, place = _long(data, place)
        stop = place + size
        if count < 0 or size < 0 or data[stop : stop + _SYNC] != sync:
            raise ValueError("a block is damaged")
        blocks.append((count, place, stop))
        place = stop + _SYNC
    if len(sync) < _SYNC:
        raise ValueError("its header is cut")
    return Container(data, metadata, start, blocks)


def _header(data: bytes) -> tuple[dict[str, bytes], int]:
    """Return the metadata of the header, a map in blocks, and the place after it."""
    if data[:4] != _MAGIC:
        raise ValueError("it is not an Avro file")
    place = 4
    metadata: dict[str, bytes] = {}
    while True:
        count, place = _long(data, place)
        if count == 0:
            return metadata, place
        if count < 0:  # the size of the block follows
            count = -count
            _, place = _long(data, place)
        for _ in range(count):
            key, place = _bytes(data, place)
            value, place = _bytes(data, place)
            metadata[key.decode()] = value


def _long(data: bytes, place: int) -> tuple[int, int]:
    """Return a variable-length zigzag number, and the place after it."""
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), place
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _bytes(data: bytes, place: int) -> tuple[bytes, int]:
    length, place = _long(data, place)
    if length < 0 or place + length > len(data):
        raise ValueError("its header is cut")
    return data[place : place + length], place + length
