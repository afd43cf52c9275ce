"""Tables of a generation as Parquet files whose columns can be read and verified separately."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.indexing.format.layout import Checksums, Range

__all__ = ["ROWS_A_GROUP", "checksums_of", "open_verified", "write_parquet"]

ROWS_A_GROUP: Final = 1 << 17


def open_verified(
    file: pa.NativeFile, size: int, checksums: Checksums, columns: Iterable[str]
) -> pq.ParquetFile:
    """Read and verify some columns of a file. Only these columns of the result can be read.

    Args:
        file: The file.
        size: Its expected number of bytes.
        checksums: The checksums of its footer and column chunks.
        columns: The names of the columns.

    Raises:
        ValueError: The size or a checksum does not match.
        OSError: The file cannot be read.
    """
    if file.size() != size:
        raise ValueError(f"it has {file.size()} bytes instead of {size}")
    # Zeros for bytes that are not read: memory pages that are not touched take no memory.
    sparse = np.zeros(size, np.uint8)
    for start, length, checksum in _needed(checksums, columns):
        content = file.read_at(length, start)
        if zlib.crc32(content) != checksum:
            raise ValueError(f"the checksum of bytes {start} to {start + length} does not match")
        sparse[start : start + length] = np.frombuffer(content, np.uint8)
    return pq.ParquetFile(
        pa.BufferReader(pa.py_buffer(sparse)),
        metadata=_footer(sparse, checksums.footer),
        page_checksum_verification=True,
        pre_buffer=False,
    )


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table of a generation."""
    pq.write_table(
        table,
        path,
        row_group_size=ROWS_A_GROUP,
        compression="zstd",
        use_dictionary=[name for name in ("directory", "problem") if name in table.column_names],
        column_encoding={
            field.name: encoding
            for field in table.schema
            if (encoding := _encoding(field)) is not None
        },
        write_page_checksum=True,
        write_statistics=False,
        store_decimal_as_integer=True,
    )


def _encoding(field: pa.Field) -> str | None:
    kind = field.type
    if field.name in ("directory", "problem") or pa.types.is_boolean(kind):
        return None
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "DELTA_BYTE_ARRAY"
    if pa.types.is_floating(kind) or (pa.types.is_decimal(kind) and kind.precision > 18):
        return "BYTE_STREAM_SPLIT"
    return "DELTA_BINARY_PACKED"


def checksums_of(path: Path) -> Checksums:
    """Return the checksums of the footer and of every column chunk."""
    metadata = pq.read_metadata(path)
    with open(path, "rb") as file:
        chunks: dict[str, list[Range]] = {
            name: [] for name in metadata.schema.to_arrow_schema().names
        }
        names = list(chunks)
        for i in range(metadata.num_row_groups):
            for k, name in enumerate(names):
                chunk = metadata.row_group(i).column(k)
                start = chunk.data_page_offset
                if chunk.has_dictionary_page:
                    start = min(start, chunk.dictionary_page_offset)
                chunks[name].append(_range(file, start, chunk.total_compressed_size))
        length = metadata.serialized_size + 8  # its length and the magic number
        footer = _range(file, path.stat().st_size - length, length)
    return Checksums(footer, {name: tuple(ranges) for name, ranges in chunks.items()})


def _range(file: BinaryIO, start: int, length: int) -> Range:
    file.seek(start)
    return start, length, zlib.crc32(file.read(length))


def _needed(checksums: Checksums, columns: Iterable[str]) -> Iterable[Range]:
    yield checksums.footer
    for column in columns:
        yield from checksums.chunks[column]


def _footer(sparse: np.ndarray, footer: Range) -> pq.FileMetaData:
    start, length, _ = footer
    content = b"PAR1" + sparse[start : start + length].tobytes()
    return pq.read_metadata(pa.BufferReader(content))
