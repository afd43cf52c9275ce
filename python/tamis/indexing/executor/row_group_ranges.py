"""Byte ranges of the row groups of a file, and the midpoint that assigns each to a task.

Spark splits files by bytes. A row group is read by the task whose bytes contain its midpoint. Every
reader of Spark 4.0 to 4.3, vectorized or row by row, leaves this to parquet-mr 1.15 to 1.17
(ParquetMetadataConverter.filterFileMetaDataByMidpoint):

    start    of the first column chunk: data_page_offset, or dictionary_page_offset if that is set
             and less. Old writers may have set it to 0, and then the start is 0.
    size     total_compressed_size of the row group if that is set, else the sum over its chunks.
    midpoint start + size / 2

If the first column of a file is encrypted, parquet-mr uses `file_offset`, which some writers got
wrong (PARQUET-2078); the extent is then unknown. This module also runs on executors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow.parquet as pq

from tamis.indexing.executor.thrift import StatedGroup

#: Start and length in bytes of the column chunks, and the midpoint (None: unknown). (0, 0, None):
#: nothing is known.
Extent = tuple[int, int, int | None]

_HIDDEN: Final[Extent] = (0, 0, None)


def extents(metadata: pq.FileMetaData, stated: Sequence[StatedGroup] | None) -> list[Extent]:
    """Return the extent of every row group. A file with one row group gets no midpoint.

    Args:
        metadata: The footer.
        stated: What the footer states of each row group. None: `total_compressed_size` is the sum
            over the chunks.
    """
    count = metadata.num_row_groups
    sizes = [None] * count if stated is None else [group.size for group in stated]
    places = [_extent(metadata.row_group(i), sizes[i]) for i in range(count)]
    if count > 1:
        return places
    return [(start, length, None) for start, length, _ in places]


def _extent(group: pq.RowGroupMetaData, stated: int | None) -> Extent:
    start, end, size = None, 0, 0
    middle_of = 0
    try:
        for i in range(group.num_columns):
            chunk = group.column(i)
            first = chunk.data_page_offset
            named = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
            if i == 0:
                middle_of = first if named is None else min(first, named)
            if named is not None and 0 < named < first:
                first = named
            start = first if start is None else min(start, first)
            end = max(end, first + chunk.total_compressed_size)
            size += chunk.total_compressed_size
    except Exception:  # the metadata of an encrypted column
        return _HIDDEN
    if start is None:
        return _HIDDEN
    size = size if stated is None else stated
    # no writer produces a negative size; Java would round its half differently
    return start, end - start, middle_of + size // 2 if size >= 0 else None
