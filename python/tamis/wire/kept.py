"""Encode the kept files in the shortest of the forms that messages have for them."""

from __future__ import annotations

import base64
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tamis.errors import WireError
from tamis.wire.file_sets import Kept, KeptAll, KeptBitmap, KeptNone, KeptRanges
from tamis.wire.messages import RowGroupsAnswer
from tamis.wire.remembered import RowsOfFiles, ValuesOfFiles

__all__ = ["decode_kept", "decode_rows", "decode_values", "encode_kept", "encode_row_groups"]

#: Up to this many ranges are shorter than the bitmap of a table that is large enough to prune.
_MAX_RANGES: Final = 32

#: The number of flags to process at a time.
_BLOCK: Final = 65_536


def encode_kept(kept: npt.NDArray[np.bool_]) -> Kept:
    """Encode one flag per file.

    >>> encode_kept(np.array([False, True, True, False]))
    KeptRanges(data=[(1, 3)])
    """
    count = int(np.count_nonzero(kept))
    if count == len(kept):
        return KeptAll()
    if count == 0:
        return KeptNone()
    edges = _edges(kept)
    if edges is not None:
        return KeptRanges(list(zip(edges[::2], edges[1::2], strict=True)))
    return KeptBitmap(_packed(np.packbits(kept, bitorder="little")))


def decode_kept(kept: Kept, files: int) -> npt.NDArray[np.bool_]:
    """Return one flag per file.

    Raises:
        WireError: The set does not fit this number of files.

    >>> decode_kept(KeptRanges(data=[(1, 3)]), 4).tolist()
    [False, True, True, False]
    """
    flags = np.zeros(files, np.bool_)
    match kept:
        case KeptAll():
            flags[:] = True
        case KeptRanges(data=ranges):
            for start, stop in ranges:
                if not 0 <= start <= stop <= files:
                    raise WireError(f"the range {start} to {stop} does not fit {files} files")
                flags[start:stop] = True
        case KeptBitmap(data=data):
            packed = np.frombuffer(base64.b64decode(data), np.uint8)
            bits = np.unpackbits(packed, bitorder="little").astype(np.bool_)
            if len(packed) != (files + 7) // 8 or bits[files:].any():
                raise WireError(f"a bitmap of {len(packed)} bytes does not fit {files} files")
            flags[:] = bits[:files]
    return flags


def encode_row_groups(
    files: npt.NDArray[np.intp],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    kept: int | None,
    total: int | None,
    remembered: int = 0,
) -> RowGroupsAnswer:
    """Encode byte ranges, one entry per range, ordered by file and start.

    >>> encode_row_groups(np.array([7]), np.array([4]), np.array([9]), 1, 3).files
    'BwAAAA=='
    """
    return RowGroupsAnswer(
        _packed(files.astype("<i4")),
        _packed(starts.astype("<i8")),
        _packed(lengths.astype("<i8")),
        kept,
        total,
        remembered,
    )


def decode_rows(
    rows: RowsOfFiles, files: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the file, start and stop of each range.

    Raises:
        WireError: The parts do not fit each other, or not this number of files.
    """
    try:
        ordinals = np.frombuffer(_unpacked(rows.files), "<i4").astype(np.int64)
        starts, stops = (
            np.frombuffer(_unpacked(each), "<i8") for each in (rows.starts, rows.stops)
        )
    except ValueError as problem:
        raise WireError(f"the rows of files cannot be read: {problem}") from problem
    if len(ordinals) != len(starts) or len(ordinals) != len(stops):
        raise WireError("the rows have different numbers of files, starts and stops")
    _check_ordinals(ordinals, files, "rows")
    return ordinals, starts, stops


def decode_values(
    values: ValuesOfFiles, files: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the files, and the least and greatest values: one row per file, one column per column.

    Raises:
        WireError: The parts do not fit each other, or not this number of files.
    """
    try:
        ordinals = np.frombuffer(_unpacked(values.files), "<i4").astype(np.int64)
        shape = len(ordinals), len(values.columns)
        least, greatest = (
            np.frombuffer(_unpacked(each), "<i8").reshape(shape)
            for each in (values.least, values.greatest)
        )
    except ValueError as problem:
        raise WireError(f"the values of files cannot be read: {problem}") from problem
    _check_ordinals(ordinals, files, "values")
    return ordinals, least, greatest


def _check_ordinals(ordinals: npt.NDArray[np.int64], files: int, what: str) -> None:
    if len(ordinals) and not 0 <= int(ordinals.min()) <= int(ordinals.max()) < files:
        raise WireError(f"{what} of files that are not among {files} files")


def _packed(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode()


def _unpacked(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _edges(kept: npt.NDArray[np.bool_]) -> list[int] | None:
    """Return the alternating starts and ends of all ranges, or None if there are too many.

    Processes blocks, to stop early and to avoid allocating a megabyte at a time.
    """
    edges = [0] if kept[0] else []
    for start in range(1, len(kept), _BLOCK):
        block = kept[start : start + _BLOCK]
        before = kept[start - 1 : start - 1 + len(block)]
        edges += (np.flatnonzero(block != before) + start).tolist()
        if len(edges) > 2 * _MAX_RANGES:
            return None
    return [*edges, len(kept)] if kept[-1] else edges
