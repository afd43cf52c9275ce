"""Ranges of the rows of files. The rows of a file are numbered from 0, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags

__all__ = ["MOST_FILES", "RowRanges"]

Numbers = npt.NDArray[np.int64]

#: The rows of all files are numbered together, and each file has this many numbers. Rows beyond
#: them are in no range.
_SPAN: Final = 1 << 40
#: Ordinals of files are less than this, so that the numbers fit 63 bits.
MOST_FILES: Final = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class RowRanges:
    """Half-open ranges of numbers (see `_SPAN`), in ascending order and apart from each other."""

    _starts: Numbers
    _stops: Numbers

    @staticmethod
    def of(files: npt.NDArray[np.integer[Any]], starts: Numbers, stops: Numbers) -> RowRanges:
        """Return the rows of these ranges, given in any order.

        Args:
            files: The ordinal of the file of each range, less than MOST_FILES.
            starts, stops: The first row, and the row after the last one. Ranges that no file can
                have are left out.

        >>> RowRanges.of(np.array([1, 0, 1]), np.array([0, 5, 3]), np.array([3, 9, 4])).arrays()
        (array([0, 1]), array([5, 0]), array([9, 4]))
        """
        stops = np.minimum(stops, _SPAN - 1)
        valid = (starts >= 0) & (starts < stops) & (files >= 0) & (files < MOST_FILES)
        base = files[valid].astype(np.int64) * _SPAN
        first, end = base + starts[valid], base + stops[valid]
        order = np.argsort(first, kind="stable")
        return _joined(first[order], np.maximum.accumulate(end[order]))

    def __len__(self) -> int:
        return len(self._starts)

    def arrays(self) -> tuple[Numbers, Numbers, Numbers]:
        """Return the file, start and stop of each range, in ascending order."""
        files = self._starts // _SPAN
        base = files * _SPAN
        return files, self._starts - base, self._stops - base

    def joined(self, other: RowRanges) -> RowRanges:
        """Return the rows that are in either of the ranges."""
        starts = np.concatenate([self._starts, other._starts])
        order = np.argsort(starts, kind="stable")
        stops = np.concatenate([self._stops, other._stops])[order]
        return _joined(starts[order], np.maximum.accumulate(stops))

    def without(self, other: RowRanges) -> RowRanges:
        """Return the rows that are not in the other ranges."""
        edges = np.unique(np.concatenate([self._starts, self._stops, other._starts, other._stops]))
        # between two edges, all rows are in the same ranges
        left = self._holds(edges[:-1]) & ~other._holds(edges[:-1])
        return _joined(edges[:-1][left], edges[1:][left])

    def _holds(self, numbers: Numbers) -> Flags:
        started = np.searchsorted(self._starts, numbers, side="right")
        flags: Flags = started > np.searchsorted(self._stops, numbers, side="right")
        return flags

    def cover(self, files: npt.NDArray[np.integer[Any]], starts: Numbers, stops: Numbers) -> Flags:
        """Return for each of these ranges, which has rows, whether all of its rows are here."""
        covered: Flags = (starts >= 0) & (starts < stops) & (stops < _SPAN)
        if not len(self):
            return np.zeros(len(covered), np.bool_)
        base = files.astype(np.int64) * _SPAN
        place = np.searchsorted(self._starts, base + np.where(covered, starts, 0), side="right") - 1
        # The last range that starts at or before it. Ranges do not touch, so no other holds its
        # last row; a range of an earlier file ends before `base`.
        covered &= (place >= 0) & (self._stops[place] >= base + np.where(covered, stops, 0))
        return covered


def _joined(starts: Numbers, stops: Numbers) -> RowRanges:
    """Join ranges that touch. Starts and stops ascend."""
    opens = np.ones(len(starts), np.bool_)
    opens[1:] = starts[1:] > stops[:-1]
    closes = np.append(opens[1:], True) if len(opens) else opens
    return RowRanges(starts[opens], stops[closes])
