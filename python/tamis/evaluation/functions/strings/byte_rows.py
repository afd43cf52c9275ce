"""Strings as rows of bytes, for vectorized computation over their prefixes.

The caller chooses the width of the rows. Shorter strings are padded with zeros; `lengths`
distinguishes them from strings that contain zeros.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Flags

__all__ = [
    "Rows",
    "is_ascii",
    "joined",
    "lengths_of",
    "rows_of",
    "shared_beginning",
    "shared_length",
    "strings_of",
]

Rows = npt.NDArray[np.uint8]
Lengths = npt.NDArray[np.int64]


def lengths_of(edge: pa.Array) -> Lengths:
    """Return the number of bytes of each string; 0 where it is null.

    >>> lengths_of(pa.array([b"abc", None], pa.large_binary())).tolist()
    [3, 0]
    """
    return np.where(_is_valid(edge), np.diff(_offsets(edge)), 0)


def _is_valid(edge: pa.Array) -> Flags:
    """Return False where the string is null: Arrow may store bytes there all the same."""
    if edge.null_count == 0:
        return np.ones(1, np.bool_)
    flags: Flags = edge.is_valid().to_numpy(zero_copy_only=False)
    return flags


def _offsets(edge: pa.Array) -> Lengths:
    if len(edge) == 0:
        return np.zeros(1, np.int64)
    return np.frombuffer(edge.buffers()[1], np.int64)[edge.offset : edge.offset + len(edge) + 1]


def is_ascii(edge: pa.Array) -> Flags:
    """Return which strings are all ASCII.

    >>> is_ascii(pa.array([b"ab", "é".encode(), None], pa.large_binary())).tolist()
    [True, False, True]
    """
    offsets = _offsets(edge)
    buffer = edge.buffers()[2]
    if buffer is None:
        return np.ones(len(edge), np.bool_)
    data = np.frombuffer(buffer, np.uint8)[offsets[0] : offsets[-1]]
    beyond = data >= 0x80
    if not beyond.any():
        return np.ones(len(edge), np.bool_)
    count = np.zeros(len(data) + 1, np.int64)
    np.cumsum(beyond, out=count[1:])
    flags: Flags = np.diff(count[offsets - offsets[0]]) == 0
    return flags


def rows_of(edge: pa.Array, width: int) -> Rows:
    """Return the first `width` bytes of each string (large_binary), padded with zeros.

    >>> rows_of(pa.array([b"abc", b"d", None], pa.large_binary()), 2).tolist()
    [[97, 98], [100, 0], [0, 0]]
    """
    offsets = _offsets(edge)
    first, last = int(offsets[0]), int(offsets[-1])
    buffer = edge.buffers()[2]
    data = b"" if buffer is None else memoryview(buffer)[first:last]
    padded = np.frombuffer(bytes(data) + bytes(width), np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)
    rows: Rows = windows[offsets[:-1] - first].copy()
    rows[np.arange(width) >= lengths_of(edge)[:, None]] = 0
    return rows


def strings_of(rows: Rows, lengths: Lengths, known: Flags) -> pa.Array:
    """Return the first bytes of each row as a string, as many as `lengths`; null where not known.

    >>> rows = rows_of(pa.array([b"abc", b"d"], pa.large_binary()), 3)
    >>> strings_of(rows, np.array([2, 1]), np.array([True, False])).to_pylist()
    [b'ab', None]
    """
    lengths = np.where(known, lengths, 0)
    data = rows[np.arange(rows.shape[1]) < lengths[:, None]]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    validity = np.packbits(known, bitorder="little")
    buffers = [pa.py_buffer(each.tobytes()) for each in (validity, offsets, data)]
    return pa.Array.from_buffers(pa.large_binary(), len(rows), buffers)


def shared_length(lower: Rows, upper: Rows, shortest: Lengths) -> Lengths:
    """Return the length of the common prefix of both rows. All strings between them have it too.

    Args:
        lower: Rows of the lower edges.
        upper: Rows of the upper edges, of the same width.
        shortest: The limit of each length: the length of the shorter string.

    >>> low, high = (rows_of(pa.array([t], pa.large_binary()), 4) for t in (b"abc", b"abx"))
    >>> shared_length(low, high, np.array([3])).tolist()
    [2]
    """
    differs = lower != upper
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), lower.shape[1])
    shared: Lengths = np.minimum(first, shortest)
    return shared


def shared_beginning(
    lower: pa.Array, upper: pa.Array, most: int, upper_open: Flags | None = None
) -> tuple[Rows, Lengths]:
    """Return the rows of the lower edges, and the length of the prefix that all strings share.

    This is the common prefix of both edges, up to `most` bytes. If the upper edge is exclusive
    (`upper_open`) and is the successor of a prefix of the lower edge, all strings have that prefix.

    >>> edges = [pa.array([text], pa.large_binary()) for text in (b"abc", b"abd")]
    >>> [shared_beginning(*edges, 64, each)[1].tolist() for each in (None, np.array([True]))]
    [[2], [3]]
    """
    lengths, ends = lengths_of(lower), lengths_of(upper)
    shortest = np.minimum(lengths, ends)
    width = max(1, min(most, int(shortest.max(initial=0))))
    rows, high = rows_of(lower, width), rows_of(upper, width)
    shared = shared_length(rows, high, np.minimum(shortest, width))
    if upper_open is not None:
        last = np.minimum(shared, width - 1)
        at = np.arange(len(rows))
        is_next = high[at, last] == rows[at, last].astype(np.int64) + 1
        follows = (shared == ends - 1) & (shared < width) & (lengths >= ends) & is_next
        shared = shared + (upper_open & follows)
    return rows, shared


def joined(*parts: pa.Array | bytes) -> pa.Array:
    """Return the concatenation of strings, row by row; null where one of them is null."""
    arrays = [
        pa.scalar(part, pa.large_binary()) if isinstance(part, bytes) else part for part in parts
    ]
    return pc.binary_join_element_wise(*arrays, pa.scalar(b"", pa.large_binary()))
