"""LIMIT without ORDER BY: which files are enough.

Any n rows that pass the filters are an answer to LIMIT n, or all of them where there are fewer. If
the fully matching files F1 .. Fm hold n rows or more, every row of them passes, so n of them are an
answer; no other file has to be read, and whatever is left of the filter is true of every row there.
If they hold fewer, nothing is known of how many rows of the others pass: all files stay.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import Flags

__all__ = ["enough_files"]


def enough_files(
    rows: int,
    matching: Iterable[npt.NDArray[np.intp]],
    num_records: npt.NDArray[np.int64] | None,
    files: int,
) -> Flags | None:
    """The fewest of the first fully matching files that hold `rows` rows; None: all hold fewer.

    matching: ordinals of fully matching files, block by block; no more are asked for than needed.
    num_records: rows of each of `files` files, -1 where not known; None: known of none.

    >>> enough_files(5, [np.array([0, 1]), np.array([3])], np.array([3, 4, 9, 9]), 4).tolist()
    [True, True, False, False]
    >>> enough_files(4, [np.array([0, 1])], np.array([3, 4, 9, 9]), 4).tolist()
    [False, True, False, False]
    """
    if num_records is None:
        return None
    known = np.zeros(files, np.bool_)
    held = 0
    for ordinals in matching:
        fresh = np.unique(ordinals[~known[ordinals] & (num_records[ordinals] > 0)])
        known[fresh] = True
        held += int(num_records[fresh].sum())
        if held >= rows:
            return _fewest(rows, np.flatnonzero(known), num_records)
    return None


def _fewest(rows: int, ordinals: npt.NDArray[np.intp], num_records: npt.NDArray[np.int64]) -> Flags:
    """The largest until there are enough; of the last, the smallest that will do."""
    ordinals = ordinals[np.argsort(-num_records[ordinals], kind="stable")]
    held = np.cumsum(num_records[ordinals])
    last = int(np.searchsorted(held, rows))
    missing = rows - (int(held[last - 1]) if last else 0)
    fits = np.flatnonzero(num_records[ordinals[last:]] >= missing)
    chosen = [*ordinals[:last], ordinals[last + int(fits[-1])]]
    flags = np.zeros(len(num_records), np.bool_)
    flags[chosen] = True
    return flags
