"""LIMIT without ORDER BY: find files that are enough.

Any n rows that pass the filters are an answer to LIMIT n, or all such rows if there are fewer. If
the fully matching files F1 .. Fm hold n rows or more, all of their rows pass, so any n of them are
an answer. No other file has to be read. The numbers of rows are those that are left: rows that a
table format has deleted do not count. Spark reads the largest files first and stops when it has n
rows, so the largest files are chosen: the rows are then mostly those that plain Spark returns. The
filter is true for every row of the files that are read, so it does not matter whether it stays in
the plan. If they hold fewer rows, it is not known how many rows of the other files pass, so all
files stay.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags

__all__ = ["enough_files"]


def enough_files(
    rows: int,
    matching: Iterable[npt.NDArray[np.intp]],
    num_records: npt.NDArray[np.int64] | None,
    sizes: npt.NDArray[np.int64],
) -> Flags | None:
    """Return the largest of the first fully matching files that hold `rows` rows together.

    Args:
        rows: The number of rows that are needed.
        matching: Ordinals of fully matching files, in blocks. No more blocks are consumed than
            needed.
        num_records: The number of rows of each file, -1 where it is not known. None if it is known
            for no file.
        sizes: The size of each file, in bytes.

    Returns:
        One flag per file, or None if all matching files together hold fewer rows.

    >>> sizes = np.array([300, 400, 900, 900])
    >>> enough_files(5, [np.array([0, 1]), np.array([3])], np.array([3, 4, 9, 9]), sizes).tolist()
    [True, True, False, False]
    >>> enough_files(3, [np.array([0, 1])], np.array([3, 4, 9, 9]), sizes).tolist()
    [False, True, False, False]
    """
    if num_records is None:
        return None
    chosen = np.zeros(len(sizes), np.bool_)
    total = 0
    for ordinals in matching:
        fresh = np.unique(ordinals[~chosen[ordinals] & (num_records[ordinals] > 0)])
        chosen[fresh] = True
        total += int(num_records[fresh].sum())
        if total >= rows:
            ordinals = np.flatnonzero(chosen)
            ordinals = ordinals[np.argsort(-sizes[ordinals], kind="stable")]
            last = int(np.searchsorted(np.cumsum(num_records[ordinals]), rows))
            chosen[ordinals[last + 1 :]] = False
            return chosen
    return None
