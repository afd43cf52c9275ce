"""Conjuncts that earlier scans have found true for every row of some files and row groups.

If as many rows passed the filter of such a scan as a file or row group has, then no conjunct of the
filter is false or NULL for any of these rows:

    rows in the file   rows that passed `a AND b`    a is true for    b is true for
    50                 50                            every row        every row
    50                 49                            not known        not known

So for each such conjunct alone, the verdict of the file is ALL. What is known is a fact about the
values of the file: no later scan changes it, whatever else the scan is filtered by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags
from tamis.files.row_ranges import RowRanges

__all__ = ["NOTHING", "KnownTrue"]


@dataclass(frozen=True, slots=True, eq=False)
class KnownTrue:
    """Where conjuncts are true for every row, by the ordinal of the conjunct.

    - `files`: one flag per file of the scan.
    - `rows`: rows of files, by the ordinals of the files.
    """

    files: Mapping[int, Flags] = field(default_factory=dict)
    rows: Mapping[int, RowRanges] = field(default_factory=dict)

    def has(self, conjunct: int) -> bool:
        return conjunct in self.files or conjunct in self.rows

    def without_files(self, conjunct: int, files: Flags) -> Flags:
        """Return these files without those in which the conjunct is known to be true."""
        known = self.files.get(conjunct)
        return files if known is None else files & ~known

    def covers(
        self,
        conjunct: int,
        files: npt.NDArray[np.intp],
        starts: npt.NDArray[np.int64],
        stops: npt.NDArray[np.int64],
    ) -> Flags:
        """Return whether the conjunct is known to be true for all rows of each of these ranges."""
        covered = np.zeros(len(files), np.bool_)
        if conjunct in self.files:
            covered |= self.files[conjunct][files]
        if conjunct in self.rows:
            covered |= self.rows[conjunct].cover(files, starts, stops)
        return covered


NOTHING: Final = KnownTrue()
